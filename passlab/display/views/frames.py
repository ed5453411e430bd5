"""The view of a run at one instant: a box for each frame of the stack, with a row for each register.

The registers that the next instruction reads and writes are marked, so a lesson can show the machine without a widget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.debugger.instant import Instant
from passlab.debugger.values import short_text
from passlab.display.html import Markup, tag
from passlab.display.palette import AMBER, BLUE, CELL, CODE, MUTED, RULE, TABLE
from passlab.display.view import View, checked_view
from passlab.display.view_parts import Beside, HtmlOnly, Part, Sentence

SHOWN_FRAMES = 6  # the innermost ones; the others are counted
SHOWN_REGISTERS = 16
_MARKS = {"reads": ("●", BLUE), "writes": ("▶", AMBER), "": ("", MUTED)}
_WORDS = {"reads": "read next", "writes": "written next"}


class FrameBox(Part):
    """One frame: a title, and for each register its name, its value and its mark."""

    def __init__(self, title: str, rows: Sequence[tuple[str, str, str]]) -> None:
        self.title, self.rows = title, rows

    def lines(self) -> list[str]:
        cells = [f"{_MARKS[mark][0] or ' '} {name}  {value}".rstrip() for name, value, mark in self.rows] or ["(empty)"]
        width = max(len(self.title) + 2, *map(len, cells))
        body = [f"│ {cell.ljust(width)} │" for cell in cells]
        return [f"┌ {self.title} {'─' * (width - len(self.title))}┐", *body, f"└{'─' * (width + 2)}┘"]

    def html(self) -> Markup:
        cells = [
            tag(
                "tr",
                tag("td", _MARKS[mark][0], style=f"{CELL};color:{_MARKS[mark][1]};padding:1px 4px"),
                tag("td", name, style=f"{CELL};{CODE};color:{MUTED};padding:1px 6px"),
                tag("td", value, style=f"{CELL};{CODE};padding:1px 6px"),
                title=_WORDS.get(mark),
                style="background:transparent",
            )
            for name, value, mark in self.rows
        ]
        head = tag("div", self.title, style=f"{CODE};font-weight:600;padding:2px 8px;border-bottom:{RULE}")
        body = tag("table", tag("tbody", *cells), style=TABLE)
        return tag("div", head, body, style=f"border:{RULE};border-radius:6px;min-width:120px")


class FramesView(View):
    """The frames and registers of one instant of a traced run, outermost frame first.

    >>> dbg = passlab.Debugger(passlab.parse("def @main(%x: float32) { %x + 1f }"), np.float32(2))
    >>> isinstance(display.frames_view(dbg.now), display.FramesView)
    True
    """

    kind = "frames"
    whole = "instant.registers has all values"

    def __init__(self, instant: Instant) -> None:
        self.instant = instant

    @property
    def title(self) -> str:
        """The instant, and the instruction that comes next."""
        if self.instant.ended:
            return f"instant {self.instant.number}: the program has ended"
        return f"instant {self.instant.number}, next: {self.instant.instruction}"

    def boxes(self) -> list[tuple[str, list[tuple[str, str, str]]]]:
        """Return the frames that are shown: a title, and for each register its name, its value and its mark."""
        boxes = []
        for frame in reversed(self.instant.frames(SHOWN_FRAMES)):
            runs = frame.number == self.instant.frame
            values = self.instant.registers_of(frame.number)
            names = {number: name for name, number in self.instant.parameters.items()} if runs else {}
            rows = [
                (
                    f"${number}{f' {names[number]}' if number in names else ''}",
                    short_text(value),
                    self._mark(number, runs),
                )
                for number, value in list(values.items())[:SHOWN_REGISTERS]
            ]
            if runs:
                rows += [(f"${number}", "", "writes") for number in self.instant.writes if number not in values]
            left_out = len(values) - SHOWN_REGISTERS
            rows += [("...", f"{left_out} more", "")] if left_out > 0 else []
            boxes.append((f"@{frame.function}  at {frame.pc}", rows))
        return boxes

    def _mark(self, register: int, runs: bool) -> str:
        if not runs:
            return ""
        if register in self.instant.writes:
            return "writes"
        return "reads" if register in self.instant.reads else ""

    @property
    def _hidden(self) -> int:
        """The number of outer frames that are not shown."""
        return max(0, self.instant.depth + 1 - SHOWN_FRAMES)

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "muted")
        hidden = [Sentence(f"({self._hidden} outer frames)", "muted")] if self._hidden else []
        yield Beside([*hidden, *(FrameBox(title, rows) for title, rows in self.boxes())])
        yield HtmlOnly(Sentence(" · ".join(f"{_MARKS[mark][0]} {words}" for mark, words in _WORDS.items()), "muted"))

    def data(self) -> dict[str, Any]:
        boxes = [{"title": title, "registers": [list(row) for row in rows]} for title, rows in self.boxes()]
        return {"kind": self.kind, "title": self.title, "frames": boxes}


@checked_view(Instant, hint="trace[12] and the `now` of a debugger are instants")
def frames_view(instant: Instant) -> FramesView:
    """Return the view of the frames and registers of an instant: `frames_view(dbg.now)`, `frames_view(trace[12])`.

    >>> dbg = passlab.Debugger(passlab.parse("def @main(%x: float32) { %x + 1f }"), np.float32(2))
    >>> print(display.frames_view(dbg.now).text().splitlines()[0])
    instant 0, next: load_const $1 Const[0] 0
    """
    return FramesView(instant)
