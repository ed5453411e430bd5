"""The machine: call frames, and the loop that executes instructions on their registers.

Each instruction of a verified executable becomes a Python function of the registers of its frame once (a `Step`, see
`engines.single_steps`). `step` executes one instruction. `run` executes the rest with the compiled engine (see
`engines.compiled_engine`): the same results, at a fraction of the cost. A tail call reuses its frame, so loops written
as recursion run in constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.arguments import checked
from passlab.errors import Diagnostic, InterruptedRunError, LimitError, PasslabError, RunTypeError
from passlab.evaluate.operators import failure
from passlab.evaluate.values import Value
from passlab.ir.span import Span
from passlab.vm.engines.compiled_engine import CompiledEngine
from passlab.vm.engines.frames import DecodedCall, DecodedFunction, Frame, enter_call, too_deep
from passlab.vm.engines.function_source import NextCall, OutOfFuel
from passlab.vm.engines.run_state import State
from passlab.vm.engines.templates import Environment, check_count
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction
from passlab.vm.isa_notation import Flow
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator

Observer = Callable[[Instruction, Sequence[Any], float], None]
_CHANGE_FRAMES = (Flow.CALL, Flow.RETURN)  # after these another frame is on top


@checked
class Machine:
    """Runs the functions of one executable. After an error, or an interrupt, it can be used again.

    With an `allocator` tensors live in its storages; without one kernels allocate their results where they can. Raises
    `RunTypeError` if `exe` is not an executable.

    >>> exe = vm.compile(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> print(vm.Machine(exe).invoke(exe.global_map["main"], [np.float32(1)]))
    2.0
    """

    def __init__(self, exe: Executable, allocator: Allocator | None = None) -> None:
        if not isinstance(exe, Executable):
            raise RunTypeError(f"a Machine runs an Executable, not {type(exe).__name__}; see relay.vm.compile")
        exe.check_complete()
        self.exe = exe
        self.allocator = allocator
        self.frames: list[Frame] = []
        self.result: Value = None
        self.executed = 0
        self._code: dict[int, DecodedFunction] = {}
        self.state = State()
        self._engine: CompiledEngine | None = None

    # ------------------------------------------------------------ driving
    def start(self, func_index: int, args: Sequence[Any]) -> None:
        """Create the entry frame of a function; `step` and `run` go on from there."""
        self.frames = []
        self.result = None
        self.executed = 0
        self.state.begin()
        function = self.exe.functions[func_index]
        check_count(function, args)
        # Parameters are the first registers; the others are empty.
        self._push(func_index, [*args, *[None] * (function.register_file_size - len(args))], -1)

    def invoke(self, func_index: int, args: Sequence[Value]) -> Value:
        """Run a function on `args` and return its result."""
        check_count(self.exe.functions[func_index], args)
        self.frames, self.result, self.executed = [], None, 0
        self.state.begin()
        first = NextCall(func_index, tuple(args))
        self._execute(lambda most: self._run_compiled(most, first), limits.current().instructions)
        return self._final_result()

    def step(self) -> bool:
        """Execute one instruction; return whether the program goes on."""
        self._execute(self._run_steps, 1)
        return bool(self.frames)

    def run(self) -> Value:
        """Execute until the entry frame returns; return the result. Raises `RunError` with the stack as notes."""
        self._execute(self._run_compiled, limits.current().instructions)
        return self._final_result()

    def _final_result(self) -> Value:
        """Return the result of the entry frame. Raises `LimitError` where frames are left, since fuel ran out."""
        if self.frames:
            frames, self.frames = self.frames, []
            raise LimitError(
                Diagnostic(
                    f"the program was stopped after {self.executed:,} instructions, the limit `instructions`",
                    self._node_span(frames[-1]),
                    hint="raise it with `passlab.limits.override(instructions=...)`",
                )
            )
        return self.result

    def run_observed(self, observe: Observer) -> Value:
        """Run instruction by instruction and call `observe` after each that is not a call or return.

        Its arguments are the instruction, the registers after it, and the seconds it took.
        """

        def run(most: int) -> None:
            for _ in range(most):
                if not self.frames:
                    return
                frame = self.frames[-1]
                instruction = self.exe.functions[frame.func_index].instructions[frame.pc]
                self._code_of(frame.func_index)[frame.pc]  # decoded beforehand, so that it does not seem slow
                started = perf_counter()
                self._run_steps(1)
                seconds = perf_counter() - started
                if instruction.spec.flow not in _CHANGE_FRAMES:
                    observe(instruction, frame.registers, seconds)

        self._execute(run, limits.current().instructions)
        return self._final_result()

    def _execute(self, run: Callable[[int], None], most: int) -> None:
        """Execute up to `most` instructions without NumPy's warnings; an error gets the stack as notes."""
        try:
            with np.errstate(all="ignore"):
                run(most)
        except PasslabError as error:
            first, *rest = error.diagnostics
            raise type(error)(self._locate(first), *rest) from error
        except Exception as error:  # verified bytecode may still apply any operation to objects of any kind
            failed = failure(error, "an instruction failed")
            raise type(failed)(self._locate(failed.diagnostics[0])) from error
        except KeyboardInterrupt as error:
            diagnostic = Diagnostic("the program was interrupted", hint="the machine is ready for the next run")
            raise InterruptedRunError(self._locate(diagnostic)) from error
        except BaseException:  # re-raised as it is; the machine stays usable
            self.frames = []
            raise

    def _locate(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic with the source location of the instruction and the stack; drop the frames."""
        place = diagnostic.place or (self._node_span(self.frames[-1]) if self.frames else None)
        notes = (*diagnostic.notes, *self._stack_notes())
        self.frames = []
        return replace(diagnostic, place=place, notes=notes)

    # ------------------------------------------------------------ one instruction at a time
    def _run_steps(self, most: int) -> None:
        self.state.frames = self.frames
        for _ in range(most):
            if not self.frames:
                return
            frame = self.frames[-1]
            flow, work, operands = self._code_of(frame.func_index)[frame.pc]
            self.executed += 1
            if flow == Flow.NEXT:
                work(frame.registers, operands)
                frame.pc += 1
            elif flow == Flow.TEST:
                frame.pc = work(frame.registers, operands)
            elif flow == Flow.JUMP:
                frame.pc = work
            elif flow == Flow.CALL:
                self._call(frame, work)
            else:
                self._return(work(frame.registers, operands))  # RETURN; the work of a STOP raises an error

    def _call(self, frame: Frame, call: DecodedCall) -> None:
        func, args = enter_call(self.exe.functions, call, frame.registers)
        function = self.exe.functions[func]
        registers = [*args, *[None] * (function.register_file_size - len(args))]
        if call.tail:
            self.frames.pop()
            self._push(func, registers, frame.result_register)
        else:
            self._push(func, registers, call.dst)
            frame.pc += 1

    # ------------------------------------------------------------ compiled functions
    def _run_compiled(self, most: int, first: NextCall | None = None) -> None:
        """Run compiled functions until the fuel does not last for a basic block, then single instructions.

        They begin with a call, or go on from the frames.
        """
        frames, self.frames = self.frames, []
        engine = self._engine = self._engine or CompiledEngine(self.exe, self.allocator, self._code_of, self.state)
        try:
            self.result = as_array(engine.run(first or frames, most))
        except OutOfFuel:
            # The fuel left is less than a block: it is spent on single instructions, which read the registers.
            self.frames = engine.frames(whole=True)
            self._run_steps(engine.state.left)
        except (Exception, KeyboardInterrupt):
            self.frames = engine.frames()
            raise
        finally:
            self.executed += most - engine.state.left
            engine.clear()  # what a waiting generator holds would keep its arrays alive

    def _code_of(self, func_index: int) -> DecodedFunction:
        code = self._code.get(func_index)
        if code is None:
            environment = Environment(self.exe, self.allocator)
            code = DecodedFunction(environment, self.exe.functions[func_index], self.state.meter)
            self._code[func_index] = code
        return code

    # ------------------------------------------------------------ frames
    def _push(self, func_index: int, registers: list[Any], result_register: int) -> None:
        deepest = limits.current().frames
        if len(self.frames) >= deepest:
            raise too_deep(deepest)
        self.frames.append(Frame(func_index, registers, result_register))

    def _return(self, value: Any) -> None:
        frame = self.frames.pop()
        if self.frames:
            self.frames[-1].registers[frame.result_register] = value
        else:
            self.result = value

    def _node_span(self, frame: Frame) -> Span | None:
        code = self.exe.functions[frame.func_index].instructions
        node = code[min(frame.pc, len(code) - 1)].node
        return node.span if node is not None else None

    def _stack_notes(self, most: int = 12) -> list[tuple[str, Span | None]]:
        """Return the stack as notes, innermost frame first."""
        notes: list[tuple[str, Span | None]] = []
        for frame in list(reversed(self.frames))[:most]:
            function = self.exe.functions[frame.func_index]
            instruction = function.instructions[min(frame.pc, len(function.instructions) - 1)]
            notes.append((f"in @{function.name}, instruction {frame.pc}: {instruction}", self._node_span(frame)))
        if len(self.frames) > most:
            notes.append((f"... and {len(self.frames) - most:,} more frames", None))
        return notes
