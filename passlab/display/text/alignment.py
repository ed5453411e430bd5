"""The alignment of two printed programs, line by line, by the nodes that the lines define.

A line is paired with the line that defines the matching node (`diffing.matching`), so renaming, renumbering and moving
code into another function leave lines paired. Lines without a node (brackets, parameters, results) are paired by their
words, where a name counts as its node. Of pairs that cross, the longest increasing subsequence is kept
(Hunt and Szymanski, "A fast algorithm for computing longest common subsequences", 1977; patience diff). The time is
linear in lines, except for that sequence, which takes n log n.

The file begins with the words of a line, and which of them differ between two lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from passlab.diffing.diff import Change, Diff, FunctionDiff
from passlab.diffing.matching import Window, resolve
from passlab.display.text.listing import Line, ProgramLines
from passlab.ir.expr import Call, Constant, Expr, Var
from passlab.ir.walk import post_order

Spans = tuple[tuple[int, int], ...]
Meaning = Callable[[Expr], Hashable]
_NAMES = frozenset(("binder", "use", "temporary", "constant"))
_WORD = re.compile(r"[\w.\-]+|[^\w\s]")
_MOST = 128  # words between the ends of two lines up to which they are compared one by one


class Word(NamedTuple):
    """Characters `start` up to `end` of a line, and the key by which they are compared."""

    key: Hashable
    start: int
    end: int


def line_key(line: Line, meaning: Meaning) -> tuple[Hashable, ...]:
    """Return the key of a line: equal for lines that differ only in the names of the same nodes.

    Whether a temporary or a let names the value does not matter either.
    """
    out: list[Hashable] = []
    text = line.text
    at = _value_start(line)
    for token in line.tokens:
        if token.start >= at and token.kind in _NAMES and isinstance(token.node, Expr):
            out.append(text[at : token.start].strip())
            out.append(meaning(token.node))
            at = token.end
    out.append(text[at:].strip(" ;" if line.subject is not None else " "))
    return tuple(out)


def _value_start(line: Line) -> int:
    """Where the value that a line defines starts: behind `%3 =` and `let %x: T =`; 0 in other lines."""
    tokens = line.tokens
    if not tokens or line.subject is None:
        return 0
    last = tokens[0] if tokens[0].kind == "temporary" else None
    if last is None and len(tokens) > 1 and tokens[0].kind == "keyword" and tokens[1].kind == "binder":
        last = tokens[2] if len(tokens) > 2 and tokens[2].kind == "type" else tokens[1]
    if last is None or line.text[last.end : last.end + 3] != " = ":
        return 0
    return last.end + 3


def words(line: Line, meaning: Meaning) -> Iterator[Word]:
    """Yield the words of a line from left to right."""
    at = _value_start(line)
    for token in line.tokens:
        if token.start >= at and token.kind in _NAMES and isinstance(token.node, Expr):
            yield from _plain(line.text, at, token.start)
            yield Word(meaning(token.node), token.start, token.end)
            at = token.end
    yield from _plain(line.text, at, len(line.text.rstrip(" ;")))


def _plain(text: str, start: int, end: int) -> Iterator[Word]:
    return (Word(m[0], m.start(), m.end()) for m in _WORD.finditer(text, start, end))


def changed_words(left: Line, right: Line, left_meaning: Meaning, right_meaning: Meaning) -> tuple[Spans, Spans]:
    """Return the spans of each line that the other one does not have."""
    a, b = list(words(left, left_meaning)), list(words(right, right_meaning))
    head, most = 0, min(len(a), len(b))
    while head < most and a[head].key == b[head].key:
        head += 1
    tail = 0
    while tail < most - head and a[-1 - tail].key == b[-1 - tail].key:
        tail += 1
    a, b = a[head : len(a) - tail], b[head : len(b) - tail]
    if len(a) <= _MOST and len(b) <= _MOST:
        kept_a, kept_b = _common([w.key for w in a], [w.key for w in b])
        a = [w for k, w in enumerate(a) if k not in kept_a]
        b = [w for k, w in enumerate(b) if k not in kept_b]
    return _spans(a, left.text), _spans(b, right.text)


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[set[int], set[int]]:
    """Return the indices of a longest common subsequence in either sequence, by dynamic programming."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = table[i], table[i + 1]
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
    i = j = 0
    in_a: set[int] = set()
    in_b: set[int] = set()
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            in_a.add(i)
            in_b.add(j)
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return in_a, in_b


