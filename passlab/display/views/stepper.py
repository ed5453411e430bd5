"""The view of a trace: the stepper. Its data has everything that stepping needs, so it works without a kernel.

The browser gets the log (instructions, frames, the number of the value that each instruction wrote), not states: it
finds the registers of any instant as `lab.Trace` does, by the last write before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from passlab import limits
from passlab.debugger.code_map import CALL, KERNEL
from passlab.debugger.debugger import Debugger
from passlab.debugger.storage_map import Allocation
from passlab.debugger.trace import Trace
from passlab.display.nodes import line_numbers, number_of
from passlab.display.parts import Code, Part, Sentence
from passlab.display.text.listing import LineTable, listing
from passlab.display.view import HasFrame, View
from passlab.display.views.step_log import PartialSweep, Sweep, log_data
from passlab.display.views.step_values import StepValues
from passlab.errors import visible
from passlab.ir.expr import Expr

STATIC_INSTRUCTIONS = 60  # that static HTML and text show
LARGE = 5000  # instructions: what takes some 50 ms
STRIP = 1500  # storages, and points of the curve of live bytes, that the strip shows
_NO_STORAGE: dict[str, Any] = {"live": [], "peak": 0, "peakAt": 0, "total": 0, "blocks": [], "lanes": 0, "count": 0}
EXECUTORS = {"vm": "virtual machine", "graph": "graph executor", "debug": "evaluator"}


class StepperView(View):
    """A recorded run to step through. It opens at the debugger's instant, with its breakpoints."""

    kind = script = "stepper"
    whole = "frame() has all"

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.trace = debugger.trace
        self.values = StepValues()

    @cached_property
    def title(self) -> str:
        """The function, the executor, and the length of the run."""
        return f"@{self.trace.entry} on the {EXECUTORS[self.trace.kind]}: {self.trace.summary()}"

    def parts(self) -> Iterable[Part]:
        trace = self.trace
        here = self.debugger.at
        start = 0 if here < STATIC_INSTRUCTIONS else here - STATIC_INSTRUCTIONS // 2
        end = min(len(trace), start + STATIC_INSTRUCTIONS)
        yield Sentence(self.title, "muted")
        if start:
            yield Sentence(f"... {start:,} instructions before", "muted")
        yield Code("\n".join(_rows(trace, start, end, here)))
        if end < len(trace):
            yield Sentence(f"... {len(trace) - end:,} more instructions", "muted")
        if trace.error is not None:
            yield Sentence(f"failed: {trace.error.diagnostics[0].message}", "bad")

    def source(self) -> HasFrame:
        """Return one row per instruction."""
        return self.trace

    # ------------------------------------------------------------ data
    @property
    def is_large(self) -> bool:
        """Whether the run is so long that the values near the shown instant are sent first."""
        return len(self.trace) > LARGE

    def data(self, only_start: bool = False) -> dict[str, Any]:
        """Return the data of the widget; with `only_start`, only the values near the debugger's instant."""
        values, length = StepValues(), self._length
        if only_start:
            return self._data(PartialSweep(self.trace, values, length, min(self.debugger.at, length)), partial=True)
        return self._data(Sweep(self.trace, values, length))

    def slices(self) -> Iterator[dict[str, Any] | None]:
        """Do the work of `data()` in slices: None after each, and the data at the end."""
        sweep = Sweep(self.trace, StepValues(), self._length)
        while sweep.advance():
            yield None
        yield self._data(sweep)

    def _data(self, sweep: Sweep, partial: bool = False) -> dict[str, Any]:
        trace, length, table = self.trace, sweep.length, LineTable()
        self.values = sweep.numbers
        return {
            "kind": self.kind,
            "title": visible(self.title),
            "executor": trace.kind,
            "length": length,
            "left_out": len(trace) - length,
            "at": min(self.debugger.at, length),
            "end": self._end(length),
            "functions": self._functions(),
            "code": self._code(table),
            **log_data(sweep),
            "values": self.values.data(),
            "storage": _NO_STORAGE if partial else self._storage(length),
            "partial": partial,
            "breaks": [
                {"text": visible(b.text), "points": list(getattr(b, "points", ()))} for b in self.debugger.breakpoints
            ],
            "fork": trace.parent[1] if trace.parent is not None else -1,
            **table.data(),
        }

    @property
    def _length(self) -> int:
        return min(len(self.trace), limits.current().shown_instants)

    def _end(self, length: int) -> dict[str, Any]:
        trace = self.trace
        if length < len(trace):
            return {"what": "more", "text": f"{len(trace) - length:,} more instructions are in the trace"}
        if trace.error is not None:
            return {
                "what": "failed",
                "text": visible(trace.error.diagnostics[0].message),
                "pc": trace.current(length)[1],
            }
        if trace.stopped:
            return {"what": "stopped", "text": visible(trace.stopped), "pc": trace.current(length)[1]}
        return {"what": "ended", "text": "the program has ended", "result": self.values.add(trace.result)}

    def _functions(self) -> list[dict[str, Any]]:
        code = self.trace.code_map
        return [
            {
                "name": visible(f.name),
                "params": [visible(p) for p in f.params],
                "base": base,
                "size": f.register_file_size,
            }
            for f, base in zip(code.functions, code.offsets, strict=False)
        ]

    def _code(self, table: LineTable) -> dict[str, Any]:
        """The facts about each instruction, with the lines of its source, its kernel, and its history."""
        code = self.trace.code_map
        sources = _InstructionSources(self.trace, table)
        every = range(len(code))
        return {
            "texts": [visible(code.text(s)) for s in every],
            "names": [visible(code.name(s)) for s in every],
            "kinds": [code.mnemonic(s) for s in every],
            "operators": [code.operators(s) for s in every],
            "roles": code.role.tolist(),
            "written": code.written.tolist(),
            "reads": [list(code.reads(s)) for s in every],
            "results": [list(code.results(s)) for s in every],
            "changes": [list(code.changes(s)) for s in every],
            "calls": [_argument_registers(code, s) for s in every],
            "source": [sources.of(s) for s in every],
            "kernel": [sources.kernel(s) for s in every],
            "histories": [sources.history(s) for s in every],
            "nodes": [self._nodes(s) for s in every],
            "programNodes": sources.program_nodes,
            "places": [
                ", ".join(f"{visible(n)}:{line}" for n, line in lines_of_point) for lines_of_point in code.lines
            ],
            "program": sources.program,
            "kernels": sources.kernels,
            "biographies": sources.biographies,
        }

    def _nodes(self, point: int) -> list[int]:
        """The numbers of the nodes that an instruction computes, and of all their earlier forms."""
        code = self.trace.code_map
        numbers = {number_of(node): None for node in code.sources(point)}
        for node in code.nodes(point):
            numbers[number_of(node)] = None
            chapters = code.recording.biography(node).chapters if code.recording is not None else ()
            numbers.update((number_of(chapter.node), None) for chapter in chapters)
        return list(numbers)

    def _storage(self, length: int) -> dict[str, Any]:
        storage = self.trace.storage
        peak, at = storage.peak
        live = storage.live[: length + 1]
        change = np.flatnonzero(np.diff(live, prepend=-1))
        if change.size > STRIP:  # of each range the highest moment
            parts = np.array_split(change, STRIP)
            change = np.array([part[np.argmax(live[part])] for part in parts])
        blocks = _blocks(storage.allocations, length)
        return {
            "live": [[int(i), int(live[i])] for i in change],
            "peak": peak,
            "peakAt": at,
            "total": storage.total,
            "blocks": blocks,
            "lanes": 1 + max((block[2] for block in blocks), default=-1),
            "count": len(storage),
        }


