"""Expressions whose type does not follow from the expression alone.

A match without clauses has any type; its context determines which one, such as the annotation of the let that binds it.
A pass that moves such an expression has to keep the annotation.
"""

from __future__ import annotations

from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Var
from passlab.ir.op import Op


def states_type(expr: Expr) -> bool:
    """Return True if the type of an expression is known without its context: not if its value is an empty match."""
    if type(expr) is Var or (type(expr) is Call and type(expr.op) is Op):  # most expressions: no walk is needed
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
