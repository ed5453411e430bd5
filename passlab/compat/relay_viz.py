"""`tvm.contrib.relay_viz`: programs drawn by a parser of nodes and a plotter, which users may replace.

    RelayVisualizer(mod).render()                                # as a tree of text on the terminal
    RelayVisualizer(mod, params, DotPlotter(), DotVizParser()).render("net")

This is the interface of TVM's visualizer; passlab's own views show more.
"""

from __future__ import annotations

import abc
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from passlab.atomic_file import write_text
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order

# ---------------------------------------------------------------- nodes, edges, graphs; parsers and plotters
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


# ---------------------------------------------------------------- the visualizer
__all__ = [
    "DotPlotter",
    "DotVizParser",
    "Plotter",
    "RelayVisualizer",
    "TermPlotter",
    "TermVizParser",
    "VizGraph",
    "VizParser",
]


class RelayVisualizer:
    """Draws the functions of a module, `main` first, each as a separate graph.

    `relay_param` holds the parameters by name; `plotter` draws, by default on the terminal; `parser` describes nodes
    and their edges.
    """

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, Any] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ) -> None:
        self._plotter = plotter if plotter is not None else TermPlotter()
        self._params = dict(relay_param or {})
        self._parser = parser if parser is not None else TermVizParser()
        names = [var.name_hint for var in relay_mod.get_global_vars()]
        count = 0
        for name in sorted(names, key=lambda name: name != "main"):
            nodes = post_order(relay_mod[name])
            numbers = {node: str(count + i) for i, node in enumerate(nodes)}
            count += len(numbers)
            self._draw(self._plotter.create_graph(name), numbers)

    def _draw(self, graph: VizGraph, numbers: dict[Expr, str]) -> None:
        """Add the nodes of one function to its graph, children first."""
        for node in numbers:
            drawn, edges = self._parser.get_node_edges(node, self._params, numbers)
            if drawn is not None:
                graph.node(drawn)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Draw: print if there is no file name, otherwise write the file."""
        self._plotter.render(filename=filename)


# ---------------------------------------------------------------- trees of text: a line a node, its operands indented
class TermVizParser(VizParser):
    """Draws a program with every node, including operators and global functions."""

    def __init__(self) -> None:
        self._default = DefaultVizParser()

    def get_node_edges(self, node: Expr, relay_param: dict[str, Any], node_to_id: dict[Expr, str]) -> Drawn:
        """Return the drawn node and the edges from its operands."""
        identity = node_to_id[node]
        if isinstance(node, Call):
            return VizNode(identity, "Call", ""), edges_from([node.op, *node.args], node, node_to_id)
        if isinstance(node, Let):
            operands = [node.var, node.value, node.body]
            return VizNode(identity, "Let", "(var, val, body)"), edges_from(operands, node, node_to_id)
        if isinstance(node, If):
            operands = [node.cond, node.true_branch, node.false_branch]
            return VizNode(identity, "If", "(cond, true, false)"), edges_from(operands, node, node_to_id)
        if isinstance(node, GlobalVar):
            return VizNode(identity, "GlobalVar", node.name_hint), []
        if isinstance(node, Op):
            return VizNode(identity, node.name, ""), []
        if isinstance(node, Function):
            params = ", ".join(f"%{param.name_hint}" for param in node.params)
            return VizNode(identity, "Func", f"[{params}]"), edges_from([node.body], node, node_to_id)
        return self._default.get_node_edges(node, relay_param, node_to_id)


class TermGraph(VizGraph):
    """A graph as a tree of text. A node with two uses is drawn at both, its operands at the first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: dict[str, VizNode] = {}
        self._operands: dict[str, list[str]] = {}
        self._root = ""

    def node(self, viz_node: VizNode) -> None:
        """Add a node; the last one is the root of the tree."""
        self._nodes[viz_node.identity] = viz_node
        self._operands.setdefault(viz_node.identity, [])
        self._root = viz_node.identity

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""
        self._operands.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        """Return the tree as text."""
        if not self._nodes:
            return f"@{self._name}()"
        lines = [f"@{self._name}({self._text(self._root)})"]
        drawn = {self._root}
        stack = self._rows(self._root, "")
        while stack:
            identity, indent, last = stack.pop()
            node = self._nodes[identity]
            lines.append(f"{indent}{'`--' if last else '|--'}{node.type_name} {self._text(identity)}")
            if identity not in drawn:
                drawn.add(identity)
                stack += self._rows(identity, indent + ("   " if last else "|  "))
        return "\n".join(lines)

    def _rows(self, identity: str, indent: str) -> list[tuple[str, str, bool]]:
        """Return the drawn operands of a node, the first of them last, in the order of a stack."""
        operands = [operand for operand in self._operands[identity] if operand in self._nodes]
        return [(operand, indent, i == 0) for i, operand in enumerate(reversed(operands))]

    def _text(self, identity: str) -> str:
        return self._nodes[identity].detail.replace("\n", ", ")


class TermPlotter(Plotter):
    """Draws graphs as text."""

    def __init__(self) -> None:
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        """Return a new, empty graph."""
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: str | None = None) -> None:
        """Print all graphs, or write them to a file."""
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            sys.stdout.write(f"{text}\n")
        else:
            write_text(filename, text)


# ---------------------------------------------------------------- graphs, drawn by the package `graphviz`
DotVizParser = DefaultVizParser
Attributes = dict[str, str]
NodeAttributes = Callable[[VizNode], Attributes]


def _graphviz() -> ModuleType:
    """Return the package, loaded on first use."""
    return importlib.import_module("graphviz")


def _shape(node: VizNode) -> Attributes:
    return {"shape": "ellipse" if "Var" in node.type_name else "box"}


class DotGraph(VizGraph):
    """One function as a cluster of a Graphviz graph; attributes are Graphviz's."""

    def __init__(
        self,
        name: str,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: NodeAttributes | None = None,
    ) -> None:
        self._attributes = get_node_attr or _shape
        self.digraph = _graphviz().Digraph(
            f"cluster_{name}", graph_attr=graph_attr, node_attr=node_attr, edge_attr=edge_attr
        )
        self.digraph.attr(label=_graphviz().escape(name))

    def node(self, viz_node: VizNode) -> None:
        """Add a node."""
        label = _graphviz().escape(f"{viz_node.type_name}\n{viz_node.detail}")
        self.digraph.node(viz_node.identity, label, **self._attributes(viz_node))

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""
        self.digraph.edge(viz_edge.start, viz_edge.end)


class DotPlotter(Plotter):
    """Draws all functions in one Graphviz graph; `render_kwargs` are passed to `graphviz.Digraph.render`."""

    def __init__(
        self,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: NodeAttributes | None = None,
        render_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self._name_to_graph: dict[str, DotGraph] = {}
        self._attributes = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._render_kwargs = {"cleanup": True, **(render_kwargs or {})}

    def create_graph(self, name: str) -> DotGraph:
        """Return a new, empty graph."""
        self._name_to_graph[name] = DotGraph(name, *self._attributes)
        return self._name_to_graph[name]

    def render(self, filename: str | None = None) -> None:
        """Draw all graphs to a file, by default a PDF. Raises the errors of `graphviz`, also if `dot` is not
        installed.
        """
        if filename is not None:
            self._render_kwargs["filename"] = filename
        root = _graphviz().Digraph()
        for graph in self._name_to_graph.values():
            root.subgraph(graph.digraph)
        root.render(**self._render_kwargs)