def _spans(words: Sequence[Word], text: str) -> Spans:
    """Join neighbouring words with nothing but blanks and commas between them."""
    out: list[tuple[int, int]] = []
    for word in words:
        if out and not text[out[-1][1] : word.start].strip(" ,"):
            out[-1] = (out[-1][0], word.end)
        else:
            out.append((word.start, word.end))
    return tuple(out)


NONE = " "  # no line on this side
SAME, MOVED, CHANGED, REMOVED, ADDED, AWAY, HERE = "=~*-+<>"


class Row(NamedTuple):
    """Two lines side by side: for each its kind (a character from above) and its number, or None without a line.

    In a changed row, `words` holds the ranges of the left and of the right line that differ; `retyped` is True if the
    type of the defined node changed.
    """

    left_kind: str
    left: int | None
    right_kind: str
    right: int | None
    words: tuple[Spans, Spans] | None = None
    retyped: bool = False

    @property
    def kinds(self) -> str:
        """The kinds of both sides."""
        return self.left_kind + self.right_kind


def align(difference: Diff, before: ProgramLines, after: ProgramLines) -> list[Row]:
    """Return the rows that put the lines of two programs side by side, as far as the lines of both go."""
    functions = {f.name: f for f in difference.functions}
    old, new = _sections(before), _sections(after)
    edge = min((max(of) for of, lines in ((old, before), (new, after)) if lines.left_out), default=None)
    rows: list[Row] = []
    for name in sorted({*old, *new}):
        left, right = old.get(name, range(0)), new.get(name, range(0))
        if edge is not None and name > edge:  # the lines of one side end before
            break
        sides = [before[number] for number in left], [after[number] for number in right]
        function = functions.get(name) or _function_of(sides[1], difference)
        if function is not None and edge is not None:
            function = function.within(Window(*map(_nodes_in, sides)))
        section = [*_align_section(function, before, after, left, right)]
        rows += _rows_to_last_pair(section) if name == edge else section
    return rows


def _function_of(lines: Sequence[Line], difference: Diff) -> FunctionDiff | None:
    """Return the function in whose middle an excerpt begins."""
    if len(difference.functions) == 1:
        return difference.functions[0]
    subject = next((line.subject for line in lines if line.subject is not None), None)
    functions = [f for f in difference.functions if f.after is not None]
    return next((f for f in functions if f.after is not None and subject in set(post_order(f.after))), None)


def _nodes_in(lines: Sequence[Line]) -> list[Expr]:
    """Return the nodes of lines in their order."""
    nodes: dict[Expr, None] = {}
    for line in lines:
        for node in (*(node for token in line.tokens for node in (token.call, token.node)), line.result, line.subject):
            if isinstance(node, Expr):
                nodes[node] = None
    return list(nodes)


def _rows_to_last_pair(rows: list[Row]) -> list[Row]:
    """Return rows up to the last that has a line on either side."""
    while rows and NONE in rows[-1].kinds:
        rows.pop()
    return rows


def _sections(lines: Sequence[Line]) -> dict[str, range]:
    """Return the lines of each definition of a module by name, in the order of printing; "" before the first."""
    starts: list[tuple[str, int]] = [("", 0)]
    for number, line in enumerate(lines):
        tokens = line.tokens
        if len(tokens) > 1 and tokens[0].start == 0 and tokens[1].kind == "global" and line.text.startswith("def "):
            starts.append((tokens[1].node.name_hint, number))
    ends = [*(start for _, start in starts[1:]), len(lines)]
    return {name: range(start, end) for (name, start), end in zip(starts, ends, strict=True) if end > start}


