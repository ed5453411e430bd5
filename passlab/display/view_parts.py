"""The parts of a view, each of which renders itself as lines of plain text and as static HTML.

A view lists its parts once (`View.parts`); its text, its HTML and what a page shows before its script runs are all
drawn from that list. Here are the simple parts; `rows` has tables and lists, `code_lines` listings, `lanes` bars along
time. None of them depends on programs or passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from passlab.display.html import Markup, join, picture, tag
from passlab.display.palette import BOX, CODE, GREEN, MUTED, PROSE, RED

if TYPE_CHECKING:
    from passlab.display.view import View

TONES = {"": "", "muted": f";color:{MUTED}", "good": f";color:{GREEN}", "bad": f";color:{RED}"}


class Part:
    """A part of a view. `first` says whether a page paints it before its script runs."""

    first = True

    def lines(self) -> list[str]:
        """Return the part as lines of plain text."""
        raise NotImplementedError

    def html(self) -> Markup:
        """Return the part as static HTML."""
        raise NotImplementedError


class Sentence(Part):
    """A line of prose. `tone` is one of `TONES`."""

    def __init__(self, text: str, tone: str = "") -> None:
        self.text, self.tone = text, tone

    def lines(self) -> list[str]:
        return self.text.split("\n")

    def html(self) -> Markup:
        return tag("div", self.text, style=f"{PROSE};margin:4px 0{TONES[self.tone]}")


class Gap(Part):
    """An empty line of the text; HTML has margins."""

    def lines(self) -> list[str]:
        return [""]

    def html(self) -> Markup:
        return Markup("")


class Code(Part):
    """Text in a fixed font, in a box that scrolls when it is long."""

    def __init__(self, text: str) -> None:
        self.text = text

    def lines(self) -> list[str]:
        return self.text.split("\n")

    def html(self) -> Markup:
        look = f"{CODE};margin:0;padding:6px 12px;background:transparent;white-space:pre"
        return tag("div", tag("pre", self.text, style=look), style=BOX)


class Drawing(Part):
    """A picture, with `words` as its text form. It is drawn when its HTML is needed.

    One that `fits` shrinks to the width of the page. One with text scrolls, as it would be too small to read.
    """

    def __init__(self, draw: Callable[[], Markup], alt: str, words: Sequence[str] = (), fits: bool = True) -> None:
        self.draw, self.alt, self.words, self.fits = draw, alt, list(words), fits

    def lines(self) -> list[str]:
        return self.words

    def html(self) -> Markup:
        width = "max-width:100%" if self.fits else "max-width:none"
        return tag("div", picture(self.draw(), self.alt, width), style=BOX)


class Embedded(Part):
    """Another view, whole."""

    def __init__(self, view: View) -> None:
        self.view = view

    def lines(self) -> list[str]:
        return self.view.text().split("\n")

    def html(self) -> Markup:
        return self.view.html()


class Beside(Part):
    """Parts side by side if there is room, one below the other in text."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.parts = list(parts)

    def lines(self) -> list[str]:
        return [line for part in self.parts for line in part.lines()]

    def html(self) -> Markup:
        look = "display:flex;flex-wrap:wrap;gap:10px;align-items:flex-end;margin:6px 0"
        return tag("div", *[part.html() for part in self.parts], style=look)


class Fold(Part):
    """A line that opens to more parts, or is `opened` at first. In plain text everything is open."""

    first = False

    def __init__(self, head: str, inside: Iterable[Part], *, tone: str = "", opened: bool = False) -> None:
        self.head, self._inside, self.tone, self.opened = head, inside, tone, opened

    @cached_property
    def inside(self) -> list[Part]:
        """The parts, made when they are needed."""
        return list(self._inside)

    def lines(self) -> list[str]:
        return [self.head, *[f"  {line}".rstrip() for part in self.inside for line in part.lines()]]

    def html(self) -> Markup:
        if not self.inside:
            return tag("div", self.head, style=f"{PROSE};margin:2px 0 2px 16px{TONES[self.tone]}")
        summary = tag("summary", self.head, style=f"{PROSE};cursor:pointer{TONES[self.tone]}")
        return tag("details", summary, html_of(self.inside), style="margin:2px 0", open=self.opened)


class HtmlOnly(Part):
    """Parts that text leaves out: times, and folded details."""

    def __init__(self, *parts: Part) -> None:
        self.parts, self.first = parts, all(part.first for part in parts)

    def lines(self) -> list[str]:
        return []

    def html(self) -> Markup:
        return html_of(self.parts)


class TextOnly(Part):
    """Lines that only text shows, because HTML has other parts for them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.text = list(lines)

    def lines(self) -> list[str]:
        return self.text

    def html(self) -> Markup:
        return Markup("")


def html_of(parts: Iterable[Part]) -> Markup:
    """Return parts as HTML, one below the other."""
    return join([part.html() for part in parts])
