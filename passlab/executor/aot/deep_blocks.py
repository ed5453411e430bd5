"""Blocks that stand too deep in one Python function, and the variables each needs as a function of its own.

All are found in one pass over a function, smaller sets of variables merged into larger ones: asking for the free
variables block by block would be quadratic in the nesting.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Expr, Function, If, Let, Match, Var
from passlab.ir.trampoline import drive
from passlab.ir.variables import free_vars

Set = dict[Var, None]  # in the order of their finding, so that texts are reproducible
Work = Generator[Any, Set, Set]  # yields parts to be looked at, is sent their free variables, returns its own


class DeepBlocks:
    """The free variables of the blocks below `function` that stand deeper than `deepest`, counted from `depth`."""

    def __init__(self, function: Function, depth: int, deepest: int) -> None:
        self.deepest = deepest
        self.found: dict[Expr, tuple[Var, ...]] = {}
        drive(self._block(function.body, depth))

    def _block(self, block: Expr, depth: int) -> Work:
        out = depth > self.deepest and isinstance(block, (Let, If, Match))
        inner = 1 if out else depth
        bound: list[tuple[Var, Set]] = []
        expr = block
        while isinstance(expr, Let):
            if expr.body is expr.var:
                expr = expr.value
                continue
            bound.append((expr.var, (yield self._value(expr.value, inner))))
            expr = expr.body
        result: Set = yield self._value(expr, inner)
        for var, needed in reversed(bound):
            result = _merge(result, needed)
            result.pop(var, None)  # a function may call itself by the name it is bound to
        if out:
            self.found[block] = tuple(result)
        return result

    def _value(self, expr: Expr, depth: int) -> Work:
        if isinstance(expr, Let):
            return (yield self._block(expr, depth))
        if isinstance(expr, Function):
            return _without((yield self._block(expr.body, depth + 1)), expr.params)
        if isinstance(expr, If):
            result = _merge((yield self._block(expr.true_branch, depth + 1)), dict.fromkeys(free_vars(expr.cond)))
            return _merge(result, (yield self._block(expr.false_branch, depth + 1)))
        if isinstance(expr, Match):
            result = dict.fromkeys(free_vars(expr.data))
            for clause in expr.clauses:
                arm = yield self._block(clause.rhs, depth + 2)
                result = _merge(result, _without(arm, pattern_vars(clause.lhs)))
            return result
        return dict.fromkeys(free_vars(expr))


def _merge(a: Set, b: Set) -> Set:
    """Return the union, built in place in the larger of the two sets, which have no other owner."""
    if len(a) < len(b):
        a, b = b, a
    a.update(b)
    return a


def _without(variables: Set, bound: Iterable[Var]) -> Set:
    for var in bound:
        variables.pop(var, None)
    return variables
