"""The view of a program as a dataflow graph: a drawing in HTML and widgets, a list of boxes in text.

The sheet of a large graph is data, which a browser packs, folds and unfolds. The colour of a box is the family of its
operator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import ceil
from typing import Any

from passlab import limits
from passlab.analysis.cost import call_cost
from passlab.diffing.diff import Change, Diff
from passlab.diffing.matching import Window
from passlab.display.graphs.dataflow import Box, Dataflow, dataflow, first_nodes, fold_chains, fold_groups, truncate
from passlab.display.graphs.drawing import Caption, box_size, draw
from passlab.display.graphs.families import FAMILIES, HUE_OF, family
from passlab.display.graphs.frames import is_program
from passlab.display.graphs.layout import LayoutError, lay_out_all
from passlab.display.graphs.layout import Part as LayoutPart
from passlab.display.graphs.repeats import GraphPiece, Item, structure
from passlab.display.graphs.sheet import PlacedPiece, pack, parts_of, place
from passlab.display.html import Markup, join, tag
from passlab.display.nodes import number_of
from passlab.display.palette import HUES, MUTED, PROSE
from passlab.display.protocol.programs import (
    ArrowRow,
    BoxRow,
    GraphData,
    GroupRow,
)
from passlab.display.text.listing import short_type, type_text
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Drawing, Gap, HtmlOnly, Part, Sentence
from passlab.display.views.graph_sheets import SheetData, on_sheet
from passlab.display.views.program_graph import ProgramSheet, program_lines
from passlab.errors import visible
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType
from passlab.ir.walk import post_order
from passlab.lab.recordings.lineage import diff
from passlab.table import Table

WHOLE = 24  # boxes up to which a graph is laid out in one piece
STEP = 20  # pixels by which the widths of boxes in large graphs grow
FAR_CHAR, FAR_PAD, FAR_CHARS = 15.6, 16.0, 17  # points of a letter that is legible at 0.4 of the size; how many are
NAMESPACE = re.compile(r"%\S+ = |[\w.]*\.")  # what a name leaves out where it is read from afar
MOST_INNER = 400  # operators of a fused function whose selection highlights its box
STATIC_WINDOW = (1000.0, 520.0)  # pixels of the picture in static HTML
READ = 4  # nodes of a program that are read, for each that may be drawn
FOLD_AT = 120  # boxes above which fused functions start folded
WIDEST = 34  # characters of one line in a box


class Legend(Part):
    """What the colours of a graph mean: the families of operators that it has, by number."""

    def __init__(self, families: Sequence[int]) -> None:
        self.families = families

    def lines(self) -> list[str]:
        return [", ".join(FAMILIES[number] for number in self.families)]

    def html(self) -> Markup:
        box = "display:inline-block;width:8px;height:8px;margin-right:4px;background:"  # no letter: it is not read
        names = [
            join([tag("span", style=box + HUES[HUE_OF[number]]), tag("span", FAMILIES[number])])
            for number in self.families
        ]
        parts = [tag("span", name, style="margin-right:14px;display:inline-block") for name in names]
        return tag("div", *parts, style=f"{PROSE};font-size:12px;color:{MUTED}")


class GraphView(View):
    """A program as boxes and arrows. `changed` are nodes to mark, or a diff whose new side is this program.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
    >>> display.graph_view(mod).dot().splitlines()[0]
    'digraph {'
    """

    kind = script = "graph"
    whole = "graph_view(function) shows one function"

    def __init__(
        self,
        program: Any,
        changed: Diff | Iterable[Expr] | dict[Expr, str] | None = None,
        folded: bool | None = None,
        overlays: Mapping[str, Mapping[Expr, float]] | None = None,
        notes: Mapping[Expr, str] | None = None,
    ) -> None:
        self.overlays = overlays or {}
        self.notes = notes or {}
        self.program = program
        self.folded = folded
        self.is_folded = False
        self.changes = (
            changed if isinstance(changed, dict) else _changes_of(changed, READ * limits.current().graph_nodes)
        )

    def with_folding(self, folded: bool) -> GraphView:
        """Return the view with every fused function as one box, or with all of them open."""
        return GraphView(self.program, self.changes, folded, self.overlays, self.notes)

    @cached_property
    def graph(self) -> Dataflow:
        """The graph to draw: folded if it would be too large."""
        most = limits.current().graph_nodes
        graph = dataflow(self.program, READ * most)
        if is_program(graph) and len(graph.boxes) <= most and not graph.left_out:
            return graph
        self.is_folded = self.folded if self.folded is not None else len(graph.boxes) > FOLD_AT
        if self.is_folded:
            graph = fold_groups(graph)
        if len(graph.boxes) > most:
            graph = fold_chains(graph)
        return truncate(graph, most)

    @cached_property
    def sheet(self) -> ProgramSheet | None:
        """The cards and frames of a program; None for a network, which is chains of operators."""
        if not is_program(self.graph) or len(self.graph.boxes) > limits.current().graph_nodes or self.graph.left_out:
            return None
        fold = self.folded if self.folded is not None else len(self.graph.boxes) > FOLD_AT
        return ProgramSheet(self.program, self.graph, fold)

    @cached_property
    def captions(self) -> list[Caption]:
        """What each box shows."""
        lines = _brief_lines if self.is_large else _lines
        if self.sheet is not None:
            program = self.sheet.program

            def lines(box: Box) -> tuple[str, ...]:
                return tuple(map(_cut, program_lines(box, program, _type_text(box).removesuffix(" float32"))))

        return [
            Caption(
                (*lines(box), *self._note(box)),
                self.changes.get(box.expr, "") if box.expr is not None else "",
                family(box),
            )
            for box in self.graph.boxes
        ]

    def _note(self, box: Box) -> tuple[str, ...]:
        """The note of a box, in small graphs only."""
        note = "" if box.expr is None else self.notes.get(box.expr, "")
        return (_cut(note),) if note and not self.is_large else ()

    @cached_property
    def sizes(self) -> list[tuple[float, float]]:
        """Width and height of each box, widths rounded so that similar blocks are laid out once.

        A large graph is read from afar, where a name is larger than its box: boxes are wide enough for theirs.
        """
        sizes = [box_size(caption.lines) for caption in self.captions]
        if not self.is_large or self.sheet is not None:
            return sizes
        names = [NAMESPACE.sub("", caption.lines[0]) for caption in self.captions]
        far = [min(len(name), FAR_CHARS) * FAR_CHAR + FAR_PAD for name in names]
        widths = [ceil(max(width, least) / STEP) * STEP for (width, _), least in zip(sizes, far, strict=True)]
        return [(width, height) for width, (_, height) in zip(widths, sizes, strict=True)]

    @property
    def is_large(self) -> bool:
        """Whether the graph is drawn as a sheet of blocks."""
        return len(self.graph.boxes) > WHOLE

    @cached_property
    def items(self) -> list[Item]:
        """The blocks of the graph in order, repeats as one item."""
        return structure(self.graph, WHOLE) if self.sheet is None else []

    @cached_property
    def pieces(self) -> list[LayoutPart]:
        """What is laid out: each piece as a graph of its own."""
        return parts_of(self.graph, self.items, self.sizes)

    @cached_property
    def layouts(self) -> dict[GraphPiece, PlacedPiece]:
        """The layout of each piece."""
        return place(self.graph, self.items, self.pieces) if self.items else {}

    @property
    def title(self) -> str:
        """How large the graph is."""
        graph = self.graph
        folded = sum(box.count for box in graph.boxes) - len(graph.boxes)
        notes = [f"{len(graph.boxes):,} {'box' if len(graph.boxes) == 1 else 'boxes'}"]
        notes += [f"{len(graph.arrows):,} {'arrow' if len(graph.arrows) == 1 else 'arrows'}"]
        notes += [f"{folded:,} more folded into them"] if folded else []
        notes += [f"{graph.left_out:,} more left out"] if graph.left_out else []
        return ", ".join(notes)

    # ------------------------------------------------------------ forms
    def parts(self) -> Iterable[Part]:
        yield Sentence(f"Dataflow: {self.title}.", "muted")
        yield Gap()
        yield Drawing(self._draw, f"dataflow graph: {self.title}", self._words(), fits=False)
        families = sorted({caption.family for caption in self.captions} - {0})
        if families:
            yield HtmlOnly(Legend(families))

    def _draw(self) -> Markup:
        if self.sheet is not None:
            return self.sheet.draw(self.captions, self.sizes, STATIC_WINDOW)
        return draw(*on_sheet(self.graph, self.captions, pack(self.items, self.layouts, STATIC_WINDOW)))

    def _words(self) -> list[str]:
        """A line for each box: its name, the names of the boxes that it reads, and its lines."""
        graph = self.graph
        names = _names(graph)
        into: list[list[str]] = [[] for _ in graph.boxes]
        for arrow in graph.arrows:
            into[arrow.target].append(f"{names[arrow.source]}{arrow.label if arrow.label[:1] == '.' else ''}")
        lines = []
        for box, caption in zip(graph.boxes, self.captions, strict=True):
            mark = {"added": "+ ", "changed": "* ", "moved": "~ "}.get(caption.change, "  ")
            words = caption.lines if self.sheet is None else (*_lines(box), *self._note(box))
            more = f"  [{', '.join(words[1:])}]" if len(words) > 1 else ""
            sources = f" <- {', '.join(into[box.number])}" if into[box.number] else ""
            lines.append(f"{mark}{names[box.number]}{sources}{more}")
        return lines

    @building()
    def _tip(self, box: Box) -> str:
        """Return the hover text of a box."""
        note = self.notes.get(box.expr, "") if box.expr is not None else ""
        return "\n".join(filter(None, (_about(box), note)))

    def data(self) -> GraphData:
        sheet = SheetData(self.graph, self.layouts)
        cards = [] if self.sheet is None else self.sheet.card_rows(self.sizes, sheet.layouts)
        fused = self.sheet is None and any(group.kind == "fused" for group in self.graph.groups)
        return {
            "kind": self.kind,
            "title": self.title,
            "fused": fused,
            "folded": self.is_folded,
            "boxes": [
                BoxRow(
                    *(*size, self._kind(box), caption.change, -1 if box.group is None else box.group),
                    *(list(caption.lines), self._tip(box), _box_nodes(box), caption.family),
                )
                for box, caption, size in zip(self.graph.boxes, self.captions, self.sizes, strict=True)
            ],
            "arrows": [ArrowRow(arrow.source, arrow.target, arrow.label) for arrow in self.graph.arrows],
            "groups": [
                GroupRow(group.number, -1 if group.parent is None else group.parent, group.kind, group.name)
                for group in self.graph.groups
            ],
            "values": {name: values for name, values in self._values() if any(v is not None for v in values)},
            "items": sheet.items(self.items),
            "layouts": sheet.layouts,
            "cards": cards,
            "frames": [] if self.sheet is None else self.sheet.frame_rows(self.sizes),
        }

    def _kind(self, box: Box) -> str:
        """The kind of a box; a fused function of one operator has no frame, but it is one."""
        return "fused" if self.sheet is not None and box.number in self.sheet.program.alone else box.kind

    def _values(self) -> Iterator[tuple[str, list[float | None]]]:
        """The numbers by which boxes can be coloured: the cost of calls, and the overlays."""
        costs = [call_cost(box.expr) if isinstance(box.expr, Call) else None for box in self.graph.boxes]
        yield "multiplications", [None if cost is None else cost.macs for cost in costs]
        yield "output bytes", [None if cost is None else cost.bytes_written for cost in costs]
        for name, overlay in self.overlays.items():
            yield name, [None if box.expr is None else overlay.get(box.expr) for box in self.graph.boxes]

    def svg(self) -> str:
        """Return the picture as a file of its own, on white: for papers and slides.

        Names that are hostile are text in it. A large program shows its first function open, and the others folded.
        """
        return str(self._draw()).replace("<svg ", '<svg style="background:#ffffff" ', 1)

    def dot(self) -> str:
        """Return the graph as DOT with its labels, for other tools."""
        import graphviz

        digraph = graphviz.Digraph(node_attr={"shape": "box", "style": "rounded", "fontname": "Courier"})
        names = _names(self.graph)
        for box, caption in zip(self.graph.boxes, self.captions, strict=True):
            colour = {"added": "#2d874b", "changed": "#a46a12", "moved": "#2577d4"}.get(caption.change)
            label, tip = graphviz.escape("\n".join(caption.lines)), graphviz.escape(names[box.number])
            digraph.node(f"n{box.number}", label, tooltip=tip, **({"color": colour} if colour else {}))
        for arrow in self.graph.arrows:
            digraph.edge(f"n{arrow.source}", f"n{arrow.target}", graphviz.escape(arrow.label))
        text: str = digraph.source
        return text

    def source(self) -> HasFrame:
        """Return one row per box."""
        rows = [
            (b.number, b.kind, b.name, b.count, f.change) for b, f in zip(self.graph.boxes, self.captions, strict=True)
        ]
        return Table(("box", "kind", "name", "nodes", "change"), rows)


@checked_view(IRModule, Expr, hint="passlab.parse(text) returns a module")
def graph_view(
    program: Any,
    changed: Diff | Iterable[Expr] | None = None,
    *,
    changed_from: Any = None,
    folded: bool | None = None,
    overlays: Mapping[str, Mapping[Expr, float]] | None = None,
) -> GraphView:
    """Return the view of a module, function or expression as a dataflow graph.

    `changed` is a diff, or nodes, whose boxes are marked; `changed_from` an earlier program to compare with. `folded`
    says whether each fused function is one box; without it that depends on the size of the graph. `overlays` are series
    of numbers by node, by which boxes may be coloured: `{"milliseconds": {call: 0.3}}`.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
    >>> print(display.graph_view(mod).text().splitlines()[0])
    Dataflow: 3 boxes, 2 arrows.
    """
    if changed is None and changed_from is not None:
        changed = diff(changed_from, program)
    return GraphView(program, changed, folded, overlays)


def lay_out_together(views: Iterable[GraphView]) -> None:
    """Lay out the pieces of many graphs in one process; without Graphviz do nothing."""
    with suppress(LayoutError):
        lay_out_all([piece for view in views for piece in view.pieces])


def _changes_of(changed: Diff | Iterable[Expr] | None, most: int) -> dict[Expr, str]:
    """Return the marks of the nodes that are drawn: at most so many."""
    if changed is None:
        return {}
    if not isinstance(changed, Diff):
        return dict.fromkeys(changed, "changed")
    changes: dict[Expr, str] = {}
    room = most
    for function in sorted(changed.functions, key=lambda function: function.name):
        if function.after is None or function.after is function.before:
            continue
        after, size, _ = first_nodes(function.after, room)
        if size > room:
            before = [] if function.before is None else first_nodes(function.before, room)[0]
            function = function.within(Window(before, after))
        nodes = [node for node in function.changed_nodes if node.change is not Change.REMOVED]
        changes.update((node.after, node.change.value) for node in nodes if node.after is not None)
        room = max(0, room - size)
        if not room:
            break
    return changes


# ---------------------------------------------------------------- what a box shows
def _lines(box: Box) -> tuple[str, ...]:
    name = f"{box.name} × {box.count}" if box.count > 1 and "·" not in box.name else box.name
    lines = [_cut(name)]
    weights = [_weight(weight) for weight in box.weights]
    if len(weights) > 2:
        weights = [weights[0], f"and {len(weights) - 1} more"]
    lines += map(_cut, weights)
    return (*lines, _cut(text)) if (text := _type_text(box)) else tuple(lines)


def _brief_lines(box: Box) -> tuple[str, ...]:
    """The name and the type (of a float32 tensor only the shape): the lines of a box in a large graph."""
    name, text = _lines(box)[0], _type_text(box)
    text = text.removesuffix(" float32") if text.startswith("(") else text
    return (name, _cut(text)) if text else (name,)


def _type_text(box: Box) -> str:
    """The type of a box's value, "" if it is unknown or where several operators share the box."""
    type_ = None if box.expr is None or (box.count > 1 and box.kind != "fused") else box.expr.checked_type_
    if box.kind == "fused" and isinstance(type_, FuncType):
        type_ = type_.ret_type  # of the result, as for the last of its operators
    return "" if type_ is None else short_type(type_)


