"""Lines of programs in any language: the shape of a line, which is the line without its names, and these names.

Printers number names such as `%12`, `!9` or `^bb3`, so they change with the lines above; shapes do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

HOLE = "\x00"  # replaces a name in a shape
LONGEST = 20_000  # characters of a line that are examined


@dataclass(frozen=True)
class Syntax:
    """The syntax of one language: regular expressions for names and operations, and the comment mark."""

    name: str
    names: str
    comment: str
    operation: str
    label: str = ""  # the sign in front of names, which labels of blocks lack
    function: str = ""  # matches the start of a line that opens a function

    @cached_property
    def name_pattern(self) -> re.Pattern[str]:
        """Matches each name of a line."""
        return re.compile(self.names)

    @cached_property
    def operation_pattern(self) -> re.Pattern[str]:
        """Its first group that matches is the operation of a line."""
        return re.compile(self.operation)

    @cached_property
    def function_pattern(self) -> re.Pattern[str]:
        """Matches the start of a line that opens a function."""
        return re.compile(self.function or "(?!)")

    def operation_of(self, line: str) -> str:
        """Return the operation of a line, or an empty text."""
        match = self.operation_pattern.search(line[:LONGEST])
        if match is None:
            return ""
        return next((group for group in match.groups() if group), "")


class TextLine(NamedTuple):
    """A line: its text as printed, its shape, its names from left to right."""

    text: str
    shape: str
    names: tuple[str, ...]
    opens: bool = False  # whether it opens a function


_TRAILER = {
    ";": re.compile(r"\s*; preds = [^\n]*$|\s*; \d* ?uses?.*$"),
    "//": re.compile(r"\s*// (?:preds?|\d+ preds?|no predecessors)[^\n]*$"),
}


class LineReader:
    """Splits texts into lines with shapes; each distinct line is analysed once."""

    def __init__(self, syntax: Syntax) -> None:
        self.syntax = syntax
        self._lines: dict[str, TextLine] = {}
        self._trailer = _TRAILER.get(syntax.comment)

    def line(self, text: str) -> TextLine:
        """Return one line."""
        entry = self._lines.get(text)
        if entry is None:
            if len(self._lines) > 200_000:
                self._lines.clear()
            core = text[:LONGEST]
            if self._trailer is not None and self.syntax.comment in core:
                core = self._trailer.sub("", core)
            names = tuple(self.syntax.name_pattern.findall(core))
            sign = self.syntax.label
            if sign and names and core.startswith(names[0] + ":"):
                names = (sign + names[0], *names[1:])
            shape = self.syntax.name_pattern.sub(HOLE, core).strip() + text[LONGEST:] if names else core.strip()
            entry = self._lines[text] = TextLine(
                text, shape, names, self.syntax.function_pattern.match(text) is not None
            )
        return entry

    def lines(self, text: str) -> list[TextLine]:
        """Return the lines of a text."""
        return [self.line(line) for line in text.split("\n")]
