"""`Instant`: the state of a traced run between two instructions, looked up in the trace on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.debugger.trace_data import TraceData
from passlab.debugger.values import short_text
from passlab.evaluate.values import Closure, RefValue
from passlab.ir.expr import Expr
from passlab.ir.span import Span

if TYPE_CHECKING:
    from passlab.lab.recordings.provenance import Biography

AROUND = 3  # instructions shown before and after the next one
SHOWN_REGISTERS = 24
SHOWN_FRAMES = 6


@dataclass(frozen=True)
class StackFrame:
    """One frame of the stack: its number in the trace, function, pc, and the number of frames below it."""

    number: int
    function: str
    pc: int
    depth: int
    text: str

    def __str__(self) -> str:
        return f"#{self.depth} @{self.function} {self.pc}: {self.text}"


class Instant:
    """The state of a run after `number` instructions."""

    def __init__(self, trace: TraceData, number: int) -> None:
        self.trace = trace
        self.number = number
        self.frame, self.pc = trace.current(number)

    @property
    def ended(self) -> bool:
        """Whether the program has ended."""
        return self.frame < 0

    @property
    def point(self) -> int:
        """The program point of the next instruction, -1 at the end."""
        return -1 if self.ended else self.trace.code_map.offsets[self.trace.log.function[self.frame]] + self.pc

    @property
    def function(self) -> str:
        """The name of the current function, "" at the end."""
        return "" if self.ended else str(self.trace.code_map.functions[self.trace.log.function[self.frame]].name)

    @property
    def depth(self) -> int:
        """The number of frames below the current one, -1 at the end."""
        return -1 if self.ended else int(self.trace.log.depth[self.frame])

    @property
    def instruction(self) -> str:
        """The next instruction as text, "" at the end."""
        return "" if self.ended else self.trace.code_map.text(self.point)

    @property
    def seconds(self) -> float:
        """The seconds that the next instruction took."""
        return float(self.trace.seconds[self.number]) if self.number < len(self.trace) else 0.0

    # ------------------------------------------------------------ values
    @property
    def registers(self) -> dict[int, Any]:
        """The registers of the current frame that hold a value."""
        return {} if self.ended else self.registers_of(self.frame)

    def registers_of(self, frame: int) -> dict[int, Any]:
        """Return the registers of a frame of the stack that hold a value."""
        held = self.trace.registers(frame, self.number)
        return {i: self.trace.value_at(v, self.number) for i, v in enumerate(held) if v is not None}

    @property
    def parameters(self) -> dict[str, int]:
        """The names of the current function's parameters and their registers."""
        if self.ended:
            return {}
        function = self.trace.code_map.functions[self.trace.log.function[self.frame]]
        return {name: register for register, name in enumerate(function.params)}

    @property
    def reads(self) -> tuple[int, ...]:
        """The registers that the next instruction reads."""
        return () if self.ended else self.trace.code_map.reads(self.point)

    @property
    def writes(self) -> tuple[int, ...]:
        """The registers of this frame that the next instruction changes."""
        return () if self.ended else self.trace.code_map.changes(self.point)

    @property
    def just_written(self) -> tuple[int, ...]:
        """The registers of this frame that the last instruction changed."""
        return tuple(r for f, r, _ in self.trace.written(self.number - 1) if f == self.frame) if self.number else ()

    @property
    def stack(self) -> list[StackFrame]:
        """The frames, innermost first."""
        return self.frames()

    def frames(self, most: int | None = None) -> list[StackFrame]:
        """Return the innermost `most` frames, all by default."""
        trace, frames = self.trace, []
        for number, pc in trace.frames_at(self.number, most):
            func = trace.log.function[number]
            code = trace.code_map.functions[func].instructions
            text = trace.code_map.text(trace.code_map.offsets[func] + pc) if pc < len(code) else ""
            name = str(trace.code_map.functions[func].name)
            frames.append(StackFrame(number, name, pc, int(trace.log.depth[number]), text))
        return frames

    # ------------------------------------------------------------ provenance
    @property
    def nodes(self) -> list[Expr]:
        """The IR nodes that the next instruction computes."""
        return [] if self.ended else self.trace.code_map.nodes(self.point)

    @property
    def operators(self) -> list[str]:
        """The operators that the next instruction executes."""
        return [] if self.ended else self.trace.code_map.operators(self.point)

    @property
    def spans(self) -> list[Span]:
        """The source locations that the next instruction comes from."""
        return [] if self.ended else self.trace.code_map.spans(self.point)

    @property
    def history(self) -> list[Biography]:
        """The history of the next instruction's nodes: the passes that made them. Empty without a recording."""
        recording = self.trace.code_map.recording
        return [] if recording is None else [recording.biography(node) for node in self.nodes]

    # ------------------------------------------------------------ comparison and output
    def same_state(self, other: Instant) -> bool:
        """Whether two instants have the same stack and the same values in every register of every frame."""
        if [(f.function, f.pc) for f in self.stack] != [(f.function, f.pc) for f in other.stack]:
            return False
        pairs = zip(self.stack, other.stack, strict=True)
        return all(
            same_values(list(self.registers_of(a.number).items()), list(other.registers_of(b.number).items()))
            for a, b in pairs
        )

    def text(self) -> str:
        """Return the instant as text: the code around the next instruction, the registers, the stack."""
        trace = self.trace
        if self.ended:
            return (
                f"instant {self.number:,} of {len(trace):,}: the program has ended\nresult: {short_text(trace.result)}"
            )
        location = ", ".join(
            list(dict.fromkeys(f"{name}:{line}" for name, line in trace.code_map.lines[self.point]))[:3]
        )
        operators = " + ".join(self.operators)
        head = f"instant {self.number:,} of {len(trace):,}  @{self.function}  depth {self.depth}"
        lines = ["  ".join(part for part in (head, operators, location) if part)]
        base = self.point - self.pc
        code = trace.code_map.functions[trace.log.function[self.frame]].instructions
        for pc in range(max(0, self.pc - AROUND), min(len(code), self.pc + AROUND + 1)):
            lines.append(f"{'>' if pc == self.pc else ' '} {pc:>4}  {trace.code_map.text(base + pc)}")
        lines += self._register_lines()
        stack = self.frames(SHOWN_FRAMES)
        if len(stack) > 1:
            lines += [f"  {frame}" for frame in stack]
            if self.depth + 1 > len(stack):
                lines.append(f"  ... and {self.depth + 1 - len(stack):,} more frames")
        if trace.error is not None and self.number == len(trace):
            lines.append(f"  the next instruction failed: {trace.error.diagnostics[0].message}")
        return "\n".join(lines)

    def _register_lines(self) -> list[str]:
        names = {register: name for name, register in self.parameters.items()}
        reads, writes, wrote = set(self.reads), set(self.writes), set(self.just_written)
        held = self.registers
        # Registers that this instruction or the last one uses come first, so they are never left out.
        order = sorted(held, key=lambda r: (r not in reads | writes | wrote, r))
        shown = sorted(order[:SHOWN_REGISTERS])
        lines = []
        for register in shown:
            mark = "w" if register in writes else "r" if register in reads else "*" if register in wrote else " "
            name = f" {names[register]}" if register in names else ""
            lines.append(f"{mark} {f'${register}{name}':<12} {short_text(held[register])}")
        if len(held) > len(shown):
            lines.append(f"  ... and {len(held) - len(shown):,} more registers")
        return lines

    def __repr__(self) -> str:
        return self.text()


def same_values(a: Any, b: Any) -> bool:
    """Whether two values are equal bit for bit, so that NaN equals NaN, however deep they are nested."""
    stack = [(a, b)]
    cells: set[tuple[int, int]] = set()  # compared already: a cell may contain itself
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if type(x) is not type(y):
            return False
        if isinstance(x, np.ndarray):
            if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
                return False
        elif isinstance(x, (tuple, list)):
            if len(x) != len(y):
                return False
            stack.extend(zip(x, y, strict=True))
        elif hasattr(x, "constructor"):
            if x.constructor.name_hint != y.constructor.name_hint:
                return False
            stack.append((x.fields, y.fields))
        elif hasattr(x, "captured"):
            if x.func_index != y.func_index:
                return False
            stack.append((x.captured, y.captured))
        elif isinstance(x, RefValue):
            if (id(x), id(y)) not in cells:
                cells.add((id(x), id(y)))
                stack.append((x.value, y.value))
        elif isinstance(x, Closure):  # of the evaluator: which variables it captured is not compared
            if x.function is not y.function:
                return False
        elif hasattr(x, "buffer"):  # a storage has no value of its own, only its tensors have
            if x.buffer.size != y.buffer.size:
                return False
        elif x != y:
            return False
    return True
