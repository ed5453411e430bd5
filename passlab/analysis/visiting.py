"""Going through a program: every node once, and who uses which node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.ir.expr import Expr
from passlab.ir.walk import CHILDREN, post_order


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Call `fvisit` on every node once, children first; of a call its callee before its arguments."""
    for node in post_order(expr):
        fvisit(node)


def users(root: Expr) -> dict[Expr, list[Expr]]:
    """Return for every node the nodes it is a child of, in evaluation order; twice a child is twice listed."""
    result: dict[Expr, list[Expr]] = {root: []}
    for node in post_order(root):
        for child in CHILDREN[type(node)](node):
            result.setdefault(child, []).append(node)
    return result
