"""The view of the operators of a program: how often each is called, by functions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab.diffing.diff import count_operators
from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, CELL, HEAD, TABLE
from passlab.display.view import View, cap
from passlab.table import text_table

if TYPE_CHECKING:
    import pandas as pd


class OperatorsView(View):
    """How often a program calls each operator."""

    kind = "operators"

    def __init__(self, program: Any) -> None:
        self.program = program

    @cached_property
    def counts(self) -> list[tuple[str, int]]:
        """Operators and how often each is called, the most frequent first."""
        return sorted(count_operators(self.program).items(), key=lambda item: (-item[1], item[0]))

    def text(self) -> str:
        return cap(text_table(("operator", "calls"), self.counts).split("\n"), "frame() has a row for each")

    def html(self) -> Markup:
        most = max((count for _, count in self.counts), default=1)
        rows = [
            tag(
                "tr",
                tag("td", name, style=CELL),
                tag("td", _bar(count, most), style=f"{CELL};width:160px"),
                style="background:transparent",
            )
            for name, count in self.counts
        ]
        calls = tag("th", "calls", style=f"{HEAD};text-align:right")
        head = tag("thead", tag("tr", tag("th", "operator", style=HEAD), calls))
        return tag("div", tag("table", head, tag("tbody", *rows), style=TABLE), style=f"{BOX};width:fit-content")

    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "title": f"{len(self.counts)} operators", "rows": [list(row) for row in self.counts]}

    def frame(self) -> pd.DataFrame:
        """Return one row per operator."""
        import pandas as pd

        return pd.DataFrame(self.counts, columns=["operator", "calls"])


def operators_view(program: Any) -> OperatorsView:
    """Return the view of the operators of a module or expression."""
    return OperatorsView(program)


def _bar(count: int, most: int) -> Markup:
    part = 100 * count / most
    veil = f"linear-gradient(90deg,rgba(56,139,253,.22) {part:.1f}%,transparent {part:.1f}%)"
    return tag("div", f"{count:,}", style=f"background:{veil};padding:0 6px;border-radius:3px;text-align:right")


__all__ = ["OperatorsView", "operators_view"]
