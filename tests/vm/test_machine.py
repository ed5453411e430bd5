"""Programs through bytecode: their values are those of the reference evaluator, their faults are told in terms of Relay."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.errors import LimitError, RunError, VerifyError
from passlab.evaluate import Evaluator
from passlab.ir.expr import Var
from passlab.vm import Machine, VirtualMachine, compile
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.objects import Storage
from passlab.vm.verifier import verify
from tests.vm.programs import LOOP, PROGRAMS, same


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_machine_and_the_evaluator_agree(name, rng):
    text, make = PROGRAMS[name]
    mod = passlab.parse(text)
    args = make(rng)
    assert same(VirtualMachine(compile(mod)).run(*args), Evaluator(mod).run("main", args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_stepping_to_the_end_equals_a_free_run(name, rng):
    text, make = PROGRAMS[name]
    exe = compile(passlab.parse(text))
    args = make(rng)
    free = Machine(exe).invoke(exe.global_map["main"], args)
    machine = Machine(exe)
    machine.start(exe.global_map["main"], args)
    steps = 1
    while machine.step():
        steps += 1
    assert same(machine.result, free)
    assert steps == machine.executed


def test_the_machine_runs_a_loop_in_constant_frames():
    exe = compile(passlab.parse(LOOP))
    with limits.override(frames=3):
        assert int(VirtualMachine(exe).run(np.int32(500))) == 125250


def test_recursion_that_is_no_loop_reaches_the_limit_and_the_machine_is_used_again():
    exe = compile(
        passlab.parse("""
        def @down(%i: int32) -> int32 { if (%i == 0) { 0 } else { 1 + @down(%i - 1) } }
        def @main(%n: int32) -> int32 { @down(%n) }
    """)
    )
    vm = VirtualMachine(exe)
    with limits.override(frames=50), pytest.raises(LimitError, match="frames"):
        vm.run(np.int32(1000))
    assert int(vm.run(np.int32(20))) == 20


def test_fuel_runs_out():
    vm = VirtualMachine(compile(passlab.parse(LOOP)))
    with limits.override(instructions=100), pytest.raises(LimitError, match="instructions"):
        vm.run(np.int32(1000))
    assert int(vm.run(np.int32(4))) == 10


def test_a_fault_is_told_with_the_stack():
    exe = compile(
        passlab.parse("""
        def @inner(%x: int32) -> int32 { divide(1, %x) }
        def @main(%x: int32) -> int32 { 1 + @inner(%x) }
    """)
    )
    with pytest.raises(RunError) as caught:
        VirtualMachine(exe).run(np.int32(0))
    text = str(caught.value)
    assert "in @inner" in text
    assert "in @main" in text
    assert text.index("in @inner") < text.index("in @main")


def test_inputs_are_checked_by_name_and_type():
    vm = VirtualMachine(compile(passlab.parse(PROGRAMS["dense"][0])))
    with pytest.raises(RunError, match="%w"):
        vm.run(np.zeros((2, 8), "float32"), np.zeros((4, 9), "float32"))
    with pytest.raises(RunError, match="2 inputs"):
        vm.run(np.zeros((2, 8), "float32"))


def test_references_are_refused_with_the_way_out():
    with pytest.raises(VerifyError, match="`debug`"):
        compile(passlab.parse("def @main() { ref_read(ref(1)) }"))


def test_instructions_know_their_nodes():
    exe = compile(passlab.parse(PROGRAMS["dense"][0]))
    packed = [i for i in exe.functions[0].instructions if i.opcode is Opcode.INVOKE_PACKED]
    assert packed
    assert all(i.node is not None and i.node.span is not None for i in packed)


def executable(*instructions: Instruction, params: int = 1, registers: int = 3) -> Executable:
    names = tuple(f"p{i}" for i in range(params))
    return Executable((VMFunction("main", names, instructions, registers),), (), (), ())


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ([Instruction(Opcode.RET, 9)], "no register"),
        ([Instruction(Opcode.RET, 1)], "before it is written"),
        ([Instruction(Opcode.MOVE, 0, 1)], "leaves the function"),
        ([Instruction(Opcode.GOTO, -5), Instruction(Opcode.RET, 0)], "leaves the function"),
        ([Instruction(Opcode.LOAD_CONST, 4, 0, 1), Instruction(Opcode.RET, 1)], "no const 4"),
        ([Instruction(Opcode.INVOKE, 3, 1, ()), Instruction(Opcode.RET, 1)], "no func 3"),
        ([Instruction(Opcode.KILL_REGISTER, 0), Instruction(Opcode.RET, 0)], "before it is written"),
        ([Instruction(Opcode.LOAD_CONSTI, 1, 1), Instruction(Opcode.IF, 0, 1, 1, 2), Instruction(Opcode.MOVE, 0, 2),
          Instruction(Opcode.RET, 2)], "on some path"),
    ],
)  # fmt: skip
def test_bad_bytecode_is_refused(bad, why):
    with pytest.raises(VerifyError, match=why):
        verify(executable(*bad))


def test_a_loop_in_bytecode_is_accepted():
    verify(executable(
        Instruction(Opcode.LOAD_CONSTI, 1, 1), Instruction(Opcode.IF, 0, 1, 1, 2), Instruction(Opcode.GOTO, -1),
        Instruction(Opcode.RET, 0),
    ))  # fmt: skip


def test_an_executable_lists_itself():
    exe = compile(passlab.parse(PROGRAMS["dense"][0]))
    assert exe.bytecode.startswith("VM Function[0]: main(x, w)\n# reg file size = ")
    assert "Primitive ops (#1): [fused_nn_dense_nn_relu]" in exe.stats


@pytest.mark.parametrize(("offset", "shape"), [(-8, (2,)), (4, (2,)), (0, (3,)), (0, (-1,)), (0, (2**62, 4))])
def test_a_tensor_lies_inside_its_storage(offset, shape):
    with pytest.raises(RunError, match="does not fit a storage of 8 bytes"):
        Storage(8).tensor(offset, shape, np.dtype("float32"))


def test_long_programs_compile_and_run():
    n = 3000
    body = "".join(f"let %v{i} = add(%v{i - 1}, %x);\n" if i else "let %v0 = add(%x, %x);\n" for i in range(n))
    mod = passlab.parse(f"def @main(%x: float32) {{ {body} %v{n - 1} }}")
    with passlab.transform.PassContext(opt_level=1):
        assert float(VirtualMachine(compile(mod)).run(np.float32(1))) == n + 1
    assert isinstance(mod["main"].params[0], Var)
