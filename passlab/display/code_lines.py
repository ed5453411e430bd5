"""`Listing`: lines of code with coloured words, diff signs, a gutter, and comments next to them.

It depends on no language: the caller says what to colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from passlab.display.html import Markup, join, tag
from passlab.display.palette import BOX, CODE, KIND_COLOURS, MUTED, PROSE, ROWS
from passlab.display.view_parts import Part

MOST_LINES = 200  # in HTML, long lists of parameters not counted
FOLDED = 8  # lines of a list of parameters above which HTML folds it,
FOLDED_TEXT = 24  # and above which brief text does

FOLD, WORD = ".", "word"  # the kind of a line that stands for unchanged ones; of words that a diff marks
_BLANK = frozenset(("=", FOLD))  # kinds without a sign in text
_LOOKS = {kind: f"color:{colour}" for kind, colour in KIND_COLOURS.items()}
_PRE = f"{CODE};margin:0;background:transparent;white-space:pre-wrap"
_LINE = "padding:0 12px 0 56px;text-indent:-44px"
_GUTTER = "flex:none;text-align:right;white-space:pre;overflow:hidden;box-sizing:border-box"
_CODE_CELL = "padding-left:calc(44px + 1ch);text-indent:-44px"


class GutterLabel(NamedTuple):
    """The gutter of a line: the name of the pass that created it, the colour of the bar, and the tooltip."""

    name: str = ""
    colour: str = ""
    tip: str = ""


class CodeLine(NamedTuple):
    """A line. `tokens` begin with (start, end, kind), from left to right: kinds are as in `listing.Token`, or WORD.

    `kind` is the kind of a diff row, one of `palette.ROWS` or FOLD; "" in other listings. Text shows `comment` after
    the line, HTML shows `beside` there, muted.
    """

    text: str
    tokens: Sequence[Any] = ()
    kind: str = ""
    comment: str = ""
    beside: str = ""
    gutter: GutterLabel | None = None


class Listing(Part):
    """Lines of code, the first `most` of them in HTML, where long parameter lists are folded, except in a diff.

    `rest` says how to print the others. If `brief`, text has no more than `most` lines as well, and folds the longest
    lists of parameters.
    """

    def __init__(
        self, lines: Sequence[CodeLine], most: int = MOST_LINES, rest: str = "", *, brief: bool = False
    ) -> None:
        self.code, self.most, self.rest, self.brief = lines, most, rest, brief
        self.width = max((len(line.gutter.name) for line in lines if line.gutter is not None), default=0)

    def lines(self) -> list[str]:
        shown = list(self._brief_lines()) if self.brief else self.code
        lines = [self._text(line).rstrip() for line in shown]
        left_out = len(self.code) - self._end if self.brief else 0
        return [*lines, f"... {self._others(left_out)}"] if left_out else lines

    def _brief_lines(self) -> Iterator[CodeLine]:
        """Yield the first lines, the longest lists of parameters as one line each."""
        for start, end, folded in _ranges(self.code[: self._end]):
            if folded and end - start > FOLDED_TEXT:
                rest = f": {self.rest}" if self.rest else ""
                yield CodeLine(f"{' ' * _depth(self.code[start])}... {end - start:,} parameters{rest}")
            else:
                yield from self.code[start:end]

    def _others(self, count: int) -> str:
        return f"{count:,} more line{'s' * (count > 1)}{': ' * bool(self.rest)}{self.rest}"

    def _text(self, line: CodeLine) -> str:
        label = line.gutter or GutterLabel()
        gutter = f"{label.name.ljust(self.width)} {'|' if label.colour else ' '} " if self.width else ""
        sign = f"{' ' if line.kind in _BLANK else line.kind} " if line.kind else ""
        return f"{gutter}{sign}{line.text}{line.comment}"

    def html(self) -> Markup:
        if not self.code:
            return Markup("")
        parts: list[Markup] = []
        for start, end, folded in _ranges(self.code[: self._end]):
            look = f"{_PRE};{_LINE}" if self._is_plain else _PRE
            pre = tag("pre", *self._with_tips(self.code[start:end]), style=look)
            if folded:
                many = tag("summary", f"⋯ {end - start} parameters", style=self._fold_look)
                pre = tag("details", many, pre)
            parts.append(pre)
        if self._end < len(self.code):
            rest = f"⋯ {self._others(len(self.code) - self._end)}"
            parts.append(tag("div", rest, style=f"{PROSE};color:{MUTED};padding:4px 12px"))
        return tag("div", *parts, style=f"{BOX};padding:6px 0")

    @cached_property
    def _is_plain(self) -> bool:
        """Whether no line has a veil or a gutter, so that all have the style of their box."""
        return not self.width and not any(line.kind for line in self.code)

    @cached_property
    def _end(self) -> int:
        """The number of lines up to which `most` are shown, folded ones not counted."""
        shown = 0
        for start, end, folded in _ranges(self.code):
            shown += 0 if folded else end - start
            if shown > self.most:
                return end - (shown - self.most)
        return len(self.code)

    @property
    def _fold_look(self) -> str:
        """The style of the line that stands for a folded list of parameters."""
        if self.width:
            return f"{CODE};color:{MUTED};padding:0 12px 0 {self.width + 5}ch"
        return f"{PROSE};color:{MUTED};padding:0 12px 0 40px"

    def _with_tips(self, lines: Sequence[CodeLine]) -> Iterator[Markup]:
        """Yield lines; those in a row with the same tooltip have it together."""
        for tip, together in groupby(lines, lambda line: line.gutter.tip if line.gutter else ""):
            drawn = map(self._html, together)
            yield tag("div", *drawn, title=tip) if tip else join(drawn)

    def _html(self, line: CodeLine) -> Markup:
        # A `<div>`, which is a line of its own in hosts, too, that drop every style.
        beside = tag("span", f"   {line.beside}", style=f"color:{MUTED}") if line.beside else Markup("")
        if line.kind == FOLD:
            return tag("div", f"  {line.text.replace('...', '⋯')}", style=f"{_LINE};color:{MUTED}")
        if line.kind:
            sign, colour, veil, _ = ROWS[line.kind]
            back = f";background:{veil}" if veil else ""
            signed = tag("span", f"{sign or ' '} ", style=f"color:{colour}")
            return tag("div", signed, _style_line(line), beside, style=f"{_LINE}{back}")
        if not self.width:
            return tag("div", _style_line(line), beside, style=None if self._is_plain else _LINE)
        label = line.gutter or GutterLabel()
        code = f"{_CODE_CELL};border-left:3px solid {label.colour or 'transparent'}"
        if not label.name:  # one element: most lines have none, and notebooks keep them all
            look = f"margin:0 12px 0 calc(12px + {self.width + 2}ch);{code}"
            return tag("div", _style_line(line), beside, style=look)
        name = tag("span", f"{label.name} ", style=f"{_GUTTER};color:{label.colour or MUTED};width:{self.width + 2}ch")
        text = tag("span", _style_line(line), beside, style=f"flex:1;min-width:0;{code}")
        return tag("div", name, text, style="display:flex;padding:0 12px")


def _style_line(line: CodeLine) -> Markup:
    parts: list[str] = []
    at = 0
    for start, end, kind, *_ in line.tokens:
        look = f"background:{ROWS[line.kind][3]};border-radius:3px" if kind == WORD else _LOOKS.get(kind)
        if look is not None and start >= at:
            parts += (line.text[at:start], tag("span", line.text[start:end], style=look))
            at = end
    return join([*parts, line.text[at:]])


def _ranges(lines: Sequence[CodeLine]) -> Iterator[tuple[int, int, bool]]:
    """Yield ranges of lines (start, end, whether to fold them): long lists of parameters are folded."""
    at = 0
    for number, line in enumerate(lines):
        if number < at or line.kind or not line.text.endswith("("):
            continue
        depth = _depth(line)
        end = number + 1
        while end < len(lines) and _depth(lines[end]) > depth:
            end += 1
        if end - number > FOLDED:
            yield at, number + 1, False
            yield number + 1, end, True
            at = end
    if at < len(lines):
        yield at, len(lines), False


def _depth(line: CodeLine) -> int:
    return len(line.text) - len(line.text.lstrip())
