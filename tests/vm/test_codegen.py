"""What the compiler promises of its code: arms and constants stand once, tail calls and loops take no memory, kernels
write where they are told.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter

import ml_dtypes
import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.ir.expr import Constant, Function, Tuple
from passlab.ir.module import IRModule
from passlab.vm import Machine, VirtualMachine, compile
from passlab.vm.engines.frames import is_tail
from passlab.vm.executable import VMFunction
from passlab.vm.isa import Instruction, Opcode
from tests.vm.programs import LOOP

ARMS = """
type Tree { Leaf(float32), Node(Tree, Tree) }
def @f(%t: Tree[]) -> float32 {
  match (%t) {
    Node(Node(Leaf(%a), Leaf(%b)), Leaf(%c)) => sin(%a + %b + %c),
    Node(Leaf(%a), Node(Leaf(%b), _)) => cos(%a - %b),
    Node(%l, %r) => tan(@f(%l) * @f(%r)),
    Leaf(%a) => exp(%a)
  }
}
def @main(%x: float32) {
  (@f(Leaf(%x)), @f(Node(Leaf(%x), Leaf(%x))), @f(Node(Node(Leaf(%x), Leaf(%x)), Leaf(%x))),
   @f(Node(Leaf(%x), Node(Leaf(%x), Node(Leaf(%x), Leaf(%x))))))
}
"""


def test_each_arm_of_a_match_is_written_once():
    exe = compile(passlab.parse(ARMS))
    code = exe.function("f").instructions
    kernels = Counter(exe.kernel_names[i.packed] for i in code if i.opcode is Opcode.INVOKE_PACKED)
    for arm in ("sin", "cos", "tan", "exp"):
        assert sum(count for name, count in kernels.items() if arm in name) == 1
    assert not any(i.opcode is Opcode.FATAL for i in code)  # no value is without an arm
    x = np.float32(0.25)
    leaf = np.exp(x)
    pair = np.tan(leaf * leaf)
    expected = (leaf, pair, np.sin(x + x + x), np.cos(x - x))
    assert np.allclose(VirtualMachine(exe).run(x), expected, rtol=1e-6)


@pytest.mark.parametrize("rows", ["8", "?"])
@pytest.mark.parametrize(
    ("more", "body", "count"),
    [
        ("", "reshape(reshape(%x, newshape=[-1, 4]), newshape=[0, 2, -1])", 1),
        (", %s: Tensor[(3), int64]", "dyn.reshape(reshape(%x, newshape=[4, -1]), %s, newshape=[])", 2),
    ],
)
def test_a_function_that_only_reshapes_copies_nothing(rows, more, body, count):
    exe = compile(passlab.parse(f"def @main(%x: Tensor[({rows}, 16), float32]{more}) {{ {body} }}"))
    code = [i.opcode for i in exe.function("main").instructions]
    assert code.count(Opcode.RESHAPE_TENSOR) == count
    x = np.arange(128, dtype="float32").reshape(8, 16)
    result = VirtualMachine(exe).run(x, *([np.array([32, 2, 2])] if more else []))
    assert np.array_equal(result, x.reshape(32, 2, 2))


@pytest.mark.parametrize("dtype", ["float32", "int8", ml_dtypes.bfloat16])
def test_equal_constants_stand_once(dtype):
    big = np.arange(4000).reshape(40, 100).astype(dtype)
    other = big.copy()
    other[-1, -1] = 0
    fields = [
        Constant(big.copy()),
        Constant(big.copy()),
        Constant(other),
        Constant(np.zeros(3, dtype)),
        Constant(np.zeros(3, dtype)),
    ]
    exe = compile(IRModule.from_expr(Function([], Tuple(fields))))
    assert len(exe.constants) == 3
    result = VirtualMachine(exe).run()
    for field, output in zip(fields, result, strict=True):
        assert output.dtype == field.data.dtype
        assert output.tobytes() == field.data.tobytes()


def test_zeros_of_both_signs_and_kinds_of_nan_stay_apart():
    values = [np.array(v, "float32") for v in (0.0, -0.0)] + [
        np.array([0x7FC00000, 0x7FC00001], "uint32").view("float32")[i] for i in (0, 1)
    ]
    exe = compile(IRModule.from_expr(Function([], Tuple([Constant(np.asarray(v)) for v in values]))))
    assert len(exe.constants) == 4
    assert [r.tobytes() for r in VirtualMachine(exe).run()] == [np.asarray(v).tobytes() for v in values]


def test_tail_calls_take_no_frames():
    text = """
    def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
    def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
    def @through(%f: fn(int32) -> bool, %n: int32) -> bool { %f(%n) }
    def @main(%n: int32) -> bool { @through(@even, %n) }
    """
    exe = compile(passlab.parse(text))
    with limits.override(frames=2):
        assert not VirtualMachine(exe).run(np.int32(2001))
        machine = Machine(exe)
        machine.start(exe.global_map["main"], [np.int32(201)])
        while machine.step():
            assert len(machine.frames) <= 2
        assert not machine.result


@pytest.mark.rotating
def test_a_call_at_the_end_of_deep_branches_takes_no_frame():
    depth = 600
    tests = "".join(f"if (%n == {i + 10}) {{ @main(%n - 1) }} else {{ " for i in range(depth))
    exe = compile(passlab.parse(f"def @main(%n: int32) -> int32 {{ {tests} %n {'}' * (depth + 1)}"))
    with limits.override(frames=1):
        assert int(VirtualMachine(exe).run(np.int32(15))) == 9


@pytest.mark.parametrize("between", ["move", "kill", "back"])
def test_a_call_is_not_the_last_when_its_result_does_not_leave_at_once(between):
    """A move of something else, a kill of the result, a jump back: the frame stays."""
    then = {"move": [Instruction(Opcode.MOVE, 0, 1)], "kill": [Instruction(Opcode.KILL_REGISTER, 1)], "back": []}[
        between
    ]
    last = Instruction(Opcode.GOTO, -2) if between == "back" else Instruction(Opcode.RET, 1)
    code = (Instruction(Opcode.RET, 0), Instruction(Opcode.INVOKE, 0, 1, (0,)), *then, last)
    function = VMFunction("main", ("x",), code, 2)
    assert not is_tail(function, 1)
    plain = VMFunction("main", ("x",), (code[1], Instruction(Opcode.GOTO, 1), Instruction(Opcode.RET, 1)), 2)
    assert is_tail(plain, 0)


def test_a_loop_of_many_iterations_takes_no_memory():
    vm = VirtualMachine(compile(passlab.parse(LOOP)))
    vm.run(np.int32(10))
    tracemalloc.start()
    vm.run(np.int32(20_000))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100_000


def test_kernels_write_into_the_tensors_they_are_given():
    exe = compile(passlab.parse("def @main(%x: Tensor[(4), float32]) { sort(%x) }"))
    machine = Machine(exe)
    machine.start(0, [np.array([3, 1, 2, 0], "float32")])
    code = exe.functions[0].instructions
    while code[machine.frames[-1].pc].opcode is not Opcode.INVOKE_PACKED:
        machine.step()
    call = code[machine.frames[-1].pc]
    tensor = machine.frames[-1].registers[call.args[-1]]
    machine.step()
    assert machine.frames[-1].registers[call.args[-1]] is tensor
    assert tensor.tolist() == [0, 1, 2, 3]
