"""Basic-block normal form: each computation is used in one basic block only.

A basic block is the body of a function, a branch of an `if` or an arm of a `match`; a chain of lets is part of one
block. Constants do not count as computations.
"""

from __future__ import annotations

from passlab.ir.adt import Constructor
from passlab.ir.expr import Constant, Expr, GlobalVar, Let, Var
from passlab.ir.op import Op
from passlab.ir.variables import free_vars
from passlab.ir.walk import Scope, post_order, scoped_children

_ATOMS = (Var, GlobalVar, Op, Constructor, Constant)


def check_basic_block_normal_form(root: Expr) -> bool:
    """Return True if no computation is used in two blocks without a `let` around both.

    A free variable has no binding in the program, so it must not be used in two blocks either.
    """
    free = set(free_vars(root))
    block: dict[Expr, Scope] = {root: Scope(None, None)}
    for node in reversed(post_order(root)):
        scope = block[node]

        def open_block(owner: Expr, part: int, outer: Scope = scope) -> Scope:
            return outer if isinstance(owner, Let) else Scope(owner, outer)

        for child, where in scoped_children(node, scope, open_block):
            first = block.setdefault(child, where)
            if first is not where and (child in free or not isinstance(child, _ATOMS)):
                return False
    return True
