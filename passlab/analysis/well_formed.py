"""Whether a program is well-formed: every variable is bound at most once and used only where it is bound.

The rule is Relay's, for whole programs: two binders of one variable are refused even when they are far apart. A shared
node counts as standing in the innermost scope around all its uses. This module knows nothing of types.
"""

from __future__ import annotations

from collections.abc import Iterable

from passlab.errors import Diagnostic, WellFormedError
from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Expr, Function, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.walk import Scope, post_order, scoped_children


def well_formed(program: Expr | IRModule) -> bool:
    """Whether `check_well_formed` has nothing to say."""
    return not findings(program)


def check_well_formed(program: Expr | IRModule) -> None:
    """Raise `WellFormedError` with everything that is wrong. Functions of a module must also be closed."""
    found = findings(program)
    if found:
        raise WellFormedError(*found)


def findings(program: Expr | IRModule) -> list[Diagnostic]:
    """Return what is wrong with an expression or module; linear in its nodes, up to a logarithm."""
    if isinstance(program, Expr):
        return _expression(program, closed=False, where="")
    return [d for name, f in program.items() for d in _expression(f, closed=True, where=f" in @{name}")]


def _expression(root: Expr, closed: bool, where: str) -> list[Diagnostic]:
    """Return the findings of one expression: binders first, then uses."""
    order = post_order(root)
    binders: dict[Var, tuple[Expr, int]] = {}
    found = []
    for node in order:
        for var, part in _bound(node):
            if var in binders:
                place = var.span or node.span
                found.append(Diagnostic(f"the variable `%{var.name_hint}` is bound twice{where}", place))
            binders[var] = (node, part)
    of, inner = _scopes(root, order)
    for node in order:
        if type(node) is Var:
            if node not in binders:
                if closed:
                    found.append(Diagnostic(f"the variable `%{node.name_hint}` is not bound{where}", node.span))
            elif of[node] is not inner[binders[node]]:
                what = f"the variable `%{node.name_hint}` is used outside its scope{where}"
                found.append(Diagnostic(what, node.span))
    return found


def _bound(node: Expr) -> Iterable[tuple[Var, int]]:
    """Return the variables a node binds, with the part of it in which they are bound."""
    if isinstance(node, Let):
        return [(node.var, 0)]
    if isinstance(node, Function):
        return [(var, 0) for var in node.params]
    if isinstance(node, Match):
        return [(var, part) for part, clause in enumerate(node.clauses) for var in pattern_vars(clause.lhs)]
    return ()


def _scopes(root: Expr, order: list[Expr]) -> tuple[dict[Expr, Scope], dict[tuple[Expr, int], Scope]]:
    """Return the scope of every node and those that nodes open. Unlike for placing lets, a let's value is inside."""
    of: dict[Expr, Scope] = {root: Scope(None, None)}
    inner: dict[tuple[Expr, int], Scope] = {}
    for node in reversed(order):
        scope = of[node]

        def opened(owner: Expr, part: int, outer: Scope = scope) -> Scope:
            made = inner[(owner, part)] = Scope(owner, outer)
            return made

        for child, where in scoped_children(node, scope, opened):
            if type(node) is Let and child is node.value:
                where = inner[(node, 0)]
            known = of.get(child)
            of[child] = where if known is None else known.common(where)
    return of, inner
