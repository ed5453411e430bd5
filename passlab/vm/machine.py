"""The machine: frames of registers, and the loop that carries out instructions on them.

Each instruction of a verified executable is turned once into a Python function over the registers of its frame (a
`Step`, see `steps`), or into a control action that the loop carries out. `step` does one instruction; `run` does whole
blocks of them at once (see `blocks`) until the entry frame returns: the same results, at a fraction of the cost. A call
whose result is returned at once reuses its frame, so loops written as recursion run in constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from operator import itemgetter
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, LimitError, PasslabError, RunError
from passlab.evaluate.operators import describe
from passlab.ir.expr import Expr
from passlab.vm.blocks import FunctionBlocks, chooser
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.objects import Allocator, VMClosure
from passlab.vm.scalars import as_array
from passlab.vm.steps import STEPS
from passlab.vm.verifier import successors

Observer = Callable[[Instruction, Sequence[Any], float], None]
_LEAVING = (Opcode.INVOKE, Opcode.INVOKE_CLOSURE, Opcode.RET)  # the frame is another one afterwards


class Action(IntEnum):
    """What the loop does with an instruction."""

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


class Machine:
    """Runs the functions of one executable. After an error, or an interrupt, it can be used again.

    With `allocator`, tensors live in storages that it gives; without, kernels make their results where they can.
    """

    def __init__(self, exe: Executable, allocator: Allocator | None = None) -> None:
        exe.check_complete()
        self.exe = exe
        self.allocator = allocator
        self.frames: list[Frame] = []
        self.result: Any = None
        self.executed = 0
        self._code: dict[int, list[tuple[int, Any]]] = {}
        self._running: dict[int, _Running] = {}

    # ------------------------------------------------------------ driving
    def start(self, func_index: int, args: Sequence[Any]) -> None:
        """Make the entry frame of a function; `step` or `run` go on from there."""
        self.frames = []
        self.result = None
        self.executed = 0
        function = self.exe.functions[func_index]
        _check_count(function, args)
        self._push(func_index, [*args, *[None] * (function.register_file_size - len(args))], -1)

    def invoke(self, func_index: int, args: Sequence[Any]) -> Any:
        """Run a function on `args` and return its result."""
        self.start(func_index, args)
        return self.run()

    def step(self) -> bool:
        """Execute one instruction; return whether the program goes on."""
        self._guarded(self._step_through, 1)
        return bool(self.frames)

    def run(self) -> Any:
        """Execute until the entry frame returns; return the result. Raises `RunError` with the machine's stack."""
        self._guarded(self._run_through, limits.current().instructions)
        return self._finished()

    def _finished(self) -> Any:
        if self.frames:
            frames, self.frames = self.frames, []
            raise LimitError(
                Diagnostic(
                    f"the program was stopped after {self.executed:,} instructions, the limit `instructions`",
                    self._node_span(frames[-1]), hint="raise it with `passlab.limits.override(instructions=...)`",
                )
            )  # fmt: skip
        return self.result

    def observed_run(self, observe: Observer) -> Any:
        """Like `run`, instruction by instruction, telling `observe` of each but calls and returns.

        It is given the instruction, the registers of its frame after it and the seconds it took.
        """

        def go(most: int) -> None:
            for _ in range(most):
                if not self.frames:
                    return
                frame = self.frames[-1]
                instruction = self.exe.functions[frame.func_index].instructions[frame.pc]
                started = perf_counter()
                self._step_through(1)
                seconds = perf_counter() - started
                if instruction.opcode not in _LEAVING:
                    observe(instruction, frame.registers, seconds)

        self._guarded(go, limits.current().instructions)
        return self._finished()

    def _guarded(self, go: Callable[[int], None], most: int) -> None:
        """Execute up to `most` instructions, NumPy's warnings off; an error gets the machine's stack as notes."""
        try:
            with np.errstate(all="ignore"):
                go(most)
        except PasslabError as error:
            notes = self._stack_notes()
            self.frames = []
            first, *rest = error.diagnostics
            raise type(error)(
                Diagnostic(first.message, first.place, first.expected, first.found, (*first.notes, *notes), first.hint),
                *rest,
            ) from error
        except Exception as error:  # bytecode from elsewhere can ask anything of the objects in its registers
            notes = self._stack_notes()
            self.frames = []
            raise RunError(
                Diagnostic(f"an instruction failed: {type(error).__name__}: {error}", notes=tuple(notes))
            ) from error
        except BaseException:  # an interrupt: the machine stays usable, the exception is not ours
            self.frames = []
            raise

    # ------------------------------------------------------------ one instruction at a time
    def _step_through(self, most: int) -> None:
        for _ in range(most):
            if not self.frames:
                return
            frame = self.frames[-1]
            action, work = self._code_of(frame.func_index)[frame.pc]
            self.executed += 1
            if action == Action.STEP:
                work(frame.registers)
                frame.pc += 1
            elif action == Action.TEST:
                frame.pc = work(frame.registers)
            elif action == Action.JUMP:
                frame.pc = work
            elif action == Action.RETURN:
                self._return(frame.registers[work])
            elif action == Action.STOP:
                raise _no_arm(work)
            else:
                self._call(frame, action, work)

    def _call(self, frame: Frame, action: int, work: _Call) -> None:
        func, args = _callee(action, work, frame.registers)
        function = self.exe.functions[func]
        _check_count(function, args)
        registers = [*args, *[None] * (function.register_file_size - len(args))]
        if work.tail:
            self.frames.pop()
            self._push(func, registers, frame.result_register)
        else:
            self._push(func, registers, work.dst)
            frame.pc += 1

    # ------------------------------------------------------------ a block at a time
    def _run_through(self, most: int) -> None:
        """Run blocks while `most` instructions last, then single instructions up to there."""
        left = most
        for frame in self.frames:  # frames that stepping made have no constants yet
            for register, value in self._running_of(frame.func_index).presets.items():
                if frame.registers[register] is None:
                    frame.registers[register] = value
        cap = limits.current().frames
        frames = self.frames
        frame = frames[-1]
        running, r, pc = self._running_of(frame.func_index), frame.registers, frame.pc
        at = pc
        try:
            while True:
                steps, count, at_end, action, work = running.plans.get(pc) or running.plan(pc)
                if left < count:
                    break
                left -= count
                for at, step in steps:  # noqa: B007 - `at` is where an error happened
                    step(r)
                at = at_end
                if action == 1:
                    pc = work
                elif action == 2:
                    pc = work(r)
                elif action <= 4:
                    func, args = (work.func, work.get(r)) if action == 3 else _callee(action, work, r)
                    running = self._running_of(func) if func != running.func_index else running
                    if action == 4:
                        _check_count(running.function, args)
                    r = [*args, *running.template]
                    if work.tail:
                        frame.func_index, frame.registers = func, r
                    else:
                        if len(frames) >= cap:
                            raise _too_deep(cap)
                        frame.pc = at + 1
                        frame = Frame(func, r, work.dst)
                        frames.append(frame)
                    pc = at = 0
                elif action == 5:
                    self._return(r[work])
                    if not frames:
                        self.result = as_array(self.result)
                        return
                    frame = frames[-1]
                    running, r, pc = self._running_of(frame.func_index), frame.registers, frame.pc
                else:
                    raise _no_arm(work)
            at = pc
        finally:
            frame.pc = at
            self.executed += most - left
        self._step_through(left)

    def _running_of(self, func_index: int) -> _Running:
        made = self._running.get(func_index)
        if made is None:
            made = self._running[func_index] = _Running(self.exe, func_index, self.allocator)
        return made

    def _code_of(self, func_index: int) -> list[tuple[int, Any]]:
        code = self._code.get(func_index)
        if code is None:
            function = self.exe.functions[func_index]
            code = self._code[func_index] = [
                _control(function, i, {})
                or (0, STEPS[function.instructions[i].opcode](self.exe, function.instructions[i]))
                for i in range(len(function.instructions))
            ]
        return code

    # ------------------------------------------------------------ frames
    def _push(self, func_index: int, registers: list[Any], result_register: int) -> None:
        cap = limits.current().frames
        if len(self.frames) >= cap:
            raise _too_deep(cap)
        self.frames.append(Frame(func_index, registers, result_register))

    def _return(self, value: Any) -> None:
        frame = self.frames.pop()
        if self.frames:
            self.frames[-1].registers[frame.result_register] = value
        else:
            self.result = value

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


