"""Changing the form of weights: calls that use a parameter get new parameters instead.

Knows nothing of passes. The arrays of the parameters are rewritten separately, by `relay.data_dep_optimization`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.variables import free_vars
from passlab.ir.walk import rewrite

Rule = Callable[[Call, Call], tuple[Expr, Sequence[Var]] | None]


def with_weights(func: Function, rule: Rule, name: str) -> Function:
    """Return the function with the calls replaced for which the rule returns a replacement; itself if there are none.

    `rule(pre, post)` returns the replacement of a call, and the new variables in it. As in Relay, the parameters of the
    result are those of the old that are still used, in order of use, and then the new ones.
    """
    added: dict[Var, None] = {}

    def replace(pre: Expr, post: Expr) -> Expr:
        assert isinstance(pre, Call)
        assert isinstance(post, Call)
        replacement = rule(pre, post)
        if replacement is None:
            return post
        added.update(dict.fromkeys(replacement[1]))
        return replacement[0]

    body = rewrite(func.body, replace, only=(Call,), name=name)
    used = free_vars(body)
    new = [var for var in used if var in added]
    if not new:
        return func
    old = [var for var in used if var not in added]
    return Function([*old, *new], body, func.ret_type, func.type_params, func.attrs, func.span)
