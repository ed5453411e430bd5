"""`diff_texts`: the difference of two texts of programs, as data: lines that are the same, changed, added, removed,
moved.

`text_align` aligns the lines. A line in which only names have changed is the same; one with other values as operands
has a kind of its own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from passlab.diffing.text_align import Renaming, align, is_structural
from passlab.diffing.text_lines import LineReader, Syntax, TextLine

SAME, OPERANDS, CHANGED, ADDED, REMOVED, MOVED = "same", "operands", "changed", "added", "removed", "moved"
SIGNS = {SAME: " ", OPERANDS: "~", CHANGED: "!", ADDED: "+", REMOVED: "-", MOVED: ">"}
ALIKE = 0.5  # share of equal words from which a removed and an added line count as one changed line
MOST_BLOCK = 400  # lines of one side of a replaced block up to which changed lines are searched
Filter = Callable[[str], "str | None"]
Spans = tuple[tuple[int, int], ...]
_WORD = re.compile(r"[%@#!^]?[\w.$-]+|[^\s\w]")


class TextRow(NamedTuple):
    """One row: the kind of change of a line, and its number on either side (from 0), None where it is missing."""

    kind: str
    left: int | None
    right: int | None


@dataclass(frozen=True, repr=False)
class TextDiff:
    """What changed between two texts. Falsy when nothing did but names."""

    before: tuple[TextLine, ...]
    after: tuple[TextLine, ...]
    rows: tuple[TextRow, ...]
    renaming: Renaming

    @property
    def names(self) -> dict[str, str]:
        """New names by old name, by the majority of lines."""
        return self.renaming.names

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of rows by kind."""
        return Counter(row.kind for row in self.rows)

    def __bool__(self) -> bool:
        return any(row.kind != SAME for row in self.rows)

    @cached_property
    def summary(self) -> str:
        """The change in a few words."""
        kinds = (CHANGED, ADDED, REMOVED, MOVED)
        parts = [f"{self.counts[kind]:,} {kind}" for kind in kinds if self.counts[kind]]
        if self.counts[OPERANDS]:
            parts.append(f"{self.counts[OPERANDS]:,} with other operands")
        return ", ".join(parts) or ("only names" if self.renamed else "nothing")

    @cached_property
    def renamed(self) -> dict[str, str]:
        """The names that changed: new names by old name."""
        return {old: new for old, new in self.names.items() if old != new}

    @cached_property
    def origin(self) -> list[tuple[str, int | None]]:
        """For each line of the new text: its kind, and the number of the old line."""
        lines: list[tuple[str, int | None]] = [(ADDED, None)] * len(self.after)
        for row in self.rows:
            if row.right is not None:
                lines[row.right] = (row.kind, row.left)
        return lines

    def words(self, row: TextRow) -> tuple[Spans, Spans]:
        """Return the character ranges in which the two lines of a row differ."""
        if row.left is None or row.right is None:
            return (), ()
        return word_marks(self.before[row.left].text, self.after[row.right].text, self.renaming.of(row.left))

    def unified_lines(self, context: int = 3) -> Iterator[str]:
        """Yield the lines of a unified diff: a sign and the text; runs of unchanged lines are folded."""
        near = near_changes(self.rows, context)
        folded = 0
        for row, shown in zip(self.rows, near, strict=True):
            if not shown:
                folded += 1
                continue
            if folded:
                yield f"  ... {folded:,} unchanged line{'s' if folded > 1 else ''}"
                folded = 0
            if row.kind in (CHANGED, OPERANDS) and row.left is not None and row.right is not None:
                yield f"{'-' if row.kind == CHANGED else '<'} {self.before[row.left].text}"
            number, side = (row.left, self.before) if row.right is None else (row.right, self.after)
            assert number is not None
            yield f"{'+' if row.kind == CHANGED else SIGNS[row.kind]} {side[number].text}"
        if folded:
            yield f"  ... {folded:,} unchanged line{'s' if folded > 1 else ''}"

    def text(self) -> str:
        """Return the unified diff as one text."""
        return "\n".join([f"{self.summary[:1].upper()}{self.summary[1:]}.", *(self.unified_lines() if self else ())])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<TextDiff: {self.summary}>"


def diff_texts(
    before: str, after: str, syntax: Syntax, filters: Sequence[Filter] = (), reader: LineReader | None = None
) -> TextDiff:
    """Compare two texts line by line. A filter returns a line without noise, or None to omit it."""
    reader = reader or LineReader(syntax)
    return diff_lines(_filter_lines(before, filters, reader), _filter_lines(after, filters, reader))


def _filter_lines(text: str, filters: Sequence[Filter], reader: LineReader) -> list[TextLine]:
    if not filters:
        return reader.lines(text) if text else []
    kept = []
    for line in text.split("\n") if text else ():
        shown: str | None = line
        for keep in filters:
            shown = keep(shown) if shown is not None else None
        if shown is not None:
            kept.append(reader.line(shown))
    return kept


