"""`TorchRecording`: the work of torch.compile as a recording of text, with the tree, the tables and every record.

rec = passlab.dumps.read("trace/")
rec.tree()                                  # frames, compilations, graphs, stages
rec["post-grad passes"].diff(), rec.blame("0/0 backward")
rec.compilations(), rec.graph_breaks(), rec.recompilations(), rec.guards("0/1"), rec.metrics()
rec.record(118).text                        # any payload, known or not
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import Scan
from passlab.dumps.language import LANGUAGES, WHOLE
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import BytesSource, Excerpt
from passlab.dumps.step import Step, Unit
from passlab.dumps.torch import tables
from passlab.dumps.torch.provenance import MAPPINGS, TRACES, GraphText, Provenance, is_at
from passlab.dumps.torch.records import CUT_OFF, CompileId, Log, Record, Refusal
from passlab.dumps.torch.stages import (
    Compilation,
    Stage,
    banner_of,
    compilations,
    is_code,
    is_graph,
    join_models,
    stages_of,
)
from passlab.dumps.verdicts import Traits
from passlab.errors import Diagnostic, DumpError, counted, did_you_mean
from passlab.table import Table


class TorchRecording(TextRecording):
    """The stages of all graphs; the records of the logs, and the tables that are made of them.

    `records` are all records, in the order of the logs; `refusals` are the lines of the logs that are not records.
    """

    def __init__(self, assembly: Assembly, format_name: str, name: str, size: int, logs: Sequence[Log]) -> None:
        super().__init__(assembly, format_name, name, size)
        self.chains = True  # each compilation is a program of its own
        self.logs = list(logs)
        self.records: list[Record] = [record for log in logs for record in log.records]
        self.refusals: list[Refusal] = [refusal for log in logs for refusal in log.refusals]
        self.compiled: list[Compilation] = []
        self.stages: list[Stage] = []

    # ------------------------------------------------------------ records
    def record(self, number: int) -> Record:
        """Return a record by its number, from 1 on. Raises `DumpError` for another number."""
        if not 1 <= number <= len(self.records):
            hint = f"the log has the records 1 to {len(self.records)}" if self.records else "the log has no record"
            raise DumpError(Diagnostic(f"there is no record {number}", hint=hint))
        return self.records[number - 1]

    def record_table(self) -> Table:
        """Return one row per record, and per refused line: what it is, of which compilation, its size, its state."""
        rows: list[tuple[Any, ...]] = [
            (r.number, r.name, str(r.compile_id), r.payload.size if r.payload else 0, r.place, r.state)
            for r in self.records
        ]
        rows += [(None, "refused", "", one.excerpt.size, "", str(one)) for one in self.refusals]
        return Table(("record", "name", "compile_id", "bytes", "written_by", "state"), rows)

    @property
    def files(self) -> list[dict[int, str]]:
        """The table of file names of each log, by which its stacks name files."""
        return [log.files for log in self.logs]

    def stack(self, record: Record | int) -> list[tables.Location]:
        """Return the stack of a record, the outermost frame first; empty where it has none."""
        one = self.record(record) if isinstance(record, int) else record
        data = one.metadata
        frames = tables.stack_of(data.get("user_stack") or data.get("stack"), self.logs[one.log].files)
        return frames or tables.traceback_of(one.text if one.kind == "artifact" else "")

    def _of(self, compile_id: str | None) -> list[Record]:
        """Return the records of a compilation, with or without its attempts. Raises `DumpError` for an unknown one."""
        if compile_id is None:
            return self.records
        found = [r for r in self.records if compile_id in (str(r.compile_id), str(r.compile_id.whole))]
        if not found:
            known = dict.fromkeys(str(r.compile_id.whole) for r in self.records if str(r.compile_id))
            hint = did_you_mean(compile_id, known) or f"there are {', '.join([*known][:12])}"
            raise DumpError(Diagnostic(f"no compilation `{compile_id}` is in the log", hint=hint))
        return found

    # ------------------------------------------------------------ tables
    def compilations(self) -> Table:
        """Return one row per compilation: its function, how it ended, its graphs, guards and time."""
        graphs = Counter(one.compile_id for one in self.compiled for _ in one.graphs)
        return tables.compilation_table(self.records, self.files, graphs)

    def graph_breaks(self, compile_id: str | None = None) -> Table:
        """Return one row per graph break: place, reason, explanation and hint."""
        return tables.graph_breaks(self._of(compile_id))

    def recompilations(self, compile_id: str | None = None) -> Table:
        """Return one row per compiled version that did not fit a call, with the guard that failed."""
        return tables.recompilations(self._of(compile_id))

    def guards(self, compile_id: str | None = None) -> Table:
        """Return one row per guard, of all compilations or of one."""
        return tables.guards(self._of(compile_id), self.files)

    def metrics(self, compile_id: str | None = None) -> Table:
        """Return one row per metric of the compilations: times, counts, sizes, configurations."""
        return tables.metrics(self._of(compile_id))

    def shapes(self, compile_id: str | None = None) -> Table:
        """Return one row per symbolic size: name, value, range, source and place."""
        return tables.shapes(self._of(compile_id), self.files)

    def tensors(self, compile_id: str | None = None) -> Table:
        """Return one row per tensor that the compilations read."""
        return tables.tensors(self._of(compile_id))

    def events(self, compile_id: str | None = None) -> Table:
        """Return one row per timed event: name, begin and time, indented by nesting."""
        chosen = {r.number for r in self._of(compile_id)}
        return tables.event_table(event for event in self._events if event.first in chosen)

    @cached_property
    def _events(self) -> list[tables.Event]:
        return tables.events_of(self.records)

    @property
    def tables(self) -> dict[str, Callable[[], Table]]:
        """All tables by name."""
        own = (self.compilations, self.graph_breaks, self.recompilations, self.guards, self.metrics, self.shapes)
        named = {method.__name__.replace("_", " "): method for method in (*own, self.tensors, self.events)}
        return {"steps": self.table, **named, "records": self.record_table}

    def overview(self) -> dict[str, Table]:
        """Return the compilations, the graph breaks and the recompilations, as far as there are any."""
        names = ("compilations", "graph breaks", "recompilations")
        return {name: table for name in names if len(table := self.tables[name]())}

    def tree(self) -> str:
        """Return frames, compilations, graphs and their stages as an indented text."""
        lines: list[str] = []
        frame, phase, unit = "", "", None
        for stage, step in zip(self.stages, self.steps, strict=False):
            if stage.kind != "graph":
                continue
            key = stage.compilation.compile_id
            name = f"frame {key.frame}" if key.frame is not None else str(key)
            if name != frame:
                lines.append(name)
                frame, phase = name, ""
            if step.phase != phase:
                lines.append(f"  {step.phase}")
                phase, unit = step.phase, None
            if step.unit != unit:
                lines.append(f"    {step.unit.removeprefix(step.phase).strip() or 'captured graph'}")
                unit = step.unit
            lines.append(f"      {step.number} {step.name}: {step.verdict}")
        return "\n".join(lines)

    # ------------------------------------------------------------ provenance
    def provenance(self, unit: str) -> Provenance:
        """Return the joins between the graphs of a unit, its output code and the lines of the user's program.

        Raises `DumpError` for a unit that is not there.
        """
        name = self._unit(unit).name
        found = self._provenances.get(name)
        if found is None:
            graph = next(graph for one in self.compiled for graph in one.graphs if graph.unit == name)
            texts = {record.name: record.text for record in graph.extras}
            graphs = [record for record in graph.records if is_graph(record)]
            codes = [record for record in graph.records if is_code(record)]
            captured = (
                [record for record in graph.parent.records if is_graph(record)] if graph.parent is not None else []
            )
            captured = [record for record in captured if record.name != "aot_joint_graph"]
            first, last, code = (one[-1].text if one else "" for one in (captured, graphs, codes))
            found = Provenance(first, last, code, texts.get(MAPPINGS, ""), texts.get(TRACES, ""))
            self._provenances[name] = found
        return found

    @cached_property
    def _provenances(self) -> dict[str, Provenance]:
        return {}

    def lines_of(self, place: str, step: Any = None) -> Table:
        """Return the lines of all graphs and codes that come from a line of the user's program, as `block.py:11`.

        With `step` these are the lines of its graph or code alone. Of a kernel these are the first line of its
        definition and its calls.
        """
        rows: list[tuple[Any, ...]] = []
        chosen = None if step is None else self.step(self.number_of(step))
        for stage, step in zip(self.stages, self.steps, strict=False):
            if chosen is not None and step is not chosen:
                continue
            if stage.kind == "graph" and step.unit in self.units:
                rows += [(step.number, step.name, step.unit, *row) for row in self._lines_of(stage, step.unit, place)]
        return Table(("step", "pass", "unit", "line", "text"), rows)

    def _lines_of(self, stage: Stage, unit: str, place: str) -> list[tuple[int, str]]:
        """Return numbers and texts of the lines of one stage that come from a line of the program."""
        if stage.after is None:
            return []
        text = stage.after.text
        if is_code(stage.after):
            joins = self.provenance(unit)
            chosen = [kernel for kernel in joins.kernels if kernel.name in joins.of(place).kernels]
            numbers = tuple(
                sorted({line for kernel in chosen for line in (*(kernel.definition or ())[:1], *kernel.calls)})
            )
        else:
            graph = GraphText(text)
            numbers = tuple(graph.lines[name] for name, one in graph.places.items() if is_at(one, place))
        lines = text.split("\n")
        return [(number, lines[number - 1].strip()) for number in numbers]

    # ------------------------------------------------------------ the program
    def program(self, step: Any = -1, text_of: Callable[[Excerpt], str] = lambda piece: piece.text) -> str:
        """Return the graph or the code of the unit of a step after it: graphs are not parts of one program."""
        number = self.number_of(step)
        if number == 0 or not self.steps:
            return ""
        unit = self.units.get(self.step(number).unit)
        piece = unit.at(number) if unit is not None else None
        return text_of(piece) if piece is not None else ""

    def _unit(self, name: str) -> Unit:
        """Return a unit by its name; the number of the attempt may be left out where one alone has graphs."""
        if name not in self.units and name != WHOLE:
            alike = [unit for key, unit in self.units.items() if _without_attempt(key) == name]
            if len(alike) == 1:
                return alike[0]
        return super()._unit(name)

    def summary(self) -> str:
        """Return the number of compilations, graphs and stages, in a sentence."""
        frames = {(c.compile_id.frame, c.compile_id.autograd) for c in self.compiled if c.compile_id.frame is not None}
        ids = {c.compile_id.whole for c in self.compiled if c.compile_id.frame is not None}
        graphs = [graph for one in self.compiled for graph in one.graphs if graph.records]
        parts = [counted(len(ids), "compilation"), f"of {counted(len(frames), 'frame')}"] if ids else []
        stages = [step for step in self.steps if step.kind == "graph"]
        what = f"{counted(len(graphs), 'graph')}, {counted(len(stages), 'stage')}"
        verdicts = Counter(step.verdict for step in stages)
        shown = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
        head = f"{' '.join(parts)}, {what}" if parts else what
        return f"{head} ({self.format}): {shown}" if shown else f"{head} ({self.format}): no graph"

    def detach(self) -> None:
        """Keep all texts in memory, so that the logs may be deleted."""
        super().detach()
        for record in self.records:
            piece = record.payload
            if piece is not None and not isinstance(piece.source, BytesSource):
                data = piece.raw
                piece.source, piece.spans = BytesSource(data, piece.source.name), (0, len(data))
            if record.head is not None and not isinstance(record.head[0], BytesSource):
                source, start, end = record.head
                data = source.read(start, end)
                record.head = BytesSource(data, source.name), 0, len(data)


def _without_attempt(unit: str) -> str:
    """Return the name of a unit without the number of the attempt."""
    head, space, side = unit.partition(" ")
    return head.partition("_")[0] + space + side


def recording_of(logs: Sequence[Log], format_name: str, name: str, size: int) -> TorchRecording:
    """Return the recording of the records of some logs."""
    records = [record for log in logs for record in log.records]
    join_models(records)
    compiled = compilations(records)
    stages = [stage for one in compiled for stage in stages_of(one)]
    scan = Scan([banner_of(stage) for stage in stages])
    scan.other += [refusal.excerpt for log in logs for refusal in log.refusals]
    scan.notes += _notes(logs, records)
    assembly = Assembly(scan, Traits(), LANGUAGES["torch"])
    assembly.run()
    recording = TorchRecording(assembly, format_name, name, size, logs)
    recording.compiled, recording.stages = compiled, stages
    events = recording._events
    by_id: dict[CompileId, list[tables.Event]] = {}
    for event in events:
        by_id.setdefault(records[event.first - 1].compile_id.whole, []).append(event)
    for step, stage in zip(recording.steps, stages, strict=False):
        step.seconds = _seconds(stage, by_id) if step.kind == "graph" else None
        step.since = step.number
    _nest(recording)
    return recording


def _nest(recording: TorchRecording) -> None:
    """Set the parent of each pass that ran between the two records of another pass on the same graph."""
    ranges: dict[str, list[tuple[int, int, Step]]] = {}
    for stage, step in zip(recording.stages, recording.steps, strict=False):
        if stage.is_pass and stage.before is not None and stage.after is not None:
            ranges.setdefault(step.unit, []).append((stage.before.number, stage.after.number, step))
    for passes in ranges.values():
        open_ones: list[tuple[int, int, Step]] = []
        for one in sorted(passes, key=lambda entry: (entry[0], -entry[1])):
            while open_ones and open_ones[-1][1] < one[0]:
                open_ones.pop()
            if open_ones:
                one[2].parent = open_ones[-1][2].number
            open_ones.append(one)


def _seconds(stage: Stage, events: dict[CompileId, list[tables.Event]]) -> float | None:
    """Return the time of the events between the records of a stage."""
    if stage.before is None or stage.after is None:
        return None
    own = events.get(stage.compilation.compile_id.whole, [])
    return tables.seconds_between(own, stage.before.number, stage.after.number)


def _notes(logs: Sequence[Log], records: Sequence[Record]) -> list[str]:
    """Return remarks about records that are not whole and lines that were refused."""
    notes = []
    for log in logs:
        for refusal in log.refusals[:_MOST_NOTES]:
            notes.append(f"refused: {refusal}")
        if len(log.refusals) > _MOST_NOTES:
            notes.append(f"{len(log.refusals) - _MOST_NOTES:,} more lines are refused: see `refusals`")
    broken = [record for record in records if record.state]
    notes += [f"record {record.number} ({record.name}): {record.state}" for record in broken[:_MOST_NOTES]]
    if len(broken) > _MOST_NOTES:
        cut = sum(record.state == CUT_OFF for record in broken)
        notes.append(f"{len(broken):,} records are not whole, {cut:,} of them cut off: see `record_table()`")
    return notes


_MOST_NOTES = 5
