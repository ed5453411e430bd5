"""What a view is made of: a few kinds of parts, each of which renders itself as plain text and as static HTML.

A view lists its parts once (`PartsView.parts`); its text, its HTML and what a page shows before its script runs are
all drawn from that list. This module knows nothing of programs or passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, CODE, GREEN, MUTED, PROSE, RED
from passlab.display.tables import TableView
from passlab.display.view import View, cap
from passlab.table import Table

TONES = {"": "", "muted": MUTED, "good": GREEN, "bad": RED}


class Part:
    """A piece of a view."""

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
        colour = f";color:{TONES[self.tone]}" if self.tone else ""
        return tag("div", self.text, style=f"{PROSE};margin:4px 0{colour}")


class Code(Part):
    """Text in a fixed font, in a box that scrolls when it is long."""

    def __init__(self, text: str) -> None:
        self.text = text

    def lines(self) -> list[str]:
        return self.text.split("\n")

    def html(self) -> Markup:
        look = f"{CODE};margin:0;padding:6px 12px;background:transparent;white-space:pre"
        return tag("div", tag("pre", self.text, style=look), style=BOX)


class Rows(Part):
    """A table."""

    def __init__(self, table: Table, title: str = "") -> None:
        self.view = TableView(table, title)

    def lines(self) -> list[str]:
        title = [self.view.title] if self.view.title else []
        return [*title, *self.view.text().split("\n")]

    def html(self) -> Markup:
        return self.view.html()


class Embedded(Part):
    """Another view, whole."""

    def __init__(self, view: View) -> None:
        self.view = view

    def lines(self) -> list[str]:
        return self.view.text().split("\n")

    def html(self) -> Markup:
        return self.view.html()


class Fold(Part):
    """A line that opens to more parts, or is `opened` at first.

    In plain text everything is open; what is `brief` is left out of it.
    """

    def __init__(
        self, head: str, inside: Sequence[Part], *, tone: str = "", brief: bool = False, opened: bool = False
    ) -> None:
        self.head, self.inside, self.tone, self.brief, self.opened = head, list(inside), tone, brief, opened

    def lines(self) -> list[str]:
        inner = [f"  {line}".rstrip() for part in self.inside for line in part.lines()]
        return [] if self.brief else [self.head, *inner]

    def html(self) -> Markup:
        colour = f";color:{TONES[self.tone]}" if self.tone else ""
        if not self.inside:
            return tag("div", self.head, style=f"{PROSE};margin:2px 0 2px 16px{colour}")
        summary = tag("summary", self.head, style=f"{PROSE};cursor:pointer{colour}")
        shown = {"open": "open"} if self.opened else {}
        return tag("details", summary, *[part.html() for part in self.inside], style="margin:2px 0", **shown)


class PartsView(View):
    """A view that is drawn from its parts."""

    @property
    def title(self) -> str:
        """What is shown, in a line."""
        return ""

    def parts(self) -> Iterable[Part]:
        """Return what the view consists of, from top to bottom."""
        raise NotImplementedError

    def text(self) -> str:
        return cap([line for part in self.parts() for line in part.lines()], "frame() has a row for each")

    def html(self) -> Markup:
        return tag("div", *[part.html() for part in self.parts()])

    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "title": self.title, "text": self.text()}


__all__ = ["Code", "Embedded", "Fold", "Part", "PartsView", "Rows", "Sentence"]
