"""The structure of a large graph, without using names: its blocks in order, and the blocks that repeat.

A *waist* is a box that no arrow jumps over; behind each one the graph is cut into segments, so that every residual body
is one segment. Two segments are identical when their operators, attributes and arrows are; channel counts are left out,
for they are labels. Runs of identical segments become a `Repeat`, the shortest period first, and again on the result. A
part without waists (a recurrent network, a dense block) is compared operator by operator by name alone, and its
repeats are called similar, not identical. One scan finds the waists; a run of n segments costs n times its period.
At last, high pieces are cut where few values pass, alike in all bodies of a repeat, so that they fill columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import eq
from typing import Union

from passlab.display.graphs.dataflow import Box, Dataflow
from passlab.display.graphs.families import LAYERS, heaviest
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call

LONGEST_PERIOD = 300  # segments
LEAST_SIMILAR = 3  # bodies that are alike by names alone
LEAST_WEIGHT = 4  # operators of a period that is worth folding
NO_WAISTS = 24  # boxes of a segment above which it is compared operator by operator
RUN, BODY = 12, 24  # boxes of neighbouring segments that are laid out together: outside of repeats, in a body
CHUNK, WHOLE_SEGMENT = 40, 60  # boxes laid out together where nothing repeats, and up to which they are not cut
HIGH, PASSING = 12, 3  # boxes one below the other up to which a piece is not cut, and values that may pass a cut
WIDTHS = frozenset(("channels", "units"))  # attributes that only say how wide a layer is


@dataclass(frozen=True, eq=False)
class GraphPiece:
    """Boxes that are laid out together, by number, in program order."""

    boxes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    """Bodies one behind the other, identical but for widths, or (`similar`) with the same operators in order."""

    bodies: tuple[tuple[Item, ...], ...]
    similar: bool = False


Item = Union[GraphPiece, Repeat]  # noqa: UP007 - evaluated, and Python 3.10 knows no `|` of names to come


@dataclass(frozen=True, eq=False)
class _Token:
    key: Hashable
    item: Item
    weight: int


def structure(graph: Dataflow, whole: int) -> list[Item]:
    """Return the items of a graph in order; one of at most `whole` boxes is one piece unless it is high.

    A function of as few is always one piece.
    """
    order, homes, producers = _order(graph), _homes(graph), _producers(graph)
    if not graph.boxes:
        return []
    if len(graph.boxes) <= whole:
        (whole_graph,) = _Cuts(graph, order, producers, set()).cut([[GraphPiece(tuple(range(len(graph.boxes))))]])
        return list(whole_graph)
    tokens: list[_Token] = []
    small = {home for home, count in Counter(homes).items() if home >= 0 and count <= whole}
    for segment in _segments(graph, order, homes, small):
        tokens.append(_token(graph, segment, producers))
    items: list[Item] = []
    for token in squeeze(tokens):
        item = token.item
        items += _region(graph, item.boxes) if isinstance(item, GraphPiece) and token.weight > NO_WAISTS else [item]
    together = {place for place, number in enumerate(order) if homes[number] in small}
    cuts = _Cuts(graph, order, producers, together)
    (cut,) = cuts.cut([_join_pieces(items, RUN, homes, cuts)])
    return list(cut)


# recurses: few repeats deep
def _join_pieces(items: Sequence[Item], most: int, homes: Sequence[int], cuts: _Cuts) -> list[Item]:
    """Return items with neighbouring pieces of a function as one, of up to `most` boxes.

    Those of a body are joined up to `BODY` boxes, and then cut alike in all bodies.
    """
    joined: list[Item] = []
    for item in items:
        if isinstance(item, Repeat):
            bodies = [_join_pieces(body, BODY, homes, cuts) for body in item.bodies]
            joined.append(Repeat(cuts.cut(bodies), item.similar))
            continue
        last = joined[-1] if joined else None
        fits = isinstance(last, GraphPiece) and len(last.boxes) + len(item.boxes) <= most
        if isinstance(last, GraphPiece) and fits and homes[last.boxes[-1]] == homes[item.boxes[0]]:
            joined[-1] = GraphPiece(last.boxes + item.boxes)
        else:
            joined.append(item)
    return joined


class _Cuts:
    """Where the pieces of a graph are cut: where few values pass, never inside a group or at places of `whole`."""

    def __init__(self, graph: Dataflow, order: list[int], producers: list[list[int]], whole: set[int]) -> None:
        self.producers = producers
        self.place = {number: place for place, number in enumerate(order)}
        self.is_given = [box.kind in ("input", "constant") for box in graph.boxes]
        self.begins = [heaviest(box.name) in LAYERS for box in graph.boxes]  # whether a layer begins with a box
        self.last_use = [-1] * len(graph.boxes)
        for arrow in graph.arrows:
            self.last_use[arrow.source] = max(self.last_use[arrow.source], self.place[arrow.target])
        steps = [0] * (len(order) + 1)
        for first, last in _group_extents(graph, self.place):
            steps[first + 1] += 1
            steps[last + 1] -= 1
        # By place: whether a cut before it parts what is drawn with a frame around it.
        self.is_inside = [opened > 0 or place in whole for place, opened in enumerate(accumulate(steps))]

    def cut(self, bodies: Sequence[Sequence[Item]]) -> tuple[tuple[Item, ...], ...]:
        """Return alike bodies with each high piece as several, cut at the same places in all of them."""
        model = bodies[min(1, len(bodies) - 1)]  # the first one may take inputs where the others take values
        places = [self.places(item.boxes) if isinstance(item, GraphPiece) else [] for item in model]
        return tuple(
            tuple(
                part
                for item, at in zip(body, places, strict=True)
                for part in (self.parts(item.boxes, at) if isinstance(item, GraphPiece) else [item])
            )
            for body in bodies
        )

    def parts(self, boxes: tuple[int, ...], places: Sequence[int]) -> list[Item]:
        """Return boxes as pieces, cut before the places, and into chunks where no place was found for very many."""
        parts = [boxes[start:end] for start, end in pairwise([0, *places, len(boxes)])]
        sizes = [CHUNK if len(part) > WHOLE_SEGMENT else len(part) for part in parts]
        return [
            GraphPiece(part[start : start + size])
            for part, size in zip(parts, sizes, strict=True)
            for start in range(0, len(part), size)
        ]

    def places(self, boxes: tuple[int, ...]) -> list[int]:
        """Return before which of some boxes to cut them: in the middle half, as often as they stand too high."""
        passing = self._passing(boxes)
        found: list[int] = []
        pending = [(0, len(boxes))]
        while pending:
            start, end = pending.pop()
            if self._height(boxes[start:end]) <= HIGH:
                continue
            quarter, middle = (end - start) // 4, (start + end) / 2
            best = min(
                range(start + quarter, end - quarter + 1),
                key=lambda place: (passing[place], not self.begins[boxes[place]], abs(place - middle)),
            )
            if passing[best] <= PASSING:
                found.append(best)
                pending += [(start, best), (best, end)]
        return sorted(found)

    def _height(self, boxes: Sequence[int]) -> int:
        """How many of some boxes stand one below the other."""
        heights: dict[int, int] = {}
        for number in boxes:
            heights[number] = 1 + max((heights.get(source, 0) for source in self.producers[number]), default=0)
        return max(heights.values())

    def _passing(self, boxes: Sequence[int]) -> list[int]:
        """Return how many computed values pass a cut before each of some boxes and behind the last; many in a group."""
        steps = [0] * (len(boxes) + 2)
        at = {number: place for place, number in enumerate(boxes)}
        uses: dict[int, int] = {}  # of each value, the last place
        for place, number in enumerate(boxes):
            uses.update((source, place) for source in self.producers[number] if not self.is_given[source])
        end = self.place[boxes[-1]]
        for source in {*uses, *boxes}:
            last = uses.get(source, -1) if self.last_use[source] <= end else len(boxes)
            first = at.get(source, -1)
            if not self.is_given[source] and last > first:
                steps[first + 1] += 1
                steps[last + 1] -= 1
        passing = list(accumulate(steps))
        return [
            count + (PASSING + 1) * (place < len(boxes) and self.is_inside[self.place[boxes[place]]])
            for place, count in enumerate(passing[: len(boxes) + 1])
        ]


def boxes_of(items: Sequence[Item]) -> list[int]:
    """Return the boxes of items in order."""
    numbers: list[int] = []
    stack: list[Item] = list(reversed(items))
    while stack:
        item = stack.pop()
        if isinstance(item, GraphPiece):
            numbers += item.boxes
        else:
            stack.extend(part for body in reversed(item.bodies) for part in reversed(body))
    return numbers


# ---------------------------------------------------------------- segments
def _producers(graph: Dataflow) -> list[list[int]]:
    into: list[list[int]] = [[] for _ in graph.boxes]
    for arrow in graph.arrows:
        into[arrow.target].append(arrow.source)
    return into


def _order(graph: Dataflow) -> list[int]:
    """The boxes in program order, inputs and constants right before what first takes them, if anything does."""
    producers = _producers(graph)
    order: list[int] = []
    used = {arrow.source for arrow in graph.arrows}
    waiting = {box.number for box in graph.boxes if not producers[box.number] and box.number in used}
    for box in graph.boxes:
        if box.number in waiting and box.kind in ("input", "constant"):
            continue
        for source in producers[box.number]:
            if source in waiting:
                waiting.discard(source)
                if graph.boxes[source].kind in ("input", "constant"):
                    order.append(source)
        order.append(box.number)
    placed = set(order)
    return [*order, *(number for number in sorted(waiting) if number not in placed)]


def _homes(graph: Dataflow) -> list[int]:
    """The function that each box stands in, by the number of its group; -1 where the graph is of one alone."""
    home: dict[int | None, int] = {None: -1}
    for group in graph.groups:  # inner groups come after those around them
        home[group.number] = group.number if group.kind == "definition" else home[group.parent]
    return [home[box.group] for box in graph.boxes]


def _segments(graph: Dataflow, order: list[int], homes: Sequence[int], small: set[int]) -> list[list[int]]:
    """Cut the boxes behind each waist, and between functions; no cut runs through a small one, or a group inside it."""
    position = {number: place for place, number in enumerate(order)}
    reach = list(range(len(order)))
    for arrow in graph.arrows:
        source, target = position[arrow.source], position[arrow.target]
        reach[source] = max(reach[source], target)
    ends = [-1] * len(order)  # for each place the last one of the groups that begin there
    for first, last in _group_extents(graph, position):
        ends[first] = max(ends[first], last)
    segments: list[list[int]] = [[]]
    # `far` is the last place that an arrow from before reaches, `end` the last place of the groups that are open.
    far = end = -1
    for place, number in enumerate(order):
        segments[-1].append(number)
        end = max(end, ends[place])
        waist = max(far, end) <= place and homes[number] not in small
        far = max(far, reach[place])
        if waist or (place + 1 < len(order) and homes[order[place + 1]] != homes[number]):
            segments.append([])
    return [segment for segment in segments if segment]


def _group_extents(graph: Dataflow, position: Mapping[int, int]) -> list[tuple[int, int]]:
    """The first and the last place of each group inside a function, the boxes of groups inside it included."""
    places: dict[int | None, tuple[int, int]] = {}

    def include(group: int | None, first: int, last: int) -> None:
        before = places.get(group, (first, last))
        places[group] = min(before[0], first), max(before[1], last)

    for box in graph.boxes:
        include(box.group, position[box.number], position[box.number])
    extents: list[tuple[int, int]] = []
    for group in reversed(graph.groups):  # inner groups come after those around them
        if group.number in places:
            include(group.parent, *places[group.number])
            if group.kind != "definition":
                extents.append(places[group.number])
    return extents


def _token(graph: Dataflow, segment: list[int], producers: list[list[int]]) -> _Token:
    inside = {number: place for place, number in enumerate(segment)}
    groups: dict[int | None, int] = {}
    key = tuple(
        (
            _box_key(graph.boxes[number]),
            groups.setdefault(graph.boxes[number].group, len(groups)),
            # Distances, which are equal in equal segments.
            tuple(sorted(place - inside[p] if p in inside else -1 for p in producers[number])),
        )
        for place, number in enumerate(segment)
    )
    return _Token(key, GraphPiece(tuple(segment)), len(segment))


def _box_key(box: Box) -> Hashable:
    attrs: tuple[str, ...] = ()
    if isinstance(box.expr, Call) and isinstance(box.expr.attrs, Attrs):
        attrs = tuple(f"{key}={value}" for key, value in box.expr.attrs.items() if key not in WIDTHS)
    name = box.kind if box.kind in ("input", "constant") else box.name
    return box.kind, name, len(box.weights), attrs


def _region(graph: Dataflow, segment: Sequence[int]) -> list[Item]:
    """The items of a part without waists: repeats by operator names, and what is between them.

    Bodies repeat only where each takes something from the one before; branches side by side do not.
    """
    targets: dict[int, list[int]] = {}
    for arrow in graph.arrows:
        targets.setdefault(arrow.source, []).append(arrow.target)

    def follow(bodies: Sequence[Sequence[_Token]]) -> bool:
        sets = [set(boxes_of([token.item for token in body])) for body in bodies]
        chain = all(any(not other.isdisjoint(targets.get(a, ())) for a in one) for one, other in pairwise(sets))
        return chain and len(sets) >= LEAST_SIMILAR

    operators = [_Token(graph.boxes[number].name, GraphPiece((number,)), 1) for number in segment]
    items: list[Item] = []
    loose: list[int] = []
    for token in [*squeeze(operators, follow), None]:
        if token is not None and isinstance(token.item, GraphPiece):
            loose += token.item.boxes
            continue
        items += [GraphPiece(tuple(loose))] if loose else []
        loose = []
        if token is not None:
            assert isinstance(token.item, Repeat)
            items.append(
                Repeat(tuple((GraphPiece(tuple(boxes_of(body))),) for body in token.item.bodies), similar=True)
            )
    return items


# ---------------------------------------------------------------- repeats
def squeeze(tokens: list[_Token], accepts: Callable[[list[list[_Token]]], bool] | None = None) -> list[_Token]:
    """Replace runs of equal periods by repeats, the shortest period first, then repeats of repeats.

    `accepts` may refuse bodies; with it there are no repeats of repeats.
    """
    numbers: dict[Hashable, int] = {}  # numbers are compared faster than keys
    tokens = [replace(token, key=numbers.setdefault(token.key, len(numbers))) for token in tokens]
    period = 1
    while period <= min(len(tokens) // 2, LONGEST_PERIOD):
        for start, count in _runs(tokens, period):
            bodies = [tokens[start + turn * period : start + (turn + 1) * period] for turn in range(count)]
            if accepts is None or accepts(bodies):
                break
        else:  # no run of this period was accepted
            period += 1
            continue
        key = ("repeat", count, tuple(token.key for token in bodies[0]))
        item = Repeat(tuple(tuple(token.item for token in body) for body in bodies))
        weight = sum(token.weight for body in bodies for token in body)
        tokens = [*tokens[:start], _Token(key, item, weight), *tokens[start + count * period :]]
        period = 1 if accepts is None else period  # the new repeat may be part of a shorter period
    return tokens


def _runs(tokens: list[_Token], period: int) -> Iterator[tuple[int, int]]:
    """Yield where runs of at least two equal periods start, and how many periods there are."""
    keys = [token.key for token in tokens]
    # A run needs `period` equal comparisons in a row, which a search in bytes shows.
    if b"\1" * period not in bytes(map(eq, keys, keys[period:])):
        return  # as for most periods: looked up fast
    length = 0
    for place in range(len(tokens) - period + 1):
        if place + period < len(tokens) and tokens[place].key == tokens[place + period].key:
            length += 1
            continue
        if length >= period:
            # `length` equal comparisons: so many tokens and a period.
            start, count = place - length, (length + period) // period
            if sum(token.weight for token in tokens[start : start + period]) >= LEAST_WEIGHT:
                yield start + _rotation(tokens, start, length + period - count * period, period), count
        length = 0


def _rotation(tokens: list[_Token], start: int, slack: int, period: int) -> int:
    """How far to shift a run so that each body begins with its largest segment and owns what follows it."""
    return max(range(min(slack, period - 1) + 1), key=lambda shift: (tokens[start + shift].weight, -shift))


# ---------------------------------------------------------------- names
def body_name(graph: Dataflow, body: Sequence[Item]) -> str:
    """Return a short name of a body: its most characteristic operators and how often each occurs."""

    def order(name: str) -> tuple[bool, bool, int, str]:
        return heaviest(name) not in LAYERS, not name.startswith("nn."), -names[name], name

    names = Counter(graph.boxes[n].name for n in boxes_of(body) if graph.boxes[n].kind not in ("input", "constant"))
    return " + ".join(
        f"{short_name(name)}{f' ×{names[name]}' if names[name] > 1 else ''}" for name in sorted(names, key=order)[:2]
    )


def short_name(name: str) -> str:
    """An operator without its namespace, cut if it is long."""
    last = name.split(" · ")[0].rpartition(".")[2]
    return last if len(last) <= 24 else f"{last[:23]}…"
