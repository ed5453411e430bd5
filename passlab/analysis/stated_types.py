"""Whether an expression says itself what type it has.

A match without arms has any type: only what is around it says which, such as the annotation of the let that binds it.
A pass that moves it away from there has to take the annotation along. Knows nothing of passes.
"""

from __future__ import annotations

from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Var
from passlab.ir.op import Op


def states_type(expr: Expr) -> bool:
    """Whether the type of an expression is known without its surroundings; not so where matches without arms end it."""
    if type(expr) is Var or (type(expr) is Call and type(expr.op) is Op):  # as most are
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
