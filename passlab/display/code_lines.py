"""`Listing`: lines of code with coloured words, diff signs, a gutter, and comments beside them.

It depends on no language: the caller says what to colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from passlab.display.html import Markup, join, tag
from passlab.display.palette import BOX, CODE, KIND_COLOURS, MUTED, PROSE, ROWS
from passlab.display.parts import Part

MOST_LINES = 400  # in HTML
FOLDED = 8  # lines of a list of parameters above which HTML folds it

FOLD, WORD = ".", "word"  # the kind of a line that stands for unchanged ones; of words that a diff marks
_BLANK = frozenset(("=", FOLD))  # kinds without a sign in text
_LOOKS = {kind: f"color:{colour}" for kind, colour in KIND_COLOURS.items()}
_PRE = f"{CODE};margin:0;background:transparent;white-space:pre-wrap"
_LINE = "display:block;padding:0 12px 0 56px;text-indent:-44px"
_GUTTER = "flex:none;padding-right:1ch;text-align:right;white-space:pre;overflow:hidden;box-sizing:border-box"
_BAR = "flex:none;width:3px;margin-right:1ch"
_CODE_CELL = "flex:1;min-width:0;padding-left:44px;text-indent:-44px"


class GutterLabel(NamedTuple):
    """The gutter of a line: the name of the pass that created it, the colour of the bar, and the tooltip."""

    name: str = ""
    colour: str = ""
    tip: str = ""


class CodeLine(NamedTuple):
    """A line. `tokens` begin with (start, end, kind), from left to right: kinds are those of `listing.Token`, or WORD.

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

    With a `rest`, text has no more than `most` lines, too, and the `rest` says how to print the others.
    """

    def __init__(self, lines: Sequence[CodeLine], most: int = MOST_LINES, rest: str = "") -> None:
        self.code, self.most, self.rest = lines, most, rest
        self.width = max((len(line.gutter.name) for line in lines if line.gutter is not None), default=0)

    def lines(self) -> list[str]:
        shown = self.code[: self.most] if self.rest else self.code
        lines = [self._text(line).rstrip() for line in shown]
        left_out = len(self.code) - len(shown)
        return [*lines, f"... {left_out:,} more lines: {self.rest}"] if left_out else lines

    def _text(self, line: CodeLine) -> str:
        label = line.gutter or GutterLabel()
        gutter = f"{label.name.ljust(self.width)} {'|' if label.colour else ' '} " if self.width else ""
        sign = f"{' ' if line.kind in _BLANK else line.kind} " if line.kind else ""
        return f"{gutter}{sign}{line.text}{line.comment}"

    def html(self) -> Markup:
        if not self.code:
            return Markup("")
        parts: list[Markup] = []
        shown = 0
        for start, end, folded in _ranges(self.code):
            end = end if folded else min(end, start + self.most - shown)
            shown += 0 if folded else end - start
            pre = tag("pre", *map(self._html, self.code[start:end]), style=_PRE)
            if folded:
                many = tag("summary", f"⋯ {end - start} parameters", style=self._fold_look)
                pre = tag("details", many, pre)
            parts.append(pre)
            if shown >= self.most and end < len(self.code):
                rest = f"⋯ {len(self.code) - end:,} more lines"
                parts.append(tag("div", rest, style=f"{PROSE};color:{MUTED};padding:4px 12px"))
                break
        return tag("div", *parts, style=f"{BOX};padding:6px 0")

    @property
    def _fold_look(self) -> str:
        """The style of the line that stands for a folded list of parameters."""
        if self.width:
            return f"{CODE};color:{MUTED};padding:0 12px 0 {self.width + 5}ch"
        return f"{PROSE};color:{MUTED};padding:0 12px 0 40px"

    def _html(self, line: CodeLine) -> Markup:
        beside = tag("span", f"   {line.beside}", style=f"color:{MUTED}") if line.beside else Markup("")
        if line.kind == FOLD:
            return tag("span", f"  {line.text.replace('...', '⋯')}", style=f"{_LINE};color:{MUTED}")
        if line.kind:
            sign, colour, veil, _ = ROWS[line.kind]
            back = f";background:{veil}" if veil else ""
            signed = tag("span", f"{sign or ' '} ", style=f"color:{colour}")
            return tag("span", signed, _style_line(line), beside, style=f"{_LINE}{back}")
        if not self.width:
            return tag("span", _style_line(line), beside, style=_LINE)
        label = line.gutter or GutterLabel()
        look = f"{_GUTTER};color:{label.colour or MUTED};width:{self.width + 2}ch"
        name = tag("span", label.name, style=look, title=label.tip or None)
        bar = tag("span", style=f"{_BAR};background:{label.colour or 'transparent'}", title=label.tip or None)
        code = tag("span", _style_line(line), beside, style=_CODE_CELL)
        return tag("span", name, bar, code, style="display:flex;padding:0 12px")


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
