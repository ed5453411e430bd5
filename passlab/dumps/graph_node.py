"""`GraphNode`: a node of a program that is a graph in its host."""

from __future__ import annotations

from typing import NamedTuple


class GraphNode(NamedTuple):
    """A node of a program that is a graph in its host: `key` identifies it in all steps, `operands` are keys."""

    key: str
    operation: str
    text: str
    operands: tuple[str, ...] = ()
