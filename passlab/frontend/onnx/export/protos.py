"""Nodes of ONNX graphs (NodeProto): their attributes, and the names that they and their subgraphs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.frontend.onnx.package import onnx


def _graphs_inside(root: Any) -> tuple[list[Any], list[Any]]:
    """Return a node and the nodes of its subgraphs, of any depth, and these subgraphs."""
    nodes, graphs, stack = [], [], [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        for attribute in node.attribute:
            for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                graphs.append(graph)
                stack += graph.node
    return nodes, graphs


def _passed_on(graph: Any) -> list[Any]:
    """Return the outputs of a subgraph that are values of a graph around it."""
    own = {name for node in graph.node for name in node.output}
    own.update(value.name for value in (*graph.input, *graph.initializer))
    return [value for value in graph.output if value.name not in own]


def names_read(root: Any) -> list[str]:
    """Return the names that a node reads, including those in its subgraphs."""
    nodes, graphs = _graphs_inside(root)
    return [name for node in nodes for name in node.input] + [v.name for graph in graphs for v in _passed_on(graph)]


def rename_inputs(root: Any, names: Mapping[str, str]) -> None:
    """Rename inputs of a node, also in its subgraphs: old names to new ones."""
    nodes, graphs = _graphs_inside(root)
    for value in [value for graph in graphs for value in _passed_on(graph) if value.name in names]:
        value.name = names[value.name]
    for node in nodes:
        for index, name in enumerate(node.input):
            if name in names:
                node.input[index] = names[name]


def attribute_value(node: Any, name: str, default: Any = None) -> Any:
    """Return the value of an attribute, or `default` if the node does not have it."""
    return next((onnx().helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)
