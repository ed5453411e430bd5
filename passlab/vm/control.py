"""Call frames, decoded instructions and tail calls, for all engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import LimitError
from passlab.vm.executable import VMFunction
from passlab.vm.instruction_spec import Flow
from passlab.vm.semantics import Environment, check_count
from passlab.vm.steps import step_of


class Frame:
    """A call frame: the function, its registers, the pc, and the caller's register for the result."""

    __slots__ = ("func_index", "registers", "pc", "result_register")

    def __init__(self, func_index: int, registers: list[Any], result_register: int) -> None:
        self.func_index = func_index
        self.registers = registers
        self.pc = 0
        self.result_register = result_register  # -1 in the entry frame, which has no caller


def frame_at(func_index: int, registers: list[Any], result_register: int, pc: int) -> Frame:
    """Return a frame whose next instruction is `pc`."""
    frame = Frame(func_index, registers, result_register)
    frame.pc = pc
    return frame


class DecodedCall:
    """A decoded call: `get` returns the function and its arguments, `dst` is the register of the result."""

    __slots__ = ("get", "dst", "tail")

    def __init__(self, environment: Environment, function: VMFunction, index: int) -> None:
        self.get = step_of(environment, function.instructions[index])
        self.dst = function.instructions[index].dst
        self.tail = is_tail(function, index)


def decode_step(environment: Environment, function: VMFunction, index: int) -> tuple[int, Any]:
    """Return the flow of an instruction, and its step, the target of its jump, or its decoded call."""
    instruction = function.instructions[index]
    # The engines compare it for each instruction, and a plain integer compares faster than an enum's member.
    flow = int(instruction.spec.flow)
    if not flow:  # Flow.NEXT
        return flow, step_of(environment, instruction)
    if flow == Flow.JUMP:
        return flow, instruction.successors(index)[0]
    work = DecodedCall(environment, function, index) if flow == Flow.CALL else step_of(environment, instruction, index)
    return flow, work


def enter_call(functions: Sequence[VMFunction], call: DecodedCall, registers: list[Any]) -> tuple[int, Sequence[Any]]:
    """Return the number of the callee and all its arguments. Raises `RunError` for what cannot be called."""
    func, args = call.get(registers)
    # The function of a closure is known only now, so the verifier could not compare the counts.
    check_count(functions[func], args)
    return func, args


def is_tail(function: VMFunction, index: int) -> bool:
    """Whether the call at `index` is a tail call: only moves of its result, jumps and kills follow."""
    return bool(function.returned_register[index + 1] == function.instructions[index].dst)


def too_deep(cap: int) -> LimitError:
    """Return the error for calls nested deeper than `limits.frames`."""
    return LimitError(f"calls are nested deeper than the limit `frames` ({cap:,})")