def stepper_view(program: Trace | Debugger) -> StepperView:
    """Return the view of a trace, or of a debugger at its instant."""
    return StepperView(program if isinstance(program, Debugger) else Debugger(program))


def _rows(trace: Trace, start: int, end: int, here: int) -> list[str]:
    """A range of instructions, one a line, the next one marked."""
    lines = []
    for event in range(start, end):
        point = int(trace.point[event])
        name = trace.code_map.functions[trace.code_map.function[point]].name
        text = f"{'  ' * min(int(trace.depth[event]), 8)}{trace.code_map.text(point)}"
        lines.append(f"{'>' if event == here else ' '} {event:>5}  @{name} {trace.code_map.pc[point]:>3}  {text}")
    return lines


def _blocks(allocations: Iterable[Allocation], length: int) -> list[list[int]]:
    """The storages as blocks: born, died, lane, reused. If there are many, neighbours in a lane are merged."""
    shown = [a for a in allocations if a.born <= length]
    apart = length // STRIP if len(shown) > STRIP else -1
    last: dict[int, list[int]] = {}
    blocks: list[list[int]] = []
    for a in shown:
        died, before = min(a.died, length + 1), last.get(a.lane)
        if before is not None and before[3] and a.born - before[1] <= apart:
            before[1] = died
            continue
        last[a.lane] = [a.born, died, a.lane, int(a.reused)]
        blocks.append(last[a.lane])
    return blocks[: 4 * STRIP]


