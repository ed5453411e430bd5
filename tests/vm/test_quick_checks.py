"""What the quick checks of the verifier accept is valid by the definition: on every path, and operand by operand."""

from __future__ import annotations

from random import Random

import pytest

import passlab
from passlab import relay
from passlab.errors import VerifyError
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.verifier import _check_flow, flow_is_valid, operand_columns, verify
from tests.vm.programs import PROGRAMS

REGISTERS = 4


def _random_code(rng: Random) -> tuple[Instruction, ...]:
    """Return code of moves, kills and jumps over few registers, mostly ahead."""
    length = rng.randint(2, 12)
    code: list[Instruction] = []
    for index in range(length - 1):
        a, b = rng.randrange(REGISTERS), rng.randrange(REGISTERS)
        ahead = [rng.randint(1, length - 1 - index) if rng.random() < 0.97 else rng.randint(-3, length) for _ in "12"]
        choices = (
            Instruction(Opcode.LOAD_CONSTI, 1, a), Instruction(Opcode.MOVE, a, b), Instruction(Opcode.KILL_REGISTER, a),
            Instruction(Opcode.IF, 0, 0, *ahead), Instruction(Opcode.GOTO, ahead[0]),
        )  # fmt: skip
        code.append(rng.choices(choices, (4, 3, 2, 2, 1))[0])
    return (*code, Instruction(Opcode.RET, rng.randrange(REGISTERS)))


def _is_accepted(function: VMFunction) -> bool:
    _, jumps = operand_columns(function)
    return flow_is_valid(function, jumps)


def _is_valid(function: VMFunction) -> bool:
    """Follow every path with the set of written registers, by definition."""
    code, stack = function.instructions, [(0, frozenset(range(len(function.params))))]
    seen = set(stack)
    while stack:
        index, written = stack.pop()
        if not 0 <= index < len(code):
            return False
        instruction = code[index]
        if not written.issuperset(instruction.reads()):
            return False
        killed = instruction.opcode is Opcode.KILL_REGISTER
        written = written.difference(instruction.writes()) if killed else written.union(instruction.writes())
        after = {(target, written) for target in instruction.successors(index)} - seen
        seen |= after
        stack += after
    return True


def test_the_flow_that_is_accepted_at_once_is_valid_on_every_path():
    verdicts = {(False, False): 0, (False, True): 0, (True, True): 0}  # accepted at once, valid
    for seed in range(4000):
        code = _random_code(Random(seed))
        function = VMFunction("main", ("x", "y"), code, REGISTERS)
        valid = _is_valid(function)
        verdicts[_is_accepted(function), valid] += 1  # a KeyError is a wrong acceptance
        if valid:
            _check_flow(function)
        else:
            with pytest.raises(VerifyError):
                _check_flow(function)
    assert min(verdicts.values()) > 10, "the generator has all kinds"
    assert verdicts[True, True] > 10 * verdicts[False, True], "what is valid is accepted at once"


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_code_is_accepted_at_once(name):
    exe = relay.vm.compile(passlab.parse(PROGRAMS[name][0]))
    assert all(_is_accepted(f) for f in exe.functions)


def test_many_registers_that_are_read_behind_many_jumps_are_accepted_all_the_same():
    count = 200
    code = [Instruction(Opcode.LOAD_CONSTI, 1, register) for register in range(count)]
    code += [Instruction(Opcode.IF, 0, 0, 1, 1) for _ in range(count)]
    code += [Instruction(Opcode.ALLOC_ADT, 0, count, tuple(range(count))), Instruction(Opcode.RET, count)]
    function = VMFunction("main", (), tuple(code), count + 1)
    assert not _is_accepted(function)
    verify(Executable((function,), (), (), ()))