class _Running:
    """One function for the running engine: the registers a frame starts with, and plans by where they start.

    A plan is (steps, instructions they and the control count for, where the control is, action, its work).
    """

    def __init__(self, exe: Executable, func_index: int, allocator: Allocator | None) -> None:
        self.func_index = func_index
        self.function = exe.functions[func_index]
        self.blocks = FunctionBlocks(exe, self.function, allocator)
        self.presets = self.blocks.presets
        params = len(self.function.params)
        self.template = [self.presets.get(i) for i in range(params, self.function.register_file_size)]
        self.plans: dict[int, tuple[Any, int, int, int, Any]] = {}

    def plan(self, pc: int) -> tuple[Any, int, int, int, Any]:
        """Make the plan that starts at `pc`."""
        block = self.blocks.block(pc)
        control = _control(self.function, block.end, self.presets)
        if control is None:  # another block begins here
            made = (block.steps, block.count, block.end, int(Action.JUMP), block.end)
        else:
            made = (block.steps, block.count + 1, block.end, *control)
        self.plans[pc] = made
        return made


# ---------------------------------------------------------------- control
class _Call:
    """What a call does: the function or the register of the closure, its arguments, where the result goes."""

    __slots__ = ("func", "get", "dst", "tail")

    def __init__(self, function: VMFunction, index: int) -> None:
        self.func, self.dst, args = function.instructions[index].operands
        self.get = _getter(args)
        self.tail = _is_tail(function, index, self.dst)


