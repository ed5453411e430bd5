"""Bars along a time axis, in lanes one below the other: nested passes, or storages that share memory."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, MUTED, PROSE
from passlab.display.view_parts import Part

ROW = 20  # pixels from one lane to the next
NARROW = 1.0  # percent: a bar less wide than this has no room for letters
MOST_BARS, MOST_LANES = 2000, 200  # drawn, the widest ones
COLUMNS = 60  # characters that the lanes of the text form have


class Bar(NamedTuple):
    """One bar: its lane, from where and how long (percent of the whole), its name, its tooltip and its colour."""

    lane: int
    left: float
    width: float
    name: str
    tip: str
    colour: str


class Lanes(Part):
    """Bars in lanes. Text lists the names of the bars after each lane; HTML has `note` too, and no bar of no width."""

    def __init__(self, bars: Sequence[Bar], note: str = "") -> None:
        self.bars, self.note = bars, note

    def lines(self) -> list[str]:
        lanes: dict[int, list[Bar]] = {}
        for bar in self.bars:
            lanes.setdefault(bar.lane, []).append(bar)
        return [_lane_text(lane, lanes[lane]) for lane in sorted(lanes)]

    def html(self) -> Markup:
        drawn = [bar for bar in self.bars if bar.width > 0 and bar.lane < MOST_LANES]
        if len(drawn) > MOST_BARS:
            widest = nlargest(MOST_BARS, range(len(drawn)), key=lambda at: drawn[at].width)
            drawn = [drawn[at] for at in sorted(widest)]
        if not drawn:
            return Markup("")
        height = ROW * (1 + max(bar.lane for bar in drawn))
        chart = tag("div", *map(_drawn, drawn), style=f"position:relative;height:{height}px;min-width:480px")
        note = tag("div", self.note, style=f"{PROSE};color:{MUTED};font-size:11px")
        return tag("div", chart, note, style=f"{BOX};padding:6px;margin-bottom:8px")


def _lane_text(number: int, bars: Sequence[Bar]) -> str:
    row = [" "] * COLUMNS
    for bar in bars:
        start = min(COLUMNS - 1, int(COLUMNS * bar.left / 100))
        end = max(start + 1, int(COLUMNS * (bar.left + bar.width) / 100))
        row[start:end] = "█" * (min(end, COLUMNS) - start)
    return f"{number:>3} |{''.join(row)}| {', '.join(bar.name for bar in bars)}"


def _drawn(bar: Bar) -> Markup:
    room = "0" if bar.width < NARROW else "0 3px"
    look = (
        f"position:absolute;height:{ROW - 2}px;border-right:1px solid rgba(128,128,128,.4);box-sizing:border-box;"
        f"overflow:hidden;white-space:nowrap;text-overflow:ellipsis;padding:{room};{PROSE};"
        f"font-size:11px;line-height:{ROW - 2}px;"
        f"background:{bar.colour};top:{bar.lane * ROW}px;left:{bar.left:.3f}%;width:{bar.width:.3f}%;min-width:1px"
    )
    return tag("div", bar.name, style=look, title=bar.tip)
