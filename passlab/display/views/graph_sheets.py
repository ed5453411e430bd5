"""The sheet of a network's graph: its pieces and repeats as data, and as one drawing for pages without scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from passlab.display.graphs.dataflow import Arrow, Box, BoxGroup, Dataflow
from passlab.display.graphs.drawing import Caption
from passlab.display.graphs.layout import GraphLayout
from passlab.display.graphs.repeats import GraphPiece, Item, Repeat, body_name, boxes_of
from passlab.display.graphs.sheet import PlacedPiece, Sheet
from passlab.display.protocol.programs import PieceLayout, PieceRow, PlacedArrow, RepeatItem, Sides


class SheetData:
    """Items as nested data; `layouts` are those that they refer to, each once.

    `layouts` may begin with layouts of other sheets; `names` are the numbers of the boxes in the whole graph.
    """

    def __init__(
        self,
        graph: Dataflow,
        placed: dict[GraphPiece, PlacedPiece],
        layouts: list[PieceLayout] | None = None,
        names: Sequence[int] | None = None,
    ) -> None:
        self.graph, self.placed = graph, placed
        self.layouts: list[PieceLayout] = [] if layouts is None else layouts
        self.names = range(len(graph.boxes)) if names is None else names
        self._numbers: dict[Hashable, int] = {}

    def items(self, items: Sequence[Item]) -> list[PieceRow | RepeatItem]:
        """Return items as data, and add their layouts."""
        rows: list[PieceRow | RepeatItem] = []
        pending: list[tuple[Sequence[Item], list[PieceRow | RepeatItem]]] = [(items, rows)]
        while pending:
            body, body_rows = pending.pop()
            for item in body:
                if isinstance(item, GraphPiece):
                    body_rows.append(self._piece(item))
                    continue
                bodies: list[list[PieceRow | RepeatItem]] = [[] for _ in item.bodies]
                body_rows.append(
                    {
                        "name": body_name(self.graph, item.bodies[0]),
                        "similar": item.similar,
                        "size": len(boxes_of(item.bodies[0])),
                        "bodies": bodies,
                    }
                )
                pending.extend(zip(item.bodies, bodies, strict=True))
        return rows

    def _piece(self, piece: GraphPiece) -> PieceRow:
        placed = self.placed[piece]
        layout = placed.layout
        key = (id(layout), *placed.arrows, placed.entry, placed.exit, *placed.groups)
        if key not in self._numbers:
            self._numbers[key] = self._layout(placed)
        return PieceRow(self._numbers[key], [self.names[box] for box in piece.boxes], placed.groups)

    def _layout(self, placed: PlacedPiece) -> int:
        """Return the number of a layout. Equal ones have one number."""
        layout = placed.layout
        data: PieceLayout = {
            "size": (layout.width, layout.height),
            "at": [value for place in layout.boxes[: len(placed.piece.boxes)] for value in place],
            "arrows": [
                PlacedArrow(source, target, label, points)
                for (source, target, label), points in zip(placed.arrows, layout.arrows, strict=True)
            ],
            "groups": [Sides(*layout.groups[group]) for group in placed.groups],
            "entry": -1 if placed.entry is None else placed.entry,
            "exit": -1 if placed.exit is None else placed.exit,
        }
        number = self._numbers.setdefault(repr(data), len(self.layouts))  # equal layouts have equal texts
        if number == len(self.layouts):
            self.layouts.append(data)
        return number


def on_sheet(graph: Dataflow, captions: Sequence[Caption], sheet: Sheet) -> tuple[Dataflow, list[Caption], GraphLayout]:
    """Return what a sheet shows as one graph with one layout: its boxes, folds as groups, and all arrows."""
    drawn = Dataflow()
    shown: list[Caption] = []
    places: list[tuple[float, float]] = []
    arrows: list[list[float]] = list(sheet.joints)
    sides: dict[int, tuple[float, float, float, float]] = {}
    for placed, x, y in sheet.pieces:
        for number, (left, top) in zip(placed.piece.boxes, placed.layout.boxes, strict=False):
            box = graph.boxes[number]
            drawn.boxes.append(Box(len(drawn.boxes), box.kind, box.name, box.expr))
            shown.append(captions[number])
            places.append((left + x, top + y))
        # Points are x, y, x, y, ...
        arrows += [[v + (y if at % 2 else x) for at, v in enumerate(points)] for points in placed.layout.arrows]
        for group in placed.groups:
            x0, y0, x1, y1 = placed.layout.groups[group]
            sides[len(drawn.groups)] = (x0 + x, y0 + y, x1 + x, y1 + y)
            drawn.groups.append(BoxGroup(len(drawn.groups), graph.groups[group].kind, graph.groups[group].name, None))
    counts = Counter(fold.repeat for fold in sheet.folds)  # of the columns of each
    turns: Counter[Repeat] = Counter()
    for fold in sheet.folds:
        turns[fold.repeat] += 1
        part = f" ({turns[fold.repeat]}/{counts[fold.repeat]})" if counts[fold.repeat] > 1 else ""
        name = f"×{len(fold.repeat.bodies)}{part}  {body_name(graph, fold.repeat.bodies[0])}"
        sides[len(drawn.groups)] = fold.sides
        drawn.groups.append(BoxGroup(len(drawn.groups), "function", name, None))
    drawn.arrows = [Arrow(0, 0) for _ in arrows]
    return drawn, shown, GraphLayout(sheet.width, sheet.height, places, sides, arrows)