# ---------------------------------------------------------------- one function
class _Side:
    """The lines of one function on one side: for each its key and the old node it is about."""

    def __init__(self, lines: Sequence[Line], rows: range, function: FunctionDiff | None, new: bool) -> None:
        self.lines, self.rows = lines, rows
        self.matching = function.matching if function is not None else None
        self.crossings = function.crossings if function is not None else None
        self.new = new
        self.source = self.matching.sources[1 if new else 0] if self.matching else {}
        self.keys = [line_key(lines[i], self.meaning) for i in rows]

    def meaning(self, node: Expr) -> Hashable:
        """The node of a name or constant, as the same key on both sides."""
        matching = self.matching
        if type(node) is Var and matching is not None and all(node in source for source in matching.sources):
            return node  # a variable of both programs: the line that binds it shows what changed
        at = resolve(node, self.source)
        if type(at) is Var:  # a parameter: a diff shows that it was renamed
            return at.name_hint
        if matching is None:
            return at
        # A constant whose value changed, or an operation in the place of another, is another word, though it is paired.
        partner = at if self.new else matching.forward.get(at, at)
        changed = at in matching.replaced or (type(at) is Constant and partner not in matching.same)
        return at if changed else partner

    def subjects(self) -> dict[Hashable, int]:
        """The line of each node; on both sides the key is the new node.

        A call of a function literal passes on the value of its last line, so such a call has a key of its own.
        """
        result: dict[Hashable, int] = {}
        for at, number in enumerate(self.rows):
            subject = self.lines[number].subject
            if subject is not None and self.matching is not None:
                node = resolve(subject, self.source)
                new_node = node if self.new else self.matching.forward.get(node)
                if new_node is not None and result.setdefault(new_node, at) != at and type(subject) is Call:
                    result.setdefault((Call, new_node), at)
        return result

    def crossing_rows(self) -> set[int]:
        """The lines of nodes that came from another function, or went to one."""
        if self.crossings is None:
            return set()
        nodes = self.crossings.old_of if self.new else self.crossings.new_of
        subjects = ((at, self.lines[number].subject) for at, number in enumerate(self.rows))
        return {at for at, node in subjects if node is not None and resolve(node, self.source) in nodes}


def _align_section(
    function: FunctionDiff | None, before: Sequence[Line], after: Sequence[Line], left: range, right: range
) -> Iterator[Row]:
    if not left or not right:
        away, here = (
            _Side(lines, rows, function, new).crossing_rows() if rows else set()
            for lines, rows, new in ((before, left, False), (after, right, True))
        )
        yield from (Row(AWAY if at in away else REMOVED, i, NONE, None) for at, i in enumerate(left))
        yield from (Row(NONE, None, HERE if at in here else ADDED, j) for at, j in enumerate(right))
        return
    if function is not None and function.before is function.after and len(left) == len(right):  # the very same function
        yield from (Row(SAME, i, SAME, j) for i, j in zip(left, right, strict=True))
        return
    a, b = _Side(before, left, function, False), _Side(after, right, function, True)
    of_old = a.subjects()
    # Moved code crosses other code: the pairs of the longest increasing subsequence stay side by side.
    crossing = sorted((j, of_old[node]) for node, j in b.subjects().items() if node in of_old)
    kept = [crossing[k] for k in longest_increasing([i for _, i in crossing])]
    moved = ({i for _, i in crossing} | a.crossing_rows(), {j for j, _ in crossing} | b.crossing_rows())
    i = j = 0
    for to_j, to_i in [*kept, (len(b.keys), len(a.keys))]:
        yield from _fill(a, b, range(i, to_i), range(j, to_j), moved)
        if to_i < len(a.keys):
            yield _pair(function, a, b, to_i, to_j)
        i, j = to_i + 1, to_j + 1


def longest_increasing(values: Sequence[int]) -> list[int]:
    """Return the indices of a longest strictly increasing subsequence, in order."""
    ends: list[int] = []  # the smallest last value of an increasing subsequence of each length
    end_indices: list[int] = []
    before: list[int] = [-1] * len(values)  # the index before each one in its subsequence
    for index, value in enumerate(values):
        length = bisect_left(ends, value)  # `value` replaces the first end that is not smaller
        before[index] = end_indices[length - 1] if length else -1
        if length == len(ends):
            ends.append(value)
            end_indices.append(index)
        else:
            ends[length], end_indices[length] = value, index
    backwards = []
    index = end_indices[-1] if end_indices else -1
    while index >= 0:
        backwards.append(index)
        index = before[index]
    return backwards[::-1]


