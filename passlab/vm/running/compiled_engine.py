"""The running engine: each function of an executable turned once into a Python function, and the driver of their calls.

A call costs no stack of Python: functions that call in mid-course are generators, and those that wait for a result
stand in a list. Functions too long to be worth compiling, and frames that stepping has begun, are carried out
instruction by instruction behind the same protocol, so that both kinds may call each other to any depth (see
`function_source`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import CodeType, FrameType, GeneratorType, TracebackType
from typing import Any

from passlab import limits
from passlab.errors import RunError
from passlab.vm.control import Frame, enter_call, too_deep
from passlab.vm.executable import Executable
from passlab.vm.generated_code import function_of
from passlab.vm.instruction_spec import Flow
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator
from passlab.vm.run_state import LARGE, State
from passlab.vm.running.function_source import Call, FunctionSource, OutOfFuel

LARGEST = 20_000  # instructions; compiling a longer function takes longer than carrying it out many times
Calling = Generator[tuple[int, Sequence[Any]], Any, Any]
Decoded = Callable[[int], list[tuple[int, Any]]]  # number of a function -> flow and work of each instruction


class Entry:
    """One function, compiled: how it begins, and how its lines are found among the instructions."""

    __slots__ = ("begin", "places")

    def __init__(self, begin: Callable[..., Any], places: Sequence[int]) -> None:
        self.begin = begin
        self.places = places


class Compiled:
    """The functions of an executable that have been compiled so far; `numbers` finds them by their code."""

    __slots__ = ("entries", "numbers")

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.numbers: dict[CodeType, int] = {}


class Engine:
    """Runs the functions of one executable. `decoded` gives a function's instructions for carrying them out singly.

    Without an allocator, what is compiled belongs to the executable, for all machines.
    """

    def __init__(self, exe: Executable, allocator: Allocator | None, decoded: Decoded, state: State) -> None:
        self.exe = exe
        self.allocator = allocator
        self.decoded = decoded
        self.state = state
        self.shared: dict[str, Any] = exe.running if allocator is None else {}
        self.waiting: list[Any] = []  # generators
        self.least = -1
        self._choose()
        self.error: BaseException | None = None

    def clear(self) -> None:
        """Forget a run."""
        self.waiting = self.state.waiting = []
        self.error = None

    def _choose(self) -> None:
        """Take the functions that check the sizes of all tensors when the limit is for small ones, else the usual."""
        least = LARGE if limits.current().tensor_bytes >= LARGE else 0
        if least == self.least:
            return
        self.least = least
        compiled = self.shared.setdefault(f"python, sizes from {self.least}", Compiled())
        self.entries: dict[int, Entry] = compiled.entries
        self.numbers: dict[CodeType, int] = compiled.numbers

    def source(self, index: int) -> str:
        """Return the Python text of a function."""
        return FunctionSource(self.exe, index, self.allocator).text

    def _entry(self, index: int) -> Entry:
        result = self.entries.get(index)
        if result is None:
            function = self.exe.functions[index]
            if len(function.instructions) > LARGEST:
                result = Entry(_beginning_singly(self.exe, self.decoded, index), ())
            else:
                source = FunctionSource(self.exe, index, self.allocator, self.least)
                # the name is a number: hostile names of programs never reach Python's compiler
                begin = function_of(source.text, "run", source.names, f"<VMFunc[{index}]>")
                self.numbers[begin.__code__] = index
                result = Entry(begin, source.places)
            self.entries[index] = result
        return result

    # ------------------------------------------------------------ driving
    def run(self, first: Call | list[Frame], most: int) -> Any:
        """Run a call, or frames the last of which is being executed, to the end; `most` instructions may be used.

        Raises `OutOfFuel` when they do not last. After that, and after any other error, `frames` tells where it stood.
        """
        self.state.left = most
        self.waiting = self.state.waiting = []
        self._choose()
        try:
            return self._drive(first if isinstance(first, Call) else self._resume(first))
        except BaseException as error:
            self.error = error
            innermost = self._innermost()
            if isinstance(error, OutOfFuel):
                self.state.left = error.left
            elif innermost is not None:
                self.state.left = innermost[0].f_locals.get("left", self.state.left)
            raise

    def _resume(self, frames: list[Frame]) -> Call | Calling:
        """Let frames wait for the results of those above them, and return how the last one goes on."""
        *below, top = frames
        for frame, above in zip(below, frames[1:], strict=True):
            waiting = _single(self.exe, self.decoded, self.state, frame, above.result_register)
            next(waiting)
            self.waiting.append(waiting)
        if top.pc:
            return _single(self.exe, self.decoded, self.state, top)
        return Call(top.func_index, tuple(top.registers[: len(self.exe.functions[top.func_index].params)]))

    def _drive(self, value: Any) -> Any:
        waiting, state, entries = self.waiting, self.state, self.entries
        cap = limits.current().frames
        while True:
            while type(value) is Call:
                func, args = value.func, value.args
                value = (entries.get(func) or self._entry(func)).begin(state, *args)
                args = ()
            if type(value) is GeneratorType:
                waiting.append(value)
                value = None
            elif not waiting:
                return value
            try:
                while True:
                    func, args = waiting[-1].send(value)
                    if len(waiting) >= cap:
                        raise too_deep(cap)
                    value = (entries.get(func) or self._entry(func)).begin(state, *args)
                    args = ()
                    while type(value) is Call:
                        func, args = value.func, value.args
                        value = (entries.get(func) or self._entry(func)).begin(state, *args)
                    if type(value) is GeneratorType:
                        waiting.append(value)
                        value = None
            except StopIteration as done:
                if waiting[-1].gi_frame is not None:
                    raise RunError("a kernel raised StopIteration") from done
                waiting.pop()
                value = done.value

    # ------------------------------------------------------------ where it stood
    def frames(self, whole: bool = False) -> list[Frame]:
        """Return the frames at the last error: where each stood and, if they are `whole`, what it held."""
        stack: list[Frame] = []
        result = -1
        for generator in self.waiting:
            if generator.gi_frame is not None:
                stack.append(self._frame(generator.gi_frame, None, result, whole))
                result = self._result_register(stack[-1])
                stack[-1].pc += 1
        innermost = self._innermost()
        if innermost is not None:
            frame, line = innermost
            stack.append(self._frame(frame, line, result, whole))
        elif stack:
            stack[-1].pc -= 1  # its call was not made
        return stack

    def _innermost(self) -> tuple[FrameType, int] | None:
        """Return Python's frame of the function that was running when the error happened, and the line."""
        frame = None
        trace: TracebackType | None = self.error.__traceback__ if self.error is not None else None
        while trace is not None:
            if trace.tb_frame.f_code in self.numbers or trace.tb_frame.f_code is _SINGLE:
                frame = trace.tb_frame, trace.tb_lineno
            trace = trace.tb_next
        return frame

    def _result_register(self, frame: Frame) -> int:
        instruction = self.exe.functions[frame.func_index].instructions[frame.pc]
        return int(instruction.dst) if instruction.spec.flow is Flow.CALL else -1

    def _frame(self, frame: FrameType, line: int | None, result: int, whole: bool) -> Frame:
        if frame.f_code is _SINGLE:
            held = frame.f_locals
            vm_frame = Frame(held["frame"].func_index, held["r"], result)
            vm_frame.pc = held["pc"]
            if held["awaited"] is not None:
                vm_frame.pc -= 1  # it has not gone on yet: its call is the instruction before
            return vm_frame
        index = self.numbers[frame.f_code]
        error, registers = self.error, []
        if whole:
            names = error.registers if isinstance(error, OutOfFuel) and line is not None else frame.f_locals
            count = self.exe.functions[index].register_file_size
            registers = [as_array(names.get(f"r{i}")) for i in range(count)]
            for register, value in FunctionSource(self.exe, index, self.allocator).blocks.presets.items():
                registers[register] = value
        vm_frame = Frame(index, registers, result)
        places = self.entries[index].places
        vm_frame.pc = error.pc if isinstance(error, OutOfFuel) and line is not None else places[line or frame.f_lineno]
        return vm_frame