def diff_lines(before: Sequence[TextLine], after: Sequence[TextLine]) -> TextDiff:
    """Compare two lists of lines."""
    pairs, renaming = align(before, after)
    new_of_old = dict(pairs)
    unpaired_old = [i for i in range(len(before)) if i not in new_of_old]
    unpaired_new = sorted(set(range(len(after))) - {j for _, j in pairs})
    moved = _moved_lines(before, after, unpaired_old, unpaired_new, renaming)
    rows: list[TextRow] = []
    at = other = 0
    for i, j in [*pairs, (len(before), len(after))]:
        rows += _block_rows(before, after, range(at, i), range(other, j), renaming, moved)
        if i < len(before):
            rows.append(TextRow(_row_kind(before[i], after[j], renaming.of(i)), i, j))
        at, other = i + 1, j + 1
    return TextDiff(tuple(before), tuple(after), tuple(rows), renaming)


def _row_kind(left: TextLine, right: TextLine, names: dict[str, str]) -> str:
    if left.names == right.names or all(names.get(a, a) == b for a, b in zip(left.names, right.names, strict=False)):
        return SAME
    return OPERANDS


def _moved_lines(
    before: Sequence[TextLine],
    after: Sequence[TextLine],
    unpaired_old: list[int],
    unpaired_new: list[int],
    renaming: Renaming,
) -> dict[int, int]:
    """Return the old line of each new line that was moved, with the same names."""
    waiting: defaultdict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
    for i in reversed(unpaired_old):
        line = before[i]
        if not is_structural(line.shape) and line.names:
            names = renaming.of(i)
            waiting[line.shape, tuple([names.get(n, n) for n in line.names])].append(i)
    moved = {}
    for j in unpaired_new:
        line = after[j]
        queue = waiting.get((line.shape, line.names))
        if queue:
            moved[j] = queue.pop()
    return moved


def _block_rows(
    before: Sequence[TextLine],
    after: Sequence[TextLine],
    old: range,
    new: range,
    renaming: Renaming,
    moved: dict[int, int],
) -> Iterator[TextRow]:
    """Yield the rows of a block without partners of equal shape; two similar lines are one changed line."""
    moved_away = set(moved.values())
    left = [i for i in old if i not in moved_away]
    right = [j for j in new if j not in moved]
    old_of_new = _similar_lines(before, after, left, right, renaming)
    partner_of = {i: j for j, i in old_of_new.items()}
    position = 0
    for i in old:
        if i in moved_away:
            continue
        if i in partner_of:
            for j in new[position:]:
                if j >= partner_of[i]:
                    break
                yield TextRow(MOVED if j in moved else ADDED, moved.get(j), j)
                position += 1
            yield TextRow(CHANGED, i, partner_of[i])
            position = partner_of[i] - new.start + 1
        else:
            yield TextRow(REMOVED, i, None)
    for j in new[position:]:
        yield TextRow(MOVED if j in moved else ADDED, moved.get(j), j)


def _similar_lines(
    before: Sequence[TextLine], after: Sequence[TextLine], left: list[int], right: list[int], renaming: Renaming
) -> dict[int, int]:
    """Return the old line of each similar new line in a replaced block, in rising order."""
    if not left or not right or len(left) > MOST_BLOCK or len(right) > MOST_BLOCK or len(left) * len(right) > 20_000:
        return {}
    old_words = [_word_counts(before[i].text, renaming.of(i)) for i in left]
    new_words = [_word_counts(after[j].text, {}) for j in right]
    columns = len(right)
    table = [[0.0] * (columns + 1)]
    scores = [[_similarity(a, b) for b in new_words] for a in old_words]
    for row in scores:
        last, line, best = table[-1], [0.0] * (columns + 1), 0.0
        for j, score in enumerate(row):
            best = max(best, last[j + 1], last[j] + score if score >= ALIKE else 0.0)
            line[j + 1] = best
        table.append(line)
    old_of_new = {}
    i, j = len(left), columns
    while i and j:
        if table[i][j] == table[i - 1][j]:
            i -= 1
        elif table[i][j] == table[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            old_of_new[right[j]] = left[i]
    return old_of_new


def _word_counts(text: str, names: dict[str, str]) -> Counter[str]:
    words = _WORD.findall(text[:2000])
    return Counter(names.get(word, word) for word in words if len(word) > 1 or word.isalnum())


def _similarity(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    if not total:
        return 0.0
    small, large = (left, right) if len(left) < len(right) else (right, left)
    common = 0
    for word, count in small.items():
        other = large.get(word)
        if other:
            common += min(other, count)
    return 2 * common / total


def word_marks(left: str, right: str, names: dict[str, str] | None = None) -> tuple[Spans, Spans]:
    """Return the character ranges of the words in which two lines differ; renamed names do not count."""
    names = names or {}
    a, b = list(_WORD.finditer(left[:4000])), list(_WORD.finditer(right[:4000]))
    matcher = SequenceMatcher(None, [names.get(m[0], m[0]) for m in a], [m[0] for m in b], autojunk=False)
    marks: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for tag, i, k, j, m in matcher.get_opcodes():
        if tag != "equal":
            for words, low, high, out in ((a, i, k, marks[0]), (b, j, m, marks[1])):
                if low < high:
                    out.append((words[low].start(), words[high - 1].end()))
    return tuple(marks[0]), tuple(marks[1])


def near_changes(rows: Sequence[TextRow], context: int) -> list[bool]:
    """Return for each row whether it, or a row at most `context` rows above or below, has changed."""
    near = [False] * len(rows)
    for at, row in enumerate(rows):
        if row.kind != SAME:
            for index in range(max(0, at - context), min(len(rows), at + context + 1)):
                near[index] = True
    return near
