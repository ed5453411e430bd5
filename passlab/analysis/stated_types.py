"""Whether the type of an expression is known from the expression alone.

A match without clauses has any type; its surroundings determine which one, such as the annotation of the let that binds
it. A pass that moves such an expression has to keep the annotation.
"""

from __future__ import annotations

from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Var
from passlab.ir.op import Op


def states_type(expr: Expr) -> bool:
    """Whether the type of an expression is known without its surroundings: not if an empty match gives its value."""
    if type(expr) is Var or (type(expr) is Call and type(expr.op) is Op):  # most expressions, answered without a walk
        return True
    stack, seen = [expr], set[Expr]()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node) is Let:
            stack.append(node.body)
        elif type(node) is If:
            stack += (node.true_branch, node.false_branch)
        elif type(node) is Match:
            stack += [clause.rhs for clause in node.clauses]
        elif type(node) is Call and type(node.op) is Function and node.op.ret_type is None:
            stack.append(node.op.body)
        else:
            return True
    return False
