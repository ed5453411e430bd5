"""The view of a program as a dataflow graph: drawn where Graphviz is at hand, told line by line everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.display.dataflow import Box, Dataflow, Group, dataflow, fold_chains, fold_groups, truncate
from passlab.display.drawing import Face, box_size, draw
from passlab.display.html import Markup, picture, tag
from passlab.display.layout import Layout, LayoutError, lay_out
from passlab.display.listing import short_type, type_text
from passlab.display.palette import BOX, CODE, MUTED, PROSE
from passlab.display.view import View, capped
from passlab.errors import visible
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.misfits import misfit
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType
from passlab.lab.diffing import Change, Diff, diff

if TYPE_CHECKING:
    import pandas as pd

FOLD_AT = 120  # boxes above which fused functions start folded
WIDEST = 34  # characters of one line in a box


class GraphView(View):
    """A program as boxes and arrows. `changed` are nodes to mark, or a diff whose new side this is."""

    kind = "graph"

    def __init__(self, program: Any, changed: Diff | Iterable[Expr] | None = None, folded: bool | None = None) -> None:
        self.program = program
        self.folded = folded
        self.is_folded = False
        self.fates = changed if isinstance(changed, dict) else _fates(changed)

    def with_folding(self, folded: bool) -> GraphView:
        """Return the view with every fused function as one box, or with none so."""
        return GraphView(self.program, self.fates, folded)

    @cached_property
    def graph(self) -> Dataflow:
        """The graph as it is drawn: folded where it would be too large."""
        graph = dataflow(self.program)
        most = limits.current().graph_nodes
        self.is_folded = self.folded if self.folded is not None else len(graph.boxes) > FOLD_AT
        if self.is_folded:
            graph = fold_groups(graph)
        if len(graph.boxes) > most:
            graph = fold_chains(graph)
        return truncate(graph, most)

    @cached_property
    def faces(self) -> list[Face]:
        """What each box shows."""
        return [
            Face(_lines(box), self.fates.get(box.expr, "") if box.expr is not None else "") for box in self.graph.boxes
        ]

    @cached_property
    def drawn(self) -> Layout | str:
        """The layout, or in words why there is none."""
        sizes = [box_size(face.lines) for face in self.faces]
        try:
            return lay_out(self.graph, sizes)
        except LayoutError as error:
            return str(error)

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
    def text(self) -> str:
        graph = self.graph
        names = _names(graph)
        into: list[list[str]] = [[] for _ in graph.boxes]
        for arrow in graph.arrows:
            into[arrow.target].append(f"{names[arrow.source]}{arrow.label if arrow.label[:1] == '.' else ''}")
        lines = [f"Dataflow: {self.title}.", ""]
        for box, face in zip(graph.boxes, self.faces, strict=True):
            mark = {"added": "+ ", "changed": "* ", "moved": "~ "}.get(face.fate, "  ")
            more = f"  [{', '.join(face.lines[1:])}]" if len(face.lines) > 1 else ""
            sources = f" <- {', '.join(into[box.number])}" if into[box.number] else ""
            lines.append(f"{mark}{names[box.number]}{sources}{more}")
        return capped(lines, "graph_view(function) shows one function")

    def html(self) -> Markup:
        title = tag("div", self.title, style=f"{PROSE};color:{MUTED}")
        if isinstance(self.drawn, str):
            note = tag("div", self.drawn, style=f"{PROSE};color:{MUTED};padding:4px 12px")
            listed = tag("pre", self.text(), style=f"{CODE};margin:0;padding:8px 12px;background:transparent")
            return tag("div", title, tag("div", note, listed, style=BOX))
        svg = draw(self.graph, self.faces, self.drawn)
        return tag("div", title, tag("div", picture(svg, f"dataflow graph: {self.title}", "max-width:none"), style=BOX))

    def data(self) -> dict[str, Any]:
        fused = any(group.kind == "fused" for group in self.graph.groups)
        made: dict[str, Any] = {"kind": self.kind, "title": self.title, "fused": fused, "folded": self.is_folded}
        if isinstance(self.drawn, str):
            return {**made, "problem": self.drawn, "text": self.text()}
        at = self.drawn
        return {
            **made,
            "size": [at.width, at.height],
            "boxes": [
                [
                    *place,
                    *box_size(face.lines),
                    box.kind,
                    face.fate,
                    -1 if box.group is None else box.group,
                    list(face.lines),
                    _about(box),
                ]
                for box, face, place in zip(self.graph.boxes, self.faces, at.boxes, strict=True)
            ],
            "arrows": [
                [arrow.source, arrow.target, arrow.label, points]
                for arrow, points in zip(self.graph.arrows, at.arrows, strict=True)
            ],
            "groups": [self._group_data(group, at) for group in self.graph.groups if group.number in at.groups],
        }

    def _group_data(self, group: Group, at: Layout) -> list[Any]:
        parent = -1 if group.parent is None else group.parent
        return [group.number, parent, group.kind, group.name, list(at.groups[group.number])]

    def dot(self) -> str:
        """Return the graph as DOT with its labels, for other tools."""
        import graphviz

        made = graphviz.Digraph(node_attr={"shape": "box", "style": "rounded", "fontname": "Courier"})
        names = _names(self.graph)
        for box, face in zip(self.graph.boxes, self.faces, strict=True):
            colour = {"added": "#2d874b", "changed": "#a46a12", "moved": "#2577d4"}.get(face.fate)
            label, tip = graphviz.escape("\n".join(face.lines)), graphviz.escape(names[box.number])
            made.node(f"n{box.number}", label, tooltip=tip, **({"color": colour} if colour else {}))
        for arrow in self.graph.arrows:
            made.edge(f"n{arrow.source}", f"n{arrow.target}", graphviz.escape(arrow.label))
        text: str = made.source
        return text

    def frame(self) -> pd.DataFrame:
        """Return one row per box."""
        import pandas as pd

        rows = [(b.number, b.kind, b.name, b.count, f.fate) for b, f in zip(self.graph.boxes, self.faces, strict=True)]
        return pd.DataFrame(rows, columns=["box", "kind", "name", "nodes", "change"])


def graph_view(
    program: Any, changed: Diff | Iterable[Expr] | None = None, *, changed_from: Any = None, folded: bool | None = None
) -> GraphView:
    """Return the view of a module, function or expression as a dataflow graph.

    `changed` is a diff, or nodes, whose boxes are marked; `changed_from` an earlier program to compare with. `folded`
    says whether each fused function is one box; without it that depends on the size of the graph.
    """
    if not isinstance(program, (IRModule, Expr)):
        raise misfit(program, "a module, a function or an expression")
    if changed is None and changed_from is not None:
        changed = diff(changed_from, program)
    return GraphView(program, changed, folded)


def _fates(changed: Diff | Iterable[Expr] | None) -> dict[Expr, str]:
    if changed is None:
        return {}
    if not isinstance(changed, Diff):
        return dict.fromkeys(changed, "changed")
    return {
        node.after: node.change.value
        for function in changed.changed
        for node in function.touched
        if node.after is not None and node.change is not Change.REMOVED
    }


# ---------------------------------------------------------------- what a box shows
def _lines(box: Box) -> tuple[str, ...]:
    name = f"{box.name} × {box.count}" if box.count > 1 and "·" not in box.name else box.name
    lines = [_cut(name)]
    weights = [_weight(weight) for weight in box.weights]
    if len(weights) > 2:
        weights = [weights[0], f"and {len(weights) - 1} more"]
    lines += map(_cut, weights)
    several = box.count > 1 and box.kind != "fused"
    type_ = None if box.expr is None or several else box.expr.checked_type_
    if box.kind == "fused" and isinstance(type_, FuncType):
        type_ = type_.ret_type  # of what comes out, as beside the last of its operators
    if type_ is not None and (short := short_type(type_)):
        lines.append(_cut(short))
    return tuple(lines)


def _weight(node: Expr) -> str:
    if isinstance(node, Var):
        return f"%{visible(node.name_hint)}"
    assert isinstance(node, Constant)
    return visible(str(node.data)) if not node.data.ndim else f"constant {short_type(node.tensor_type)}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _about(box: Box) -> str:
    """What is shown of a selected box: everything that does not fit into it."""
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
    """A name for each box: its own where that is unique, else with a number behind."""
    counts = Counter(box.name for box in graph.boxes)
    taken: Counter[str] = Counter()
    names = []
    for box in graph.boxes:
        taken[box.name] += 1
        names.append(box.name if counts[box.name] == 1 else f"{box.name}#{taken[box.name]}")
    return names


__all__ = ["GraphView", "graph_view"]
