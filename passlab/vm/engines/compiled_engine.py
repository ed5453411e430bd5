"""The compiled engine: each function of an executable compiled to Python once, and the driver of their calls.

Calls do not use Python's stack: a function with calls that are not in tail position is a generator, and generators that
wait for a result stand in a list. Functions too long to be worth compiling, and frames that were begun by steps, run
instruction by instruction. They are generators of the same protocol, so that both kinds may call each other to any
depth (see `function_source`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import CodeType, FrameType, GeneratorType, TracebackType
from typing import Any

from passlab import limits
from passlab.errors import RunError
from passlab.evaluate.values import Value
from passlab.vm.engines.frames import DecodedFunction, Frame, enter_call, too_deep
from passlab.vm.engines.function_source import FunctionSource, NextCall, OutOfFuel
from passlab.vm.engines.run_state import LARGE, State
from passlab.vm.executable import Executable
from passlab.vm.generated_code import function_of
from passlab.vm.isa_notation import Flow
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator

LARGEST = 20_000  # instructions; compiling a longer function takes longer than interpreting it many times
Activation = Generator[tuple[int, Sequence[Any]], Any, Any]  # yields calls and is sent their results
Decoder = Callable[[int], DecodedFunction]  # by the number of a function


class CompiledFunction:
    """The Python code of one function: `begin` calls it, `pcs` has the instruction of each line."""

    __slots__ = ("begin", "pcs")

    def __init__(self, begin: Callable[..., Any], pcs: Sequence[int]) -> None:
        self.begin = begin
        self.pcs = pcs


class CodeCache:
    """The compiled functions of an executable by number; `numbers` has their numbers by Python code."""

    __slots__ = ("entries", "numbers")

    def __init__(self) -> None:
        self.entries: dict[int, CompiledFunction] = {}
        self.numbers: dict[CodeType, int] = {}


class CompiledEngine:
    """Runs the functions of one executable. `decode` returns the decoded instructions of a function.

    Without an allocator, compiled functions are cached in the executable, for all machines.
    """

    def __init__(self, exe: Executable, allocator: Allocator | None, decode: Decoder, state: State) -> None:
        self.exe = exe
        self.allocator = allocator
        self.decode = decode
        self.state = state
        # Code that uses an allocator refers to it, so no other machine can share this code.
        self.caches: dict[str, Any] = exe.compiled_code if allocator is None else {}
        self.waiting: list[Any] = []  # generators
        self.least_checked = -1
        self._choose_cache()
        self.error: BaseException | None = None

    def clear(self) -> None:
        """Drop the state of a run."""
        self.waiting = self.state.waiting = []
        self.error = None

    def _choose_cache(self) -> None:
        """Use functions that check the sizes of all tensors where the limit is below `LARGE`, else the usual ones."""
        least_checked = LARGE if limits.current().tensor_bytes >= LARGE else 0
        if least_checked == self.least_checked:
            return
        self.least_checked = least_checked
        cache = self.caches.setdefault(f"python, sizes from {least_checked}", CodeCache())
        self.entries: dict[int, CompiledFunction] = cache.entries
        self.numbers: dict[CodeType, int] = cache.numbers

    def source(self, index: int) -> str:
        """Return the Python text of a function."""
        return FunctionSource(self.exe, index, self.allocator).text

    def _entry(self, index: int) -> CompiledFunction:
        result = self.entries.get(index)
        if result is None:
            function = self.exe.functions[index]
            if len(function.instructions) > LARGEST:
                result = CompiledFunction(_interpreted_function(self.exe, self.decode, index), ())
            else:
                source = FunctionSource(self.exe, index, self.allocator, self.least_checked)
                # the file name is a number: hostile names of programs never reach Python's compiler
                begin = function_of(source.text, "run", source.names, f"<VMFunc[{index}]>")
                self.numbers[begin.__code__] = index
                result = CompiledFunction(begin, source.pcs)
            self.entries[index] = result
        return result

    # ------------------------------------------------------------ driving
    def run(self, first: NextCall | list[Frame], most: int) -> Value:
        """Run a call, or frames of which the last is on top, to the end with `most` instructions of fuel.

        Raises `OutOfFuel` where these do not last. After that, and after any other error, `frames` returns the stack.
        """
        self.state.left = most
        self.waiting = self.state.waiting = []
        self._choose_cache()
        try:
            return self._drive(first if isinstance(first, NextCall) else self._resume(first))
        except BaseException as error:
            self.error = error
            innermost = self._innermost()
            if isinstance(error, OutOfFuel):
                self.state.left = error.left
            elif innermost is not None:
                self.state.left = innermost[0].f_locals.get("left", self.state.left)
            raise

    def _resume(self, frames: list[Frame]) -> NextCall | Activation:
        """Let frames wait for the results of those above them; return the call or activation of the last one."""
        *below, top = frames
        for frame, above in zip(below, frames[1:], strict=True):
            waiting = _interpret(self.exe, self.decode, self.state, frame, above.result_register)
            next(waiting)  # to its first `yield`, where it waits to be sent the result
            self.waiting.append(waiting)
        # Compiled code can begin only at the first instruction.
        if top.pc:
            return _interpret(self.exe, self.decode, self.state, top)
        return NextCall(top.func_index, tuple(top.registers[: len(self.exe.functions[top.func_index].params)]))

    def _drive(self, value: Any) -> Value:
        """Run a call or activation and all that it calls; return the result. The loop replaces Python's recursion."""
        waiting, state, entries = self.waiting, self.state, self.entries
        deepest = limits.current().frames
        while True:
            # A tail call: the caller has ended, so nothing waits for this result but the frames below it.
            while type(value) is NextCall:
                func, args = value.func, value.args
                value = (entries.get(func) or self._entry(func)).begin(state, *args)
                args = ()  # else this variable would keep arrays alive that the callee has dropped
            if type(value) is GeneratorType:
                waiting.append(value)
                value = None
            elif not waiting:
                return value
            try:
                while True:
                    func, args = waiting[-1].send(value)
                    if len(waiting) >= deepest:
                        raise too_deep(deepest)
                    value = (entries.get(func) or self._entry(func)).begin(state, *args)
                    args = ()
                    while type(value) is NextCall:
                        func, args = value.func, value.args
                        value = (entries.get(func) or self._entry(func)).begin(state, *args)
                    if type(value) is GeneratorType:
                        waiting.append(value)
                        value = None
            except StopIteration as done:
                # A generator that returned has no frame; with one, the exception came from a function that it called.
                if waiting[-1].gi_frame is not None:
                    raise RunError("a kernel raised StopIteration") from done
                waiting.pop()
                value = done.value

    # ------------------------------------------------------------ the stack after an error
    def frames(self, whole: bool = False) -> list[Frame]:
        """Return the frames at the last error with their pcs and, if they are `whole`, their registers."""
        stack: list[Frame] = []
        result = -1
        for generator in self.waiting:
            if generator.gi_frame is not None:
                stack.append(self._frame(generator.gi_frame, None, result, whole))
                result = self._result_register(stack[-1])
                stack[-1].pc += 1  # a waiting frame goes on behind its call
        innermost = self._innermost()
        if innermost is not None:
            frame, line = innermost
            stack.append(self._frame(frame, line, result, whole))
        elif stack:
            stack[-1].pc -= 1  # its call was not made
        return stack

    def _innermost(self) -> tuple[FrameType, int] | None:
        """Return the Python frame of the function that raised the error, and the line."""
        frame = None
        traceback: TracebackType | None = self.error.__traceback__ if self.error is not None else None
        while traceback is not None:
            if traceback.tb_frame.f_code in self.numbers or traceback.tb_frame.f_code is _INTERPRET:
                frame = traceback.tb_frame, traceback.tb_lineno  # the last one found is the innermost
            traceback = traceback.tb_next
        return frame

    def _result_register(self, frame: Frame) -> int:
        instruction = self.exe.functions[frame.func_index].instructions[frame.pc]
        return int(instruction.dst) if instruction.spec.flow is Flow.CALL else -1

    def _frame(self, frame: FrameType, line: int | None, result: int, whole: bool) -> Frame:
        if frame.f_code is _INTERPRET:
            variables = frame.f_locals
            vm_frame = Frame(variables["frame"].func_index, variables["r"], result)
            vm_frame.pc = variables["pc"]
            if variables["awaited"] is not None:
                vm_frame.pc -= 1  # it still waits: its call is the instruction before
            return vm_frame
        index = self.numbers[frame.f_code]
        error, registers = self.error, []
        if whole:
            names = error.registers if isinstance(error, OutOfFuel) and line is not None else frame.f_locals
            count = self.exe.functions[index].register_file_size
            registers = [as_array(names.get(f"r{i}")) for i in range(count)]
            # Constants are globals of the text, not local variables.
            for register, value in FunctionSource(self.exe, index, self.allocator).blocks.presets.items():
                registers[register] = value
        vm_frame = Frame(index, registers, result)
        pcs = self.entries[index].pcs
        vm_frame.pc = error.pc if isinstance(error, OutOfFuel) and line is not None else pcs[line or frame.f_lineno]
        return vm_frame


