"""Nodes of ONNX graphs (NodeProto): their attributes, and the names that they and their subgraphs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.frontend.onnx.package import onnx


def _with_subgraphs(root: Any) -> list[Any]:
    """Return a node and the nodes of its subgraphs, of any depth."""
    result, stack = [], [root]
    while stack:
        node = stack.pop()
        result.append(node)
        for attribute in node.attribute:
            stack += attribute.g.node
    return result


def names_read(root: Any) -> list[str]:
    """Return the names that a node reads, including those in its subgraphs."""
    return [name for node in _with_subgraphs(root) for name in node.input]


def rename_inputs(root: Any, names: Mapping[str, str]) -> None:
    """Rename inputs of a node, also in its subgraphs: old names to new ones."""
    for node in _with_subgraphs(root):
        for index, name in enumerate(node.input):
            if name in names:
                node.input[index] = names[name]


def attribute_value(node: Any, name: str, default: Any = None) -> Any:
    """Return the value of an attribute, or `default` if the node does not have it."""
    return next((onnx().helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)
