"""Visiting all nodes of a program, and the users of each node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.ir.expr import Expr
from passlab.ir.walk import CHILDREN, post_order


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Call `fvisit` on every node once, children first; the callee of a call precedes its arguments."""
    for node in post_order(expr):
        fvisit(node)


def users(root: Expr) -> dict[Expr, list[Expr]]:
    """Return for every node its parents, in evaluation order; a parent with two uses is listed twice."""
    result: dict[Expr, list[Expr]] = {root: []}
    for node in post_order(root):
        for child in CHILDREN[type(node)](node):
            result.setdefault(child, []).append(node)
    return result
