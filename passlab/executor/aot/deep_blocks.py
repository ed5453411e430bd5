"""Blocks that are nested too deeply for one Python function, with the free variables that become their parameters.

One pass over a function computes all of them and merges smaller sets into larger ones: computing the free variables of
each block alone would be quadratic in the nesting.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Var
from passlab.ir.trampoline import drive
from passlab.ir.variables import free_vars
from passlab.ir.walk import LEAVES

Set = dict[Var, None]  # ordered, so that the text is the same in every run
Work = Generator[Any, Set, Set]  # yields a generator for a part, is sent its free variables, returns its own


class DeepBlocks:
    """The free variables of the blocks in `function` that are nested deeper than `deepest`, counted from `depth`."""

    def __init__(self, function: Function, depth: int, deepest: int) -> None:
        self.deepest = deepest
        self.free_vars: dict[Expr, tuple[Var, ...]] = {}
        drive(self._block(function.body, depth))

    def _block(self, block: Expr, depth: int) -> Work:
        is_deep = depth > self.deepest and isinstance(block, (Let, If, Match))
        inner = 1 if is_deep else depth  # the block becomes a function, whose nesting begins again
        bound: list[tuple[Var, Set]] = []
        expr = block
        while isinstance(expr, Let):
            if expr.body is expr.var:
                expr = expr.value
                continue
            bound.append((expr.var, _operand_vars(expr.value) or (yield self._value(expr.value, inner))))
            expr = expr.body
        result: Set = _operand_vars(expr) or (yield self._value(expr, inner))
        for var, free in reversed(bound):
            result = _merge(result, free)
            result.pop(var, None)  # after the merge: a recursive function has its own variable free
        if is_deep:
            self.free_vars[block] = tuple(result)
        return result

    def _value(self, expr: Expr, depth: int) -> Work:
        if isinstance(expr, Let):
            return (yield self._block(expr, depth))
        if isinstance(expr, Function):
            return _without((yield self._block(expr.body, depth + 1)), expr.params)
        if isinstance(expr, If):
            cond = _operand_vars(expr.cond) or dict.fromkeys(free_vars(expr.cond))
            result = _merge((yield self._block(expr.true_branch, depth + 1)), cond)
            return _merge(result, (yield self._block(expr.false_branch, depth + 1)))
        if isinstance(expr, Match):
            result = dict.fromkeys(free_vars(expr.data))
            for clause in expr.clauses:
                arm = yield self._block(clause.rhs, depth + 2)
                result = _merge(result, _without(arm, pattern_vars(clause.lhs)))
            return result
        return dict.fromkeys(free_vars(expr))


def _operand_vars(expr: Expr) -> Set | None:
    """Return the free variables of a variable and of a call on variables and constants; None for any other value."""
    if type(expr) is Var:
        return {expr: None}
    if type(expr) is not Call or any(type(part) not in LEAVES for part in (expr.op, *expr.args)):
        return None
    return {part: None for part in (expr.op, *expr.args) if type(part) is Var}


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
