"""The view of how long passes took: a flame chart and a table with bars, of a timing instrument or a recording."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from passlab.display.flame import flame_chart
from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, CELL, HEAD, MUTED, NUMBER, PROSE, TABLE
from passlab.display.view import View, cap
from passlab.dumps.recording import TextRecording
from passlab.instrument.timing import PassTimingInstrument

if TYPE_CHECKING:
    import pandas as pd

    from passlab.dumps.step import Step
    from passlab.lab.recording import Recording


class TimeRow(NamedTuple):
    """One pass: how deep it is nested, its name, seconds with and without the passes inside, and a note."""

    depth: int
    name: str
    total: float
    own: float
    note: str


class TimingView(View):
    """How long each pass took."""

    kind = "timing"

    def __init__(self, source: PassTimingInstrument | Recording | TextRecording) -> None:
        self.source = source

    @cached_property
    def rows(self) -> list[TimeRow]:
        """The passes in the order they started."""
        if isinstance(self.source, PassTimingInstrument):
            note = {True: "failed", False: ""}
            return [
                TimeRow(depth, p.name, p.total / 1e6, p.own / 1e6, note[p.failed]) for depth, p, _ in self.source.walk()
            ]
        if isinstance(self.source, TextRecording):
            inside = dict.fromkeys(range(len(self.source.steps) + 1), 0.0)
            for step in self.source.steps:
                inside[step.parent] += step.seconds or 0.0
            return [_live_row(depth, step, inside[step.number]) for depth, step in self.source.nested()]
        events = [e for e in self.source.events if e.status != "input"]
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
    def whole(self) -> float:
        """Seconds of all passes together."""
        return sum(row.total for row in self.rows if row.depth == 0)

    def text(self) -> str:
        lines = [f"{'  ' * row.depth}{row.name}{f' ({row.note})' if row.note else ''}" for row in self.rows]
        return cap(lines or ["no passes were timed"], "frame() has a row for each")

    def html(self) -> Markup:
        longest = max((row.total for row in self.rows), default=0.0)
        names = ("pass", "total ms", "own ms", "share")
        looks = [HEAD, *[f"{HEAD};{NUMBER}"] * 3]
        head = tag("thead", tag("tr", *[tag("th", name, style=look) for name, look in zip(names, looks, strict=True)]))
        body = tag("tbody", *[self._html_row(row, longest) for row in self.rows])
        title = f"{len(self.rows)} passes, {self.whole * 1000:.1f} ms"
        table = tag("table", head, body, style=f"{TABLE};width:100%")
        chart = flame_chart((row.depth, row.name, row.total, row.note) for row in self.rows)
        return tag("div", tag("div", title, style=f"{PROSE};color:{MUTED}"), chart, tag("div", table, style=BOX))

    def _html_row(self, row: TimeRow, longest: float) -> Markup:
        note = tag("span", f"  {row.note}", style=f"color:{MUTED}") if row.note else Markup("")
        share = f"{100 * row.total / self.whole:.1f}%" if self.whole else ""
        return tag(
            "tr",
            tag("td", row.name, note, style=f"{CELL};padding-left:{10 + 16 * row.depth}px"),
            tag("td", bar(row.total, longest), style=f"{CELL};width:160px"),
            tag("td", f"{row.own * 1000:.2f}", style=f"{CELL};{NUMBER}"),
            tag("td", share, style=f"{CELL};{NUMBER}"),
            style="background:transparent",
        )

    def data(self) -> dict[str, Any]:
        rows = [[r.depth, r.name, milliseconds(r.total), milliseconds(r.own), r.note] for r in self.rows]
        return {"kind": self.kind, "title": f"{len(rows)} passes", "rows": rows}

    def frame(self) -> pd.DataFrame:
        """Return one row per pass; times in milliseconds."""
        import pandas as pd

        rows = [(r.depth, r.name, r.total * 1000, r.own * 1000, r.note) for r in self.rows]
        return pd.DataFrame(rows, columns=["depth", "pass", "total_ms", "own_ms", "note"])


def _live_row(depth: int, step: Step, inside: float) -> TimeRow:
    """The row of a pass of another compiler; `inside` are the seconds of the passes in it."""
    total = step.seconds or 0.0
    return TimeRow(depth, step.name, total, total - inside, step.verdict if step.verdict == "failed" else "")


def timing_view(source: PassTimingInstrument | Recording | TextRecording) -> TimingView:
    """Return the view of the times of a timing instrument or a recording, of Relay's passes or another compiler's."""
    return TimingView(source)


def milliseconds(seconds: float) -> float:
    """Return seconds as milliseconds, to a microsecond."""
    return round(seconds * 1000, 3)


def bar(seconds: float, longest: float) -> Markup:
    """Return a time in milliseconds on a bar as long as its part of the longest."""
    part = 100 * seconds / longest if longest else 0.0
    veil = f"linear-gradient(90deg,rgba(56,139,253,.22) {part:.1f}%,transparent {part:.1f}%)"
    return tag("div", f"{seconds * 1000:.2f}", style=f"background:{veil};padding:0 6px;border-radius:3px;{NUMBER}")


__all__ = ["TimeRow", "TimingView", "bar", "milliseconds", "timing_view"]
