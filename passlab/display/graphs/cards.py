"""The functions of a program as cards on a sheet, and their picture for pages without scripts.

Cards fill a sheet from the top in the order of calls: callers before what they call. A folded card says what goes in
and out of its function. The browser packs in the same way, and can fold and unfold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from passlab.display.graphs.dataflow import Dataflow
from passlab.display.graphs.drawing import AMBER, FONT, INK, LINE, TEAL, TEXT, VIOLET, Caption, draw_arrows, draw_box
from passlab.display.graphs.frames import Frame
from passlab.display.graphs.layout import Size
from passlab.display.graphs.regions import EFFECT, HEADER, PAD, RAIL, PlacedFrame, text_width
from passlab.display.html import Markup, join, tag
from passlab.display.palette import HUES, dark, tint
from passlab.errors import visible
from passlab.ir.expr import Expr, GlobalVar
from passlab.ir.walk import post_order

BETWEEN = 14.0  # points between cards
FOLDED: Size = (268.0, 66.0)  # a folded card
SCREENS = 5.0  # the area of all cards, in windows, up to which all are open
MARGIN = 12.0
RUST = HUES["rust"]
_HUES = {"definition": TEAL, "function": TEAL, "fused": VIOLET, "choice": AMBER, "arm": AMBER}


@dataclass(frozen=True)
class Card:
    """A function: its frame, name, types, what is worth knowing, and the cards that it calls and is called by."""

    frame: int
    name: str
    signature: str
    facts: str
    calls: list[int]
    callers: list[int]


def calls_of(functions: Sequence[tuple[str, Expr]]) -> list[list[int]]:
    """Return the functions that each function names, by their place among all (their names and what they are)."""
    places = {name: at for at, (name, _) in enumerate(functions)}
    found = []
    for _, function in functions:
        called = [f"@{visible(node.name_hint)}" for node in post_order(function) if isinstance(node, GlobalVar)]
        found.append(list(dict.fromkeys(places[name] for name in called if name in places)))
    return found


def call_order(calls: Sequence[Sequence[int]], first: int) -> list[int]:
    """Return functions with callers before what they call, from one of them, then the others in their own order."""
    order: dict[int, None] = {}
    for start in [first, *range(len(calls))]:
        queue = deque([start])
        while queue:
            at = queue.popleft()
            if at not in order:
                order[at] = None
                queue.extend(calls[at])
    return list(order)


def skyline(sizes: Sequence[Size], width: float) -> list[tuple[float, float]]:
    """Return the top left corners of cards in a sheet of some width: each as high as it fits, then as far left."""
    corners: list[tuple[float, float]] = []
    line: list[tuple[float, float, float]] = [(0.0, max(width, *(w for w, _ in sizes), 1.0), 0.0)]  # left, right, y
    for wide, high in sizes:
        best: tuple[float, float] | None = None
        for at, (left, _, _) in enumerate(line):
            if left + wide > line[-1][1] + 0.01:
                break
            reach = [y for a, _, y in line[at:] if a < left + wide]
            if best is None or (max(reach), left) < best:
                best = (max(reach), left)
        assert best is not None
        y, x = best
        corners.append((x, y))
        end, new = x + wide + BETWEEN, (x, min(x + wide + BETWEEN, line[-1][1]), y + high + BETWEEN)
        line = [
            *((a, min(b, x), h) for a, b, h in line if a < x),
            new,
            *((max(a, end), b, h) for a, b, h in line if b > end),
        ]
    return corners


# ---------------------------------------------------------------- the picture
@dataclass(frozen=True, eq=False)
class Picture:
    """What is drawn of a program: its graph, the captions and sizes of its boxes, and its placed frames.

    `bodies` draw, at a corner, the functions that are drawn in blocks, by their frames.
    """

    graph: Dataflow
    captions: Sequence[Caption]
    sizes: Sequence[Size]
    placed: Sequence[PlacedFrame]
    cards: Sequence[Card]
    folded: Collection[int] = ()
    bodies: Mapping[int, Callable[[tuple[float, float]], Markup]] = field(default_factory=dict)


def draw_cards(picture: Picture, window: Size) -> Markup:
    """Return the picture of a program as SVG: all cards open if they fit three windows, otherwise the first one."""
    sizes = [picture.placed[card.frame].size for card in picture.cards]
    area = sum(width * height for width, height in sizes)
    all_open = area <= SCREENS * window[0] * window[1]
    sizes = [size if all_open or not at else FOLDED for at, size in enumerate(sizes)]
    corners = skyline(sizes, window[0])
    parts: list[Markup] = []
    for at, (card, corner, size) in enumerate(zip(picture.cards, corners, sizes, strict=True)):
        if size == FOLDED and at and not all_open:
            parts += _folded_card(card, *corner)
        else:
            parts += _open_card(picture, card, *corner)
    width = max((x + w for (x, _), (w, _) in zip(corners, sizes, strict=True)), default=0.0) + 2 * MARGIN
    height = max((y + h for (_, y), (_, h) in zip(corners, sizes, strict=True)), default=0.0) + 2 * MARGIN
    return tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=round(width),
        height=round(height),
        viewBox=f"{-MARGIN:g} {-MARGIN:g} {round(width)} {round(height)}",
        font_family=FONT,
        font_size=11,
    )


def _text(text: str, x: float, y: float, colour: str = "", bold: bool = False) -> Markup:
    ink = dark(colour) if colour else TEXT
    return tag("text", text, x=round(x, 1), y=round(y, 1), fill=ink, font_weight="600" if bold else None)


def _rect(
    x: float, y: float, width: float, height: float, colour: str, fill: float = 0.04, edge: float = 0.6
) -> Markup:
    return tag(
        "rect", x=round(x, 1), y=round(y, 1), width=round(width, 1), height=round(height, 1), rx=6,
        fill=tint(colour, fill) if fill else "none", stroke=colour, stroke_opacity=edge,
    )  # fmt: skip


def cut(text: str, width: float) -> str:
    """Return as much of a text as a width in points can hold."""
    room = max(1, int(width / text_width("x")))
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _folded_card(card: Card, x: float, y: float) -> list[Markup]:
    room = FOLDED[0] - 2 * PAD
    return [
        _rect(x, y, *FOLDED, TEAL),
        _text(cut(card.name, room), x + PAD, y + 20, TEAL, True),
        _text(cut(card.signature, room), x + PAD, y + 20 + LINE),
        _text(cut(card.facts, room), x + PAD, y + 20 + 2 * LINE),
    ]


def _open_card(picture: Picture, card: Card, x: float, y: float) -> list[Markup]:
    """A card with all its frames, outer ones first."""
    placed = picture.placed[card.frame]
    room = placed.size[0] - 2 * PAD
    parts = [
        _rect(x, y, *placed.size, TEAL),
        _text(cut(placed.frame.title, room), x + PAD, y + 16, TEAL, True),
        _text(cut(card.facts, room), x + PAD, y + 16 + LINE),
    ]
    if card.frame in picture.bodies:
        parts.append(picture.bodies[card.frame]((round(x + PAD), round(y + HEADER))))
    waiting = [(placed, x, y)]
    while waiting:
        frame, left, top = waiting.pop()
        parts += _inside(picture, frame, left, top)
        for item, (dx, dy, _, _) in zip(frame.region.items, frame.region.sides, strict=True):
            if item < 0:
                inner = picture.placed[-1 - item]
                parts += _frame(inner, left + dx, top + dy, -1 - item in picture.folded)
                waiting.append((inner, left + dx, top + dy))
    return parts


def _frame(placed: PlacedFrame, x: float, y: float, folded: bool) -> list[Markup]:
    frame: Frame = placed.frame
    colour = _HUES[frame.kind]
    arm = frame.kind == "arm"
    parts = [_rect(x, y, *placed.size, colour, 0.0 if arm else 0.05, 0.3 if arm else 0.6)]
    mark = "" if arm else "▸ " if folded else "▾ "
    parts.append(_text(f"{mark}{frame.title}", x + PAD, y + 14, colour, not arm))
    if folded:
        parts.append(_text(placed.note, x + PAD, y + 14 + LINE))
    return parts


def _result(x: float, y: float) -> Markup:
    """The mark of a result: a triangle that points down."""
    return tag("polygon", points=f"{x - 4:.1f},{y:.1f} {x + 4:.1f},{y:.1f} {x:.1f},{y + 5:.1f}", fill=INK)


def _inside(picture: Picture, placed: PlacedFrame, x: float, y: float) -> list[Markup]:
    """The arrows, boxes, effects and results of a frame."""
    region, frame = placed.region, placed.frame
    arrows = [points for _, points in region.arrows if len(points) >= 8]
    parts = [draw_arrows([[value + (y if at % 2 else x) for at, value in enumerate(points)] for points in arrows])]
    boxes = []
    sides = dict(zip(region.items, region.sides, strict=True))
    for item, (left, top, width, height) in sides.items():
        if item >= 0:
            middle = (x + left + width / 2, y + top + height / 2)
            boxes.append(draw_box(picture.graph.boxes[item].kind, picture.captions[item], middle, picture.sizes[item]))
        if item in region.results:
            boxes.append(_result(x + left + width / 2, y + top + height + 3))
    if boxes:
        parts.append(tag("g", *boxes, text_anchor="middle", fill=TEXT))
    if frame.text and frame.number not in picture.folded:
        parts.append(_text(f"→ {frame.text}", x + PAD, y + placed.size[1] - PAD - 2))
    return [*parts, *_rail(region.rail, sides, x, y)]


def _rail(
    rail: Sequence[int], sides: Mapping[int, tuple[float, float, float, float]], x: float, y: float
) -> list[Markup]:
    """The effects of a frame in order: numbers on a line at its left, and the same numbers on its boxes."""
    at = [y + sides[item][1] + 11 for item in rail]
    middle = x + PAD + RAIL / 2 - 4
    parts = []
    if len(at) > 1:
        parts.append(tag("path", d=f"M{middle:.1f} {at[0]:.1f}V{at[-1]:.1f}", stroke=RUST, fill="none"))
    for number, (item, height) in enumerate(zip(rail, at, strict=True), 1):
        places = [middle, *([x + sides[item][0] + EFFECT] if item >= 0 else [])]
        for place in places:
            disc = tag(
                "rect", x=round(place - 8, 1), y=round(height - 8, 1), width=16, height=16, rx=8, fill=dark(RUST)
            )
            white = {"text_anchor": "middle", "fill": "#ffffff", "font_weight": "600"}
            parts += [disc, tag("text", str(number), x=round(place, 1), y=round(height + 4, 1), **white)]
    return [join(parts)] if parts else []
