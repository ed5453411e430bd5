"""`GraphNode`: a node of a program that is a graph in its host."""

from __future__ import annotations

from typing import NamedTuple


class GraphNode(NamedTuple):
    """A node of a program that is a graph in its host: `key` identifies it in all steps, `operands` are keys.

    >>> from passlab.recorders import GraphNode
    >>> GraphNode("y", "exp", "y = exp(x)", operands=("x",)).operands
    ('x',)
    """

    key: str
    operation: str
    text: str
    operands: tuple[str, ...] = ()
