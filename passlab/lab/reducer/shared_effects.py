"""Nodes with effects that are used in more than one scope, so that the text does not show when they run.

Such a node is computed once, before the first of these scopes is entered. In `let %u = if (%c) { ref_write(%r, %x) }
else { %y }; %r`, where `%r` is one `ref(%q)`, only this rule gives a meaning; no result of a reduction should need it.
"""

from __future__ import annotations

from collections.abc import Iterable

from passlab.analysis.purity import module_purity
from passlab.ir.expr import Expr, Function, RefCreate
from passlab.ir.module import IRModule
from passlab.ir.types import RefType
from passlab.ir.walk import LEAVES, Scope, Scopes, post_order, scoped_children


def effects_in_several_scopes(mod: IRModule, names: Iterable[str]) -> set[Expr]:
    """Return the nodes with effects that functions of a typed module use in more than one scope."""
    functions = [mod[name] for name in names if name in mod]
    shared = {node for function in functions for node in _used_in_several_scopes(function)}
    if not shared:
        return shared
    purity = module_purity(mod)
    return {node for node in shared if not purity.pure(node) or _makes_references(node)}


def _makes_references(node: Expr) -> bool:
    """Whether computing a node twice would make two references instead of one."""
    inside = post_order(node, enter=lambda n: not isinstance(n, Function))
    return isinstance(node.checked_type_, RefType) or any(isinstance(n, RefCreate) for n in inside)


def _used_in_several_scopes(function: Function) -> set[Expr]:
    scopes = Scopes(function)
    first: dict[Expr, Scope] = {}
    several: set[Expr] = set()
    for node in scopes.order:

        def open_scope(owner: Expr, part: int) -> Scope:
            return scopes.inner[(owner, part)]

        for child, where in scoped_children(node, scopes.of[node], open_scope):
            if first.setdefault(child, where) is not where and not isinstance(child, (*LEAVES, Function)):
                several.add(child)
    return several
