"""Whether an expression is a constant, or built of constants alone."""

from __future__ import annotations

from passlab.ir.expr import Constant, Expr, Tuple


def check_constant(expr: Expr) -> bool:
    """Tell whether an expression is a constant, or a tuple (of tuples ...) of constants."""
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
