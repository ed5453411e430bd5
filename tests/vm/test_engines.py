"""The law of the two engines: stepping and running give the same values, counts of instructions, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import limits, transform
from passlab.errors import PasslabError, VerifyError
from passlab.evaluate.values import ADTValue
from passlab.ir.types import TensorType, TupleType, Type, TypeCall
from passlab.vm import Machine, compile
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.objects import Allocator, VMClosure
from passlab.vm.verifier import verify
from tests.each import each
from tests.infer.typed_programs import CONS, NIL
from tests.text.typed_programs import module
from tests.vm.generated import Program
from tests.vm.programs import LOOP, PROGRAMS
from tests.vm.traced import LOGARITHM, TREE

CLOSURES = """
def @twice(%f: fn(int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
def @main(%n: int32) {
  let %add = fn (%k: int32) -> int32 { if (%k > 100) { %k } else { %k + %n } };
  (@twice(%add, %n), @even(%n), (if (%n > 2) { %add } else { fn (%k: int32) -> int32 { %k } })(1))
}
"""
NESTED = """
type Tree { Leaf(int32), Node(Tree, Tree) }
def @rotate(%t: Tree[]) -> Tree[] {
  match (%t) {
    Node(Node(%a, %b), Node(%c, %d)) => Node(Node(%a, @rotate(%b)), Node(@rotate(%c), %d)),
    Node(Leaf(%x), %r) => Node(@rotate(%r), Leaf(%x)),
    Node(%l, Leaf(%x)) => Node(Leaf(%x), @rotate(%l)),
    %other => %other
  }
}
def @build(%n: int32) -> Tree[] { if (%n == 0) { Leaf(%n) } else { Node(@build(%n - 1), Leaf(%n)) } }
def @sum(%t: Tree[]) -> int32 { match (%t) { Leaf(%x) => %x, Node(%l, %r) => @sum(%l) * 3 + @sum(%r) } }
def @main(%n: int32) -> int32 { @sum(@rotate(@build(%n))) }
"""
PARTIAL = """
type Side { Left(int32), Right }
def @only(%s: Side[]) -> int32 { match? (%s) { Left(%x) => %x } }
def @main(%n: int32) -> int32 { 1 + @only(if (%n == 3) { Right } else { Left(%n) }) }
"""
FAULT = """
def @inner(%x: int32) -> int32 { if (%x == 2) { divide(1, %x - 2) } else { 1 + @inner(%x - 1) } }
def @main(%x: int32) -> int32 { 1 + @inner(%x) }
"""
TEXTS = {name: (text, make(np.random.default_rng(0))) for name, (text, make) in PROGRAMS.items()} | {
    "tree": (TREE, [np.int32(3)]), "logarithm": (LOGARITHM, [np.ones((2, 3), "f"), np.ones((4, 3), "f")]),
    "closures": (CLOSURES, [np.int32(5)]), "nested": (NESTED, [np.int32(4)]), "partial": (PARTIAL, [np.int32(3)]),
    "fault": (FAULT, [np.int32(6)]),
}  # fmt: skip


def plain(value: object) -> object:
    """A result as plain data that can be compared."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, ADTValue):
        return value.tag, tuple(plain(v) for v in value.fields)
    if isinstance(value, VMClosure):
        return value.func_index, tuple(plain(v) for v in value.captured)
    return value


def outcome(machine: Machine, args: list[object], stepping: bool, first: int = 0) -> object:
    """What a run ends in: a value and the count of instructions, or an error with all it says."""
    try:
        machine.start(machine.exe.global_map["main"], args)
        if stepping:
            for _ in range(limits.current().instructions):
                if not machine.step():
                    return plain(machine.result), machine.executed
        for _ in range(first):
            if not machine.step():
                return plain(machine.result), machine.executed
        result = machine._final_result() if stepping else machine.run()
        return plain(result), machine.executed
    except PasslabError as error:
        return type(error), str(error)


def assert_agree(exe: Executable, args: list[object]) -> object:
    stepped = outcome(Machine(exe), args, stepping=True)
    assert outcome(Machine(exe), args, stepping=False) == stepped
    assert outcome(Machine(exe, Allocator()), args, stepping=False) == stepped
    return stepped


@pytest.mark.parametrize("name", TEXTS)
def test_both_engines_agree(name):
    text, args = TEXTS[name]
    assert_agree(compile(passlab.parse(text)), args)


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["tree", "closures", "nested", "loop", "partial", "fault", "shape"])
def test_both_engines_stop_at_the_same_instruction_when_fuel_runs_out(name):
    text, args = TEXTS[name]
    exe = compile(passlab.parse(text))
    for fuel in (*range(60), *range(60, 700, 13)):
        with limits.override(instructions=fuel):
            assert_agree(exe, args)


@pytest.mark.parametrize("name", ["tree", "closures", "nested", "fault"])
def test_both_engines_nest_as_deep(name):
    text, args = TEXTS[name]
    exe = compile(passlab.parse(text))
    ends = []
    for frames in range(1, 9):
        with limits.override(frames=frames):
            ends.append(assert_agree(exe, args))
    assert "limit `frames`" in str(ends[0])


@pytest.mark.parametrize("name", ["tree", "closures", "nested", "fault", "loop"])
def test_a_run_goes_on_from_wherever_stepping_stopped(name):
    text, args = TEXTS[name]
    exe = compile(passlab.parse(text))
    expected = outcome(Machine(exe), args, stepping=True)
    for first in (*range(40), 41, 50, 67, 100, 151):
        assert outcome(Machine(exe), args, stepping=False, first=first) == expected


@pytest.mark.parametrize("name", ["tree", "closures", "nested", "fault", "loop"])
def test_functions_too_long_to_compile_give_the_same(name, monkeypatch):
    text, args = TEXTS[name]
    exe = compile(passlab.parse(text))
    expected = outcome(Machine(exe), args, stepping=True)
    shortest = min(len(f.instructions) for f in exe.functions)
    for largest in (0, shortest):  # none is compiled; some are
        monkeypatch.setattr("passlab.vm.engines.compiled_engine.LARGEST", largest)
        exe.compiled_code.clear()
        assert outcome(Machine(exe), args, stepping=False) == expected
        with limits.override(instructions=77):
            assert_agree(exe, args)


@each("seed", range(40))
def test_both_engines_agree_on_generated_programs(seed):
    program = Program(seed)
    assert_agree(compile(passlab.parse(program.text)), program.args)


def argument(ty: Type, rng: np.random.Generator) -> object:
    """Some value of a type; lists have three items."""
    if isinstance(ty, TensorType):
        shape = tuple(d if isinstance(d, int) else 2 for d in ty.shape)
        return rng.integers(0, 2, shape).astype(ty.dtype)
    if isinstance(ty, TupleType):
        return tuple(argument(t, rng) for t in ty.fields)
    if isinstance(ty, TypeCall):
        value = ADTValue(NIL, ())
        for _ in range(3):
            value = ADTValue(CONS, (argument(ty.args[0], rng), value))
        return value
    raise VerifyError(f"no argument of {type(ty).__name__}")


def assert_agree_on_typed_program(seed: int) -> bool:
    """Return whether the program is one for the machine: without references and functions as arguments."""
    mod = module(seed)
    rng = np.random.default_rng(seed)
    try:
        args = [argument(p.type_annotation or p.checked_type, rng) for p in mod["main"].params]
        with transform.PassContext(opt_level=seed % 4):
            exe = compile(mod)
    except PasslabError:
        return False
    for fuel in (3, 17, 40, 5_000):  # some run for ever
        with limits.override(instructions=fuel):
            assert_agree(exe, args)
    return True


def test_both_engines_agree_on_typed_programs():
    assert (
        sum(assert_agree_on_typed_program(seed) for seed in (*range(40), 224)) > 12
    )  # 224: a kernel of a tuple of one


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(0, 2000, 200))
def test_both_engines_agree_on_2_000_typed_programs(start):
    assert sum(assert_agree_on_typed_program(seed) for seed in range(start, start + 200)) > 50