def _box_nodes(box: Box) -> list[int]:
    """The numbers of the nodes of a box, its own first; for a fused function, all its operators."""
    if box.expr is None or box.kind == "output":
        return []
    inner = [n for n in post_order(box.expr) if isinstance(n, Call)] if isinstance(box.expr, Function) else []
    return [number_of(node) for node in (box.expr, *box.weights, *inner[:MOST_INNER])]


def _weight(node: Expr) -> str:
    if isinstance(node, Var):
        return f"%{visible(node.name_hint)}"
    assert isinstance(node, Constant)
    return visible(str(node.data)) if not node.data.ndim else f"constant {short_type(node.tensor_type)}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _about(box: Box) -> str:
    """The details of a selected box, which do not fit into it."""
    expr = box.expr
    parts = [box.name] if box.count == 1 else [f"{box.count} operators: {box.name}"]
    if isinstance(expr, (Call, Function)) and isinstance(expr.attrs, Attrs):
        parts += [
            f"{visible(str(key))} = {visible(str(value))}" for key, value in expr.attrs.items() if value is not None
        ]
    parts += [f"takes {_weight(weight)}: {type_text(weight.checked_type_)}" for weight in box.weights]
    if expr is not None:
        parts += [f"type {type_text(expr.checked_type_)}"] if expr.checked_type_ is not None else []
        parts += [f"at {visible(str(expr.span))}"] if expr.span is not None else []
    return "\n".join(parts)


def _names(graph: Dataflow) -> list[str]:
    """A unique name for each box, with a number if several boxes have the same name."""
    counts = Counter(box.name for box in graph.boxes)
    taken: Counter[str] = Counter()
    names = []
    for box in graph.boxes:
        taken[box.name] += 1
        names.append(box.name if counts[box.name] == 1 else f"{box.name}#{taken[box.name]}")
    return names