def _argument_registers(code: Any, point: int) -> list[int]:
    if code.role[point] != CALL:
        return []
    instruction = code.instructions[point]
    return list(instruction.given) if hasattr(instruction, "given") else list(instruction.args)


# ---------------------------------------------------------------- source, kernels, histories
class _InstructionSources:
    """The source lines, kernels and histories of instructions, each different one once."""

    def __init__(self, trace: Trace, table: LineTable) -> None:
        self.trace = trace
        self.table = table
        self.kernels: list[list[int]] = []
        self.biographies: list[list[str]] = []
        self._kernels: dict[int, int] = {}
        self._histories: dict[tuple[str, ...], int] = {}
        self._line_of: dict[Expr, int] = {}
        self.program_nodes: list[int] = []
        self.program = self._program()

    def _program(self) -> list[int]:
        """The lines of the program as it was written."""
        program = self.trace.source
        if program is None:
            return []
        lines = listing(program)
        self.program_nodes = line_numbers(lines)
        for number, line in enumerate(lines):
            for token in line.tokens:
                for node in (token.call, token.node):
                    if isinstance(node, Expr):
                        self._line_of.setdefault(node, number)
            if line.subject is not None:
                self._line_of[line.subject] = number
        return [self.table.add(line) for line in lines]

    def of(self, point: int) -> list[int]:
        """The lines of the program that an instruction comes from."""
        return sorted({self._line_of[n] for n in self.trace.code_map.sources(point) if n in self._line_of})

    def kernel(self, point: int) -> int:
        """The number of the listing of an instruction's kernel, -1 for none."""
        function = self.trace.code_map.kernel(point)
        if function is None:
            return -1
        if id(function) not in self._kernels:
            self._kernels[id(function)] = len(self.kernels)
            self.kernels.append([self.table.add(line) for line in listing(function)])
        return self._kernels[id(function)]

    def history(self, point: int) -> int:
        """The number of the histories of an instruction's nodes, -1 if the compilation was not recorded."""
        recording = self.trace.code_map.recording
        produces = self.trace.code_map.role[point] == KERNEL or self.trace.code_map.mnemonic(point) == "load_const"
        if recording is None or not produces:
            return -1
        histories = tuple(visible(str(recording.biography(node))) for node in self.trace.code_map.nodes(point))
        if histories not in self._histories:
            self._histories[histories] = len(self.biographies)
            self.biographies.append(list(histories))
        return self._histories[histories]
