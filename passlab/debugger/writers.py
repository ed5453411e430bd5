"""Where values come from: the instruction that wrote a register, its inputs, and registers that are watched."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, RETURN
from passlab.debugger.trace_data import TraceData
from passlab.debugger.values import short_text
from passlab.errors import Diagnostic, RunError
from passlab.evaluate.operators import values_inside
from passlab.ir.expr import Expr
from passlab.vm.isa import Opcode


@dataclass(frozen=True)
class Source:
    """An input of a writer: a register of a frame, and its value when it was read.

    `later` is 1 where the value is that of the instant after the instruction: the result of a function.
    """

    frame: int
    register: int
    value: Any
    later: int = 0

    def __str__(self) -> str:
        return f"${self.register} = {short_text(self.value)}"


@dataclass(frozen=True)
class Writer:
    """The instruction that gave a register its value. `instant` is the moment just before it."""

    trace: TraceData
    instant: int
    frame: int
    register: int

    @property
    def site(self) -> int:
        """The number of the instruction in the program."""
        return int(self.trace.site[self.instant])

    @property
    def name(self) -> str:
        """The register, as in listings."""
        return f"${self.register}"

    @property
    def instruction(self) -> str:
        """The instruction as text."""
        return self.trace.code_map.text(self.site)

    @property
    def operators(self) -> list[str]:
        """The operators that the instruction carries out."""
        return self.trace.code_map.operators(self.site)

    @property
    def value(self) -> Any:
        """The value that was written."""
        held = self.trace.registers(self.frame, self.instant + 1)[self.register]
        return self.trace.value_at(held, self.instant + 1)

    @cached_property
    def inputs(self) -> tuple[Source, ...]:
        """What the value was made of: the registers that were read."""
        trace, site, event = self.trace, self.site, self.instant
        frame = int(trace.frame_of[event])
        role = trace.code_map.role[site]
        registers = trace.code_map.reads(site)
        if role == CALL and self.register < len(trace.code_map.functions[trace.log.function[self.frame]].params):
            registers = _pass_on(trace, site, self.frame, self.register)
        held = trace.registers(frame, event)
        return tuple(Source(frame, r, trace.value_at(held[r], event)) for r in registers)

    def inside(self) -> list[tuple[Expr, Any]]:
        """Return the operators that a kernel carried out, one after the other, and their values; none for the others.

        A kernel does not keep these: they are computed again from its inputs.
        """
        kernel = self.trace.code_map.kernel(self.site)
        if kernel is None or kernel.attrs.get("ShapeFunction"):
            return []
        return list(values_inside(kernel, [source.value for source in self.inputs]))

    def __str__(self) -> str:
        operators = " + ".join(self.operators)
        head = f"{self.name} written at instant {self.instant:,} by {self.instruction}"
        head += f"  ({operators})" if operators else ""
        place = ", ".join(list(dict.fromkeys(f"{n}:{line}" for n, line in self.trace.code_map.lines[self.site]))[:3])
        lines = [f"{head}  {place}".rstrip(), f"  = {short_text(self.value)}", *(f"  from {s}" for s in self.inputs)]
        return "\n".join(lines)

    __repr__ = __str__


def _pass_on(trace: TraceData, site: int, frame: int, register: int) -> tuple[int, ...]:
    """Return the register of the caller whose value became a parameter; for a captured value that of the closure."""
    instruction = trace.code_map.instructions[site]
    if getattr(instruction, "opcode", None) is Opcode.INVOKE_CLOSURE:
        captured = len(trace.code_map.functions[trace.log.function[frame]].params) - len(instruction.args)
        return (instruction.operands[0],) if register < captured else (instruction.args[register - captured],)
    args = getattr(instruction, "given", instruction.args)
    return (args[register],) if register < len(args) and args[register] >= 0 else ()


def writer_of(trace: TraceData, instant: int, frame: int, register: int) -> Writer:
    """Return who wrote what a register of a frame holds at an instant. Raises `RunError` when no instruction did."""
    events = changes_of(trace, frame, register)
    at = bisect_left(events, instant)
    if at:
        return Writer(trace, events[at - 1], frame, register)
    created = int(trace.log.created[frame]) if frame >= 0 else -1
    size = len(trace.code_map.functions[trace.log.function[frame]].params) if frame >= 0 else 0
    if created >= 0 and register < size:
        return Writer(trace, created, frame, register)
    held = trace.code_map.functions[trace.log.function[frame]].register_file_size if frame >= 0 else 0
    if register >= held:
        raise RunError(Diagnostic(f"there is no register ${register}", hint=f"this frame has $0 to ${held - 1}"))
    what = "is an argument of the program" if register < size else "was not written before"
    raise RunError(Diagnostic(f"${register} {what}: no instruction wrote it", hint=f"this is instant {instant:,}"))


def changes_of(trace: TraceData, frame: int, register: int) -> list[int]:
    """Return the events that gave a register of a frame another value, or its tensor another content, in order."""
    if frame < 0:
        raise RunError("the program has ended: go to an instant before its end")
    events, _, written, starts = trace._writes
    mine = events[starts[frame] : starts[frame + 1]]
    writes = mine[written[mine] == register]
    kernels = _kernel_sites(trace, register)
    if kernels.any():
        inside = np.flatnonzero(kernels[trace.site] & (trace.frame_of == frame))
        writes = np.sort(np.concatenate([writes, inside]))
    out: list[int] = writes.tolist()
    return out


def _kernel_sites(trace: TraceData, register: int) -> np.ndarray[Any, Any]:
    sites = trace.code_map
    return np.array([sites.role[s] == KERNEL and register in sites.results(s) for s in range(len(sites))], bool)


class Watch:
    """A register of one frame that is watched. `stops` tells whether a debugger stops where it changes."""

    def __init__(self, trace: TraceData, frame: int, register: int, stops: bool = True) -> None:
        self.trace = trace
        self.frame = frame
        self.register = register
        self.stops = stops
        self.events = changes_of(trace, frame, register)

    def after(self, instant: int) -> int | None:
        """Return the first instant after this one at which it has just changed."""
        at = bisect_right(self.events, instant - 1)
        return self.events[at] + 1 if at < len(self.events) else None

    def before(self, instant: int) -> int | None:
        """Return the last instant before this one at which it had just changed."""
        at = bisect_left(self.events, instant - 1)
        return self.events[at - 1] + 1 if at else None

    def value(self, instant: int) -> Any:
        """Return what it held at an instant; None outside the life of its frame."""
        if instant <= self.trace.log.created[self.frame]:
            return None
        return self.trace.value_at(self.trace.registers(self.frame, instant)[self.register], instant)

    def history(self) -> list[tuple[int, Any]]:
        """Return the instants at which it had changed, and its values."""
        return [(event + 1, self.value(event + 1)) for event in self.events]

    def __repr__(self) -> str:
        function = self.trace.code_map.functions[self.trace.log.function[self.frame]].name
        return f"watch ${self.register} of @{function} (frame {self.frame})"


__all__ = ["RETURN", "Source", "Watch", "Writer", "changes_of", "writer_of"]
