"""The machine: frames of registers, and what each instruction does to them.

Each instruction of a verified executable is turned once into a Python function over the registers of its frame (a
`Step`), or into a control action that the loop carries out. Stepping and running use the same steps: `step` does one,
`run` does them until the entry frame returns. A call whose result is returned at once reuses its frame, so loops
written as recursion run in constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, LimitError, PasslabError, RunError
from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels import numpy_dtype
from passlab.vm.objects import Storage, VMClosure
from passlab.vm.verifier import successors

Step = Callable[[list[Any]], None]


class Action(IntEnum):
    """What the loop does with an instruction."""

    STEP = 0  # call its function on the registers
    JUMP = 1
    TEST = 2
    CALL = 3
    RETURN = 4
    STOP = 5


class Frame:
    """One call of a function: its registers, where it stands, and where its result goes."""

    __slots__ = ("func_index", "registers", "pc", "result_register")

    def __init__(self, func_index: int, registers: list[Any], result_register: int) -> None:
        self.func_index = func_index
        self.registers = registers
        self.pc = 0
        self.result_register = result_register


class Machine:
    """Runs the functions of one executable. After an error, or an interrupt, it can be used again."""

    def __init__(self, exe: Executable) -> None:
        self.exe = exe
        self.code = [[self._prepared(f, i) for i in range(len(f.instructions))] for f in exe.functions]
        self.frames: list[Frame] = []
        self.result: Any = None
        self.executed = 0

    # ------------------------------------------------------------ driving
    def start(self, func_index: int, args: Sequence[Any]) -> None:
        """Make the entry frame of a function; `step` or `run` go on from there."""
        self.frames = []
        self.result = None
        self.executed = 0
        self._push(func_index, args, -1)

    def invoke(self, func_index: int, args: Sequence[Any]) -> Any:
        """Run a function on `args` and return its result."""
        self.start(func_index, args)
        return self.run()

    def step(self) -> bool:
        """Execute one instruction; return whether the program goes on."""
        self._go(1)
        return bool(self.frames)

    def run(self) -> Any:
        """Execute until the entry frame returns; return the result. Raises `RunError` with the machine's stack."""
        self._go(limits.current().instructions)
        if self.frames:
            frames, self.frames = self.frames, []
            raise LimitError(
                Diagnostic(
                    f"the program was stopped after {self.executed:,} instructions, the limit `instructions`",
                    self._node_span(frames[-1]), hint="raise it with `passlab.limits.override(instructions=...)`",
                )
            )  # fmt: skip
        return self.result

    def _go(self, most: int) -> None:
        """Execute up to `most` instructions."""
        try:
            self._loop(most)
        except PasslabError as error:
            notes = self._stack_notes()
            self.frames = []
            first, *rest = error.diagnostics
            raise type(error)(
                Diagnostic(first.message, first.place, first.expected, first.found, (*first.notes, *notes), first.hint),
                *rest,
            ) from error
        except BaseException:  # an interrupt, say: the machine stays usable, the exception is not ours
            self.frames = []
            raise

    def _loop(self, most: int) -> None:
        left = most
        while self.frames and left > 0:
            frame = self.frames[-1]
            code, registers, pc = self.code[frame.func_index], frame.registers, frame.pc
            start = left
            try:
                while left > 0:
                    left -= 1
                    action, work = code[pc]
                    if action == 0:
                        work(registers)
                        pc += 1
                    elif action == 1:
                        pc += work
                    elif action == 2:
                        pc += work(registers)
                    else:
                        break
            finally:
                frame.pc = pc
                self.executed += start - left
            if action > 2:
                work(self, frame)

    # ------------------------------------------------------------ frames
    def _push(self, func_index: int, args: Sequence[Any], result_register: int) -> None:
        function = self.exe.functions[func_index]
        if len(args) != len(function.params):
            raise RunError(f"{function.name} takes {len(function.params)} arguments and was given {len(args)}")
        if len(self.frames) >= limits.current().frames:
            raise LimitError(f"calls are nested deeper than the limit `frames` ({limits.current().frames:,})")
        registers = [*args, *[None] * (function.register_file_size - len(args))]
        self.frames.append(Frame(func_index, registers, result_register))

    def _return(self, value: Any) -> None:
        frame = self.frames.pop()
        if self.frames:
            caller = self.frames[-1]
            caller.registers[frame.result_register] = value
        else:
            self.result = value

    def _call(self, frame: Frame, func_index: int, args: Sequence[Any], dst: int, tail: bool) -> None:
        if tail:
            self.frames.pop()
            self._push(func_index, args, frame.result_register)
        else:
            frame.pc += 1
            self._push(func_index, args, dst)

    def _node_span(self, frame: Frame) -> Any:
        code = self.exe.functions[frame.func_index].instructions
        node = code[min(frame.pc, len(code) - 1)].node
        return node.span if node is not None else None

    def _stack_notes(self, most: int = 12) -> list[tuple[str, Any]]:
        """The machine's stack as notes, innermost first."""
        notes = []
        for frame in list(reversed(self.frames))[:most]:
            function = self.exe.functions[frame.func_index]
            at = function.instructions[min(frame.pc, len(function.instructions) - 1)]
            notes.append((f"in @{function.name}, instruction {frame.pc}: {at}", self._node_span(frame)))
        if len(self.frames) > most:
            notes.append((f"... and {len(self.frames) - most:,} frames more", None))
        return notes

    # ------------------------------------------------------------ preparing instructions
    def _prepared(self, function: VMFunction, index: int) -> tuple[int, Any]:
        instruction = function.instructions[index]
        control = _CONTROL.get(instruction.opcode)
        if control is not None:
            return control(self, function, index)
        return 0, STEPS[instruction.opcode](self.exe, instruction)


