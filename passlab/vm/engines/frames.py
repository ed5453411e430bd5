"""Call frames, decoded instructions and tail calls, for all engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import LimitError
from passlab.ir.gc_pause import building
from passlab.vm.engines.single_steps import Operands, Step, step_form, step_of
from passlab.vm.engines.templates import Environment, check_count
from passlab.vm.executable import VMFunction
from passlab.vm.isa import Instruction
from passlab.vm.isa_notation import Flow

BATCH = 256  # instructions of a basic block: at least so many are decoded together
Meter = Callable[[Instruction, Step], Step]  # makes a step pay for what an instruction of its form allocates


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
    """A decoded call: the step `get` returns the function and its arguments, `dst` is the register of the result."""

    __slots__ = ("get", "operands", "dst", "tail")

    def __init__(self, environment: Environment, function: VMFunction, index: int) -> None:
        self.get, self.operands = step_of(environment, function.instructions[index])
        self.dst = function.instructions[index].dst
        self.tail = is_tail(function, index)


class DecodedFunction(dict[int, tuple[int, Any, Operands]]):
    """The decoded instructions of a function by pc: the flow, the work, and the operands for it.

    The work is a step, the target of a jump, or the decoded call. Instructions are decoded when they are reached: of a
    long function a run may need few.
    """

    def __init__(self, environment: Environment, function: VMFunction, meter: Meter) -> None:
        super().__init__()
        self.environment = environment
        self.function = function
        self.meter = meter
        # By opcode, for most of them: the flow, the step, and the function that prepares its operands, if there is one.
        self._single: dict[int, tuple[int, Step, Callable[..., Operands] | None]] = {}
        self._metered: dict[Step, Step] = {}

    def __missing__(self, pc: int) -> tuple[int, Any, Operands]:
        """Decode the instruction and those behind it, up to one that ends a basic block.

        Of a long block as many are decoded as there are already, so batches are few and large.
        """
        batch = min(pc + max(BATCH, len(self)), len(self.function.instructions))
        end = self._decode_block(pc, min(pc + BATCH, batch))
        if pc + BATCH == end < batch:
            with building():  # the garbage collector waits
                self._decode_block(end, batch)
        return self[pc]

    def _decode_block(self, start: int, end: int) -> int:
        """Decode instructions up to `end` or the end of a basic block; return the index behind the last one."""
        instructions, environment, single = self.function.instructions, self.environment, self._single
        for index in range(start, end):
            instruction = instructions[index]
            common = single.get(instruction.opcode)
            if common is None:
                self[index] = self._decode(index)
            else:
                flow, step, prepare = common
                operands = instruction.operands if prepare is None else prepare(environment, instruction, index)
                self[index] = flow, step, operands
            if instruction.spec.ends_block:
                return index + 1
        return end

    def _decode(self, index: int) -> tuple[int, Any, Operands]:
        instruction = self.function.instructions[index]
        spec, flow = instruction.spec, int(instruction.spec.flow)
        if flow == Flow.CALL:
            return flow, DecodedCall(self.environment, self.function, index), ()
        if flow == Flow.JUMP:
            return flow, instruction.successors(index)[0], ()
        step, operands = step_of(self.environment, instruction, index)
        if spec.allocates:
            plain = step
            step = self._metered.get(plain) or self._metered.setdefault(plain, self.meter(instruction, plain))
        elif spec.has_one_form:
            self._single[instruction.opcode] = flow, step, step_form(self.environment, instruction).prepare
        return flow, step, operands


def enter_call(functions: Sequence[VMFunction], call: DecodedCall, registers: list[Any]) -> tuple[int, Sequence[Any]]:
    """Return the number of the callee and all its arguments. Raises `RunError` for what cannot be called."""
    func, args = call.get(registers, call.operands)
    # The function of a closure is known only now, so the verifier could not compare the counts.
    check_count(functions[func], args)
    return func, args


def is_tail(function: VMFunction, index: int) -> bool:
    """Whether the call at `index` is a tail call: only moves of its result, jumps and kills follow."""
    return bool(function.returned_register[index + 1] == function.instructions[index].dst)


def too_deep(deepest: int) -> LimitError:
    """Return the error for calls nested deeper than `limits.frames`."""
    return LimitError(f"calls are nested deeper than the limit `frames` ({deepest:,})")
