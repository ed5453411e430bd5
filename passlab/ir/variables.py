"""Bound and free variables of programs, and the replacement of free variables by expressions.

As in Relay, a variable is free if no node inside the expression binds it, whatever the scope of the binding.
"""

from __future__ import annotations

from collections.abc import Mapping

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.adt import Pattern, pattern_vars
from passlab.ir.expr import Expr, Function, Let, Match, Var, unwrap
from passlab.ir.node_errors import not_a_node_error
from passlab.ir.walk import CHILDREN, substitute


def _collect(root: Expr) -> tuple[dict[Var, None], dict[Var, None]]:
    """Return (all variables, bound variables), each in order of first encounter from the root down."""
    variables: dict[Var, None] = {}
    bound: dict[Var, None] = {}
    seen: set[Expr] = set()
    stack = [unwrap(root)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        kind = type(node)
        if type(node) is Var:
            variables[node] = None
            continue
        if type(node) is Let:
            bound[node.var] = None
        elif type(node) is Function:
            bound.update(dict.fromkeys(node.params))
        elif type(node) is Match:
            for clause in node.clauses:
                bound.update(dict.fromkeys(pattern_vars(clause.lhs)))
        stack.extend(CHILDREN[kind](node)[::-1])
    return variables, bound


def free_vars(expr: Expr) -> list[Var]:
    """Return the variables that `expr` uses and does not bind, in order of first encounter.

    >>> [v.name_hint for v in relay.analysis.free_vars(relay.var("x") + relay.var("y"))]
    ['x', 'y']
    """
    variables, bound = _collect(expr)
    return [v for v in variables if v not in bound]


def check_closed(name: str, function: Expr) -> None:
    """Raise `DiagnosticError` for a global function with free variables."""
    free = free_vars(function)
    if free:
        names = ", ".join(f"%{v.name_hint}" for v in free)
        hint = "make them parameters, or bind them with `relay.bind`"
        raise DiagnosticError(Diagnostic(f"@{name} has free variables: {names}", free[0].span, hint=hint))


def bound_vars(expr: Expr | Pattern) -> list[Var]:
    """Return the variables bound by parameters, lets and patterns in `expr`, in binding order.

    >>> [v.name_hint for v in relay.analysis.bound_vars(passlab.parse_expr("fn (%x: float32) { exp(%x) }"))]
    ['x']
    """
    if isinstance(expr, Pattern):
        return pattern_vars(expr)
    return list(_collect(expr)[1])


def all_vars(expr: Expr) -> list[Var]:
    """Return every variable of `expr`, bound or free, in order of first encounter.

    >>> [v.name_hint for v in relay.analysis.all_vars(passlab.parse_expr("fn (%x: float32) { let %y = exp(%x); %y }"))]
    ['x', 'y']
    """
    return list(_collect(expr)[0])


def bind(expr: Expr, binds: Mapping[Var, Expr]) -> Expr:
    """Return `expr` with free variables replaced by expressions.

    `binds` may have parameters of a function: they are removed from its parameter list, and free variables of the new
    expressions are appended to it. Raises `DiagnosticError` for a variable that is bound inside `expr`.

    >>> x, y = relay.var("x"), relay.var("y")
    >>> print(relay.bind(relay.exp(x) + y, {y: relay.const(1.0)}))
    free_var %x;
    %0 = exp(%x);
    add(%0, 1f)
    """
    if not isinstance(binds, Mapping):
        raise not_a_node_error(binds, "a dict from variables to expressions")
    replacements: dict[Expr, Expr] = dict(binds.items())
    params = expr.params if isinstance(expr, Function) else ()
    inner = set(bound_vars(expr)) - set(params)
    for var in binds:
        if not isinstance(var, Var):
            raise not_a_node_error(var, "a variable as key")
        if var in inner:
            raise DiagnosticError(
                Diagnostic(
                    f"%{var.name_hint} is bound inside the expression",
                    var.span,
                    hint="only free variables and parameters can be given",
                )
            )
    if not isinstance(expr, Function):
        return substitute(expr, replacements)
    body = substitute(expr.body, replacements)
    remaining = [p for p in expr.params if p not in binds]
    if body is expr.body and len(remaining) == len(expr.params):
        return expr
    before = set(free_vars(expr))
    changed: Function = expr.with_fields(params=tuple(remaining), body=body)
    added = [v for v in free_vars(changed) if v not in before]
    return changed.with_fields(params=(*remaining, *added)) if added else changed
