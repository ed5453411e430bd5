"""`tvm.contrib.relay_viz`: programs drawn by a parser of nodes and a plotter, which users may replace.

    RelayVisualizer(mod).render()                                # as a tree of text on the terminal
    RelayVisualizer(mod, params, DotPlotter(), DotVizParser()).render("net")

This is the interface of TVM's visualizer; passlab's own views show more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.compat.relay_viz.dot import DotPlotter, DotVizParser
from passlab.compat.relay_viz.interface import Plotter, VizGraph, VizParser
from passlab.compat.relay_viz.terminal import TermPlotter, TermVizParser
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order

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
