"""Call frames, decoded instructions and tail calls, for all engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import LimitError
from passlab.ir.gc_pause import building
from passlab.vm.executable import VMFunction
from passlab.vm.instruction_spec import Flow
from passlab.vm.isa import Instruction
from passlab.vm.semantics import Environment, check_count
from passlab.vm.steps import Step, step_of

BATCH = 256  # instructions: at least so many are decoded together
# The engines compare the flow for each instruction, and a plain integer compares faster than an enum's member.
_NEXT = int(Flow.NEXT)
Meter = Callable[[Instruction, Step], Step]  # makes a step pay for what its instruction allocates


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


class DecodedFunction(dict[int, tuple[int, Any]]):
    """The decoded instructions of a function by pc: the flow, and the step, the target of a jump or the decoded call.

    Instructions are decoded when they are reached: of a long function a run may need few.
    """

    def __init__(self, environment: Environment, function: VMFunction, meter: Meter) -> None:
        super().__init__()
        self.environment = environment
        self.function = function
        self.meter = meter

    def __missing__(self, pc: int) -> tuple[int, Any]:
        """Decode the instruction and those behind it, as many as there are already, so batches are few and large."""
        instructions, environment = self.function.instructions, self.environment
        end = min(pc + max(BATCH, len(self)), len(instructions))
        # `building` makes the garbage collector wait.
        with building():
            for index in range(pc, end):
                instruction = instructions[index]
                spec = instruction.spec
                if spec.flow is not Flow.NEXT:
                    self[index] = self._decode_control(index)
                elif spec.allocates:
                    self[index] = _NEXT, self.meter(instruction, step_of(environment, instruction))
                else:
                    self[index] = _NEXT, step_of(environment, instruction)
        return self[pc]

    def _decode_control(self, index: int) -> tuple[int, Any]:
        instruction = self.function.instructions[index]
        flow = int(instruction.spec.flow)
        if flow == Flow.CALL:
            return flow, DecodedCall(self.environment, self.function, index)
        if flow == Flow.JUMP:
            return flow, instruction.successors(index)[0]
        return flow, step_of(self.environment, instruction, index)


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