def _getter(args: tuple[int, ...]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return a function that takes these registers as a tuple."""
    if len(args) > 1:
        return itemgetter(*args)
    return (lambda r: (r[args[0]],)) if args else lambda r: ()


def _control(function: VMFunction, index: int, known: dict[int, Any]) -> tuple[int, Any] | None:
    """Return the action of an instruction of control, and what it needs; None for all others."""
    instruction = function.instructions[index]
    opcode = instruction.opcode
    if opcode is Opcode.GOTO:
        return int(Action.JUMP), index + instruction.offset
    if opcode is Opcode.IF:
        return int(Action.TEST), chooser(instruction, index, known)
    if opcode in (Opcode.INVOKE, Opcode.INVOKE_CLOSURE):
        return int(Action.CALL if opcode is Opcode.INVOKE else Action.CLOSURE), _Call(function, index)
    if opcode is Opcode.RET:
        return int(Action.RETURN), instruction.operands[0]
    return (int(Action.STOP), instruction.node) if opcode is Opcode.FATAL else None


def _callee(action: int, work: _Call, registers: list[Any]) -> tuple[int, Sequence[Any]]:
    """Return the function that is called and all its arguments."""
    if action == Action.CALL:
        return work.func, work.get(registers)
    closure = registers[work.func]
    if not isinstance(closure, VMClosure):
        raise RunError(f"{describe(closure)} cannot be called")
    return closure.func_index, (*closure.captured, *work.get(registers))


def _check_count(function: VMFunction, args: Sequence[Any]) -> None:
    if len(args) != len(function.params):
        raise RunError(f"{function.name} takes {len(function.params)} arguments and was given {len(args)}")


def _is_tail(function: VMFunction, index: int, dst: int) -> bool:
    """Whether the function returns the call's result at once: only moves of it, jumps and kills follow, then `ret`."""
    code = function.instructions
    at, held = index + 1, dst
    for _ in range(len(code)):
        following = code[at]
        if following.opcode is Opcode.RET:
            return bool(following.result == held)
        if following.opcode is Opcode.MOVE and following.operands[0] == held:
            held = following.operands[1]
        elif following.opcode is not Opcode.GOTO and (
            following.opcode is not Opcode.KILL_REGISTER or following.operands[0] == held
        ):
            return False
        (at,) = successors(following, at)
    return False


def _no_arm(node: Expr | None) -> RunError:
    return RunError(
        Diagnostic(
            "no arm of the match fits",
            node.span if node else None,
            hint="add the missing case, or a last arm `_ => ...`",
        )
    )


def _too_deep(cap: int) -> LimitError:
    return LimitError(f"calls are nested deeper than the limit `frames` ({cap:,})")
