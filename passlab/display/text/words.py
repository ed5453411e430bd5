"""The words of a line, and which of them differ between two lines.

A name or constant counts as its node, so `%3` and `%7` are the same word if both are the same value. Everything else
is compared as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from passlab.display.text.listing import Line
from passlab.ir.expr import Expr

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