# ---------------------------------------------------------------- control
def _goto(machine: Machine, function: VMFunction, index: int) -> tuple[int, Any]:
    return Action.JUMP.value, function.instructions[index].offset


def _if(machine: Machine, function: VMFunction, index: int) -> tuple[int, Any]:
    test, target, yes, no = function.instructions[index].operands

    def choose(registers: list[Any]) -> int:
        return yes if _number(registers[test]) == _number(registers[target]) else no  # type: ignore[no-any-return]

    return Action.TEST.value, choose


def _number(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, np.ndarray) and value.size == 1:
        return int(value.reshape(()))
    raise RunError(f"a condition must be a scalar, not {describe(value)}")


def _is_tail(function: VMFunction, index: int, dst: int) -> bool:
    """Whether the function returns the call's result at once: only moves of it and jumps follow, then `ret`."""
    code = function.instructions
    at, held = index + 1, dst
    for _ in range(len(code)):
        following = code[at]
        if following.opcode is Opcode.RET:
            return bool(following.result == held)
        if following.opcode is Opcode.MOVE and following.operands[0] == held:
            held = following.operands[1]
        elif following.opcode is not Opcode.GOTO:
            return False
        (at,) = successors(following, at)
    return False


def _invoke(machine: Machine, function: VMFunction, index: int) -> tuple[int, Any]:
    func, dst, args = function.instructions[index].operands
    tail = _is_tail(function, index, dst)

    def call(machine: Machine, frame: Frame) -> None:
        registers = frame.registers
        machine._call(frame, func, [registers[a] for a in args], dst, tail)

    return Action.CALL.value, call


def _invoke_closure(machine: Machine, function: VMFunction, index: int) -> tuple[int, Any]:
    closure, dst, args = function.instructions[index].operands
    tail = _is_tail(function, index, dst)

    def call(machine: Machine, frame: Frame) -> None:
        registers = frame.registers
        callee = registers[closure]
        if not isinstance(callee, VMClosure):
            raise RunError(f"{describe(callee)} cannot be called")
        machine._call(frame, callee.func_index, [*callee.captured, *(registers[a] for a in args)], dst, tail)

    return Action.CALL.value, call


def _ret(machine: Machine, function: VMFunction, index: int) -> tuple[int, Any]:
    (result,) = function.instructions[index].operands
    return Action.RETURN.value, lambda machine, frame: machine._return(frame.registers[result])


def _fatal(machine: Machine, function: VMFunction, index: int) -> tuple[int, Any]:
    node = function.instructions[index].node

    def stop(machine: Machine, frame: Frame) -> None:
        raise RunError(
            Diagnostic(
                "no arm of the match fits",
                node.span if node else None,
                hint="add the missing case, or a last arm `_ => ...`",
            )
        )

    return Action.STOP.value, stop


_CONTROL = {
    Opcode.GOTO: _goto, Opcode.IF: _if, Opcode.INVOKE: _invoke, Opcode.INVOKE_CLOSURE: _invoke_closure,
    Opcode.RET: _ret, Opcode.FATAL: _fatal,
}  # fmt: skip


# ---------------------------------------------------------------- steps
def _move(exe: Executable, i: Instruction) -> Step:
    source, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = r[source]

    return step


def _invoke_packed(exe: Executable, i: Instruction) -> Step:
    packed, outputs, args = i.operands
    kernel = exe.kernels[packed]
    ins, outs = args[: len(args) - outputs], args[len(args) - outputs :]

    def step(r: list[Any]) -> None:
        results = [r[a] for a in outs]
        if len(results) == 1 and results[0].size == 0:
            return  # nothing to compute
        inputs = [r[a] for a in ins]
        if any(type(v) is tuple for v in inputs):
            inputs = _flat(inputs)
        kernel(inputs, results)

    return step


