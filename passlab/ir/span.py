"""The source location of a node: a text and a range of its characters.

A span stores offsets; line and column are computed on demand, so that parsing pays nothing for them.
"""

from __future__ import annotations

from bisect import bisect_right

from passlab.arguments import checked


@checked
class Source:
    r"""One source text, with its name. `text` is None for positions without a text.

    >>> from passlab.ir import Source
    >>> Source("net.relay", "def @main() {\n  1\n}").position(16)
    (2, 3)
    """

    __slots__ = ("_starts", "name", "text")

    def __init__(self, name: str | None, text: str | None = None) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """Return (line, column), both from 1, of a character offset."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str | None:
        """Return the text of line `number` (from 1) without its line end, or None without a text."""
        starts = self._line_starts()
        if self.text is None or not 1 <= number <= len(starts):
            return None
        end = self.text.find("\n", starts[number - 1])
        return self.text[starts[number - 1] : end if end >= 0 else len(self.text)].rstrip("\r")

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            text = self.text or ""
            starts = [0]
            at = text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = text.find("\n", at + 1)
            self._starts = starts
        return self._starts

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


@checked
class Span:
    """A range of a source: characters `start` up to, not including, `end`.

    >>> passlab.parse("def @main(%x: float32) { exp(%x) }", "net.relay")["main"].body.span.line
    1
    """

    __slots__ = ("end", "source", "start")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end

    @property
    def source_name(self) -> str | None:
        """The name of the text, or None for a text without a name."""
        return self.source.name

    @property
    def line(self) -> int:
        """The line of the first character, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column of the first character, from 1."""
        return self.source.position(self.start)[1]

    @property
    def end_line(self) -> int:
        """The line of the character after the last, from 1."""
        return self.source.position(self.end)[0]

    @property
    def end_column(self) -> int:
        """The column of the character after the last, from 1."""
        return self.source.position(self.end)[1]

    @property
    def text(self) -> str | None:
        """The characters covered, or None without a text."""
        return None if self.source.text is None else self.source.text[self.start : self.end]

    def source_line(self, line: int) -> str | None:
        """The text of one line, or None without a text."""
        return self.source.line(line)

    def __str__(self) -> str:
        return f"{self.source_name or '<unknown>'}:{self.line}:{self.column}"

    def __repr__(self) -> str:
        return f"Span({self})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Span):
            return NotImplemented
        return (self.source_name, self.line, self.column, self.end_line, self.end_column) == (
            other.source_name,
            other.line,
            other.column,
            other.end_line,
            other.end_column,
        )

    def __hash__(self) -> int:
        return hash((self.source_name, self.line, self.column))

    def same_as(self, other: object) -> bool:
        """Whether the other span is this object."""
        return self is other


class Position(Span):
    """A span given as lines and columns (from 1), without text: `Position("f", 3, 3, 5, 9)` is line 3, columns 5-9."""

    __slots__ = ("_lines",)

    def __init__(self, source_name: str | None, line: int, end_line: int, column: int, end_column: int) -> None:
        super().__init__(Source(source_name), 0, 0)
        self._lines = (line, end_line, column, end_column)

    line = property(lambda self: self._lines[0])
    end_line = property(lambda self: self._lines[1])
    column = property(lambda self: self._lines[2])
    end_column = property(lambda self: self._lines[3])


class QuotedLine(Position):
    """A line of a text whose other lines are unknown: `QuotedLine("net.py", 12, "x = self.conv(x)")`."""

    __slots__ = ("_text",)

    def __init__(self, source_name: str | None, line: int, text: str) -> None:
        super().__init__(source_name, line, line, 1, len(text) + 1)
        self._text = text

    @property
    def text(self) -> str:
        """The line."""
        return self._text

    def source_line(self, line: int) -> str | None:
        """The line, if its number matches."""
        return self._text if line == self.line else None
