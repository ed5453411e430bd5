"""Views of searches: which pass broke a program, with what it did; and the smallest program that shows something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from passlab.display.diffs import diff_view
from passlab.display.html import Markup, tag
from passlab.display.module import module_view
from passlab.display.palette import BOX, CELL, GREEN, HEAD, MUTED, PROSE, RED, TABLE
from passlab.display.view import View, capped
from passlab.lab.bisection import Bisection
from passlab.lab.reduction import Reduction
from passlab.table import Table

if TYPE_CHECKING:
    import pandas as pd

_MARKS = {"good": ("✓", GREEN), "bad": ("✗", RED)}


class BisectionView(View):
    """The pass that broke a program: a sentence, the programs that were looked at, and what the pass changed."""

    kind = "bisection"

    def __init__(self, found: Bisection) -> None:
        self.found = found

    def text(self) -> str:
        event = self.found.event
        lines = self.found.text().split("\n")
        if event is not None and event.changed:
            lines += ["", *diff_view(event.diff()).text().split("\n")]
        return capped([line.rstrip() for line in lines], "found.event has the programs")

    def html(self) -> Markup:
        event = self.found.event
        parts = [_sentence(self.found.summary(), RED if self.found.found else GREEN)]
        if self.found.answers:
            parts.append(_table(self.found.table(), 2))
        if event is not None and event.changed:
            parts.append(diff_view(event.diff()).html())
        return tag("div", *parts)

    def data(self) -> dict[str, Any]:
        rows = [list(map(str, row)) for row in self.found.table().rows]
        return {"kind": self.kind, "title": self.found.summary(), "rows": rows}

    def frame(self) -> pd.DataFrame:
        """Return one row per program that was looked at."""
        frame: pd.DataFrame = self.found.frame()
        return frame


class ReductionView(View):
    """A reduced program, and how much smaller it is."""

    kind = "reduction"

    def __init__(self, found: Reduction) -> None:
        self.found = found

    def text(self) -> str:
        return capped([self.found.summary(), "", *module_view(self.found.module).text().split("\n")], "found.module")

    def html(self) -> Markup:
        cut = tag("details", tag("summary", "what was cut", style=f"{PROSE};color:{MUTED}"), _table(self.found.table()))
        return tag("div", _sentence(self.found.summary(), GREEN), module_view(self.found.module).html(), cut)

    def data(self) -> dict[str, Any]:
        rows = [list(map(str, row)) for row in self.found.table().rows]
        return {"kind": self.kind, "title": self.found.summary(), "rows": rows}

    def frame(self) -> pd.DataFrame:
        """Return one row per part that was cut."""
        frame: pd.DataFrame = self.found.frame()
        return frame


def bisection_view(found: Bisection) -> BisectionView:
    """Return the view of a bisection."""
    return BisectionView(found)


def reduction_view(found: Reduction) -> ReductionView:
    """Return the view of a reduction."""
    return ReductionView(found)


def _sentence(text: str, colour: str) -> Markup:
    return tag(
        "div", text, style=f"{PROSE};font-weight:600;margin:4px 0;padding-left:8px;border-left:3px solid {colour}"
    )


def _table(table: Table, marked: int = -1) -> Markup:
    """A table as HTML; in the column `marked` good and bad have a sign and a colour."""
    head = tag("thead", tag("tr", *[tag("th", name, style=HEAD) for name in table.columns]))
    body = [
        tag("tr", *[_cell(value, place == marked) for place, value in enumerate(row)], style="background:transparent")
        for row in table.rows
    ]
    return tag("div", tag("table", head, tag("tbody", *body), style=TABLE), style=f"{BOX};width:fit-content")


def _cell(value: Any, marked: bool) -> Markup:
    sign, colour = _MARKS[value] if marked else ("", "")
    shown: Sequence[str] = [tag("span", f"{sign} ", style=f"color:{colour}"), str(value)] if marked else [str(value)]
    return tag("td", *shown, style=CELL)


__all__ = ["BisectionView", "ReductionView", "bisection_view", "reduction_view"]
