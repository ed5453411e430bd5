"""The view of a recording: every pass, what became of it, how long it took, what it changed, the program after it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab.display.diffs import DiffView, sentence
from passlab.display.html import Markup, tag
from passlab.display.listing import Line, LineTable, listing
from passlab.display.palette import BOX, CODE, MUTED, OUTCOMES, PROSE, RULE, TABLE
from passlab.display.timing import bar, milliseconds
from passlab.display.view import View, capped
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.module import IRModule
from passlab.lab.recording import Recording

if TYPE_CHECKING:
    import pandas as pd

STATIC_DIFFS = 12  # steps whose diff static HTML shows, folded
STATIC_DIFF_LINES = 60  # lines of each


class RecordingView(View):
    """A recorded pipeline, pass by pass."""

    kind = "pipeline"

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._listings: dict[int, list[Line]] = {}
        self._diffs: dict[tuple[int, int], DiffView] = {}

    # ------------------------------------------------------------ parts
    @cached_property
    def events(self) -> list[Event]:
        """All events, the input first."""
        return self.recording.events

    @cached_property
    def title(self) -> str:
        """How many passes ran, changed the program, were skipped and failed."""
        said = self.recording.summary()
        return f"{self.recording.name}: {said}" if self.recording.name else said

    def lines(self, mod: IRModule) -> list[Line]:
        """The lines of one of the recorded modules."""
        found = self._listings.get(id(mod))
        if found is None:
            found = self._listings[id(mod)] = listing(mod)
        return found

    def diff(self, event: Event) -> DiffView | None:
        """The view of what a pass changed, None when it changed nothing."""
        if not event.changed:
            return None
        key = (id(event.before), id(event.after))
        found = self._diffs.get(key)
        if found is None:
            found = self._diffs[key] = DiffView(event.diff(), self.lines(event.before), self.lines(event.after))
        return found

    def said(self, event: Event) -> str:
        """What a pass did, in a sentence."""
        if event.status == "failed":
            first = str(event.error).strip().split("\n")[0].removeprefix("error: ")
            return f"{type(event.error).__name__}: {first}"
        if event.status == "skipped":
            return f"Skipped: {event.reason}."
        if event.status == "input":
            nodes, calls = count_module(event.after)
            return f"{sum(calls.values()):,} operators, {nodes:,} nodes."
        found = self.diff(event)
        return "Nothing changed." if found is None else sentence(found.diff)

    # ------------------------------------------------------------ forms
    def text(self) -> str:
        lines = [f"Recording: {self.title}.", ""]
        width = max((len(e.id) for e in self.recording.steps), default=1)
        for event in self.recording.steps:
            sign, _, name = OUTCOMES[outcome(event)]
            lines.append(f"{event.id.rjust(width)} {sign} {event.text or event.name}")
            if name != "unchanged":
                lines.append(f"{' ' * width}   {self.said(event)}")
        return capped(lines, "Recording.frame() has a row for each")

    def html(self) -> Markup:
        longest = max((e.seconds for e in self.recording.steps), default=0.0)
        rows = [self._html_row(event, longest) for event in self.recording.steps]
        head = tag("thead", tag("tr", *[tag("th", name, style=_HEAD) for name in ("", "pass", "ms", "what it did")]))
        table = tag("table", head, tag("tbody", *rows), style=f"{TABLE};width:100%")
        changed = [event for event in self.recording.steps if event.changed]
        return tag("div", tag("div", self.title, style=f"{PROSE};color:{MUTED}"), tag("div", table, style=BOX),
                   *[self._html_diff(event) for event in changed[:STATIC_DIFFS]])  # fmt: skip

    def _html_row(self, event: Event, longest: float) -> Markup:
        sign, colour, name = OUTCOMES[outcome(event)]
        time = Markup("") if event.status in ("input", "skipped") else bar(event.seconds, longest)
        return tag(
            "tr",
            tag("td", sign, title=name, style=f"{_CELL};color:{colour};text-align:center;width:16px"),
            tag("td", f"{event.id} {event.text or event.name}", style=f"{_CELL};white-space:nowrap"),
            tag("td", time, style=f"{_CELL};width:110px"),
            tag("td", self.said(event), style=f"{_CELL};color:{MUTED}"),
            style="background:transparent",
        )

    def _html_diff(self, event: Event) -> Markup:
        found = self.diff(event)
        assert found is not None
        title = tag("summary", f"{event.id} {event.text or event.name}", style=f"{PROSE};cursor:pointer")
        return tag("details", title, found.html_operators(), found.html_lines(STATIC_DIFF_LINES), style="margin:2px 0")

    def data(self) -> dict[str, Any]:
        table = LineTable()
        modules: dict[int, int] = {}
        texts: list[list[int]] = []
        diffs: dict[tuple[int, int], int] = {}
        rows: list[dict[str, Any]] = []

        def module(mod: IRModule) -> int:
            if id(mod) not in modules:
                modules[id(mod)] = len(texts)
                texts.append([table.add(line) for line in self.lines(mod)])
            return modules[id(mod)]

        steps = []
        for event in self.events:
            step = self._step(event)
            step["before"], step["after"] = module(event.before), module(event.after)
            found = self.diff(event)
            if found is not None:
                key = (step["before"], step["after"])
                if key not in diffs:
                    diffs[key] = len(rows)
                    rows.append({**found.row_data(), "operators": [list(item) for item in found.operators]})
                step["diff"] = diffs[key]
            steps.append(step)
        return {"kind": self.kind, "title": self.title, "steps": steps, "modules": texts, "diffs": rows, **table.data()}

    def _step(self, event: Event) -> dict[str, Any]:
        nodes, calls = count_module(event.after)
        return {
            "id": event.id, "depth": event.depth, "name": event.text or event.name, "outcome": outcome(event),
            "ms": milliseconds(event.seconds), "said": self.said(event), "role": event.role, "level": event.opt_level,
            "error": "" if event.error is None else str(event.error), "log": list(event.log[:200]),
            "nodes": nodes, "calls": sum(calls.values()), "rewrites": len(event.rewrites), "peak": event.peak_bytes,
        }  # fmt: skip

    def frame(self) -> pd.DataFrame:
        """Return one row per pass."""
        return self.recording.frame()


def recording_view(recording: Recording) -> RecordingView:
    """Return the view of a recording."""
    return RecordingView(recording)


def outcome(event: Event) -> str:
    """Return one of the names of `palette.OUTCOMES`."""
    if event.status == "ran":
        return "changed" if event.changed else "unchanged"
    return event.status


_HEAD = f"text-align:left;font-weight:600;padding:4px 10px;color:{MUTED};border:0;border-bottom:{RULE};{PROSE}"
_CELL = f"text-align:left;vertical-align:top;padding:3px 10px;border:0;{PROSE}"

__all__ = ["CODE", "RecordingView", "outcome", "recording_view"]