def _interpret(exe: Executable, decode: Decoder, state: State, frame: Frame, awaited: int | None = None) -> Activation:
    """Run a frame instruction by instruction; `awaited` is the register of the result that it waits for first."""
    r, pc = frame.registers, frame.pc
    code = decode(frame.func_index)
    if awaited is not None:
        # This `yield` makes no call: `_resume` ignores the pair.
        r[awaited] = as_array((yield 0, ()))
        awaited = None
    while True:
        flow, work, operands = code[pc]
        if state.left <= 0:
            raise OutOfFuel(pc, 0, {})
        state.left -= 1
        if not flow:  # `Flow.NEXT`, as most are; a comparison with an enum's member takes longer
            work(r, operands)
            pc += 1
        elif flow == Flow.TEST:
            pc = work(r, operands)
        elif flow == Flow.JUMP:
            pc = work
        elif flow != Flow.CALL:
            return work(r, operands)
        else:
            func, args = enter_call(exe.functions, work, r)
            if work.tail:
                return NextCall(func, tuple(args))
            r[work.dst] = as_array((yield func, args))
            pc += 1


_INTERPRET = _interpret.__code__  # by which `_innermost` recognises its frames


def _interpreted_function(exe: Executable, decode: Decoder, index: int) -> Callable[..., Activation]:
    """Return a function of the executable as a Python function that runs instruction by instruction."""
    size = exe.functions[index].register_file_size

    def begin(state: State, *args: Any) -> Activation:
        registers = [*map(as_array, args), *[None] * (size - len(args))]
        return _interpret(exe, decode, state, Frame(index, registers, -1))

    return begin
