"""The graph of a program with functions, branches, closures or references: cards and frames, as data and drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

from passlab.analysis.purity import module_purity
from passlab.display.graphs.cards import Card, Picture, call_order, calls_of, draw_cards
from passlab.display.graphs.dataflow import Arrow, Box, Dataflow
from passlab.display.graphs.drawing import Caption, draw
from passlab.display.graphs.frames import Frame, Program, params_of, program_of
from passlab.display.graphs.layout import Size
from passlab.display.graphs.regions import HEADER, PAD, PlacedFrame, Region, place_frames
from passlab.display.graphs.repeats import structure
from passlab.display.graphs.sheet import pack, parts_of
from passlab.display.graphs.sheet import place as place_pieces
from passlab.display.html import Markup
from passlab.display.protocol.programs import (
    CardRow,
    FrameArrow,
    FrameRow,
    PieceLayout,
    PieceRow,
    PlacedItem,
    RepeatItem,
)
from passlab.display.text.listing import short_type
from passlab.display.views.graph_sheets import SheetData, on_sheet
from passlab.errors import PasslabError, visible
from passlab.infer.order import strongly_connected
from passlab.ir.expr import Call, Expr, Function, RefCreate, RefRead, RefWrite
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, TupleType, Type

FOLD_BOXES = 40  # boxes above which an inner frame starts folded
LONG = 24  # boxes of a function above which it is drawn in blocks and columns
STEP = 20  # points by which the widths of boxes in blocks grow, so that similar blocks are laid out once
FOLD_DEPTH = 5  # frames inside one another of which the innermost start folded
SIGNATURE = 28  # characters of a function's types, and of what else a folded card says


class ProgramSheet:
    """The cards and frames of a program."""

    def __init__(self, source: Any, graph: Dataflow, fold_fused: bool) -> None:
        self.graph = graph
        self.effects = effects_of(source, graph)
        whole = None if isinstance(source, IRModule) and len(source) > 1 else self._whole(source)
        name = f"@{visible(next(iter(dict(source.items()))))}" if isinstance(source, IRModule) and whole else "fn "
        title = f"{name}({params_of(whole)})" if isinstance(whole, Function) else "expression"
        self.program: Program = program_of(graph, title, self.effects)
        self.fold_fused = fold_fused
        tops = [frame for frame in self.frames if frame.parent is None]
        functions = [(frame.name or "fn", frame.expr or self._whole(source)) for frame in tops]
        calls = calls_of(functions)
        names = [name for name, _ in functions]
        order = call_order(calls, names.index("@main") if "@main" in names else 0)
        place = {number: at for at, number in enumerate(order)}
        callers: list[list[int]] = [[] for _ in calls]
        for number, called in enumerate(calls):
            for one in called:
                callers[one].append(place[number])
        recursive = _recursive(calls)
        facts = self._facts()
        self.cards: list[Card] = []
        for number in order:
            frame = tops[number].number
            words = [*facts[frame][:1], *(["↻ recursive"] if number in recursive else []), *facts[frame][1:]]
            called = [place[at] for at in calls[number]]
            signature = _signature(functions[number][1])
            self.cards.append(Card(frame, names[number], signature, " ".join(words), called, sorted(callers[number])))

    @property
    def frames(self) -> list[Frame]:
        """All frames, outer ones first."""
        return self.program.frames

    @staticmethod
    def _whole(source: Any) -> Expr:
        """The function or expression of a graph of one."""
        whole = next(iter(dict(source.items()).values())) if isinstance(source, IRModule) else source
        assert isinstance(whole, Expr)
        return whole

    def _facts(self) -> dict[int, list[str]]:
        """How many operators each function has, and whether it may have effects."""
        root: list[int] = []  # the function around each frame
        for frame in self.frames:
            root.append(frame.number if frame.parent is None else root[frame.parent])
        ops = Counter(
            root[frame.number]
            for frame in self.frames
            for box in (*frame.items, *frame.hidden)
            if box >= 0 and self.graph.boxes[box].kind == "op"
        )
        effects = {root[frame.number] for frame in self.frames if frame.effects}
        return {
            number: [
                f"{ops[number]} op{'' if ops[number] == 1 else 's'}",
                *(["◆ effects"] if number in effects else []),
            ]
            for number in set(root)
        }

    def starts_folded(self, frame: Frame) -> bool:
        """Return whether a frame starts as one box: it is large, deep inside others, or a fused function of many."""
        if frame.parent is None or frame.kind == "arm":
            return False
        return frame.boxes > FOLD_BOXES or frame.depth > FOLD_DEPTH or (frame.kind == "fused" and self.fold_fused)

    # ------------------------------------------------------------ functions that are long chains
    def chains(self, sizes: Sequence[Size]) -> dict[int, Chain]:
        """Return the functions that are too long for one column, by their frames.

        They have no effects and no frames but functions that are called on the spot, as fused ones are.
        """
        root: list[int] = []  # the function around each frame
        boxes: dict[int, list[int]] = {}
        other: set[int] = set()  # functions with frames of other kinds
        for frame in self.frames:
            root.append(frame.number if frame.parent is None else root[frame.parent])
            boxes.setdefault(root[-1], []).extend(item for item in frame.items if item >= 0)
            if frame.effects or (frame.parent is not None and (frame.box is not None or frame.kind == "arm")):
                other.add(root[-1])
        return {
            number: Chain(self.graph, sorted(inside), sizes)
            for number, inside in boxes.items()
            if len(inside) > LONG and number not in other
        }

    # ------------------------------------------------------------ forms
    def frame_rows(self, sizes: Sequence[Size]) -> list[FrameRow]:
        """Return all frames as data, laid out open."""
        return [self._row(placed) for placed in place_frames(self.program, sizes)]

    def _row(self, placed: PlacedFrame) -> FrameRow:
        frame, region = placed.frame, placed.region
        place = {item: at for at, item in enumerate(region.items)}
        return {
            "key": frame.key,
            "kind": frame.kind,
            "title": frame.title,
            "note": placed.note,
            "text": frame.text,
            "parent": -1 if frame.parent is None else frame.parent,
            "box": -1 if frame.box is None else frame.box,
            "size": placed.size,
            "folded_size": placed.folded,
            "folded": self.starts_folded(frame),
            "items": [PlacedItem(item, *sides) for item, sides in zip(region.items, region.sides, strict=True)],
            "arrows": [
                FrameArrow(
                    *(-1 if flow.source is None else place[flow.source], place[flow.target], flow.label),
                    *(flow.origin, flow.user, points),
                )
                for flow, (_, points) in zip(frame.flows, region.arrows, strict=True)
            ],
            "rail": [place[item] for item in region.rail],
            "results": [place[item] for item in region.results],
            "hidden": frame.hidden,
        }

    def card_rows(self, sizes: Sequence[Size], layouts: list[PieceLayout]) -> list[CardRow]:
        """Return all cards as data; the layouts of their pieces are added to `layouts`."""
        sheets = {number: chain.rows(layouts) for number, chain in self.chains(sizes).items()}
        return [
            {
                "frame": card.frame,
                "name": card.name,
                "signature": card.signature,
                "facts": card.facts,
                "calls": card.calls,
                "callers": card.callers,
                "sheet": sheets.get(card.frame, []),
            }
            for card in self.cards
        ]

    def draw(self, captions: Sequence[Caption], sizes: Sequence[Size], window: Size) -> Markup:
        """Return the picture of all cards, with large frames folded."""
        folded = {frame.number for frame in self.frames if self.starts_folded(frame)}
        placed = place_frames(self.program, sizes, folded)
        bodies: dict[int, Callable[[tuple[float, float]], Markup]] = {}
        for number, chain in self.chains(sizes).items():
            sheet = pack(chain.items, chain.placed, window)
            shown = [captions[box] for box in chain.boxes]
            bodies[number] = partial(draw, *on_sheet(chain.graph, shown, sheet))
            size = max(placed[number].folded[0], sheet.width + 4 * PAD), sheet.height + HEADER + 4 * PAD
            placed[number] = replace(placed[number], size=size, region=Region([], [], [], [], []))
        return draw_cards(Picture(self.graph, captions, sizes, placed, self.cards, folded, bodies), window)


class Chain:
    """The boxes of a function without branches as a graph of their own, in blocks that repeat."""

    def __init__(self, graph: Dataflow, boxes: list[int], sizes: Sequence[Size]) -> None:
        self.boxes = boxes
        place = {box: at for at, box in enumerate(boxes)}
        functions = {group.number for group in graph.groups if group.kind == "definition"}
        self.graph = Dataflow(
            [replace(graph.boxes[box], number=at) for at, box in enumerate(boxes)],
            [
                Arrow(place[arrow.source], place[arrow.target], arrow.label)
                for arrow in graph.arrows
                if arrow.source in place and arrow.target in place and arrow.source < arrow.target
            ],
            [replace(group, parent=None if group.parent in functions else group.parent) for group in graph.groups],
        )
        for box in self.graph.boxes:
            box.group = None if box.group in functions else box.group
        self.items = structure(self.graph, LONG)
        own = [(ceil(width / STEP) * STEP, height) for width, height in (sizes[box] for box in boxes)]
        self.placed = place_pieces(self.graph, self.items, parts_of(self.graph, self.items, own))

    def rows(self, layouts: list[PieceLayout]) -> list[PieceRow | RepeatItem]:
        """Return the pieces as data, with the numbers that their boxes have in the whole graph."""
        return SheetData(self.graph, self.placed, layouts, self.boxes).items(self.items)


def effects_of(source: Any, graph: Dataflow) -> frozenset[Expr]:
    """Return the expressions of a graph whose evaluation may have an effect; none in a program without references."""
    boxes = [box.expr for box in graph.boxes if box.expr is not None and box.kind != "output"]
    if not any(box.kind == "ref" for box in graph.boxes):
        return frozenset()
    found: set[Expr] = {expr for expr in boxes if isinstance(expr, (RefCreate, RefRead, RefWrite))}
    if isinstance(source, IRModule):
        try:
            purity = module_purity(source)
        except PasslabError:
            return frozenset(found)
        found |= {expr for expr in boxes if (known := purity.nodes.get(expr)) is not None and not known.evaluation}
    return frozenset(found)


def _recursive(calls: Sequence[Sequence[int]]) -> set[int]:
    """The functions that call themselves, directly or through others."""
    groups = strongly_connected({str(at): map(str, called) for at, called in enumerate(calls)})
    return {int(at) for group in groups for at in group if len(group) > 1 or int(at) in calls[int(at)]}


def _signature(function: Expr) -> str:
    """The types of a function; parameters that find no room are left out, its result never is."""
    if not isinstance(function, Function):
        return ""
    result = _brief(function.ret_type or getattr(function.checked_type_, "ret_type", None))
    params = [_brief(param.type_annotation or param.checked_type_) for param in function.params]
    room = SIGNATURE - len("() → ") - len(result)
    shown = params
    while shown and len(", ".join(shown)) > room:
        shown = [*shown[: len(shown) - 1 - (shown[-1] == "…")], "…"]
        if shown == ["…"]:
            break
    return f"({', '.join(shown)}) → {result}"


def _brief(type_: Type | None) -> str:
    if isinstance(type_, TupleType):
        fields = [_brief_part(field) for field in type_.fields[:4]]
        return f"({', '.join(fields)}{', …' if len(type_.fields) > len(fields) else ',' * (len(fields) == 1)})"
    return _brief_part(type_)


def _brief_part(type_: Type | None) -> str:
    """A type without its parameters and without `float32`; of a tuple in a tuple, that it is one."""
    if type_ is None:
        return "?"
    if isinstance(type_, FuncType):
        return "fn"
    if isinstance(type_, TupleType):
        return "(…)" if type_.fields else "()"
    text = short_type(type_)
    return text.partition("[")[0] if text[:1].isalpha() else text.removesuffix(" float32")


def program_lines(box: Box, program: Program, type_: str) -> tuple[str, ...]:
    """Return what a box of a program shows: title, operands, type."""
    title, operands = program.captions.get(box.number, (box.name, ""))
    shown = type_ if isinstance(box.expr, Call) or box.kind == "input" else ""
    return tuple(filter(None, (title, operands, shown)))
