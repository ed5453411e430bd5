"""Instructions of control, for every engine: what each does, which calls reuse their frame, what a bad call is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from operator import itemgetter
from typing import Any

from passlab.errors import Diagnostic, LimitError, RunError
from passlab.evaluate.operators import describe
from passlab.ir.expr import Expr
from passlab.vm.executable import VMFunction
from passlab.vm.isa import Opcode
from passlab.vm.objects import VMClosure
from passlab.vm.running.blocks import chooser


class Action(IntEnum):
    """What an engine does with an instruction."""

    STEP = 0  # call its function on the registers
    JUMP = 1
    TEST = 2
    CALL = 3
    CLOSURE = 4
    RETURN = 5
    STOP = 6


class Frame:
    """One call of a function: its registers, where it stands, and where its result goes."""

    __slots__ = ("func_index", "registers", "pc", "result_register")

    def __init__(self, func_index: int, registers: list[Any], result_register: int) -> None:
        self.func_index = func_index
        self.registers = registers
        self.pc = 0
        self.result_register = result_register


def frame_at(func_index: int, registers: list[Any], result_register: int, pc: int) -> Frame:
    """Return a frame that goes on at an instruction."""
    made = Frame(func_index, registers, result_register)
    made.pc = pc
    return made


class CallWork:
    """What a call does: the function or the register of the closure, its arguments, where the result goes."""

    __slots__ = ("func", "get", "dst", "tail")

    def __init__(self, function: VMFunction, index: int) -> None:
        self.func, self.dst, args = function.instructions[index].operands
        self.get = _getter(args)
        self.tail = is_tail(function, index)


def _getter(args: tuple[int, ...]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return a function that takes these registers as a tuple."""
    if len(args) > 1:
        return itemgetter(*args)
    return (lambda r: (r[args[0]],)) if args else lambda r: ()


def control_of(function: VMFunction, index: int) -> tuple[int, Any] | None:
    """Return the action of an instruction of control, and what it needs; None for all others."""
    instruction = function.instructions[index]
    opcode = instruction.opcode
    if opcode is Opcode.GOTO:
        return int(Action.JUMP), index + instruction.offset
    if opcode is Opcode.IF:
        return int(Action.TEST), chooser(instruction, index)
    if opcode in (Opcode.INVOKE, Opcode.INVOKE_CLOSURE):
        return int(Action.CALL if opcode is Opcode.INVOKE else Action.CLOSURE), CallWork(function, index)
    if opcode is Opcode.RET:
        return int(Action.RETURN), instruction.operands[0]
    return (int(Action.STOP), instruction.node) if opcode is Opcode.FATAL else None


def called(
    functions: Sequence[VMFunction], action: int, work: CallWork, registers: list[Any]
) -> tuple[int, Sequence[Any]]:
    """Return the function that is called and all its arguments. Raises `RunError` for what cannot be called."""
    if action == Action.CALL:
        args = work.get(registers)
        check_count(functions[work.func], args)
        return work.func, args
    return callee(functions, registers[work.func], work.get(registers))


def callee(functions: Sequence[VMFunction], closure: Any, args: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """Return the function that a closure is of, and all its arguments. Raises `RunError` for what cannot be called."""
    if not isinstance(closure, VMClosure):
        raise RunError(f"{describe(closure)} cannot be called")
    given = (*closure.captured, *args)
    check_count(functions[closure.func_index], given)
    return closure.func_index, given


def check_count(function: VMFunction, args: Sequence[Any]) -> None:
    """Raise `RunError` unless a function takes so many arguments."""
    if len(args) != len(function.params):
        raise RunError(f"{function.name} takes {len(function.params)} arguments and was given {len(args)}")


def is_tail(function: VMFunction, index: int) -> bool:
    """Whether a function returns the result of its call at `index` at once: moves of it, jumps and kills follow."""
    return bool(function.returned[index + 1] == function.instructions[index].dst)


def no_arm(node: Expr | None) -> RunError:
    """The error of a `match` without a fitting arm."""
    return RunError(
        Diagnostic(
            "no arm of the match fits",
            node.span if node else None,
            hint="add the missing case, or a last arm `_ => ...`",
        )
    )


def too_deep(cap: int) -> LimitError:
    """The error of calls nested deeper than `limits.frames`."""
    return LimitError(f"calls are nested deeper than the limit `frames` ({cap:,})")
