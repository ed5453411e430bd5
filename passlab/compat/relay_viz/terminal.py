"""Programs as trees of text: each line is a node, its operands are indented below it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from passlab.compat.relay_viz.interface import (
    DefaultVizParser,
    Drawn,
    Plotter,
    VizEdge,
    VizGraph,
    VizNode,
    VizParser,
    edges_from,
)
from passlab.ir.expr import Call, Expr, Function, GlobalVar, If, Let
from passlab.ir.op import Op


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
            Path(filename).write_text(text, encoding="utf-8")
