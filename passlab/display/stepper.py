"""The view of a trace: the stepper. All that stepping needs is in its data, so it works without a kernel.

The browser gets the log (sites, frames, the number of the value each instruction wrote), not states: it finds the
registers of any instant as `lab.Trace` does, by the last write before it.
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
from passlab.display.listing import LineTable, listing
from passlab.display.nodes import line_numbers, number_of
from passlab.display.parts import Code, Part, Sentence
from passlab.display.step_log import Sweep, Window, log_data
from passlab.display.step_values import StepValues
from passlab.display.view import HasFrame, View
from passlab.errors import visible
from passlab.ir.expr import Expr

STATIC_INSTRUCTIONS = 60  # that static HTML and text show
LARGE = 5000  # instructions: what takes some 50 ms
STRIP = 1500  # storages, and points of the curve of live bytes, that the strip shows
_NO_STORAGE: dict[str, Any] = {"live": [], "peak": 0, "peakAt": 0, "total": 0, "blocks": [], "lanes": 0, "count": 0}
EXECUTORS = {"vm": "virtual machine", "graph": "graph executor", "debug": "evaluator"}


class StepperView(View):
    """A recorded run, to be stepped through. It opens where the debugger stands, with its breakpoints."""

    kind = script = "stepper"
    whole = "frame() has all"

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.trace = debugger.trace
        self.values = StepValues()

    @cached_property
    def title(self) -> str:
        """What was run, and how much of it there is."""
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
        """Whether the run is so long that its values are sent after what is near the instant that is shown."""
        return len(self.trace) > LARGE

    def data(self, only_start: bool = False) -> dict[str, Any]:
        """Return what the widget needs; with `only_start` the values near the debugger's instant only."""
        values, length = StepValues(), self._length
        if only_start:
            return self._data(Window(self.trace, values, length, min(self.debugger.at, length)), partial=True)
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
            "sites": self._sites(table),
            **log_data(sweep),
            "values": self.values.data(),
            "storage": _NO_STORAGE if partial else self._storage(length),
            "partial": partial,
            "breaks": [
                {"text": visible(b.text), "sites": list(getattr(b, "sites", ()))} for b in self.debugger.breakpoints
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
        sites = self.trace.code_map
        return [
            {
                "name": visible(f.name),
                "params": [visible(p) for p in f.params],
                "base": base,
                "size": f.register_file_size,
            }
            for f, base in zip(sites.functions, sites.offsets, strict=False)
        ]

    def _sites(self, table: LineTable) -> dict[str, Any]:
        """What the browser knows of each instruction; the lines of source, kernels and lives that belong to it."""
        sites = self.trace.code_map
        places = _Places(self.trace, table)
        every = range(len(sites))
        return {
            "texts": [visible(sites.text(s)) for s in every],
            "names": [visible(sites.name(s)) for s in every],
            "kinds": [sites.mnemonic(s) for s in every],
            "operators": [sites.operators(s) for s in every],
            "roles": sites.role.tolist(),
            "written": sites.written.tolist(),
            "reads": [list(sites.reads(s)) for s in every],
            "results": [list(sites.results(s)) for s in every],
            "changes": [list(sites.changes(s)) for s in every],
            "calls": [_argument_registers(sites, s) for s in every],
            "source": [places.of(s) for s in every],
            "kernel": [places.kernel(s) for s in every],
            "lives": [places.lives(s) for s in every],
            "nodes": [self._nodes(s) for s in every],
            "programNodes": places.program_nodes,
            "places": [", ".join(f"{visible(n)}:{line}" for n, line in lines_of_site) for lines_of_site in sites.lines],
            "program": places.program,
            "kernels": places.kernels,
            "biographies": places.biographies,
        }

    def _nodes(self, site: int) -> list[int]:
        """The numbers of the nodes that an instruction computes, and of all that they were before."""
        sites = self.trace.code_map
        numbers = {number_of(node): None for node in sites.sources(site)}
        for node in sites.nodes(site):
            numbers[number_of(node)] = None
            chapters = sites.recording.biography(node).chapters if sites.recording is not None else ()
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
    """Return the view of a trace, or of a debugger where it stands."""
    return StepperView(program if isinstance(program, Debugger) else Debugger(program))


def _rows(trace: Trace, start: int, end: int, here: int) -> list[str]:
    """A range of instructions, one a line, the next one marked."""
    lines = []
    for event in range(start, end):
        site = int(trace.point[event])
        name = trace.code_map.functions[trace.code_map.function[site]].name
        text = f"{'  ' * min(int(trace.depth[event]), 8)}{trace.code_map.text(site)}"
        lines.append(f"{'>' if event == here else ' '} {event:>5}  @{name} {trace.code_map.pc[site]:>3}  {text}")
    return lines


def _blocks(allocations: Iterable[Allocation], length: int) -> list[list[int]]:
    """The storages as blocks: born, died, lane, reused. Where they are many, those close together in a lane are one."""
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


def _argument_registers(sites: Any, site: int) -> list[int]:
    if sites.role[site] != CALL:
        return []
    instruction = sites.instructions[site]
    return list(instruction.given) if hasattr(instruction, "given") else list(instruction.args)


# ---------------------------------------------------------------- source, kernels, lives
class _Places:
    """What belongs to instructions besides themselves, each different thing once."""

    def __init__(self, trace: Trace, table: LineTable) -> None:
        self.trace = trace
        self.table = table
        self.kernels: list[list[int]] = []
        self.biographies: list[list[str]] = []
        self._kernels: dict[int, int] = {}
        self._lives: dict[tuple[str, ...], int] = {}
        self._line_of: dict[Expr, int] = {}
        self.program_nodes: list[int] = []
        self.program = self._program()

    def _program(self) -> list[int]:
        """The lines of the program as it was written."""
        program = self.trace.source
        if program is None:
            return []
        lines = listing(program)[: limits.current().shown_lines]
        self.program_nodes = line_numbers(lines)
        for number, line in enumerate(lines):
            for piece in line.pieces:
                for node in (piece.call, piece.node):
                    if isinstance(node, Expr):
                        self._line_of.setdefault(node, number)
            if line.subject is not None:
                self._line_of[line.subject] = number
        return [self.table.add(line) for line in lines]

    def of(self, site: int) -> list[int]:
        """The lines of the program that an instruction comes from."""
        return sorted({self._line_of[n] for n in self.trace.code_map.sources(site) if n in self._line_of})

    def kernel(self, site: int) -> int:
        """The number of the listing of an instruction's kernel, -1 for none."""
        function = self.trace.code_map.kernel(site)
        if function is None:
            return -1
        if id(function) not in self._kernels:
            self._kernels[id(function)] = len(self.kernels)
            self.kernels.append([self.table.add(line) for line in listing(function)])
        return self._kernels[id(function)]

    def lives(self, site: int) -> int:
        """The number of the lives of an instruction's nodes, -1 where compiling was not recorded."""
        recording = self.trace.code_map.recording
        produces = self.trace.code_map.role[site] == KERNEL or self.trace.code_map.mnemonic(site) == "load_const"
        if recording is None or not produces:
            return -1
        lives = tuple(visible(str(recording.biography(node))) for node in self.trace.code_map.nodes(site))
        if lives not in self._lives:
            self._lives[lives] = len(self.biographies)
            self.biographies.append(list(lives))
        return self._lives[lives]
