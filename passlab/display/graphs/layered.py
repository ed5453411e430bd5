"""A layered layout for graphs that would take Graphviz too long: boxes in layers, arrows from a layer to later ones.

The layer of a box is the length of the longest path to it. A value that is used more than one layer below runs through
a lane in every layer between, which its users share. Lanes and boxes of a layer are sorted by the mean position of
their inputs, then moved as close to it as their order allows (least squares). Groups are not drawn. The time is linear
in boxes and lanes, and the layout never fails.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from passlab.display.graphs.dataflow import Box, Dataflow
from passlab.display.graphs.layout import GraphLayout, Size

GAP, RANK_GAP, LANE = 16.0, 30.0, 10.0  # points between neighbours, between layers, and of a lane's width
HEAD = 6.0  # points of the straight end of an arrow
SWEEPS = 2  # times that layers are sorted by what feeds them and by what they feed


def lay_out_layers(
    graph: Dataflow,
    sizes: Sequence[Size],
    *,
    before: Collection[tuple[int, int]] = (),
    shifts: Sequence[tuple[float, float]] | None = None,
    gap: float = RANK_GAP,
) -> GraphLayout:
    """Return the layout of a graph in layers, in points.

    `before` has pairs of boxes of which the second stands in a later layer. `shifts` is how far from the middles of its
    boxes each arrow begins and ends; with it boxes stand at the top of their layers, sources right above their users.
    """
    ranks = _ranks(graph, before)
    if shifts is not None:
        _sink(graph, ranks, before)
    drawing = _Drawing(graph, sizes, ranks, shifts, gap)
    drawing.sort()
    drawing.move()
    return drawing.layout()


def _sink(graph: Dataflow, ranks: list[int], before: Collection[tuple[int, int]]) -> None:
    """Move boxes that no arrow leads to down to the layer above their first user."""
    later: list[list[int]] = [[] for _ in graph.boxes]
    for one, other in before:
        later[one].append(other)
    taking = {arrow.target for arrow in graph.arrows}
    for arrow in graph.arrows:
        later[arrow.source].append(arrow.target)
    for box in reversed(graph.boxes):
        below = [ranks[user] for user in later[box.number] if ranks[user] > ranks[box.number]]
        if box.number not in taking and box.kind != "port" and below:
            ranks[box.number] = min(below) - 1


def _ranks(graph: Dataflow, before: Collection[tuple[int, int]] = ()) -> list[int]:
    """The layer of each box: one below the lowest of its inputs. Arrows backwards (recursion) do not count."""
    into: list[list[int]] = [[] for _ in graph.boxes]
    for arrow in graph.arrows:
        into[arrow.target].append(arrow.source)
    for one, other in before:
        into[other].append(one)
    place = {box.number: at for at, box in enumerate(sorted(graph.boxes, key=_order))}
    ranks = [0] * len(graph.boxes)
    for number in place:
        above = [ranks[source] for source in into[number] if place[source] < place[number]]
        ranks[number] = 1 + max(above, default=-1)
    return ranks


def _order(box: Box) -> tuple[bool, int]:
    """The sort key of a box: the port, through which values enter, comes first, then the order of the program."""
    return box.kind != "port", box.number


class _Drawing:
    """Boxes and lanes in layers. A lane has a number above the numbers of the boxes."""

    def __init__(
        self,
        graph: Dataflow,
        sizes: Sequence[Size],
        ranks: list[int],
        shifts: Sequence[tuple[float, float]] | None,
        gap: float,
    ) -> None:
        self.graph, self.sizes, self.ranks = graph, sizes, list(ranks)
        self.at_top, self.gap = shifts is not None, gap
        self.shifts = shifts or [(0.0, 0.0)] * len(graph.arrows)
        self.widths = [width for width, _ in sizes]
        self.layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
        for box in sorted(graph.boxes, key=_order):
            self.layers[ranks[box.number]].append(box.number)
        self.above: list[list[int]] = [[] for _ in ranks]
        self.below: list[list[int]] = [[] for _ in ranks]
        self.lanes: dict[int, list[int]] = {}  # of a box, layer by layer
        for arrow in graph.arrows:
            if ranks[arrow.source] < ranks[arrow.target]:
                self._join(self._feeder(arrow.source, ranks[arrow.target] - 1), arrow.target)
        self.x = [0.0] * len(self.ranks)

    def _feeder(self, source: int, rank: int) -> int:
        """The box, or its lane, that passes a value into the layer below `rank`."""
        lanes = self.lanes.setdefault(source, [source])
        while self.ranks[lanes[-1]] < rank:
            number = len(self.ranks)
            self.ranks.append(self.ranks[lanes[-1]] + 1)
            self.widths.append(LANE)
            self.above.append([])
            self.below.append([])
            self.layers[self.ranks[number]].append(number)
            self._join(lanes[-1], number)
            lanes.append(number)
        return lanes[rank - self.ranks[source]]

    def _join(self, upper: int, lower: int) -> None:
        self.below[upper].append(lower)
        self.above[lower].append(upper)

    # ------------------------------------------------------------ places
    def sort(self) -> None:
        """Sort each layer by its neighbours above, then by those below, `SWEEPS` times."""
        place = {number: at for layer in self.layers for at, number in enumerate(layer)}
        # The barycentre heuristic of Sugiyama, Tagawa and Toda (1981).
        for _ in range(SWEEPS):
            for neighbours, layers in ((self.above, self.layers), (self.below, self.layers[::-1])):
                for layer in layers:
                    middles = {number: _middle(neighbours[number], place, place[number]) for number in layer}
                    layer.sort(key=middles.__getitem__)
                    place.update((number, at) for at, number in enumerate(layer))

    def move(self) -> None:
        """Move every layer towards its inputs, then towards its users, then its inputs, keeping its order."""
        for layer in self.layers:
            self._spread(layer, [0.0] * len(layer))
        x = dict(enumerate(self.x))
        for neighbours, layers in (
            (self.above, self.layers),
            (self.below, self.layers[::-1]),
            (self.above, self.layers),
        ):
            for layer in layers:
                self._spread(layer, [_middle(neighbours[number], x, x[number]) for number in layer])
                x.update((number, self.x[number]) for number in layer)

    def _spread(self, layer: list[int], targets: list[float]) -> None:
        """Place a layer as close to its targets as the widths allow, by least squares (isotonic regression)."""
        offsets: list[float] = []
        at = 0.0
        for before, number in zip([None, *layer], layer, strict=False):
            at += 0.0 if before is None else (self.widths[before] + self.widths[number]) / 2 + GAP
            offsets.append(at)
        blocks: list[tuple[float, int]] = []  # sum of what neighbours would have without their offsets, and how many
        # Pool adjacent violators: neighbours in the wrong order are merged, and share the mean of their targets.
        for target, offset in zip(targets, offsets, strict=True):
            total, count = target - offset, 1
            while blocks and blocks[-1][0] * count > total * blocks[-1][1]:
                total, count = total + blocks[-1][0], count + blocks[-1][1]
                blocks.pop()
            blocks.append((total, count))
        ways = [total / count for total, count in blocks for _ in range(count)]
        for number, way, offset in zip(layer, ways, offsets, strict=True):
            self.x[number] = way + offset

    # ------------------------------------------------------------ result
    def layout(self) -> GraphLayout:
        """Return the places of boxes, and the curves of arrows through their lanes."""
        left = min((x - width / 2 for x, width in zip(self.x, self.widths, strict=True)), default=0.0)
        self.x = [float(round(x - left)) for x in self.x]  # short numbers: there are many in a page
        tops: list[tuple[float, float]] = []
        y = 0.0
        for layer in self.layers:
            high = max((self.sizes[number][1] for number in layer if number < len(self.sizes)), default=0.0)
            tops.append((y, y + high))
            y += high + self.gap
        width = max((x + wide / 2 for x, wide in zip(self.x, self.widths, strict=True)), default=0.0)
        boxes = [(self.x[box.number], self._middle_of(box.number, tops)) for box in self.graph.boxes]
        arrows = [
            self._curve(arrow.source, arrow.target, tops, boxes, shift)
            for arrow, shift in zip(self.graph.arrows, self.shifts, strict=True)
        ]
        return GraphLayout(round(width, 2), round(max(0.0, y - self.gap), 2), boxes, {}, arrows)

    def _middle_of(self, number: int, tops: list[tuple[float, float]]) -> float:
        """The height of a box's middle: in the middle of its layer, or at its top."""
        top, bottom = tops[self.ranks[number]]
        return top + self.sizes[number][1] / 2 if self.at_top else (top + bottom) / 2

    def _curve(
        self,
        source: int,
        target: int,
        tops: list[tuple[float, float]],
        boxes: list[tuple[float, float]],
        shift: tuple[float, float],
    ) -> list[float]:
        """The curve of an arrow: an S from layer to layer, straight through lanes; none for one that runs backwards."""
        if self.ranks[source] >= self.ranks[target]:
            return []
        at, y = self.x[source] + shift[0], boxes[source][1] + self.sizes[source][1] / 2
        points = [at, y]
        bottom = tops[self.ranks[source]][1]
        if self.at_top and bottom > y:  # straight past the taller boxes of its layer
            points += [at, y, at, bottom, at, bottom]
            y = bottom
        lanes = self.lanes[source][1 : self.ranks[target] - self.ranks[source]]
        for lane in lanes:
            top, bottom = tops[self.ranks[lane]]
            x = self.x[lane]
            # Three points for each cubic curve: an S to the lane, then a straight line through it.
            points += [at, (y + top) / 2, x, (y + top) / 2, x, top, x, top, x, bottom, x, bottom]
            at, y = x, bottom
        x, top = self.x[target] + shift[1], boxes[target][1] - self.sizes[target][1] / 2
        end = top - HEAD
        points += [at, (y + end) / 2, x, (y + end) / 2, x, end, x, end, x, top, x, top]
        return points


def _middle(neighbours: list[int], place: dict[int, int] | dict[int, float], own: float) -> float:
    """The mean position of the neighbours; its own position if none exist."""
    return sum(place[number] for number in neighbours) / len(neighbours) if neighbours else own
