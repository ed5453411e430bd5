"""The view of a difference between two programs: a sentence, operators counted, and the lines side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from passlab import limits
from passlab.diffing.diff import Diff
from passlab.display.alignment import CHANGED, MOVED, SAME, Row, align
from passlab.display.html import Markup, join, tag
from passlab.display.listing import Line, LineTable, listing, type_text
from passlab.display.module import more
from passlab.display.nodes import line_numbers
from passlab.display.palette import BOX, CODE, MUTED, PROSE, ROWS
from passlab.display.view import View, cap
from passlab.display.words import Spans
from passlab.table import text_table

if TYPE_CHECKING:
    import pandas as pd

CONTEXT = 3  # unchanged lines shown around what changed
STATIC_LINES = 300  # lines of a diff that static HTML shows
FOLD = "."
Lines = Callable[[], Sequence[Line]]
_LEGEND = {MOVED: "~ moved into or out of a function", "<": "< moved from here", ">": "> moved to here"}


class DiffView(View):
    """Two programs side by side."""

    kind = "diff"

    def __init__(self, difference: Diff, before: Lines | None = None, after: Lines | None = None) -> None:
        self.diff = difference
        self._lines = (before or partial(listing, difference.before), after or partial(listing, difference.after))

    @cached_property
    def before(self) -> Sequence[Line]:
        """The lines of the old program."""
        return self._lines[0]()

    @cached_property
    def after(self) -> Sequence[Line]:
        """The lines of the new program."""
        return self._lines[1]()

    @cached_property
    def rows(self) -> list[Row]:
        """The lines of both programs, side by side."""
        return align(self.diff, self.before, self.after)

    @cached_property
    def operators(self) -> list[tuple[str, int, int]]:
        """The operators that are not called as often as before: name, calls before, calls after."""
        return [(name, old, new) for name, (old, new) in self.diff.op_counts.items() if old != new]

    # ------------------------------------------------------------ text
    def text(self) -> str:
        parts = [sentence(self.diff)]
        if self.operators:
            rows = [(name, old, new, new - old) for name, old, new in self.operators]
            parts += ["", *text_table(("operator", "before", "after", "change"), rows).split("\n")]
        body = list(self.unified())
        kinds = {kind for row in self.rows for kind in row.kinds}
        legend = [words for kind, words in _LEGEND.items() if kind in kinds]
        parts += ["", *map(str, body)] if body else []
        parts += ["", "   ".join(legend)] if legend else []
        return cap(parts, "the diff is longer than a notebook should hold")

    def unified(self) -> Iterator[Unified]:
        """Yield the lines of a unified diff, with long unchanged stretches folded."""
        for hunk in hunks(self.rows):
            if isinstance(hunk, int):
                yield Unified(FOLD, f"... {hunk:,} unchanged lines")
            else:
                yield from self._unified_hunk(hunk)

    def _unified_hunk(self, hunk: Sequence[Row]) -> Iterator[Unified]:
        later: list[Unified] = []
        for row in hunk:
            both = row.left_kind == row.right_kind
            if not both or row.left_kind == CHANGED:
                if row.left is not None:
                    yield _unified_text(row, row.left_kind, self.before[row.left], 0)
                if row.right is not None:
                    later.append(_unified_text(row, row.right_kind, self.after[row.right], 1))
                if not both:
                    continue
            yield from later
            later = []
            if row.left_kind != CHANGED and row.right is not None:
                yield Unified(row.right_kind, self.after[row.right].text)
        yield from later

    # ------------------------------------------------------------ HTML
    def html(self) -> Markup:
        header = tag("div", sentence(self.diff), style=f"{PROSE};margin:4px 0")
        return tag("div", header, self.html_operators(), self.html_lines())

    def html_operators(self) -> Markup:
        """Return how often which operator is called now, as one line of HTML."""
        items = [
            tag(
                "span",
                f"{name} ",
                tag("span", f"{old} → {new}", style=f"color:{ROWS['+' if new > old else '-'][1]}"),
                style="margin-right:16px;white-space:nowrap",
            )
            for name, old, new in self.operators
        ]
        return tag("div", *items, style=f"{CODE};color:{MUTED}") if items else Markup("")

    def html_lines(self, most: int = STATIC_LINES) -> Markup:
        """Return the unified diff as HTML, `most` lines of it."""
        lines = list(self.unified())
        if not lines:
            return Markup("")
        shown = join([_html_line(line) for line in lines[:most]])
        rest = more(len(lines) - most) if len(lines) > most else Markup("")
        return tag(
            "div",
            tag("pre", shown, style=f"{CODE};margin:0;padding:4px 0;background:transparent;white-space:pre-wrap"),
            rest,
            style=BOX,
        )

    # ------------------------------------------------------------ data
    def data(self) -> dict[str, Any]:
        table = LineTable()
        return {"kind": self.kind, "title": sentence(self.diff), **self.data_with(table), **table.data()}

    def data_with(self, table: LineTable) -> dict[str, Any]:
        """Return what the widget draws, with the lines in a table that others may add to before it is read."""
        return {
            "before": [table.add(line) for line in self.before],
            "after": [table.add(line) for line in self.after],
            "nodes": [line_numbers(self.before), line_numbers(self.after)],
            "operators": [list(item) for item in self.operators],
            **self.row_data(),
        }

    def row_data(self) -> dict[str, Any]:
        """Return the rows as data: two characters a row (line numbers follow from them), and the words that differ."""
        most = limits.current().shown_lines
        rows = self.rows[:most]
        words = {
            str(number): [[x for span in side for x in span] for side in row.words] + ([1] if row.retyped else [])
            for number, row in enumerate(rows)
            if row.words is not None
        }
        return {"kinds": "".join([row.kinds for row in rows]), "words": words}

    def frame(self) -> pd.DataFrame:
        """Return one row per node that did not stay as it was: function, change, node, fields."""
        import pandas as pd

        rows = [
            (f"@{f.name}", n.change.value, n.what, "; ".join(map(str, n.fields)))
            for f in self.diff.changed
            for n in f.touched
        ]
        return pd.DataFrame(rows, columns=["function", "change", "node", "fields"])


def diff_view(difference: Diff) -> DiffView:
    """Return the view of a difference."""
    return DiffView(difference)


def sentence(difference: Diff) -> str:
    """Return what changed as a sentence."""
    summary = difference.summary
    return summary[:1].upper() + summary[1:] + "."


def hunks(rows: Sequence[Row], context: int = CONTEXT) -> Iterator[list[Row] | int]:
    """Yield stretches of rows with changes and some lines around them, and between them the number of rows left out."""
    touched = [number for number, row in enumerate(rows) if row.kinds != SAME + SAME]
    at = index = 0
    while index < len(touched):
        start = max(at, touched[index] - context)
        stop = touched[index] + context + 1
        while index < len(touched) and touched[index] <= stop + context + 1:  # folding one or two lines saves nothing
            stop = touched[index] + context + 1
            index += 1
        start = at if start - at < 2 else start
        stop = len(rows) if len(rows) - stop < 2 else stop
        if start > at:
            yield start - at
        yield list(rows[start:stop])
        at = stop
    if touched and at < len(rows):
        yield len(rows) - at


# ---------------------------------------------------------------- unified lines
class Unified(NamedTuple):
    """One line of a unified diff: its kind, its text, and the stretches of it that differ from its partner."""

    kind: str
    text: str
    words: Spans = ()
    side: int = 1

    def __str__(self) -> str:
        sign = {SAME: " ", FOLD: " ", CHANGED: "+" if self.side else "-"}.get(self.kind, self.kind)
        return f"{sign} {self.text}"


def _unified_text(row: Row, kind: str, line: Line, side: int) -> Unified:
    words = row.words[side] if row.words is not None else ()
    if not row.retyped:
        return Unified(kind, line.text, words, side)
    text = f"{line.text}  /* ty={type_text(line.type)} */"
    return Unified(kind, text, (*words, (len(line.text) + 2, len(text))), side)


def _html_line(line: Unified) -> Markup:
    if line.kind == FOLD:
        return tag("span", f"  {line.text.replace('...', '⋯')}", style=f"display:block;color:{MUTED};padding:2px 10px")
    kind = ("-", "+")[line.side] if line.kind == CHANGED else line.kind
    sign, colour, veil, strong = ROWS[kind]
    parts: list[str] = [tag("span", f"{sign or ' '} ", style=f"color:{colour}")]
    at = 0
    for start, end in line.words:
        parts += (
            line.text[at:start],
            tag("span", line.text[start:end], style=f"background:{strong};border-radius:3px"),
        )
        at = end
    parts.append(line.text[at:])
    return tag("span", *parts, style=f"display:block;padding:0 10px{f';background:{veil}' if veil else ''}")


__all__ = ["DiffView", "Unified", "diff_view", "hunks", "sentence"]
