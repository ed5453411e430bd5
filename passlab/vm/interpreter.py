"""The machine: frames of registers, and the loop that carries out instructions on them.

Each instruction of a verified executable is turned once into a Python function over the registers of its frame (a
`Step`, see `steps`); the loop does what its flow says with the result: `step` does one instruction. `run` goes on to
the end with the running engine (see `running`): the same results, at a fraction of the cost. A call whose result is
returned at once reuses its frame, so loops written as recursion run in constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, InterruptedRunError, LimitError, PasslabError, RunTypeError
from passlab.evaluate.operators import failure
from passlab.vm.control import CallWork, Frame, decode_step, enter_call, too_deep
from passlab.vm.executable import Executable
from passlab.vm.instruction_spec import Flow
from passlab.vm.isa import Instruction
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator
from passlab.vm.run_state import State
from passlab.vm.running.compiled_engine import Engine
from passlab.vm.running.function_source import Call, OutOfFuel
from passlab.vm.semantics import Environment, check_count

Observer = Callable[[Instruction, Sequence[Any], float], None]
_LEAVING = (Flow.CALL, Flow.RETURN)  # the frame is another one afterwards


class Machine:
    """Runs the functions of one executable. After an error, or an interrupt, it can be used again.

    With `allocator`, tensors live in storages that it gives; without, kernels make their results where they can.
    """

    def __init__(self, exe: Executable, allocator: Allocator | None = None) -> None:
        if not isinstance(exe, Executable):
            raise RunTypeError(f"a Machine runs an Executable, not {type(exe).__name__}; see relay.vm.compile")
        exe.check_complete()
        self.exe = exe
        self.allocator = allocator
        self.frames: list[Frame] = []
        self.result: Any = None
        self.executed = 0
        self._code: dict[int, list[tuple[int, Any]]] = {}
        self.state = State()
        self._engine: Engine | None = None

    # ------------------------------------------------------------ driving
    def start(self, func_index: int, args: Sequence[Any]) -> None:
        """Make the entry frame of a function; `step` or `run` go on from there."""
        self.frames = []
        self.result = None
        self.executed = 0
        self.state.begin()
        function = self.exe.functions[func_index]
        check_count(function, args)
        self._push(func_index, [*args, *[None] * (function.register_file_size - len(args))], -1)

    def invoke(self, func_index: int, args: Sequence[Any]) -> Any:
        """Run a function on `args` and return its result."""
        check_count(self.exe.functions[func_index], args)
        self.frames, self.result, self.executed = [], None, 0
        self.state.begin()
        first = Call(func_index, tuple(args))
        self._step_in_limits(lambda most: self._run_through(most, first), limits.current().instructions)
        return self._has_finished()

    def step(self) -> bool:
        """Execute one instruction; return whether the program goes on."""
        self._step_in_limits(self._step_through, 1)
        return bool(self.frames)

    def run(self) -> Any:
        """Execute until the entry frame returns; return the result. Raises `RunError` with the machine's stack."""
        self._step_in_limits(self._run_through, limits.current().instructions)
        return self._has_finished()

    def _has_finished(self) -> Any:
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
                if instruction.spec.flow not in _LEAVING:
                    observe(instruction, frame.registers, seconds)

        self._step_in_limits(go, limits.current().instructions)
        return self._has_finished()

    def _step_in_limits(self, go: Callable[[int], None], most: int) -> None:
        """Execute up to `most` instructions, NumPy's warnings off; an error gets the machine's stack as notes."""
        try:
            with np.errstate(all="ignore"):
                go(most)
        except PasslabError as error:
            first, *rest = error.diagnostics
            raise type(error)(self._locate(first), *rest) from error
        except Exception as error:  # bytecode from elsewhere can ask anything of the objects in its registers
            failed = failure(error, "an instruction failed")
            raise type(failed)(self._locate(failed.diagnostics[0])) from error
        except KeyboardInterrupt as error:
            finding = Diagnostic("the program was interrupted", hint="the machine is ready for the next run")
            raise InterruptedRunError(self._locate(finding)) from error
        except BaseException:  # re-raised as it is; the machine stays usable
            self.frames = []
            raise

    def _locate(self, finding: Diagnostic) -> Diagnostic:
        """Return a finding with the place of the instruction and the machine's stack, and give the run up."""
        place = finding.place or (self._node_span(self.frames[-1]) if self.frames else None)
        notes = (*finding.notes, *self._stack_notes())
        self.frames = []
        return replace(finding, place=place, notes=notes)

    # ------------------------------------------------------------ one instruction at a time
    def _step_through(self, most: int) -> None:
        self.state.frames = self.frames
        for _ in range(most):
            if not self.frames:
                return
            frame = self.frames[-1]
            flow, work = self._code_of(frame.func_index)[frame.pc]
            self.executed += 1
            if flow == Flow.NEXT:
                work(frame.registers)
                frame.pc += 1
            elif flow == Flow.TEST:
                frame.pc = work(frame.registers)
            elif flow == Flow.JUMP:
                frame.pc = work
            elif flow == Flow.CALL:
                self._call(frame, work)
            else:
                self._return(work(frame.registers))

    def _call(self, frame: Frame, work: CallWork) -> None:
        func, args = enter_call(self.exe.functions, work, frame.registers)
        function = self.exe.functions[func]
        registers = [*args, *[None] * (function.register_file_size - len(args))]
        if work.tail:
            self.frames.pop()
            self._push(func, registers, frame.result_register)
        else:
            self._push(func, registers, work.dst)
            frame.pc += 1

    # ------------------------------------------------------------ all at once
    def _run_through(self, most: int, first: Call | None = None) -> None:
        """Run Python's own functions while `most` instructions last, then single instructions up to there.

        They begin with a call, or go on from the frames.
        """
        frames, self.frames = self.frames, []
        engine = self._engine = self._engine or Engine(self.exe, self.allocator, self._code_of, self.state)
        try:
            self.result = as_array(engine.run(first or frames, most))
        except OutOfFuel:
            self.frames = engine.frames(whole=True)
            self._step_through(engine.state.left)
        except (Exception, KeyboardInterrupt):
            self.frames = engine.frames()
            raise
        finally:
            self.executed += most - engine.state.left
            engine.clear()

    def _code_of(self, func_index: int) -> list[tuple[int, Any]]:
        code = self._code.get(func_index)
        if code is None:
            function, environment = self.exe.functions[func_index], Environment(self.exe, self.allocator)
            code = self._code[func_index] = []
            for at, instruction in enumerate(function.instructions):
                flow, work = decode_step(environment, function, at)
                code.append((flow, self.state.meter(instruction, work)))
        return code

    # ------------------------------------------------------------ frames
    def _push(self, func_index: int, registers: list[Any], result_register: int) -> None:
        cap = limits.current().frames
        if len(self.frames) >= cap:
            raise too_deep(cap)
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
