"""Programs as Graphviz graphs, drawn by the package `graphviz` and its `dot`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from passlab.compat.relay_viz.interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode

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