def test_jumps_that_no_compiler_would_write_run_alike():
    """Two loops into each other, entered at both ends."""
    code = (
        Instruction(Opcode.LOAD_CONSTI, 1, 1),
        Instruction(Opcode.LOAD_CONSTI, 3, 2),
        Instruction(Opcode.LOAD_CONSTI, 0, 3),
        Instruction(Opcode.IF, 0, 1, 4, 1),
        Instruction(Opcode.IF, 3, 1, 5, 1),  # 4: first loop
        Instruction(Opcode.LOAD_CONSTI, 1, 3),
        Instruction(Opcode.GOTO, 1),
        Instruction(Opcode.IF, 3, 2, 5, 1),  # 7: second loop
        Instruction(Opcode.GOTO, -4),
        Instruction(Opcode.LOAD_CONSTI, 3, 3),
        Instruction(Opcode.GOTO, -3),
        Instruction(Opcode.FATAL),
        Instruction(Opcode.ALLOC_ADT, 0, 4, (0,)),  # 12
        Instruction(Opcode.RET, 4),
    )
    exe = Executable((VMFunction("main", ("x",), code, 5),), (), (), ())
    verify(exe)
    for x in (0, 1):
        for fuel in range(30):
            with limits.override(instructions=fuel):
                assert_agree(exe, [np.array(x)])
        assert_agree(exe, [np.array(x)])


def test_a_million_iterations_and_a_million_frames():
    exe = compile(passlab.parse(LOOP))
    assert int(Machine(exe).invoke(exe.global_map["main"], [np.int32(1_000_000)])) == 1_784_293_664
    down = compile(
        passlab.parse("""
        def @down(%i: int32) -> int32 { if (%i == 0) { 0 } else { 1 + @down(%i - 1) } }
        def @main(%n: int32) -> int32 { @down(%n) }
    """)
    )
    assert int(Machine(down).invoke(down.global_map["main"], [np.int32(200_000)])) == 200_000


def test_an_interrupt_leaves_the_machine_usable(monkeypatch):
    exe = compile(passlab.parse("def @main(%x: Tensor[(3), float32]) { sort(%x) }"))
    machine = Machine(exe)
    x = np.array([2, 1, 3], "f")
    spec = passlab.ir.Op.get("sort").spec
    broken = [True]
    real = spec.raw or spec.kernel

    def interrupted(*args, **kwargs):
        if broken.pop() if broken else False:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr("passlab.vm.kernels.primitive.Kernel.implement", staticmethod(lambda node: interrupted))
    with pytest.raises(KeyboardInterrupt):
        machine.invoke(0, [x])
    assert not machine.frames
    assert machine.invoke(0, [x]).tolist() == [1, 2, 3]
