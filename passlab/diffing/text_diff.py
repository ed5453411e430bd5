"""`diff_texts`: the difference of two texts of programs, as data: lines that are the same, changed, added, removed,
moved.

`align` finds which line of one text corresponds to which line of the other. A line in which only names have changed is
the same; one with other values as operands has a kind of its own.

The file begins with `align`: which line of one text corresponds to which line of another, where names are noise.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from passlab.diffing.text_lines import HOLE, LineReader, Syntax, TextLine
from passlab.errors import counted
from passlab.lazy import notebook_forms

MOST_CELLS = 60_000  # of one dynamic programming table; larger gaps are aligned by `difflib`
ALL_CELLS = 150_000  # of all tables of one alignment, so that a step is shown without delay
MOST_LINES = 4_000  # lines of one gap, on both sides together, that `difflib` aligns
Pair = tuple[int, int]


class Renaming:
    """The new names of the names in an old text.

    Each function numbers its own values, so the pairs of lines of a function vote only for its names.
    """

    def __init__(self, old: Sequence[TextLine], new: Sequence[TextLine], pairs: Sequence[Pair] = ()) -> None:
        self._function = list(accumulate(line.opens for line in old))  # the number of the function of each line
        votes: defaultdict[int, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for i, j in pairs:
            left, right = old[i], new[j]
            if left.names and left.shape == right.shape:
                weight = 1 if is_structural(left.shape) else 4 if left.text != right.text else 6
                inside = votes[self._function[i]]
                for name, other in zip(left.names, right.names, strict=False):
                    inside[name][other] += weight
        self._inside = {function: _winners(counters) for function, counters in votes.items()}

    @cached_property
    def names(self) -> dict[str, str]:
        """New names by old name, by the majority of functions."""
        if len(self._inside) == 1:
            return next(iter(self._inside.values()))
        votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for names in self._inside.values():
            for name, other in names.items():
                votes[name][other] += 1
        return _winners(votes)

    def of(self, line: int) -> dict[str, str]:
        """Return the new names by old name for a line of the old text."""
        return self._inside.get(self._function[line], {})


def _winners(votes: Mapping[str, Counter[str]]) -> dict[str, str]:
    return {name: counter.most_common(1)[0][0] for name, counter in votes.items()}


def is_structural(shape: str) -> bool:
    """Whether a line has no content of its own: a bracket, a label, an empty line."""
    return len(shape) <= 2 or not any(char.isalnum() for char in shape)


def align(old: Sequence[TextLine], new: Sequence[TextLine]) -> tuple[list[Pair], Renaming]:
    """Return the pairs of corresponding lines, in order, and the renaming of names."""
    pairs = _align_ranks(old, new, [line.names for line in old])
    renaming = Renaming(old, new, pairs)
    if any(old[i].names != new[j].names for i, j in pairs) or len(pairs) < min(len(old), len(new)):
        new_names = [tuple([renaming.of(i).get(name, name) for name in line.names]) for i, line in enumerate(old)]
        pairs = _align_ranks(old, new, new_names)
        renaming = Renaming(old, new, pairs)
    return pairs, renaming


def _align_ranks(old: Sequence[TextLine], new: Sequence[TextLine], new_names: Sequence[tuple[str, ...]]) -> list[Pair]:
    """Return the pairs of lines; `new_names` has the new names in each old line."""
    pairs: list[Pair] = []
    work = [(0, len(old), 0, len(new))]
    cells_left = ALL_CELLS
    while work:
        low, high, start, end = work.pop()
        while low < high and start < end and old[low].shape == new[start].shape and new_names[low] == new[start].names:
            pairs.append((low, start))
            low, start = low + 1, start + 1
        while (
            low < high
            and start < end
            and old[high - 1].shape == new[end - 1].shape
            and new_names[high - 1] == new[end - 1].names
        ):
            high, end = high - 1, end - 1
            pairs.append((high, end))
        if low == high or start == end:
            continue
        anchors = _anchors(old, new, low, high, start, end)
        if anchors:
            edges = [*anchors, (high, end)]
            at, other = low, start
            for i, j in edges:
                if i > at or j > other:
                    work.append((at, i, other, j))
                if i < high:
                    pairs.append((i, j))
                at, other = i + 1, j + 1
        elif (cells := (high - low) * (end - start)) <= min(MOST_CELLS, cells_left):
            cells_left -= cells
            pairs += _align_gap(old, new, low, high, start, end, new_names)
        elif high - low + end - start <= MOST_LINES:
            pairs += _match_lines(old, new, low, high, start, end)
        else:
            pairs += _hash_lines(old, new, low, high, start, end)
    return sorted(pairs)


def _anchors(old: Sequence[TextLine], new: Sequence[TextLine], low: int, high: int, start: int, end: int) -> list[Pair]:
    """Return pairs of lines whose shape is unique on both sides, as a chain that rises on both sides."""
    here = Counter(line.shape for line in old[low:high])
    there = Counter(line.shape for line in new[start:end])
    position_of = {new[j].shape: j for j in range(start, end) if there[new[j].shape] == 1}
    candidates = [
        (i, position_of[old[i].shape])
        for i in range(low, high)
        if here[old[i].shape] == 1 and old[i].shape in position_of and not is_structural(old[i].shape)
    ]
    return _longest_rising(candidates)


def _longest_rising(pairs: list[Pair]) -> list[Pair]:
    """Return the longest chain of pairs that also rises on the right side (patience sorting)."""
    tops: list[int] = []  # for each pile the index of its top
    back: list[int] = []
    for index, (_, j) in enumerate(pairs):
        low, high = 0, len(tops)
        while low < high:
            middle = (low + high) // 2
            if pairs[tops[middle]][1] < j:
                low = middle + 1
            else:
                high = middle
        back.append(tops[low - 1] if low else -1)
        tops[low : low + 1] = [index]
    chain = []
    at = tops[-1] if tops else -1
    while at >= 0:
        chain.append(pairs[at])
        at = back[at]
    return chain[::-1]


def _align_gap(
    old: Sequence[TextLine],
    new: Sequence[TextLine],
    low: int,
    high: int,
    start: int,
    end: int,
    new_names: Sequence[tuple[str, ...]],
) -> list[Pair]:
    """Return the best alignment of a small gap: most lines of equal shape, then most equal names."""
    rows, columns = high - low, end - start
    right = [(line.shape, line.names) for line in new[start:end]]
    left = [(old[i].shape, new_names[i]) for i in range(low, high)]
    entry = {shape for shape, _ in right}
    table: list[list[float]] = [[0.0] * (columns + 1)]
    for shape, names in left:
        last = table[-1]
        if shape not in entry:
            table.append(last)
            continue
        base = 0.9 if is_structural(shape) else 2.0
        row = [0.0] * (columns + 1)
        best = 0.0
        for j, (other, other_names) in enumerate(right):
            if last[j + 1] > best:
                best = last[j + 1]
            if other == shape:
                score = last[j] + base + _agreement(names, other_names)
                if score > best:
                    best = score
            row[j + 1] = best
        table.append(row)
    pairs = []
    i, j = rows, columns
    while i and j:
        value = table[i][j]
        if table[i - 1][j] == value:
            i -= 1
        elif table[i][j - 1] == value:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((low + i, start + j))
    return pairs


def _agreement(left: tuple[str, ...], right: tuple[str, ...]) -> float:
    if not left:
        return 0.5
    if left == right:
        return 0.6
    return 0.5 * sum(a == b for a, b in zip(left, right, strict=False)) / len(left)


def _match_lines(
    old: Sequence[TextLine], new: Sequence[TextLine], low: int, high: int, start: int, end: int
) -> list[Pair]:
    matcher = SequenceMatcher(None, [x.shape for x in old[low:high]], [x.shape for x in new[start:end]], autojunk=True)
    return [
        (low + block.a + k, start + block.b + k) for block in matcher.get_matching_blocks() for k in range(block.size)
    ]


def _hash_lines(
    old: Sequence[TextLine], new: Sequence[TextLine], low: int, high: int, start: int, end: int
) -> list[Pair]:
    """Pair equal lines of a huge gap in order, in time linear in its lines."""
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for j in range(end - 1, start - 1, -1):
        waiting[new[j].text].append(j)
    pairs = []
    for i in range(low, high):
        if not is_structural(old[i].shape) and (queue := waiting.get(old[i].text)):
            pairs.append((i, queue.pop()))
    return _longest_rising(pairs)


__all__ = ["HOLE", "Renaming", "align", "is_structural"]


SAME, OPERANDS, CHANGED, ADDED, REMOVED, MOVED = "same", "operands", "changed", "added", "removed", "moved"
SIGNS = {SAME: " ", OPERANDS: "~", CHANGED: "!", ADDED: "+", REMOVED: "-", MOVED: ">"}
ALIKE = 0.5  # share of equal words from which a removed and an added line count as one changed line
MOST_BLOCK = 400  # lines of one side of a replaced block up to which changed lines are searched
Filter = Callable[[str], "str | None"]
Spans = tuple[tuple[int, int], ...]
_WORD = re.compile(r"[%@#!^]?[\w.$-]+|[^\s\w]")


class TextRow(NamedTuple):
    """One row: the kind of change of a line, and its number on either side (from 0), None if it is missing."""

    kind: str
    left: int | None
    right: int | None


@dataclass(frozen=True, repr=False)
class TextDiff:
    """What changed between two texts. Falsy when nothing did but names."""

    _repr_mimebundle_ = notebook_forms

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


def steps_of_both(both: int, first: int, second: int) -> str:
    """Return how many steps are in both of two recordings and in one only: `5 steps in both, 2 only in the first`."""
    sides = ((first, "first"), (second, "second"))
    alone = [f"{count:,} only in the {side}" for count, side in sides if count]
    return ", ".join([f"{counted(both, 'step')} in both", *alone])
