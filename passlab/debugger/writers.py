"""The origin of values: the instruction that wrote a register, its inputs, and watches on registers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL
from passlab.debugger.trace_data import TraceData
from passlab.debugger.values import short_text
from passlab.errors import Diagnostic, RunError
from passlab.evaluate.operators import values_inside
from passlab.evaluate.values import Value
from passlab.ir.expr import Expr
from passlab.vm.isa import Opcode


@dataclass(frozen=True)
class WriterInput:
    """An input of a writer: a register of a frame, and its value when it was read.

    `later` is 1 for the result of a function, which is there one instant after its return.
    """

    frame: int
    register: int
    value: Any
    later: int = 0

    def __str__(self) -> str:
        return f"${self.register} = {short_text(self.value)}"


@dataclass(frozen=True)
class Writer:
    """The instruction that gave a register its value. `instant` is the one before it."""

    trace: TraceData
    instant: int
    frame: int
    register: int

    @property
    def point(self) -> int:
        """The program point of the instruction."""
        return int(self.trace.point[self.instant])

    @property
    def name(self) -> str:
        """The register, as in listings."""
        return f"${self.register}"

    @property
    def instruction(self) -> str:
        """The instruction as text."""
        return self.trace.code_map.text(self.point)

    @property
    def operators(self) -> list[str]:
        """The operators that the instruction executes."""
        return self.trace.code_map.operators(self.point)

    @property
    def value(self) -> Value:
        """The value that was written."""
        held = self.trace.registers(self.frame, self.instant + 1)[self.register]
        return self.trace.value_at(held, self.instant + 1)

    @cached_property
    def inputs(self) -> tuple[WriterInput, ...]:
        """The registers that the value was computed from."""
        trace, point, event = self.trace, self.point, self.instant
        frame = int(trace.frame_of[event])
        role = trace.code_map.role[point]
        registers = trace.code_map.reads(point)
        if role == CALL and self.register < len(trace.code_map.functions[trace.log.function[self.frame]].params):
            registers = _argument_source(trace, point, self.frame, self.register)
        held = trace.registers(frame, event)
        return tuple(WriterInput(frame, r, trace.value_at(held[r], event)) for r in registers)

    def inside(self) -> list[tuple[Expr, Any]]:
        """Return the operators of a kernel in order, each with its value; none for other instructions.

        A kernel keeps no intermediate values: they are computed again from its inputs.
        """
        kernel = self.trace.code_map.kernel(self.point)
        if kernel is None or kernel.attrs.get("ShapeFunction"):
            return []
        return list(values_inside(kernel, [source.value for source in self.inputs]))

    def __str__(self) -> str:
        operators = " + ".join(self.operators)
        head = f"{self.name} written at instant {self.instant:,} by {self.instruction}"
        head += f"  ({operators})" if operators else ""
        lines_of_source = ", ".join(
            list(dict.fromkeys(f"{n}:{line}" for n, line in self.trace.code_map.lines[self.point]))[:3]
        )
        lines = [
            f"{head}  {lines_of_source}".rstrip(),
            f"  = {short_text(self.value)}",
            *(f"  from {s}" for s in self.inputs),
        ]
        return "\n".join(lines)

    __repr__ = __str__


def _argument_source(trace: TraceData, point: int, frame: int, register: int) -> tuple[int, ...]:
    """Return the caller's register that holds the argument for a parameter; for a captured variable, the closure."""
    instruction = trace.code_map.instructions[point]
    if getattr(instruction, "opcode", None) is Opcode.INVOKE_CLOSURE:
        captured = len(trace.code_map.functions[trace.log.function[frame]].params) - len(instruction.args)
        return (instruction.operands[0],) if register < captured else (instruction.args[register - captured],)
    args = getattr(instruction, "params_from", instruction.args)
    return (args[register],) if register < len(args) and args[register] >= 0 else ()


def writer_of(trace: TraceData, instant: int, frame: int, register: int) -> Writer:
    """Return the writer of a register of a frame at an instant. Raises `RunError` where no instruction wrote it."""
    events = changes_of(trace, frame, register)
    index = bisect_left(events, instant)
    if index:
        return Writer(trace, events[index - 1], frame, register)
    created = int(trace.log.created[frame]) if frame >= 0 else -1
    size = len(trace.code_map.functions[trace.log.function[frame]].params) if frame >= 0 else 0
    if created >= 0 and register < size:
        return Writer(trace, created, frame, register)
    count = trace.code_map.functions[trace.log.function[frame]].register_file_size if frame >= 0 else 0
    if register >= count:
        raise RunError(Diagnostic(f"there is no register ${register}", hint=f"this frame has $0 to ${count - 1}"))
    what = "is an argument of the program" if register < size else "was not written before"
    raise RunError(Diagnostic(f"${register} {what}: no instruction wrote it", hint=f"this is instant {instant:,}"))


def changes_of(trace: TraceData, frame: int, register: int) -> list[int]:
    """Return the events that changed a register of a frame, or the content of its tensor, in order."""
    if frame < 0:
        raise RunError("the program has ended: go to an instant before its end")
    events, _, written, starts = trace._writes
    mine = events[starts[frame] : starts[frame + 1]]
    writes = mine[written[mine] == register]
    code = trace.code_map
    kernels = np.array([code.role[s] == KERNEL and register in code.results(s) for s in range(len(code))], bool)
    if kernels.any():
        inside = np.flatnonzero(kernels[trace.point] & (trace.frame_of == frame))
        writes = np.sort(np.concatenate([writes, inside]))
    out: list[int] = writes.tolist()
    return out


class Watch:
    """A watch on a register of one frame. With `stops`, a debugger stops where the register changes."""

    def __init__(self, trace: TraceData, frame: int, register: int, stops: bool = True) -> None:
        self.trace = trace
        self.frame = frame
        self.register = register
        self.stops = stops
        self.events = changes_of(trace, frame, register)

    def after(self, instant: int) -> int | None:
        """Return the first instant after this one at which the register has just changed."""
        # An event is the step from the instant of its number to the next one.
        index = bisect_right(self.events, instant - 1)
        return self.events[index] + 1 if index < len(self.events) else None

    def before(self, instant: int) -> int | None:
        """Return the last instant before this one at which the register has just changed."""
        index = bisect_left(self.events, instant - 1)
        return self.events[index - 1] + 1 if index else None

    def value(self, instant: int) -> Value:
        """Return the value of the register at an instant; None before its frame was created."""
        if instant <= self.trace.log.created[self.frame]:
            return None
        return self.trace.value_at(self.trace.registers(self.frame, instant)[self.register], instant)

    def history(self) -> list[tuple[int, Any]]:
        """Return the instants at which the register has just changed, each with its value."""
        return [(event + 1, self.value(event + 1)) for event in self.events]

    def __repr__(self) -> str:
        function = self.trace.code_map.functions[self.trace.log.function[self.frame]].name
        return f"watch ${self.register} of @{function} (frame {self.frame})"
