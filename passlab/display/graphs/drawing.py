"""A laid-out graph as SVG for pages without widgets, no text as markup.

A picture does not know whether its page is light or dark. So text stands on light surfaces, in dark colours, and only
arrows, whose colour can be seen on both, are on the page itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from passlab.display.graphs.dataflow import BoxGroup, Dataflow
from passlab.display.graphs.families import HUE_OF
from passlab.display.graphs.layout import GraphLayout
from passlab.display.html import Markup, join, tag
from passlab.display.palette import HUES, dark, tint

AMBER, BLUE, GREEN, MUTED, TEAL, VIOLET = (HUES[name] for name in ("amber", "blue", "green", "muted", "teal", "violet"))
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
INK = "#6a7280"  # of arrows
TEXT = dark(HUES["muted"])
FAINT, STRONG, GROUP = 0.06, 0.14, 0.07  # of a hue in a box, in a changed one, and in a group
_KINDS = {
    "op": BLUE,
    "call": TEAL,
    "input": MUTED,
    "constant": MUTED,
    "function": TEAL,
    "fused": VIOLET,
    "branch": AMBER,
    "ref": HUES["rust"],
}
_CHANGES = {"added": GREEN, "changed": AMBER, "moved": BLUE}
_MARKS = {"added": "+", "changed": "±", "moved": "~"}
MARGIN = 12.0
STRAIGHT = 0.05  # points by which a curve may miss its chord and be drawn as a line
CHAR, LINE, PAD_X, PAD_Y = 6.7, 15.0, 11.0, 6.0


class Caption(NamedTuple):
    """The lines of a box, the first one its name, its change in a diff ("" for none), and the number of its family."""

    lines: tuple[str, ...]
    change: str
    family: int = 0


def box_size(lines: tuple[str, ...]) -> tuple[float, float]:
    """Return width and height of a box with these lines, in points."""
    return max(map(len, lines)) * CHAR + 2 * PAD_X, len(lines) * LINE + 2 * PAD_Y


def draw(
    graph: Dataflow, captions: Sequence[Caption], at: GraphLayout, corner: tuple[float, float] | None = None
) -> Markup:
    """Return the graph as SVG; `corner` is its top left corner in another picture."""
    boxes = (
        draw_box(box.kind, caption, at.boxes[box.number], box_size(caption.lines))
        for box, caption in zip(graph.boxes, captions, strict=True)
    )
    groups = [(group, at.groups[group.number]) for group in graph.groups if group.number in at.groups]
    parts = [
        *(_group(group, sides) for group, sides in groups),
        draw_arrows([points for points in at.arrows if len(points) >= 8]),
        *(_group_name(group, sides) for group, sides in groups),
        tag("g", *boxes, text_anchor="middle", fill=TEXT),
    ]
    width, height = at.width + 2 * MARGIN, at.height + 2 * MARGIN
    return tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        **({} if corner is None else {"x": corner[0], "y": corner[1]}),
        width=width,
        height=height,
        viewBox=f"{-MARGIN:g} {-MARGIN:g} {width:.2f} {height:.2f}",
        font_family=FONT,
        font_size=11,
    )


def _group(group: BoxGroup, sides: tuple[float, float, float, float]) -> Markup:
    x0, y0, x1, y1 = sides
    colour = _KINDS.get(group.kind, TEAL)
    looks = {"fill": tint(colour, GROUP), "stroke": colour, "stroke_opacity": 0.5}
    return tag("rect", x=x0, y=y0, width=x1 - x0, height=y1 - y0, rx=8, **looks)


def _group_name(group: BoxGroup, sides: tuple[float, float, float, float]) -> Markup:
    """The name of a group, as much of it as fits; arrows that run into the group pass behind it."""
    x0, y0, x1, _ = sides
    colour = _KINDS.get(group.kind, TEAL)
    room = max(1, int((x1 - x0 - 12) / CHAR))
    name = group.name if len(group.name) <= room else f"{group.name[: room - 1]}…"
    halo = {"paint_order": "stroke", "stroke": tint(colour, GROUP), "stroke_width": 3}
    return tag("text", name, x=x0 + 8, y=y0 + 13, fill=dark(colour), **halo)


def draw_arrows(arrows: Sequence[Sequence[float]]) -> Markup:
    """Return arrows along the curves of their points: one path for all lines, and one for all heads."""
    if not arrows:
        return Markup("")
    lines = tag("path", d="".join(map(_line, arrows)), fill="none", stroke=INK, stroke_opacity=0.8)
    return join([lines, tag("path", d="".join(map(_head, arrows)), fill=INK)])


def _line(points: Sequence[float]) -> str:
    """The line of an arrow, with straight pieces written as such: a router of straight lines repeats their ends."""
    at = list(zip(points[::2], points[1::2], strict=True))
    pieces = [f"M{_place(*at[0])}"]
    for number in range(1, len(at) - 2, 3):
        (x0, y0), first, second, (x3, y3) = at[number - 1 : number + 3]
        across = [abs((x3 - x0) * (y - y0) - (y3 - y0) * (x - x0)) for x, y in (first, second)]
        if max(across) <= STRAIGHT * (abs(x3 - x0) + abs(y3 - y0)):
            pieces.append(f"L{_place(x3, y3)}")
        else:
            pieces.append(f"C{_place(*first)} {_place(*second)} {_place(x3, y3)}")
    return "".join(pieces)


def _place(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}".replace(".0", "")


def _head(points: Sequence[float]) -> str:
    """The head of an arrow, pointing the way its last piece goes."""
    x, y = points[-2:]
    dx, dy = x - points[-4], y - points[-3]
    if not (dx or dy):
        dx, dy = x - points[-8], y - points[-7]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = 6 * dx / length, 6 * dy / length
    corners = [(x, y), (x - ux - uy / 2, y - uy + ux / 2), (x - ux + uy / 2, y - uy - ux / 2)]
    return f"M{'L'.join(_place(*corner) for corner in corners)}Z"


def draw_box(kind: str, caption: Caption, place: tuple[float, float], size: tuple[float, float]) -> Markup:
    """Return a box with its lines and the mark of its change, for a group whose text is centred and in `TEXT`."""
    (x, y), (width, height) = place, size
    colour = HUES[HUE_OF[caption.family]] if caption.family else _KINDS.get(kind, MUTED)
    edge = _CHANGES.get(caption.change, colour)
    round_ = height / 2 if kind in ("input", "constant", "output") else 6
    frame = tag(
        "rect",
        x=x - width / 2,
        y=y - height / 2,
        width=width,
        height=height,
        rx=min(round_, 12),
        fill=tint(edge, STRONG if caption.change else FAINT),
        stroke=edge,
        stroke_width=1.6 if caption.change else None,
    )
    top = y - height / 2 + 17
    lines = [
        tag(
            "text",
            line,
            x=x,
            y=top + 15 * row,
            fill=dark(colour) if not row else None,
            font_weight="600" if not row else None,
        )
        for row, line in enumerate(caption.lines)
    ]
    return join([frame, *lines, *_badge(caption.change, x - width / 2, y - height / 2, edge)])


def _badge(change: str, x: float, y: float, colour: str) -> list[Markup]:
    """The mark of a changed box, on its corner."""
    if change not in _MARKS:
        return []
    disc = tag("rect", x=x - 6, y=y - 6, width=12, height=12, rx=6, fill=dark(colour))
    return [disc, tag("text", _MARKS[change], x=x, y=y + 4, font_weight="700", fill="#ffffff")]
