"""Loops in a language without loops: `while_loop` writes a recursive function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from passlab.ir.expr import Expr, Function, If, Let, Tuple, Var
from passlab.op.declare import as_expr
from passlab.relay.var_const import type_of, var


def while_loop(cond: Callable[..., Expr], loop_vars: Sequence[Expr], loop_bodies: Callable[..., Sequence[Expr]]) -> Let:
    """Return a function that repeats `loop_bodies` while `cond` holds; it maps the first values to the last.

    Both get the values of one iteration, one for each of `loop_vars`; `cond` returns a scalar bool, `loop_bodies` the
    values of the next iteration. The loop has the types of `loop_vars`, and the names of those that are variables.
    """
    names = [v.name_hint if isinstance(v, Var) else f"arg{at}" for at, v in enumerate(loop_vars)]
    params = [var(name, type_of(v)) for name, v in zip(names, loop_vars, strict=True)]
    loop = Var("while_loop")
    next_iteration = loop(*(as_expr(value) for value in loop_bodies(*params)))
    return Let(loop, Function(params, If(cond(*params), next_iteration, Tuple(params))), loop)
