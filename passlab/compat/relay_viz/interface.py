"""The parts of a visualizer: nodes, edges, graphs, the parser that creates them, the plotter that draws them."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType

UNKNOWN_TYPE = "unknown"
Numbers = Mapping[Expr, str]


@dataclass(frozen=True)
class VizNode:
    """A drawn node: an identifier, its kind, and details of several lines."""

    identity: str
    type_name: str
    detail: str


@dataclass(frozen=True)
class VizEdge:
    """An edge between two nodes by their identifiers, from an operand to its user."""

    start: str
    end: str


Drawn = tuple[VizNode | None, list[VizEdge]]


class VizParser(abc.ABC):
    """Describes the nodes of a program for drawing."""

    @abc.abstractmethod
    def get_node_edges(self, node: Expr, relay_param: dict[str, Any], node_to_id: dict[Expr, str]) -> Drawn:
        """Return the drawn node, None for one that is not drawn, and the edges to it."""


class VizGraph(abc.ABC):
    """A graph to draw: nodes are added before their users."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""


class Plotter(abc.ABC):
    """Creates graphs and draws all of them."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """Return a new, empty graph."""

    @abc.abstractmethod
    def render(self, filename: str | None = None) -> None:
        """Draw all graphs, into a file."""


class DefaultVizParser(VizParser):
    """Draws the values of a program; operators and global functions are part of their calls."""

    def get_node_edges(self, node: Expr, relay_param: dict[str, Any], node_to_id: dict[Expr, str]) -> Drawn:
        """Return the drawn node and the edges from its operands."""
        identity = node_to_id[node]
        if isinstance(node, (GlobalVar, Op)):
            return None, []
        if isinstance(node, Function):
            name = f"Func {_composite(node, '')}"
            return VizNode(identity, name, _details(node.attrs)), edges_from([node.body], node, node_to_id)
        if isinstance(node, Call):
            callee, detail = _callee(node)
            return VizNode(identity, f"Call {callee}", detail), edges_from(node.args, node, node_to_id)
        if isinstance(node, Var):
            return VizNode(identity, *_variable(node, relay_param)), []
        if isinstance(node, Tuple):
            return VizNode(identity, "Tuple", ""), edges_from(node.fields, node, node_to_id)
        if isinstance(node, TupleGetItem):
            detail = f"idx: {node.index}"
            return VizNode(identity, "TupleGetItem", detail), edges_from([node.tuple_value], node, node_to_id)
        if isinstance(node, Constant):
            return VizNode(identity, "Const", f"shape: {node.data.shape}, dtype: {node.data.dtype}"), []
        return VizNode(identity, UNKNOWN_TYPE, f"don't know how to parse {type(node)}"), []


def edges_from(operands: Any, node: Expr, numbers: Numbers) -> list[VizEdge]:
    """Return the edges from operands to a node."""
    return [VizEdge(numbers[operand], numbers[node]) for operand in operands]


def _details(attrs: Attrs | None) -> str:
    return "\n".join(f"{name}: {value}" for name, value in (attrs.items() if attrs is not None else ()))


def _composite(function: Function, default: str) -> str:
    """Return the name of the pattern from which MergeComposite created a function."""
    return str(function.attrs.get("Composite", default))


def _callee(call: Call) -> tuple[str, str]:
    """Return the name of the callee, and the details of the call."""
    if isinstance(call.op, Op):
        return call.op.name, _details(call.attrs)
    if isinstance(call.op, Function):
        return _composite(call.op, "Anonymous Func"), _details(call.op.attrs)
    if isinstance(call.op, GlobalVar):
        return "GlobalVar", f"GlobalVar.name_hint: {call.op.name_hint}"
    return type(call.op).__name__, ""


def _variable(var: Var, params: Mapping[str, Any]) -> tuple[str, str]:
    kind = "Var(Param)" if var.name_hint in params else "Var(Input)"
    detail = f"name_hint: {var.name_hint}"
    ty = var.type_annotation
    if isinstance(ty, TensorType):
        detail += f"\nshape: {tuple(ty.shape)}\ndtype: {ty.dtype}"
    elif ty is not None:
        detail += f"\ntype_annotation: {ty}"
    return kind, detail