def _flat(values: list[Any]) -> list[Any]:
    out = []
    stack = values[::-1]
    while stack:
        value = stack.pop()
        if type(value) is tuple:
            stack.extend(reversed(value))
        else:
            out.append(value)
    return out


def _alloc_tensor(exe: Executable, i: Instruction) -> Step:
    storage, offset, dtype, dst, shape = i.operands
    kind = numpy_dtype(dtype)

    def step(r: list[Any]) -> None:
        r[dst] = r[storage].tensor(int(r[offset]), shape, kind)

    return step


def _alloc_tensor_reg(exe: Executable, i: Instruction) -> Step:
    storage, offset, row, dtype, dst = i.operands
    kind = numpy_dtype(dtype)

    def step(r: list[Any]) -> None:
        r[dst] = r[storage].tensor(int(r[offset]), tuple(r[row].reshape(-1).tolist()), kind)

    return step


def _alloc_adt(exe: Executable, i: Instruction) -> Step:
    tag, dst, fields = i.operands
    if tag == 0:

        def tuple_step(r: list[Any]) -> None:
            r[dst] = tuple([r[f] for f in fields])

        return tuple_step
    constructor = exe.constructors.get(tag)
    if constructor is None:
        raise RunError(f"the executable has no constructor with the tag {tag}")

    def step(r: list[Any]) -> None:
        r[dst] = ADTValue(constructor, [r[f] for f in fields])

    return step


def _alloc_closure(exe: Executable, i: Instruction) -> Step:
    func, dst, captured = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = VMClosure(func, tuple([r[c] for c in captured]))

    return step


def _get_field(exe: Executable, i: Instruction) -> Step:
    source, field, dst = i.operands

    def step(r: list[Any]) -> None:
        value = r[source]
        try:
            r[dst] = value[field] if type(value) is tuple else value.fields[field]
        except (IndexError, AttributeError):
            raise RunError(f"there is no field {field} in {describe(value)}") from None

    return step


def _load_const(exe: Executable, i: Instruction) -> Step:
    const, _, dst = i.operands
    value = exe.constants[const]

    def step(r: list[Any]) -> None:
        r[dst] = value

    return step


def _get_tag(exe: Executable, i: Instruction) -> Step:
    source, dst = i.operands

    def step(r: list[Any]) -> None:
        value = r[source]
        if not isinstance(value, ADTValue):
            raise RunError(f"{describe(value)} has no tag")
        r[dst] = value.constructor.tag

    return step


def _load_consti(exe: Executable, i: Instruction) -> Step:
    value, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = value

    return step


def _alloc_storage(exe: Executable, i: Instruction) -> Step:
    size, _, _, device, dst, _ = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = Storage(int(r[size]), device)

    return step


def _shape_of(exe: Executable, i: Instruction) -> Step:
    tensor, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = np.array(r[tensor].shape, np.int64)

    return step


def _reshape_tensor(exe: Executable, i: Instruction) -> Step:
    tensor, shape, dst = i.operands

    def step(r: list[Any]) -> None:
        wanted = tuple(r[shape].reshape(-1).tolist())
        try:
            r[dst] = r[tensor].reshape(wanted)
        except ValueError:
            raise RunError(f"{describe(r[tensor])} cannot be reshaped to {wanted}") from None

    return step


def _device_copy(exe: Executable, i: Instruction) -> Step:
    source, _, _, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = r[source].copy()

    return step


def _kill_register(exe: Executable, i: Instruction) -> Step:
    (dst,) = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = None

    return step


STEPS: dict[Opcode, Callable[[Executable, Instruction], Step]] = {
    Opcode.MOVE: _move, Opcode.INVOKE_PACKED: _invoke_packed, Opcode.ALLOC_TENSOR: _alloc_tensor,
    Opcode.ALLOC_TENSOR_REG: _alloc_tensor_reg, Opcode.ALLOC_ADT: _alloc_adt, Opcode.ALLOC_CLOSURE: _alloc_closure,
    Opcode.GET_FIELD: _get_field, Opcode.LOAD_CONST: _load_const, Opcode.GET_TAG: _get_tag,
    Opcode.LOAD_CONSTI: _load_consti, Opcode.ALLOC_STORAGE: _alloc_storage, Opcode.SHAPE_OF: _shape_of,
    Opcode.RESHAPE_TENSOR: _reshape_tensor, Opcode.DEVICE_COPY: _device_copy, Opcode.KILL_REGISTER: _kill_register,
}  # fmt: skip
