"""The blame view: the program after a step, and next to each line the pass that created the node of the line.

A line from the input has no pass next to it, unless a pass created a constant in it, which has no line of its own.
The first of successive lines of one pass shows its name, and all of them a bar; hovering shows the rule and the
replaced node. The origins come from `lab.recordings.provenance`. The first view takes time linear in the recording,
later ones in the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from passlab.diffing.diff import node_name
from passlab.display.code_lines import GutterLabel
from passlab.display.nodes import Links
from passlab.display.palette import AMBER, BLUE, GREEN, PINK, TEAL, VIOLET
from passlab.display.protocol.programs import BlameData, BlamePass, LineOrigin, ModuleData
from passlab.display.text.listing import Line, LineTable
from passlab.display.view import HasFrame, checked_view
from passlab.display.view_parts import Gap, Part, Sentence
from passlab.display.views.module import ModuleView, code_line
from passlab.errors import counted, visible
from passlab.instrument.events import Event
from passlab.ir.expr import Constant
from passlab.lab.recordings.provenance import Origin, Provenance
from passlab.lab.recordings.recording import Recording
from passlab.table import Table

COLOURS = (BLUE, AMBER, VIOLET, TEAL, PINK, GREEN)  # of passes, one after the other; in widgets `.pl-blame-0` and so on
NAME_WIDTH = 24  # characters of a pass that a gutter shows
NAMED = 3  # passes that the title names


class Credit(NamedTuple):
    """The origin of a line: of the node that it defines, or of one constant in it, whose text is then `part`."""

    origin: Origin
    part: str = ""

    @property
    def event(self) -> Event:
        """The pass."""
        return self.origin.event

    def description(self, provenance: Provenance) -> str:
        """Return the hover text below the pass: its options, the rule, and the replaced node."""
        event, old = self.event, self.origin.old
        lines = [event.text] if event.text != event.name else []
        if self.origin.rule:
            lines.append(f"rule: {self.origin.rule}")
        if old is not None:
            creator = provenance.maker(old)
            place = f"in place of {node_name(old)} ({'input' if creator is None else label(creator)})"
            lines.append(f"{self.part} {place}".strip())
        elif self.part:
            lines.append(f"made {self.part}")
        return "\n".join(lines)


def credits_of(provenance: Provenance, lines: Sequence[Line]) -> list[Credit | None]:
    """Return the origin of each line: None for the input, and for lines that define nothing."""
    return [_credit(provenance, line) for line in lines]


def _credit(provenance: Provenance, line: Line) -> Credit | None:
    origin = None if line.result is None else provenance.origin(line.result)
    if origin is not None:
        return Credit(origin)
    for token in line.tokens:
        origin = provenance.origin(token.node) if type(token.node) is Constant else None
        if origin is not None:
            return Credit(origin, line.text[token.start : token.end])
    return None


class LineOrigins:
    """The origins of the lines of all programs of a recording, as data for a browser: each different origin once.

    `numbers` index `origins`; -1 stands for the input, -2 for lines that define nothing. The text of an origin, which
    hovering shows, is one of the line table.
    """

    def __init__(self, recording: Recording, table: LineTable) -> None:
        self.provenance = recording.provenance
        self.table = table
        self.passes: list[BlamePass] = []
        self.origins: list[LineOrigin] = []
        self._events = {event: at for at, event in enumerate(recording.events)}
        self._colours = colours(recording)
        self._passes: dict[Event, int] = {}
        self._origins: dict[tuple[int, int], int] = {}
        self._credits: dict[Credit, int] = {}

    def numbers(self, lines: Sequence[Line]) -> list[int]:
        """Return the number of the origin of each line."""
        numbers = []
        for line, credit in zip(lines, credits_of(self.provenance, lines), strict=True):
            if credit is None:
                numbers.append(-2 if line.result is None else -1)
                continue
            if credit not in self._credits:
                self._credits[credit] = self._origin(credit)
            numbers.append(self._credits[credit])
        return numbers

    def _origin(self, credit: Credit) -> int:
        key = (self._pass(credit.event), self.table.text(visible(credit.description(self.provenance))))
        number = self._origins.get(key)
        if number is None:
            number = self._origins[key] = len(self.origins)
            self.origins.append(LineOrigin(*key))
        return number

    def _pass(self, event: Event) -> int:
        number = self._passes.get(event)
        if number is None:
            number = self._passes[event] = len(self.passes)
            self.passes.append(BlamePass(visible(label(event)), self._colours[event.name], self._events[event]))
        return number

    def data(self) -> BlameData:
        """Return the passes and origins."""
        return {"passes": self.passes, "origins": self.origins}


class BlameView(ModuleView):
    """The program after a step of a recording, with the origins of its lines."""

    rest = "blame_view(RECORDING).frame() has a row for each"

    def __init__(self, recording: Recording, event: Event) -> None:
        super().__init__(event.after)
        self.recording = recording
        self.event = event

    @cached_property
    def credits(self) -> list[Credit | None]:
        """The origin of each line; None for the input, and for lines that define nothing."""
        return credits_of(self.recording.provenance, self.lines)

    @cached_property
    def title(self) -> str:
        """The number of lines by pass: `After 3 FuseOps: 6 lines, 4 by FuseOps, 2 from the input`."""
        by_pass = Counter(credit.event.name for credit in self.credits if credit is not None).most_common()
        named = by_pass if len(by_pass) <= NAMED + 1 else by_pass[:NAMED]
        shown = [(count, f"by {name}") for name, count in named]
        if len(named) < len(by_pass):
            shown.append((sum(count for _, count in by_pass[NAMED:]), f"by {len(by_pass) - NAMED} others"))
        total = sum(
            line.result is not None or credit is not None for line, credit in zip(self.lines, self.credits, strict=True)
        )
        shown.append((total - sum(count for _, count in by_pass), "from the input"))
        counts = [f"{count:,} {by}" for count, by in shown if count]
        where = "The input" if self.event.status == "input" else f"After {label(self.event)}"
        lines = counted(total, "line")
        return visible(f"{where}: {', '.join([lines, *counts])}")

    def parts(self) -> Iterable[Part]:
        yield Sentence(f"{self.title}.", "muted")
        yield Gap()
        pairs = zip(self.lines, map(self._maker, self._names, self.credits), strict=True)
        yield self.code([code_line(line, gutter=label) for line, label in pairs])

    def _maker(self, name: str, credit: Credit | None) -> GutterLabel:
        """Return the gutter of a line: the pass, a bar in its colour, and the hover text."""
        if credit is None:
            return GutterLabel(name)
        tip = f"{label(credit.event)}\n{credit.description(self.recording.provenance)}".strip()
        return GutterLabel(name, COLOURS[self._colours[credit.event.name]], tip)

    @cached_property
    def _names(self) -> list[str]:
        """The names in the gutter: a pass is named at the first of its lines."""
        names = []
        last: Event | None = None
        for line, credit in zip(self.lines, self.credits, strict=True):
            if line.result is None and credit is None:
                names.append("")
                continue
            event = None if credit is None else credit.event
            names.append("" if event is None or event is last else shorten(label(event)))
            last = event
        return names

    @cached_property
    def _colours(self) -> dict[str, int]:
        return colours(self.recording)

    # ------------------------------------------------------------ data
    def data(self) -> ModuleData:
        table = LineTable()
        shown = self.data_with(table)
        origins = LineOrigins(self.recording, table)
        numbers = origins.numbers(self.lines[: len(shown["rows"])])
        links = Links(self.recording)
        links.add_program(self.lines)
        return {
            "kind": self.kind,
            "title": self.title,
            "rows": shown["rows"],
            "nodes": shown["nodes"],
            "left_out": shown["left_out"],
            "lines": table.lines,
            "texts": table.texts,
            "blame": {**origins.data(), "rows": numbers},
            "links": links.data(lambda rule: table.text(visible(rule))),
        }

    def source(self) -> HasFrame:
        """Return one row per line: its text, the pass that created it, the rule, and the node it was created from."""
        rows = [
            (number, line.text, *_row(line, credit))
            for number, (line, credit) in enumerate(zip(self.lines, self.credits, strict=True), 1)
        ]
        return Table(("line", "text", "made_by", "rule", "came_from"), rows)


@checked_view(Recording, hint="passlab.record(mod, passes) returns one")
def blame_view(recording: Recording, step: int | str = -1) -> BlameView:
    """Return the program after a step (by default the last) with the pass that created each line.

    `step` is a number, an id ("3.1") or the name of a pass. Raises `IndexError` and `PassError` for steps that were not
    recorded.

    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant")
    >>> print(display.blame_view(rec).text().splitlines()[0])
    After 1 FoldConstant: 2 lines, 1 by FoldConstant, 1 from the input.
    """
    return BlameView(recording, recording[step])


# ---------------------------------------------------------------- names and colours
def label(event: Event) -> str:
    """Return the label of a pass: `3 FuseOps`."""
    return f"{event.id} {event.name}"


def colours(recording: Recording) -> dict[str, int]:
    """Return the number of a colour for each pass name, in the order in which the passes first changed something."""
    changed = [event.name for event in recording.events if event.changed]
    names = dict.fromkeys([*changed, *(event.name for event in recording.events)])
    return {name: place % len(COLOURS) for place, name in enumerate(names)}


def shorten(name: str) -> str:
    """Return the label of a pass, cut to the width of a gutter."""
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 3]}..."


def _row(line: Line, credit: Credit | None) -> tuple[str, str, str]:
    if credit is None:
        return "" if line.result is None else "input", "", ""
    old = credit.origin.old
    return label(credit.event), credit.origin.rule, "" if old is None else node_name(old)
