"""Frames and calls, for every engine: what an instruction is decoded to, and which calls reuse their frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import LimitError
from passlab.vm.executable import VMFunction
from passlab.vm.instruction_spec import Flow
from passlab.vm.semantics import Environment, check_count
from passlab.vm.steps import step_of


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
    frame = Frame(func_index, registers, result_register)
    frame.pc = pc
    return frame


class CallWork:
    """What a call does: `get` gives the function and its arguments, `dst` is where the result goes."""

    __slots__ = ("get", "dst", "tail")

    def __init__(self, environment: Environment, function: VMFunction, index: int) -> None:
        self.get = step_of(environment, function.instructions[index])
        self.dst = function.instructions[index].dst
        self.tail = is_tail(function, index)


def decode_step(environment: Environment, function: VMFunction, index: int) -> tuple[int, Any]:
    """Return the flow of an instruction, and what carries it out: a step, where a jump leads to, or a call's work."""
    instruction = function.instructions[index]
    flow = int(instruction.spec.flow)
    if not flow:
        return flow, step_of(environment, instruction)
    if flow == Flow.JUMP:
        return flow, instruction.successors(index)[0]
    work = CallWork(environment, function, index) if flow == Flow.CALL else step_of(environment, instruction, index)
    return flow, work


def enter_call(functions: Sequence[VMFunction], work: CallWork, registers: list[Any]) -> tuple[int, Sequence[Any]]:
    """Return the function that is called and all its arguments. Raises `RunError` for what cannot be called."""
    func, args = work.get(registers)
    check_count(functions[func], args)
    return func, args


def is_tail(function: VMFunction, index: int) -> bool:
    """Whether a function returns the result of its call at `index` at once: moves of it, jumps and kills follow."""
    return bool(function.returned[index + 1] == function.instructions[index].dst)


def too_deep(cap: int) -> LimitError:
    """The error of calls nested deeper than `limits.frames`."""
    return LimitError(f"calls are nested deeper than the limit `frames` ({cap:,})")
