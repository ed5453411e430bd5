"""The layout of a program's frames, from inside to outside: a frame is a box to the frame around it.

The boxes of a frame stand in layers (`layered`); arms of a choice stand side by side, in program order. A browser that
folds a frame needs no new layout: it takes out the room that nothing else needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from passlab.display.graphs.dataflow import Arrow, Box, Dataflow
from passlab.display.graphs.drawing import CHAR, LINE
from passlab.display.graphs.frames import Frame, Program
from passlab.display.graphs.layered import lay_out_layers
from passlab.display.graphs.layout import Size

TITLE, PAD, APART = 20.0, 9.0, 8.0  # points of a title's height, of the space inside a frame, and between arms
HEADER = 38.0  # points of the header of a function
CARD = 216.0  # points of the width of a card, at least
RAIL = 26.0  # points of the rail with the numbers of effects
RESULT = 9.0  # points of the triangle below a result
ROW = 620.0  # points of a row of arms
LAYER_GAP, FUSED_GAP = 22.0, 13.0  # points between layers
PORT = (8.0, 1.0)
EFFECT = 9.0  # points by which an effect's number stands out of its box


@dataclass(frozen=True, eq=False)
class Region:
    """What is inside a frame, in points from its top left corner: the left, top corner and size of each item, arrows.

    An arrow has the numbers of its flow, and points as in `GraphLayout`. `rail` has the effects, in order, as items.
    """

    items: list[int]
    sides: list[tuple[float, float, float, float]]
    arrows: list[tuple[int, list[float]]]
    rail: list[int]
    results: list[int]


@dataclass(frozen=True, eq=False)
class PlacedFrame:
    """The size of a frame that is open and folded, its inside, and where values enter and leave."""

    frame: Frame
    size: Size
    folded: Size
    note: str
    region: Region
    entries: dict[int, float] = field(default_factory=dict)  # by the box that computes the value: x from the left
    exit: float = 0.0


def text_width(text: str) -> float:
    """Return the width of a text, in points."""
    return len(text) * CHAR


def place_frames(program: Program, sizes: Sequence[Size], folded: Collection[int] = ()) -> list[PlacedFrame]:
    """Return the layout of every frame; frames in `folded` are drawn as one box, and so take no more room than one."""
    placed: list[PlacedFrame | None] = [None] * len(program.frames)
    arms: dict[int, list[int]] = {}
    for frame in program.frames:
        if frame.kind == "arm":
            assert frame.parent is not None
            arms.setdefault(frame.parent, []).append(frame.number)
    for frame in reversed(program.frames):  # inner frames come after those around them
        note = _note(frame, len(arms.get(frame.number, ())))
        least = _folded_size(frame, note)
        if frame.number in folded:
            placed[frame.number] = PlacedFrame(frame, least, least, note, Region([], [], [], [], []), exit=least[0] / 2)
        elif frame.kind == "choice":
            placed[frame.number] = _choice(frame, arms.get(frame.number, []), placed, least, note)
        else:
            placed[frame.number] = _inside(frame, placed, sizes, least, note)
    return [one for one in placed if one is not None]


def _note(frame: Frame, arms: int) -> str:
    """What a folded frame says of its inside."""
    boxes = f"{frame.boxes:,} box{'' if frame.boxes == 1 else 'es'}"
    return f"{arms} arms, {boxes}" if arms else boxes


def _folded_size(frame: Frame, note: str) -> Size:
    if frame.kind == "definition":
        return max(text_width(f"▾ {frame.title}") + 2 * PAD, CARD), HEADER
    if frame.kind == "arm":
        return text_width(frame.title) + 2 * PAD, TITLE
    return max(text_width(f"▸ {frame.title}"), text_width(note)) + 2 * PAD + 4, TITLE + LINE + 6


def _choice(frame: Frame, arms: list[int], placed: Sequence[PlacedFrame | None], least: Size, note: str) -> PlacedFrame:
    """Arms side by side, in rows."""
    sides: list[tuple[float, float, float, float]] = []
    x, y, high = PAD, TITLE, 0.0
    for arm in arms:
        width, height = _at(placed, arm).size
        if x > PAD and x + width > ROW:
            x, y, high = PAD, y + high + APART, 0.0
        sides.append((x, y, width, height))
        x, high = x + width + APART, max(high, height)
    right = max((left + width for left, _, width, _ in sides), default=0.0)
    size = (max(right + PAD, least[0]), max(y + high + PAD, least[1]))
    region = Region([-1 - arm for arm in arms], sides, [], [], [])
    return PlacedFrame(frame, size, least, note, region, exit=size[0] / 2)


def _inside(
    frame: Frame, placed: Sequence[PlacedFrame | None], sizes: Sequence[Size], least: Size, note: str
) -> PlacedFrame:
    """The items of a function or an arm in layers, effects one below the other."""
    at = {item: place for place, item in enumerate(frame.items)}
    entering = list(dict.fromkeys(flow.origin for flow in frame.flows if flow.source is None))
    ports = {origin: len(at) + place for place, origin in enumerate(entering)}
    graph = Dataflow([Box(place, "op", "", None) for place in range(len(at))])
    graph.boxes += [Box(number, "port", "", None) for number in ports.values()]
    item_sizes = [_item_size(item, placed, sizes, item in frame.effects) for item in frame.items]
    shifts: list[tuple[float, float]] = []  # of both ends of an arrow from the middle of its item
    for flow in frame.flows:
        source = ports[flow.origin] if flow.source is None else at[flow.source]
        graph.arrows.append(Arrow(source, at[flow.target], flow.label))
        start = 0.0
        if flow.source is not None and flow.source < 0:
            start = _at(placed, -1 - flow.source).exit - item_sizes[at[flow.source]][0] / 2
        shifts.append((start, _entry(flow.target, flow.origin, placed)))
    before = [(at[one], at[other]) for one, other in frame.before]
    before += [(at[one], at[other]) for one, other in zip(frame.effects, frame.effects[1:], strict=False)]
    layout = lay_out_layers(
        graph, [*item_sizes, *([PORT] * len(ports))], before=before, shifts=shifts,
        gap=FUSED_GAP if frame.kind == "fused" else LAYER_GAP,
    )  # fmt: skip
    left = PAD + (RAIL if frame.effects else 0.0)
    top = HEADER + PAD if frame.kind == "definition" else TITLE + (0.0 if ports else 4.0)
    text = text_width(f"→ {frame.text}") if frame.text else 0.0
    width = max(layout.width + left + PAD, least[0], text + 2 * PAD)
    left += max(0.0, (width - left - PAD - layout.width) / 2)  # in the middle
    below = layout.height + (LINE + 4 if frame.text else 0.0) + (RESULT if frame.results else 0.0)
    sides = [
        (x + left - w / 2, y + top - h / 2, w, h)
        for (x, y), (w, h) in zip(layout.boxes[: len(at)], item_sizes, strict=True)
    ]
    arrows = [
        (number, [value + (top if place % 2 else left) for place, value in enumerate(points)])
        for number, points in enumerate(layout.arrows)
    ]
    region = Region(frame.items, sides, arrows, list(frame.effects), frame.results)
    entries = {origin: layout.boxes[port][0] + left for origin, port in ports.items()}
    last = [sides[at[item]] for item in frame.results if item in at]
    leave = last[-1][0] + last[-1][2] / 2 if last else width / 2
    return PlacedFrame(frame, (width, max(top + below + PAD, least[1])), least, note, region, entries, leave)


def _item_size(item: int, placed: Sequence[PlacedFrame | None], sizes: Sequence[Size], effect: bool) -> Size:
    width, height = sizes[item] if item >= 0 else _at(placed, -1 - item).size
    return (width + 2 * EFFECT if effect and item >= 0 else width), height


def _entry(item: int, origin: int, placed: Sequence[PlacedFrame | None]) -> float:
    """Where a value enters an item, from its middle."""
    if item >= 0:
        return 0.0
    inner = _at(placed, -1 - item)
    return inner.entries[origin] - inner.size[0] / 2 if origin in inner.entries else 0.0


def _at(placed: Sequence[PlacedFrame | None], number: int) -> PlacedFrame:
    found = placed[number]
    assert found is not None
    return found
