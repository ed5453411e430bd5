"""Parts of rows: `Rows`, a table of typed columns, and `StepOutline`, a list of steps with a mark and a note each.

Numbers are aligned right, with thousands separators, everything else left; a column `depth` becomes
the indentation of the next one. Measurements differ from run to run, so text leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from passlab.display.html import Markup, join, tag
from passlab.display.palette import BOX, CELL, CODE, HEAD, MUTED, NUMBER, PROSE, ROWS, TABLE
from passlab.display.view_parts import Part
from passlab.table import Table, seconds_text, spoken, text_table, unit_of

MOST_ROWS = 200  # in HTML
LONG, PROSE_WIDTH, WORD_WIDTH = 60, 24, 24  # characters: what is prose, and the least width of prose and of names
INDENT = 16  # pixels for each step of depth
WIDE = f"{TABLE};width:100%"


class BarCell(NamedTuple):
    """A number on a bar, which is as long as its `part` (0 to 1) of the longest."""

    text: str
    part: float

    def html(self) -> Markup:
        """Return the bar with its number."""
        veil = f"linear-gradient(90deg,rgba(56,139,253,.22) {self.part:.1%},transparent {self.part:.1%})"
        return tag("div", self.text, style=f"padding:0 6px;border-radius:3px;{NUMBER};background:{veil}")


def bars(values: Sequence[float], shown: Callable[[float], str]) -> list[BarCell]:
    """Return numbers as bars next to one another."""
    longest = max(values, default=0) or 1
    return [BarCell(shown(value), value / longest) for value in values]


def milliseconds(seconds: float) -> float:
    """Return seconds as milliseconds, to a microsecond."""
    return round(seconds * 1000, 3)


def time_bars(seconds: Sequence[float]) -> list[BarCell]:
    """Return times as bars next to one another."""
    return bars(seconds, seconds_text)


class Rows(Part):
    """A table. `bars` are columns drawn as bars; `measured` ones, of numbers or percentages, are left out of text.

    HTML has the first `MOST_ROWS` rows; text has all, or as many if `brief`. HTML has the rows with the largest number
    in the column `longest_first` at the top; text keeps the order.
    """

    def __init__(
        self,
        table: Table,
        title: str = "",
        *,
        bars: Iterable[str] = (),
        measured: Iterable[str] = (),
        longest_first: str = "",
        brief: bool = False,
    ) -> None:
        self.brief = brief
        self.table, self.title, self.bars, self.measured = table, title, frozenset(bars), frozenset(measured)
        self.longest_first = longest_first

    def lines(self) -> list[str]:
        names = self.table.columns
        kept = [place for place, name in enumerate(names) if name not in self.measured]
        rows = self.table.rows[:MOST_ROWS] if self.brief else self.table.rows
        table = Table([names[at] for at in kept], [[row[at] for at in kept] for row in rows])
        more = len(self.table.rows) - len(rows)
        rest = [f"... {more:,} more rows: frame() has them"] if more else []
        return [*([self.title] if self.title else []), *str(table).split("\n"), *rest]

    def html(self) -> Markup:
        shown = [place for place in range(len(self.table.columns)) if place != self._depth]
        looks = [f"{HEAD};white-space:nowrap" + (f";{NUMBER}" if right else "") for right in self.numeric]
        names = [tag("th", spoken(self.table.columns[place]), style=looks[place]) for place in shown]
        body = tag("tbody", *[self._row(row, shown) for row in self._sorted_rows()[:MOST_ROWS]])
        table = tag("table", tag("thead", tag("tr", *names)), body, style=TABLE)
        box = tag("div", table, style=f"{BOX};width:fit-content;max-width:100%")
        return tag("div", _note(self.title), box, _left_out(len(self.table.rows) - MOST_ROWS))

    @cached_property
    def numeric(self) -> list[bool]:
        """For each column whether it has numbers, and nothing else but gaps."""
        columns = list(zip(*self.table.rows, strict=True)) or [()] * len(self.table.columns)
        return [
            name in self.measured
            or (any(map(_is_number, column)) and all(v is None or v == "" or _is_number(v) for v in column))
            for name, column in zip(self.table.columns, columns, strict=True)
        ]

    def _sorted_rows(self) -> list[tuple[Any, ...]]:
        if not self.longest_first:
            return self.table.rows
        at = self.table.columns.index(self.longest_first)
        return sorted(self.table.rows, key=lambda row: -float(row[at]))

    @property
    def _depth(self) -> int:
        """The index of the column `depth`, or -1 if the table has no such column."""
        names = self.table.columns
        return names.index("depth") if "depth" in names[:-1] else -1

    def _row(self, row: tuple[Any, ...], shown: list[int]) -> Markup:
        depth = row[self._depth] if self._depth >= 0 else 0
        cells = []
        for place in shown:
            look = self._looks[place]
            if depth and place == self._depth + 1:
                look += f";padding-left:{10 + INDENT * depth}px"
            cells.append(tag("td", self._cell(row[place], place), style=look))
        return tag("tr", *cells, style="background:transparent")

    def _cell(self, value: Any, place: int) -> str:
        longest = self._longest[place]
        is_time = isinstance(value, float) and unit_of(self.table.columns[place]) == "s"
        shown = seconds_text(value) if is_time else shown_value(value)
        return BarCell(shown, value / longest).html() if longest else shown

    @cached_property
    def _longest(self) -> list[float]:
        """The largest number of each column that is drawn as bars, 0 of others."""
        names = self.table.columns
        return [max(self.table.column(name), default=0) if name in self.bars else 0 for name in names]

    @cached_property
    def _looks(self) -> list[str]:
        """The style of each column. Long words break if the columns need more room than there is."""
        looks = []
        for place, right in enumerate(self.numeric):
            texts = [shown_value(row[place]) for row in self.table.rows[:MOST_ROWS]]
            longest = max((len(word) for text in texts for word in text.split()), default=0)
            least = PROSE_WIDTH if max(map(len, texts), default=0) > LONG else min(longest, WORD_WIDTH)
            look = NUMBER if right else f"overflow-wrap:anywhere;min-width:{least}ch;max-width:60ch"
            looks.append(f"{CELL};{look};width:160px" if self._longest[place] else f"{CELL};{look}")
        return looks


class OutlineEntry(NamedTuple):
    """A step of an outline: its number, mark (sign, colour, meaning), name, what it is `about`, and a note.

    `cells` are between name and note, in HTML only.
    """

    name: str
    number: str = ""
    mark: tuple[str, str, str] | None = None
    depth: int = 0
    about: str = ""
    note: str = ""
    cells: tuple[str | BarCell, ...] = ()


class StepOutline(Part):
    """Steps one below the other, the first `most` of them in HTML. `columns` name the cells and `noted` the notes.

    Notes stand `below` their step in text, or behind it; numbers up to `last` have room.
    """

    def __init__(
        self,
        entries: Iterable[OutlineEntry],
        columns: Sequence[str] = (),
        *,
        noted: str = "",
        below: bool = False,
        most: int = MOST_ROWS,
        last: str = "",
    ) -> None:
        self.entries, self.columns, self.noted = list(entries), columns, noted
        self.below, self.most = below, most
        self.width = max(len(last), *(len(entry.number) for entry in self.entries), 0)

    def lines(self) -> list[str]:
        return [line for entry in self.entries for line in self._lines(entry)]

    def _lines(self, entry: OutlineEntry) -> list[str]:
        sign = f"{entry.number:>{self.width}} {entry.mark[0]} " if entry.mark is not None else ""
        about = f" on {entry.about}" if entry.about else ""
        line = f"{'  ' * entry.depth}{sign}{entry.name}{about}"
        if not entry.note:
            return [line]
        return [line, f"{' ' * self.width}   {entry.note}"] if self.below else [f"{line} ({entry.note})"]

    def html(self) -> Markup:
        marked = any(entry.mark is not None for entry in self.entries)
        about = any(entry.about for entry in self.entries)
        names = ["pass", *(["on"] if about else []), *self.columns, self.noted]
        looks = [HEAD, *([HEAD] if about else []), *[f"{HEAD};{NUMBER}" for _ in self.columns], HEAD]
        heads = [tag("th", name, style=look) for name, look in zip(names, looks, strict=True)]
        head = tag("thead", tag("tr", *([tag("th", style=HEAD)] if marked else []), *heads))
        body = tag("tbody", *[self._row(entry, marked, about) for entry in self.entries[: self.most]])
        rest = len(self.entries) - self.most
        table = tag("div", tag("table", head, body, style=WIDE), style=BOX)
        return join([table, _left_out(rest)])

    @staticmethod
    def _row(entry: OutlineEntry, marked: bool, about: bool) -> Markup:
        cells = []
        if marked:
            sign, colour, meaning = entry.mark or ("", MUTED, "")
            look = f"{CELL};color:{colour};text-align:center;width:16px"
            cells.append(tag("td", sign, title=meaning or None, style=look))
        indent = f";padding-left:{10 + INDENT * entry.depth}px" if entry.depth else ""
        cells.append(tag("td", f"{entry.number} {entry.name}".strip(), style=f"{CELL};white-space:nowrap{indent}"))
        cells += [tag("td", entry.about, style=CELL)] if about else []
        for cell in entry.cells:
            is_bar = isinstance(cell, BarCell)
            look = f"{CELL};width:110px" if is_bar else f"{CELL};{NUMBER}"
            cells.append(tag("td", cell.html() if isinstance(cell, BarCell) else cell, style=look))
        cells.append(tag("td", entry.note, style=f"{CELL};color:{MUTED}"))
        return tag("tr", *cells, style="background:transparent")


class Counts(Part):
    """How often operators are called, before and after: a table in text, a line in HTML."""

    def __init__(self, counts: Sequence[tuple[str, int, int]]) -> None:
        self.counts = counts

    def lines(self) -> list[str]:
        rows = [(name, old, new, new - old) for name, old, new in self.counts]
        return text_table(("operator", "before", "after", "change"), rows).split("\n")

    def html(self) -> Markup:
        items = []
        for name, old, new in self.counts:
            change = tag("span", f"{old} → {new}", style=f"color:{ROWS['+' if new > old else '-'][1]}")
            items.append(tag("span", f"{name} ", change, style="margin-right:16px;display:inline-block"))
        return tag("div", *items, style=f"{CODE};color:{MUTED}")


def shown_value(value: Any) -> str:
    """Return a value as text: None is empty, numbers have thousands separators."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _left_out(count: int) -> Markup:
    return _note(f"{count:,} more rows: frame() has them" if count > 0 else "")


def _note(text: str) -> Markup:
    return tag("div", text, style=f"{PROSE};color:{MUTED}") if text else Markup("")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
