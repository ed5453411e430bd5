"""A large graph on one sheet: each piece is laid out separately, and the pieces fill columns as in a newspaper.

`place` lays out the pieces of a structure (equal ones once); `pack` puts them on a sheet whose shape fits a window,
with repeats folded. The browser packs in the same way, and can unfold repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Union

from passlab.display.graphs.dataflow import Arrow, Box, BoxGroup, Dataflow
from passlab.display.graphs.layered import lay_out_layers
from passlab.display.graphs.layout import GraphLayout, LayoutError, Part, Size, lay_out_all
from passlab.display.graphs.repeats import GraphPiece, Item, Repeat, short_name

GIVEN = ("input", "constant")  # kinds of boxes that are not computed
PORT = (6.0, 2.0)  # the size of the point through which values from outside enter a piece
GAP, GUTTER = 24.0, 44.0  # points between pieces of a column, and between columns
COLUMNS = 29  # at most
WORTH = 1.2  # how much larger a graph is shown if bodies are broken into columns
AROUND = 8  # groups that are drawn around a box and go on outside of its piece
BY_GRAPHVIZ = 1200  # boxes of different pieces that Graphviz draws; others stand in layers, which takes a fifth of it


@dataclass(frozen=True, eq=False)
class PlacedPiece:
    """The layout of a piece. `entry` is where values from outside enter at the top, `exit` where they leave.

    `arrows` are those inside it, as (source, target, label) with indices of `piece.boxes`; a source of -1 is the entry.
    `entry` and `exit` are None if no value passes. `groups` are the groups of the whole graph inside the piece.
    """

    piece: GraphPiece
    layout: GraphLayout
    arrows: list[tuple[int, int, str]]
    entry: float | None
    exit: float | None
    groups: list[int]


def place(graph: Dataflow, items: Sequence[Item], parts: Sequence[Part]) -> dict[GraphPiece, PlacedPiece]:
    """Return the layout of every piece of some items. `parts` is the result of `parts_of`."""
    pieces = _pieces(items)
    leaves = {arrow.source for arrow in _crossing(graph, pieces)}
    layouts = _layouts(parts)
    return {
        piece: _placed_piece(graph, piece, part, layout, leaves)
        for piece, part, layout in zip(pieces, parts, layouts, strict=True)
    }


def _layouts(parts: Sequence[Part]) -> list[GraphLayout]:
    """The layouts of pieces: by Graphviz if it is installed and quick enough, else in layers (`layered`)."""
    drawn: Sequence[GraphLayout | None]
    try:
        drawn = lay_out_all(parts, BY_GRAPHVIZ)
    except LayoutError:
        drawn = [None] * len(parts)
    return [layout or lay_out_layers(part[0], part[1]) for part, layout in zip(parts, drawn, strict=True)]


def parts_of(graph: Dataflow, items: Sequence[Item], sizes: Sequence[Size]) -> list[Part]:
    """Return what to lay out for some items: the graph of each piece, its sizes, and its straight arrows."""
    into: dict[int, list[Arrow]] = {}
    for arrow in graph.arrows:
        into.setdefault(arrow.target, []).append(arrow)
    pieces = _pieces(items)
    given = frozenset(box.number for box in graph.boxes if box.kind in GIVEN)
    return [
        _part(graph, piece, sizes, into, groups, given)
        for piece, groups in zip(pieces, _groups_inside(graph, pieces), strict=True)
    ]


def _pieces(items: Sequence[Item]) -> list[GraphPiece]:
    pieces: list[GraphPiece] = []
    stack = list(reversed(items))
    while stack:
        item = stack.pop()
        if isinstance(item, GraphPiece):
            pieces.append(item)
        else:
            stack.extend(part for body in reversed(item.bodies) for part in reversed(body))
    return pieces


def _crossing(graph: Dataflow, pieces: Sequence[GraphPiece]) -> list[Arrow]:
    """The arrows from one piece to another."""
    piece_of = {number: at for at, piece in enumerate(pieces) for number in piece.boxes}
    return [arrow for arrow in graph.arrows if piece_of[arrow.source] != piece_of[arrow.target]]


def _part(
    graph: Dataflow,
    piece: GraphPiece,
    sizes: Sequence[Size],
    into: dict[int, list[Arrow]],
    groups: set[int],
    given: frozenset[int],
) -> Part:
    """The graph of one piece: its boxes numbered from 0, and a port where values come from outside.

    `given` are the inputs and constants of the graph.
    """
    inside = {number: at for at, number in enumerate(piece.boxes)}
    part = Dataflow(groups=[graph.groups[number] for number in sorted(groups)])
    present = {group.number for group in part.groups}
    for at, number in enumerate(piece.boxes):
        box = graph.boxes[number]
        part.boxes.append(replace(box, number=at, group=box.group if box.group in present else None))
    part.groups = [replace(g, parent=g.parent if g.parent in present else None) for g in part.groups]
    port = len(piece.boxes)
    arriving = [[arrow for arrow in into.get(number, ()) if arrow.source not in inside] for number in piece.boxes]
    computed = [[arrow.source for arrow in arrows if arrow.source not in given] for arrows in arriving]
    latest = max((source for sources in computed for source in sources), default=-1)  # of the piece before, as a rule
    for at, number in enumerate(piece.boxes):
        own = [Arrow(inside[a.source], at, a.label) for a in into.get(number, ()) if a.source in inside]
        part.arrows += own
        # One arrow from the port, however many values come from outside. An input is drawn where it is first taken.
        if computed[at] or (arriving[at] and not own):
            earlier = computed[at] and latest not in computed[at]
            part.arrows.append(Arrow(port, at, f"⇠ {short_name(graph.boxes[computed[at][0]].name)}" if earlier else ""))
    part_sizes = [sizes[number] for number in piece.boxes]
    if any(arrow.source == port for arrow in part.arrows):
        part.boxes.append(Box(port, "port", "", None))
        part_sizes.append(PORT)
    return part, part_sizes, _trunk(part)


def _group_sizes(graph: Dataflow) -> Counter[int | None]:
    """How many boxes each group has, boxes of groups inside it included."""
    sizes = Counter(box.group for box in graph.boxes)
    for group in reversed(graph.groups):  # inner groups come after those around them
        sizes[group.parent] += sizes[group.number]
    return sizes


def _groups_inside(graph: Dataflow, pieces: Sequence[GraphPiece]) -> Iterator[set[int]]:
    """Yield the groups to draw in each piece: those with all their boxes in it, and the innermost around these.

    A function that goes on outside of a piece is not drawn in it, and of other groups that do, `AROUND` at most are.
    """
    sizes = _group_sizes(graph)
    for piece in pieces:
        counts = Counter(box.group for number in piece.boxes if (box := graph.boxes[number]).group is not None)
        inner = [-group for group in counts]  # a heap: inner groups have the larger numbers
        heapify(inner)
        inside: set[int] = set()
        while inner:
            group = graph.groups[-heappop(inner)]
            if counts[group.number] < sizes[group.number]:
                inside.update(_groups_around(graph, group))
                continue
            inside.add(group.number)
            if group.parent is not None:
                if group.parent not in counts:
                    heappush(inner, -group.parent)
                counts[group.parent] += counts[group.number]
        yield inside


def _groups_around(graph: Dataflow, group: BoxGroup) -> Iterator[int]:
    """Yield a group and those around it that are not functions, the innermost of them."""
    for _ in range(AROUND):
        if group.kind != "definition":
            yield group.number
        if group.parent is None:
            return
        group = graph.groups[group.parent]


def _trunk(part: Dataflow) -> frozenset[int]:
    """The arrows of the longest path, which is drawn straight."""
    best: dict[int, tuple[int, int]] = {}  # by box: the length of the longest path to it, and its last arrow
    order = sorted(part.boxes, key=lambda box: (box.kind != "port", box.number))
    arrows_into: dict[int, list[int]] = {}
    for number, arrow in enumerate(part.arrows):
        arrows_into.setdefault(arrow.target, []).append(number)
    for box in order:
        ways = [(best.get(part.arrows[n].source, (0, -1))[0] + 1, n) for n in arrows_into.get(box.number, ())]
        best[box.number] = max(ways, default=(0, -1))
    trunk: set[int] = set()
    at = max(best, key=lambda number: best[number][0], default=-1)
    while at >= 0 and best[at][1] >= 0 and best[at][1] not in trunk:
        trunk.add(best[at][1])
        at = part.arrows[best[at][1]].source
    return frozenset(trunk)


def _placed_piece(graph: Dataflow, piece: GraphPiece, part: Part, layout: GraphLayout, leaves: set[int]) -> PlacedPiece:
    count = len(piece.boxes)
    has_port = len(layout.boxes) > count
    arrows = [(a.source if a.source < count else -1, a.target, a.label) for a in part[0].arrows]
    exits = [at for at, number in enumerate(piece.boxes) if number in leaves]
    exits = [at for at in exits if graph.boxes[piece.boxes[at]].kind not in GIVEN] or exits
    entry = layout.boxes[count][0] if has_port else None
    leave = layout.boxes[exits[-1]][0] if exits else None
    groups = [group.number for group in part[0].groups if group.number in layout.groups]
    return PlacedPiece(piece, layout, arrows, entry, leave, groups)


# ---------------------------------------------------------------- columns
Placed = tuple[PlacedPiece, Union[Repeat, None]]  # noqa: UP007 - evaluated; a piece with the repeat around it


@dataclass(frozen=True, eq=False)
class FoldedRepeat:
    """A repeat that is drawn as its first body, and the sides of a frame around what a column has of it."""

    repeat: Repeat
    sides: tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Sheet:
    """Pieces with their top left corners, folds with their frames, and the arrows between pieces as points."""

    width: float
    height: float
    pieces: list[tuple[PlacedPiece, float, float]]
    folds: list[FoldedRepeat]
    joints: list[list[float]]


def pack(items: Sequence[Item], placed: dict[GraphPiece, PlacedPiece], window: Size) -> Sheet:
    """Return a sheet with all repeats folded, in as many columns as show it largest in a window.

    The body of a repeat is broken into columns where that shows it much larger.
    """
    bodies = [_body(item, placed) for item in items]
    whole, scale = _best_columns(bodies, window)
    if all(len(body) == 1 for body in bodies):  # there is none to break
        return _arrange(whole)
    broken, larger = _best_columns([[part] for body in bodies for part in body], window)
    return _arrange(broken if larger > WORTH * scale else whole)


def _body(item: Item, placed: dict[GraphPiece, PlacedPiece]) -> list[Placed]:
    """Return the pieces of an item; a repeat has the pieces of its first body."""
    if isinstance(item, GraphPiece):
        return [(placed[item], None)]
    return [(placed[piece], item) for piece in _pieces(item.bodies[0])]


def _best_columns(groups: Sequence[list[Placed]], window: Size) -> tuple[list[list[Placed]], float]:
    """Return the columns of groups that stay together which fit a window at the largest scale, and this scale."""
    heights = [sum(piece.layout.height + GAP for piece, _ in group) for group in groups]
    widths = [max(piece.layout.width for piece, _ in group) for group in groups]
    best: tuple[float, list[list[int]]] = (-1.0, [])
    for count in range(1, min(COLUMNS, len(groups)) + 1):
        low, high = max(sum(heights) / count, *heights), sum(heights)  # no column is shorter than its tallest group
        while high - low > 1:
            middle = (low + high) / 2
            low, high = (middle, high) if len(_columns(heights, middle)) > count else (low, middle)
        columns = _columns(heights, high)
        width = sum(max(widths[g] for g in column) + GUTTER for column in columns)
        height = max(sum(heights[g] for g in column) for column in columns)
        scale = min(window[0] / width, window[1] / height, 1.0)  # never enlarged
        if scale > 1.005 * best[0]:  # no more columns for next to nothing
            best = (scale, columns)
    return [[part for g in column for part in groups[g]] for column in best[1]], best[0]


def _columns(heights: list[float], most: float) -> list[list[int]]:
    columns: list[list[int]] = [[]]
    used = 0.0
    for number, height in enumerate(heights):
        if columns[-1] and used + height > most:
            columns.append([])
            used = 0.0
        columns[-1].append(number)
        used += height
    return columns


def _arrange(columns: Sequence[Sequence[Placed]]) -> Sheet:
    pieces: list[tuple[PlacedPiece, float, float]] = []
    folds: list[FoldedRepeat] = []
    joints: list[list[float]] = []
    left = height = 0.0
    last: tuple[float, float] | None = None  # where the piece before is left
    for column in columns:
        wide = max(piece.layout.width for piece, _ in column)
        y = 0.0
        for repeat, run in groupby(column, key=itemgetter(1)):
            unit, top = [piece for piece, _ in run], y
            for piece in unit:
                x = left + (wide - piece.layout.width) / 2
                if last is not None and piece.entry is not None:
                    joints.append(_joint(last, (x + piece.entry, y), left))
                pieces.append((piece, x, y))
                y += piece.layout.height
                last = None if piece.exit is None else (x + piece.exit, y)
                y += GAP
            if repeat is not None:
                span = max(p.layout.width for p in unit)
                x = left + (wide - span) / 2
                folds.append(FoldedRepeat(repeat, (x - 8, top - 10, x + span + 8, y - GAP + 8)))
        height = max(height, y)
        left += wide + GUTTER
    return Sheet(left, height, pieces, folds, joints)


def _joint(start: tuple[float, float], end: tuple[float, float], left: float) -> list[float]:
    """The points from one piece to the next: straight down, or through the gutter to the top of the next column."""
    (x0, y0), (x1, y1) = start, end
    if y1 > y0:
        corners = [(x0, y0), (x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
    else:
        gutter = left - GUTTER / 2
        corners = [(x0, y0), (x0, y0 + 10), (gutter, y0 + 10), (gutter, y1 - 12), (x1, y1 - 12), (x1, y1)]
    points: list[float] = [*corners[0]]
    for before, after in pairwise(corners):
        points += (*before, *after, *after)
    return points
