"""Removing lets that hide the marks of regions for other compilers.

Marks on the arguments and results of operators show where values enter and leave a region; a variable bound to a mark
hides it. Normal forms, partial evaluation and other passes bind every node, so the lets around marks are removed again.
"""

from __future__ import annotations

from passlab.analysis.regions import DEFAULT, compiler_of, enter, is_begin, is_end
from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.walk import CHILDREN, post_order, rewrite
from passlab.rewriting.let_removal import LetAction, remove_lets


def without_marks(func: Function, compiler: str | None = None) -> Function:
    """Return a function without the marks for a compiler, or without any marks."""

    def rule(pre: Call, post: Call) -> Expr:
        mark = is_begin(post) or is_end(post)
        return post.args[0] if mark and compiler in (None, compiler_of(post)) else post

    return rewrite(func, rule, only=(Call,))


def without_region_lets(function: Function, mod: IRModule) -> Function:
    """Return a function in which no let binds a mark, or a movable operator in a region.

    Effects keep their order only inside lets, so they are marked for no compiler: such marks are removed.
    """
    if not any(type(part) in (Var, Let) for part in _region_results(post_order(function, enter=enter))):
        return function
    function = without_marks(function, DEFAULT)
    order = post_order(function, enter=enter)
    results = _region_results(order)
    is_movable, inside = Movability(mod), set[Expr]()

    def choose(let: Let, value: Expr) -> LetAction:
        if not isinstance(value, (Call, Tuple, TupleGetItem)) or not is_movable(value):
            return LetAction.KEEP
        parts = CHILDREN[type(value)](value)
        if is_begin(value) or is_end(value) or any(is_begin(part) or part in inside for part in parts):
            if not is_end(value):
                inside.add(value)
            return LetAction.INLINE
        return LetAction.INLINE if let.var in results else LetAction.KEEP

    return remove_lets(function, choose, enter=enter, order=order)


def _region_results(order: list[Expr]) -> set[Expr]:
    """Return the arguments of end marks: the results of regions."""
    return {node.args[0] for node in order if is_end(node) and isinstance(node, Call)}
