"""The view of a difference between two programs: a sentence, operators counted, and the lines side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial

from passlab.diffing.diff import Diff
from passlab.display.code_lines import FOLD, WORD, CodeLine, Listing
from passlab.display.nodes import line_numbers
from passlab.display.protocol.programs import ChangedWords, DiffData, DiffLines, DiffRows, OperatorCount
from passlab.display.rows import Counts
from passlab.display.text.alignment import CHANGED, MOVED, SAME, Row, align
from passlab.display.text.listing import Line, LineTable, ProgramLines, lines_of, listing, marked_text, type_text
from passlab.display.view import BriefView, HasFrame, checked_view
from passlab.display.view_parts import Gap, Part, Sentence
from passlab.instrument.statistics import count_module
from passlab.ir.module import IRModule
from passlab.table import Table

CONTEXT = 3  # unchanged lines shown around what changed
LEADING = 50  # lines shown before the first change of programs that are too long to be shown whole
STATIC_LINES = 150  # lines of a diff that static HTML shows
BRIEF_LINES = 40  # lines of a diff that a terminal shows
Lines = Callable[[], ProgramLines]
_LEGEND = {MOVED: "~ moved into or out of a function", "<": "< moved from here", ">": "> moved to here"}


class DiffView(BriefView):
    """Two programs side by side."""

    kind = script = "diff"
    whole = "the diff is longer than a notebook should hold"
    rest = "print(DIFF.text()) prints all lines of a diff"

    def __init__(
        self,
        difference: Diff,
        before: Lines | None = None,
        after: Lines | None = None,
        find_equal: Callable[[], DiffView | None] = lambda: None,
    ) -> None:
        """View a difference. `find_equal` returns the view of one that looks the same: its text is shared."""
        self.diff = difference
        self._find_equal = find_equal
        self._lines = (before or partial(listing, difference.before), after or partial(listing, difference.after))

    @cached_property
    def _equal(self) -> DiffView | None:
        return self._find_equal()

    @property
    def title(self) -> str:
        """What changed, as a sentence."""
        return sentence(self.diff) if self._equal is None else self._equal.title

    @cached_property
    def _sides(self) -> tuple[ProgramLines, ProgramLines]:
        before, after = (lines() for lines in self._lines)
        return lines_with_changes(self.diff, before, after) if before.left_out or after.left_out else (before, after)

    @property
    def before(self) -> ProgramLines:
        """The lines of the old program; of long ones those with the first changes."""
        return self._sides[0]

    @property
    def after(self) -> ProgramLines:
        """The lines of the new program, from the same place on."""
        return self._sides[1]

    @property
    def is_excerpt(self) -> bool:
        """Whether the programs are too long to be shown whole."""
        return bool(self.before.left_out or self.after.left_out)

    @cached_property
    def rows(self) -> list[Row]:
        """The lines of both programs, side by side."""
        if self._equal is not None:
            return self._equal.rows
        return align(self.diff, self.before, self.after)

    @cached_property
    def operators(self) -> list[tuple[str, int, int]]:
        """The operators whose number of calls changed: name, calls before, calls after."""
        before, after = self.diff.before, self.diff.after
        if isinstance(before, IRModule) and isinstance(after, IRModule):  # counted once for all views
            (_, olds), (_, news) = count_module(before), count_module(after)
            return [(name, olds[name], news[name]) for name in sorted({*olds, *news}) if olds[name] != news[name]]
        return [(name, old, new) for name, (old, new) in self.diff.op_counts.items() if old != new]

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title)
        yield from self.changes(BRIEF_LINES if self.brief else STATIC_LINES, self.rest, self.brief)

    def changes(self, most: int, rest: str, brief: bool = False) -> Iterable[Part]:
        """Yield the changed numbers of calls, and the unified diff, `most` lines of it in HTML.

        `rest` says how to print the others. If `brief`, also text has no more lines.
        """
        if self.operators:
            yield Gap()
            yield Counts(self.operators)
        lines = list(self.unified_lines())
        if lines:
            yield Gap()
            yield Listing(lines, most, rest, brief=brief)
        kinds = {kind for row in self.rows for kind in row.kinds}
        legend = [words for kind, words in _LEGEND.items() if kind in kinds]
        if legend:
            yield Gap()
            yield Sentence("   ".join(legend), "muted")

    def unified_lines(self) -> Iterator[CodeLine]:
        """Yield the lines of a unified diff, with long runs of unchanged lines folded."""
        for hunk in hunks(self.rows):
            if isinstance(hunk, int):
                yield CodeLine(f"... {hunk:,} unchanged lines", kind=FOLD)
            else:
                yield from self._hunk_lines(hunk)

    def _hunk_lines(self, hunk: Sequence[Row]) -> Iterator[CodeLine]:
        later: list[CodeLine] = []
        for row in hunk:
            both = row.left_kind == row.right_kind
            if not both or row.left_kind == CHANGED:
                if row.left is not None:
                    yield _unified_line(row, row.left_kind, self.before[row.left], 0)
                if row.right is not None:
                    later.append(_unified_line(row, row.right_kind, self.after[row.right], 1))
                if not both:
                    continue
            yield from later
            later = []
            if row.left_kind != CHANGED and row.right is not None:
                yield CodeLine(self.after[row.right].text, kind=row.right_kind)
        yield from later

    # ------------------------------------------------------------ data
    def data(self) -> DiffData:
        table = LineTable()
        rows, lines = self.changes_data(), self.lines_data(table)
        return {"kind": self.kind, "title": self.title, **rows, **lines, **table.data()}

    def lines_data(self, table: LineTable) -> DiffLines:
        """Return the lines of both programs as data; they are added to a table that views can share."""
        return {
            "before": [table.add(line) for line in self.before],
            "after": [table.add(line) for line in self.after],
            "nodes": (line_numbers(self.before), line_numbers(self.after)),
        }

    def changes_data(self) -> DiffRows:
        """Return the rows as data (line numbers follow from their kinds), and the operators whose number differs."""
        return self._rows_data

    @cached_property
    def _rows_data(self) -> DiffRows:
        if self._equal is not None:
            return self._equal.changes_data()
        words = {}
        for number, row in enumerate(self.rows):
            if row.words is not None:
                before, after = [[x for span in side for x in span] for side in row.words]
                words[str(number)] = ChangedWords(before, after, int(row.retyped))
        kinds = "".join([row.kinds for row in self.rows])
        return {"kinds": kinds, "words": words, "operators": [OperatorCount(*item) for item in self.operators]}

    def source(self) -> HasFrame:
        """Return one row per changed node: function, change, node, fields."""
        rows = [
            (f"@{f.name}", n.change.value, n.what, "; ".join(map(str, n.fields)))
            for f in self.diff.changed
            for n in f.changed_nodes
        ]
        return Table(("function", "change", "node", "fields"), rows)


@checked_view(Diff, hint="passlab.diff(before, after) returns one")
def diff_view(difference: Diff) -> DiffView:
    """Return the view of a difference.

    >>> f, g = (passlab.parse(f"def @main(%x: float32) {{ {name}(%x) }}") for name in ("exp", "tanh"))
    >>> print(display.diff_view(passlab.diff(f, g)).text().splitlines()[0])
    Removed 1 exp; added 1 tanh.
    """
    return DiffView(difference)


def lines_with_changes(difference: Diff, old: ProgramLines, new: ProgramLines) -> tuple[ProgramLines, ProgramLines]:
    """Return the visible lines of two long programs, starting shortly before the first change.

    `old` and `new` are their first lines.
    """
    changes = set(difference.first_changes())
    if not changes:
        return old, new
    before, after = old.whole or marked_text(difference.before), new.whole or marked_text(difference.after)
    first = max(0, min(before.first_line_of(changes), after.first_line_of(changes)) - LEADING)
    return (lines_of(before, first), lines_of(after, first)) if first else (old, new)


def sentence(difference: Diff) -> str:
    """Return a difference as a sentence."""
    summary = difference.summary
    return summary[:1].upper() + summary[1:] + "."


def hunks(rows: Sequence[Row], context: int = CONTEXT) -> Iterator[list[Row] | int]:
    """Yield groups of changed rows with context, and between them the number of rows left out."""
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


def _unified_line(row: Row, kind: str, line: Line, side: int) -> CodeLine:
    """A line of a row; `side` is 0 for the old one. A changed line appears as removed and as added."""
    kind = "-+"[side] if kind == CHANGED else kind
    text, words = line.text, row.words[side] if row.words is not None else ()
    if row.retyped:
        text = f"{line.text}  /* ty={type_text(line.type)} */"
        words = (*words, (len(line.text) + 2, len(text)))
    return CodeLine(text, [(start, end, WORD) for start, end in words], kind)
