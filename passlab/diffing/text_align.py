"""`align`: which line of one text corresponds to which line of another, where names are noise.

Lines are aligned by shape. Unique shapes are anchors, except brackets and empty lines; dynamic programming aligns the
lines between anchors. Each pair of lines votes for the renaming of names, and the alignment is repeated with the
winners. Numbering names by their order of occurrence instead would fail: one insertion renames everything below it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate

from passlab.diffing.text_lines import HOLE, TextLine

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
