"""`flame_chart`: nested stretches of time as bars below bars, each as wide as it is long. Knows nothing of passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, MUTED, PROSE

_ROW = 20  # pixels from one depth to the next
_NARROW = 0.15  # percent: a bar less wide than this cannot be seen, and neither can those below it
_MOST = 2000  # bars drawn
_SHADES = ("rgba(56,139,253,.34)", "rgba(56,139,253,.24)", "rgba(63,185,180,.30)", "rgba(63,185,180,.20)")
_FAILED = "rgba(248,81,73,.38)"


class Bar(NamedTuple):
    """One stretch: how deep, from where to where (percent of the whole), its name, seconds, and a note."""

    depth: int
    left: float
    width: float
    name: str
    seconds: float
    note: str


def bars(rows: Iterable[tuple[int, str, float, str]]) -> list[Bar]:
    """Return the bars of stretches (depth, name, seconds, note) listed in order of starting.

    Stretches of one depth stand side by side without gaps; those inside another start where it starts.
    """
    listed = list(rows)
    whole = sum(seconds for depth, _, seconds, _ in listed if depth == 0)
    bars: list[Bar] = []
    starts = [0.0]  # by depth: where the next bar begins
    for depth, name, seconds, note in listed:
        del starts[depth + 1 :]
        width = 100 * seconds / whole if whole else 0.0
        bars.append(Bar(depth, starts[depth], width, name, seconds, note))
        starts[depth] += width
        starts.append(bars[-1].left)
    return bars


def flame_chart(rows: Iterable[tuple[int, str, float, str]]) -> Markup:
    """Return the chart as static HTML; nothing for stretches without time. The full names are in the tooltips."""
    drawn = [bar for bar in bars(rows) if bar.width >= _NARROW][:_MOST]
    if not drawn:
        return Markup("")
    height = _ROW * (1 + max(bar.depth for bar in drawn))
    chart = tag("div", *map(_drawn, drawn), style=f"position:relative;height:{height}px;min-width:480px")
    header = tag(
        "div", "width is time, and what runs inside stands below", style=f"{PROSE};color:{MUTED};font-size:11px"
    )
    return tag("div", chart, header, style=f"{BOX};padding:6px;margin-bottom:8px")


def _drawn(bar: Bar) -> Markup:
    colour = _FAILED if bar.note == "failed" else _SHADES[bar.depth % len(_SHADES)]
    look = (
        f"position:absolute;left:{bar.left:.3f}%;width:{bar.width:.3f}%;top:{bar.depth * _ROW}px;height:{_ROW - 2}px;"
        f"background:{colour};border-right:1px solid rgba(128,128,128,.4);box-sizing:border-box;overflow:hidden;"
        f"white-space:nowrap;text-overflow:ellipsis;padding:0 3px;font-size:11px;line-height:{_ROW - 2}px;{PROSE}"
    )
    note = f" ({bar.note})" if bar.note else ""
    return tag("div", bar.name, style=look, title=f"{bar.name}{note}: {bar.seconds * 1000:.2f} ms, {bar.width:.1f}%")


__all__ = ["Bar", "bars", "flame_chart"]
