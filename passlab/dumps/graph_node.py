"""`GraphNode`: a node of a program that its host has as a graph."""

from __future__ import annotations

from typing import NamedTuple


class GraphNode(NamedTuple):
    """A node of a program that a host has as a graph: `key` names it in all steps, `operands` are keys of others."""

    key: str
    operation: str
    text: str
    operands: tuple[str, ...] = ()
