"""The view of how long passes took: a flame chart and a table with bars, of a timing instrument or a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from passlab.display.lanes import Bar, Lanes
from passlab.display.protocol.analyses import TimeData, TimingData
from passlab.display.rows import OutlineEntry, StepOutline, milliseconds, time_bars
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import HtmlOnly, Part, Sentence, TextOnly
from passlab.dumps.recording import TextRecording
from passlab.instrument.timing import PassTimingInstrument
from passlab.lab.recordings.recording import Recording
from passlab.table import Table, seconds_text

if TYPE_CHECKING:
    from passlab.dumps.step import Step

SHADES = ("rgba(56,139,253,.34)", "rgba(56,139,253,.24)", "rgba(63,185,180,.30)", "rgba(63,185,180,.20)")
FAILED = "rgba(248,81,73,.38)"


class TimeRow(NamedTuple):
    """One pass: how deep it is nested, its name, seconds with and without the passes inside, and a note."""

    depth: int
    name: str
    total: float
    own: float
    note: str


class TimingView(View):
    """How long each pass took."""

    kind = script = "timing"

    def __init__(self, source: PassTimingInstrument | Recording | TextRecording) -> None:
        self.timed = source

    @cached_property
    def rows(self) -> list[TimeRow]:
        """The passes in the order they started."""
        if isinstance(self.timed, PassTimingInstrument):
            note = {True: "failed", False: ""}
            return [
                TimeRow(depth, p.name, p.total / 1e6, p.own / 1e6, note[p.failed]) for depth, p, _ in self.timed.walk()
            ]
        if isinstance(self.timed, TextRecording):
            inside = dict.fromkeys(range(len(self.timed.steps) + 1), 0.0)
            for step in self.timed.steps:
                inside[step.parent] += step.seconds or 0.0
            return [_live_row(depth, step, inside[step.number]) for depth, step in self.timed.nested_steps()]
        events = [e for e in self.timed.events if e.status != "input"]
        return [
            TimeRow(
                e.depth,
                e.text or e.name,
                e.seconds,
                e.seconds - sum(c.seconds for c in e.children),
                e.status if e.status in ("failed", "skipped") else "",
            )
            for e in events
        ]

    @property
    def whole_seconds(self) -> float:
        """The time of all passes together, in seconds."""
        return sum(row.total for row in self.rows if row.depth == 0)

    @property
    def title(self) -> str:
        """How many passes there are."""
        return f"{len(self.rows)} passes"

    def parts(self) -> Iterable[Part]:
        yield HtmlOnly(Sentence(f"{self.title}, {self.whole_seconds * 1000:.1f} ms", "muted"), self._flame())
        if not self.rows:
            yield TextOnly(["no passes were timed"])
        yield StepOutline(self._entries(), ("seconds", "own seconds", "percent"))

    def _flame(self) -> Lanes:
        rows = ((row.depth, row.name, row.total, row.note) for row in self.rows)
        return Lanes(flame_bars(rows), "width is time, and what runs inside stands below")

    def _entries(self) -> Iterator[OutlineEntry]:
        for row, bar in zip(self.rows, time_bars([row.total for row in self.rows]), strict=True):
            percent = f"{100 * row.total / self.whole_seconds:.2f}" if self.whole_seconds else ""
            cells = (bar, seconds_text(row.own), percent)
            yield OutlineEntry(row.name, depth=row.depth, note=row.note, cells=cells)

    def data(self) -> TimingData:
        rows = [TimeData(r.depth, r.name, milliseconds(r.total), milliseconds(r.own), r.note) for r in self.rows]
        return {"kind": self.kind, "title": self.title, "rows": rows}

    def source(self) -> HasFrame:
        """Return one row per pass, with all its seconds and its own seconds."""
        rows = [(r.depth, r.name, r.total, r.own, r.note) for r in self.rows]
        return Table(("depth", "pass", "seconds", "own_seconds", "note"), rows)


def _live_row(depth: int, step: Step, inside: float) -> TimeRow:
    """The row of a pass of another compiler; `inside` are the seconds of the passes in it."""
    total = step.seconds or 0.0
    return TimeRow(depth, step.name, total, total - inside, step.verdict if step.verdict == "failed" else "")


@checked_view(PassTimingInstrument, Recording, TextRecording, hint="passlab.record(mod, passes) returns a recording")
def timing_view(source: PassTimingInstrument | Recording | TextRecording) -> TimingView:
    """Return the view of the times of a timing instrument or a recording, of Relay's passes or another compiler's.

    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant")
    >>> print(type(display.timing_view(rec)).__name__)
    TimingView
    """
    return TimingView(source)


def flame_bars(rows: Iterable[tuple[int, str, float, str]]) -> list[Bar]:
    """Return the bars of a flame chart of time spans (depth, name, seconds, note) listed in order of starting.

    Spans of one depth stand side by side without gaps; those inside another start where it starts.
    """
    listed = list(rows)
    whole = sum(seconds for depth, _, seconds, _ in listed if depth == 0)
    drawn: list[Bar] = []
    starts = [0.0]  # by depth: where the next bar begins
    for depth, name, seconds, note in listed:
        del starts[depth + 1 :]
        width = 100 * seconds / whole if whole else 0.0
        tip = f"{name}{f' ({note})' if note else ''}: {seconds * 1000:.2f} ms, {width:.1f}%"
        colour = FAILED if note == "failed" else SHADES[depth % len(SHADES)]
        drawn.append(Bar(depth, starts[depth], width, name, tip, colour))
        starts[depth] += width
        starts.append(drawn[-1].left)
    return drawn
