"""The words of a line, and which of them differ between two lines.

A name or constant counts as the node it stands for, so that `%3` and `%7` are the same word where both mean the same
value. Everything else is compared as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from passlab.display.listing import Line
from passlab.ir.expr import Expr

Spans = tuple[tuple[int, int], ...]
Meaning = Callable[[Expr], Hashable]
_NAMES = frozenset(("binder", "use", "temporary", "constant"))
_WORD = re.compile(r"[\w.\-]+|[^\w\s]")
_MOST = 128  # words between the ends of two lines up to which they are compared one by one


class Word(NamedTuple):
    """Characters `start` up to `end` of a line, and what they say."""

    key: Hashable
    start: int
    end: int


def line_key(line: Line, meaning: Meaning) -> tuple[Hashable, ...]:
    """Return what a line says: equal for lines that differ in nothing but names of the same nodes.

    Whether a value is given a name, by a temporary or by a let, is no difference either.
    """
    out: list[Hashable] = []
    text = line.text
    at = _value_start(line)
    for piece in line.pieces:
        if piece.start >= at and piece.kind in _NAMES and isinstance(piece.node, Expr):
            out.append(text[at : piece.start].strip())
            out.append(meaning(piece.node))
            at = piece.end
    out.append(text[at:].strip(" ;" if line.subject is not None else " "))
    return tuple(out)


def _value_start(line: Line) -> int:
    """Where the value that a line defines starts: behind `%3 =` and `let %x: T =`; 0 in other lines."""
    pieces = line.pieces
    if not pieces or line.subject is None:
        return 0
    last = pieces[0] if pieces[0].kind == "temporary" else None
    if last is None and len(pieces) > 1 and pieces[0].kind == "keyword" and pieces[1].kind == "binder":
        last = pieces[2] if len(pieces) > 2 and pieces[2].kind == "type" else pieces[1]
    if last is None or line.text[last.end : last.end + 3] != " = ":
        return 0
    return last.end + 3


def words(line: Line, meaning: Meaning) -> Iterator[Word]:
    """Yield the words of a line from left to right."""
    at = _value_start(line)
    for piece in line.pieces:
        if piece.start >= at and piece.kind in _NAMES and isinstance(piece.node, Expr):
            yield from _plain(line.text, at, piece.start)
            yield Word(meaning(piece.node), piece.start, piece.end)
            at = piece.end
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
    """Return the places of a longest common subsequence in either sequence, by the textbook table."""
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