def _fill(a: _Side, b: _Side, left: range, right: range, moved: tuple[set[int], set[int]]) -> Iterator[Row]:
    """Pair the lines between two pairs by their words, and align the remaining lines in order."""
    pairs = _pairs_by_key(a, b, left, right, moved)
    i, j = left.start, right.start
    for to_i, to_j in [*pairs, (left.stop, right.stop)]:
        yield from _unpaired_rows(a, b, range(i, to_i), range(j, to_j), moved)
        if to_i < left.stop and to_j < right.stop:
            yield Row(SAME, a.rows[to_i], SAME, b.rows[to_j])
        i, j = to_i + 1, to_j + 1


def _pairs_by_key(
    a: _Side, b: _Side, left: range, right: range, moved: tuple[set[int], set[int]]
) -> list[tuple[int, int]]:
    """Return pairs of lines with the same words: from both ends, then those that occur once on either side."""

    def alike(i: int, j: int) -> bool:
        return a.keys[i] == b.keys[j] and i not in moved[0] and j not in moved[1]

    head, tail = 0, 0
    most = min(len(left), len(right))
    while head < most and alike(left[head], right[head]):  # lines at both ends first, which are most lines
        head += 1
    while tail < most - head and alike(left[-1 - tail], right[-1 - tail]):
        tail += 1
    middle = _unique_pairs(
        [(a.keys[i], i) for i in left[head : len(left) - tail] if i not in moved[0]],
        [(b.keys[j], j) for j in right[head : len(right) - tail] if j not in moved[1]],
    )
    ends = [(left[-1 - k], right[-1 - k]) for k in range(tail - 1, -1, -1)]
    return [*zip(left[:head], right[:head], strict=True), *middle, *ends]


def _unique_pairs(left: list[tuple[Hashable, int]], right: list[tuple[Hashable, int]]) -> list[tuple[int, int]]:
    first, second = _once(left), _once(right)
    pairs = sorted((j, first[key]) for key, j in second.items() if key in first)
    return [(pairs[k][1], pairs[k][0]) for k in longest_increasing([i for _, i in pairs])]


def _once(items: list[tuple[Hashable, int]]) -> dict[Hashable, int]:
    counts: dict[Hashable, int] = {}
    twice = set()
    for key, at in items:
        if key in counts:
            twice.add(key)
        counts[key] = at
    return {key: at for key, at in counts.items() if key not in twice}


def _unpaired_rows(a: _Side, b: _Side, left: range, right: range, moved: tuple[set[int], set[int]]) -> Iterator[Row]:
    for step in range(max(len(left), len(right))):
        left_kind, i, right_kind, j = NONE, None, NONE, None
        if step < len(left):
            left_kind, i = AWAY if left[step] in moved[0] else REMOVED, a.rows[left[step]]
        if step < len(right):
            right_kind, j = HERE if right[step] in moved[1] else ADDED, b.rows[right[step]]
        yield Row(left_kind, i, right_kind, j)


def _pair(function: FunctionDiff | None, a: _Side, b: _Side, i: int, j: int) -> Row:
    left, right = a.lines[a.rows[i]], b.lines[b.rows[j]]
    retyped = left.type is not right.type and left.type is not None and right.type is not None
    if a.keys[i] != b.keys[j] or retyped:
        words = changed_words(left, right, a.meaning, b.meaning)
        return Row(CHANGED, a.rows[i], CHANGED, b.rows[j], words, retyped)
    subject = None if right.subject is None else resolve(right.subject, b.source)
    node_diff = function.of_new.get(subject) if function is not None and subject is not None else None
    kind = MOVED if node_diff is not None and node_diff.change is Change.MOVED else SAME
    return Row(kind, a.rows[i], kind, b.rows[j])
