"""Recognising constants and tuples of constants."""

from __future__ import annotations

from passlab.ir.expr import Constant, Expr, Tuple


def check_constant(expr: Expr) -> bool:
    """Return True if an expression is a constant, or a (nested) tuple of constants."""
    stack, seen = [expr], {expr}
    while stack:
        node = stack.pop()
        if isinstance(node, Tuple):
            fresh = [field for field in node.fields if field not in seen]
            seen.update(fresh)
            stack += fresh
        elif not isinstance(node, Constant):
            return False
    return True
