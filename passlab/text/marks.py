"""Printed text with marks that map ranges to nodes, for highlighting, hover and the tracing of values.

While a program is printed with marks, each marked range is wrapped in control characters, which printed Relay never
contains (they are escaped in names and strings). `MarkedText` removes them when its text or marks are first used. Plain
printing pays nothing for this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Protocol

_OPEN, _SEP, _CLOSE = "\x01", "\x02", "\x03"
AROUND = ("function", "branch")
_ENDS = re.compile(f"[{_OPEN}{_CLOSE}]")
_PARTS = re.compile(r"\x01(\d+)\x02|\x03")
_OPENED = re.compile(r"\x01(\d+)\x02")
KINDS = (
    "keyword", "binder", "use", "temporary", "call", "op", "global", "constructor", "attribute", "constant", "type",
    "function", "branch", "comment",
)  # fmt: skip


class Mark(NamedTuple):
    """Characters `start` up to `end` of the text are of `kind` (one of `KINDS`) and represent `node`.

    `node` is the expression or type; for an attribute the pair (call, attribute name); None for keywords.
    """

    start: int
    end: int
    kind: str
    node: Any


class Annotations:
    """Creates marks while a program is printed."""

    def __init__(self) -> None:
        self.marked: list[tuple[str, Any]] = []

    def open(self, kind: str, node: Any) -> str:
        """Return the characters that open a marked range; `CLOSE` ends it."""
        self.marked.append((kind, node))
        return f"{_OPEN}{len(self.marked) - 1}{_SEP}"

    def mark(self, kind: str, node: Any, text: str) -> str:
        """Return `text` marked."""
        return f"{self.open(kind, node)}{text}{_CLOSE}"


CLOSE = _CLOSE
_STRIP = str.maketrans("", "", _OPEN + _SEP + _CLOSE)


def first_mark(text: str, is_meant: Callable[[Any], Any], marked: list[tuple[str, Any]]) -> int | None:
    """Return where the first mark of a node that is meant opens in an annotated text; marks `AROUND` do not count."""
    for opened in _OPENED.finditer(text):
        kind, node = marked[int(opened[1])]
        if kind not in AROUND and is_meant(node):
            return opened.start()
    return None


def without_marks(text: str) -> str:
    """Return external text without the characters that are used for marks."""
    return text.translate(_STRIP)


class Lines(Protocol):
    """An annotated text, of which some lines can be had without the others."""

    @property
    def lines(self) -> int:
        """The number of ends of lines."""

    def window(self, first: int, most: int) -> str:
        """Return the lines from number `first` on, at most `most`."""

    def first_line_of(self, is_meant: Callable[[Any], Any], marked: list[tuple[str, Any]]) -> int:
        """Return the number of the first line with a mark of a node that is meant, or of the last line."""


class MarkedText:
    """A printed program: its `text` and its `marks`, outer before inner, in the order of the text."""

    def __init__(self, annotated: str | Lines, marked: list[tuple[str, Any]]) -> None:
        self._lines = annotated
        self._marked = marked

    @cached_property
    def annotated(self) -> str:
        """The text with control characters and numbers around what is marked; equal texts have equal marks."""
        return str(self._lines)

    @cached_property
    def _parts(self) -> list[str | None]:
        """The annotated text in pieces: text, number of an opening mark (None for a closing one), text, ..."""
        return _PARTS.split(self.annotated)

    @cached_property
    def text(self) -> str:
        """The program as plain text."""
        return "".join(self._parts[::2])  # type: ignore[arg-type]

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, by start, outer before inner."""
        result: list[Mark | None] = []
        open_marks: list[tuple[int, int, Any]] = []  # (index in the result, start, kind and node)
        at = 0
        parts = iter(self._parts)
        for text, number in zip(parts, parts, strict=False):
            at += len(text)  # type: ignore[arg-type]
            if number is not None:
                open_marks.append((len(result), at, self._marked[int(number)]))
                result.append(None)
            else:
                slot, start, (kind, node) = open_marks.pop()
                result[slot] = Mark(start, at, kind, node)
        return tuple(result)  # type: ignore[arg-type]

    def excerpt(self, first: int, most: int) -> tuple[MarkedText, int]:
        """Return the lines from number `first` on, at most `most`, and how many lines are left out.

        A mark that begins before the first line is left out; one that ends after the last ends with it.
        """
        if isinstance(self._lines, str):
            lines = self._lines.split("\n")
            count, window = len(lines) - 1, "\n".join(lines[first : first + most])
        else:
            count = self._lines.lines
            window = self._lines.window(first, most) if count > most else ""
        if count <= most:
            return self, 0
        depth = 0

        def drop_unopened(end: re.Match[str]) -> str:
            nonlocal depth
            if end[0] == _CLOSE and not depth:
                return ""
            depth += 1 if end[0] == _OPEN else -1
            return end[0]

        text = _ENDS.sub(drop_unopened, window)
        return MarkedText(text + depth * _CLOSE, self._marked), count - most

    def first_line_of(self, nodes: Container[Any]) -> int:
        """Return the number of the line where the first of some nodes is printed, or of the last line if no node is
        printed.

        Functions and branches are ignored: a change inside them may be far below their first line.
        """
        if not isinstance(self._lines, str):
            return self._lines.first_line_of(nodes.__contains__, self._marked)
        return self._lines.count("\n", 0, first_mark(self._lines, nodes.__contains__, self._marked))

    def counterparts(self, other: MarkedText) -> dict[int, Any] | None:
        """Return what another text with the same `annotated` marks in the place of each object, by its `id`.

        None if it marks other kinds of things, or two objects in places where this text marks one.
        """
        of: dict[int, Any] = {}
        for (kind, node), (other_kind, other_node) in zip(self._marked, other._marked, strict=True):
            if kind != other_kind or type(node) is not type(other_node):
                return None
            if of.setdefault(id(node), other_node) is not other_node:
                return None
        return of

    def has_equal(self, other: MarkedText, key: Callable[[Any], Any]) -> bool:
        """Whether what another text with the same `annotated` marks has the same keys."""
        pairs = zip(self._marked, other._marked, strict=True)
        return all(one is another or key(one) == key(another) for (_, one), (_, another) in pairs)

    def at(self, offset: int) -> list[Mark]:
        """Return the marks that cover a character of the text, outermost first."""
        return [m for m in self.marks if m.start <= offset < m.end]

    def of(self, node: Any) -> Iterator[Mark]:
        """Yield the marks of one node, in the order of the text."""
        return (m for m in self.marks if m.node is node)

    def __str__(self) -> str:
        return self.text
