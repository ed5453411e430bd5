"""The view of a table: what lists of passes, blame, and instruments answer with, with columns that read well.

It knows nothing of who made a table. Columns of numbers stand to the right with their thousands apart, everything else
to the left; a column `depth` becomes the indentation of the one behind it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, CELL, HEAD, MUTED, NUMBER, PROSE, TABLE
from passlab.display.view import View, cap
from passlab.table import Table

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 500  # in HTML
LONG, PROSE_WIDTH, WORD_WIDTH = 60, 24, 16  # characters: what is prose, and the least width of prose and of names
INDENT = 16  # pixels for each step of depth


class TableView(View):
    """A table. `title` is what it is called, above it."""

    kind = "table"

    def __init__(self, table: Table, title: str = "") -> None:
        self.table = table
        self.title = title

    @cached_property
    def numeric(self) -> list[bool]:
        """For each column whether it has numbers, and nothing else but gaps."""
        columns = list(zip(*self.table.rows, strict=True)) or [()] * len(self.table.columns)
        return [any(map(_is_number, column)) and all(v is None or _is_number(v) for v in column) for column in columns]

    @property
    def _depth(self) -> int:
        """Which column is the depth of the one behind it, -1 where none is."""
        names = self.table.columns
        return names.index("depth") if "depth" in names[:-1] else -1

    def text(self) -> str:
        return cap(str(self.table).split("\n"), "frame() has a row for each")

    def html(self) -> Markup:
        shown = [place for place in range(len(self.table.columns)) if place != self._depth]
        looks = [f"{HEAD};white-space:nowrap" + (f";{NUMBER}" if right else "") for right in self.numeric]
        names = [tag("th", _spoken(self.table.columns[place]), style=looks[place]) for place in shown]
        body = tag("tbody", *[self._row(row, shown) for row in self.table.rows[:MOST_ROWS]])
        rest = len(self.table.rows) - MOST_ROWS
        parts = [_line(self.title)] if self.title else []
        parts.append(tag("div", tag("table", tag("thead", tag("tr", *names)), body, style=TABLE), style=_box()))
        if rest > 0:
            parts.append(_line(f"{rest:,} more rows: frame() has them"))
        return tag("div", *parts)

    def _row(self, row: tuple[Any, ...], shown: list[int]) -> Markup:
        depth = row[self._depth] if self._depth >= 0 else 0
        cells = []
        for place in shown:
            look = self._looks[place]
            if depth and place == self._depth + 1:
                look += f";padding-left:{10 + INDENT * depth}px"
            cells.append(tag("td", _shown(row[place]), style=look))
        return tag("tr", *cells, style="background:transparent")

    @cached_property
    def _looks(self) -> list[str]:
        """The style of each column. Text gives way where all columns need more room than there is: long words break."""
        looks = []
        for place, right in enumerate(self.numeric):
            texts = [_shown(row[place]) for row in self.table.rows[:MOST_ROWS]]
            longest = max((len(word) for text in texts for word in text.split()), default=0)
            least = PROSE_WIDTH if max(map(len, texts), default=0) > LONG else min(longest, WORD_WIDTH)
            text = f"overflow-wrap:anywhere;min-width:{least}ch;max-width:60ch"
            looks.append(f"{CELL};{NUMBER if right else text}")
        return looks

    def data(self) -> dict[str, Any]:
        rows = [[_shown(value) for value in row] for row in self.table.rows]
        return {"kind": self.kind, "title": self.title, "columns": list(self.table.columns), "rows": rows}

    def frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        return self.table.frame()


def table_view(table: Table, title: str = "") -> TableView:
    """Return the view of a table, under a title if it has one."""
    return TableView(table, title)


def _box() -> str:
    return f"{BOX};width:fit-content;max-width:100%"


def _line(text: str) -> Markup:
    return tag("div", text, style=f"{PROSE};color:{MUTED}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _spoken(name: str) -> str:
    """A column's name as words; in Python it is called as it is."""
    return {"milliseconds": "ms"}.get(name, name.replace("_", " "))


def _shown(value: Any) -> str:
    """A value as people read it: gaps are empty, numbers have their thousands apart."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


__all__ = ["TableView", "table_view"]