def _single(exe: Executable, decoded: Decoded, state: State, frame: Frame, awaited: int | None = None) -> Calling:
    """Carry out a frame instruction by instruction; `awaited` is the register of a result it waits for first."""
    r, pc = frame.registers, frame.pc
    code = decoded(frame.func_index)
    if awaited is not None:
        r[awaited] = as_array((yield 0, ()))
        awaited = None
    while True:
        flow, work = code[pc]
        if state.left <= 0:
            raise OutOfFuel(pc, 0, {})
        state.left -= 1
        if flow == Flow.NEXT:
            work(r)
            pc += 1
        elif flow == Flow.TEST:
            pc = work(r)
        elif flow == Flow.JUMP:
            pc = work
        elif flow != Flow.CALL:
            return work(r)
        else:
            func, args = enter_call(exe.functions, work, r)
            if work.tail:
                return Call(func, tuple(args))
            r[work.dst] = as_array((yield func, args))
            pc += 1


_SINGLE = _single.__code__


def _beginning_singly(exe: Executable, decoded: Decoded, index: int) -> Callable[..., Calling]:
    """Return how a function begins that is carried out instruction by instruction."""
    size = exe.functions[index].register_file_size

    def begin(state: State, *args: Any) -> Calling:
        registers = [*map(as_array, args), *[None] * (size - len(args))]
        return _single(exe, decoded, state, Frame(index, registers, -1))

    return begin
