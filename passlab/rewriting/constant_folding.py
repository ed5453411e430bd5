"""Constant folding of expressions: the engine of FoldConstant, also used by passes that need a folded value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

import numpy as np

from passlab.analysis.state import Movability
from passlab.analysis.stated_types import states_type
from passlab.evaluate.schedule import Schedule
from passlab.ir.expr import Call, Constant, Expr, ExprT, Function, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, is_call_of
from passlab.ir.types import TensorType, Type
from passlab.ir.walk import outside_kernels, post_order
from passlab.rewriting.constant_values import folded_call, without_on_device
from passlab.rewriting.fresh_copy import with_type
from passlab.rewriting.let_removal import LetAction, remove_lets

FOLDED = "folded"  # the name of the rewrites
SHAPES = frozenset({"shape_of", "vm.shape_of", "ndarray_size"})
STARTS: tuple[str | type[Expr], ...] = (Constant, Tuple, *sorted(SHAPES))  # where folding may start

_SETTLED: WeakSet[Expr] = WeakSet()  # functions in which folding starts nowhere: pipelines fold several times


def fold(expr: ExprT, fold_qnn: bool = False, mod: IRModule | None = None) -> ExprT:
    """Return an expression with constants folded; the same object if there is nothing to fold.

    Operator calls on constants are evaluated, lets of constants removed, branches on constants taken, projections of
    tuple literals resolved, and shapes of tensors of static type folded. Primitive functions are not entered. An
    `on_device` around a constant is kept. Expressions with effects are not dropped; `mod` tells which calls have any.
    """
    if expr in _SETTLED:
        return expr
    order = post_order(expr, enter=outside_kernels)
    if not _folding_starts(order):
        if type(expr) is Function:
            _SETTLED.add(expr)
        return expr
    is_movable = Movability(mod)
    early: list[set[Expr]] = []  # computed once, where a branch is taken

    def may_drop(branch: Expr) -> bool:
        """Whether no effect would happen later if a branch were not there: see `evaluate.schedule`."""
        if not early:
            nodes_by_scope = Schedule(expr).early.values() if isinstance(expr, Function) else ()
            early.append({node for nodes in nodes_by_scope for node in nodes})
        return not early[0] or early[0].isdisjoint(post_order(branch))

    def choose(let: Let, value: Expr) -> LetAction:
        return LetAction.INLINE if type(without_on_device(value)) is Constant else LetAction.KEEP

    def rule(pre: Expr, post: Expr) -> Expr:
        if type(post) is Call:
            return from_type(pre, post, is_movable) or folded_call(post, fold_qnn) or post
        if type(post) is TupleGetItem and type(post.tuple_value) is Tuple:
            return _projected_field(post, post.tuple_value, is_movable)
        if type(post) is If and type(cond := without_on_device(post.cond)) is Constant:
            assert type(pre) is If
            dropped = pre.false_branch if cond.data else pre.true_branch
            return _chosen_branch(post, bool(cond.data), pre.checked_type_) if may_drop(dropped) else post
        return post

    return remove_lets(expr, choose, rule, outside_kernels, name=FOLDED, order=order)


def _folding_starts(order: Iterable[Expr]) -> bool:
    """Return whether a node may be folded before any other is. Where none is, nothing changes."""
    for node in order:
        kind = type(node)
        if kind is Call:
            if _may_fold(node):  # type: ignore[arg-type]
                return True
        elif kind is Let:
            if _may_be_constant(node.value):  # type: ignore[attr-defined]
                return True
        elif kind is If:
            if _may_be_constant(node.cond):  # type: ignore[attr-defined]
                return True
        elif kind is TupleGetItem and type(node.tuple_value) is Tuple:  # type: ignore[attr-defined]
            return True
    return False


def _may_fold(call: Call) -> bool:
    """Return False for a call that cannot be folded unless something in it is folded first."""
    if type(call.op) is not Op:
        return False
    if call.op.name in SHAPES:
        return True
    for arg in call.args:  # noqa: SIM110  a generator takes three times as long
        if type(arg) is Var or not (type(arg) is Tuple or _may_be_constant(arg)):
            return False
    return True


def _may_be_constant(expr: Expr) -> bool:
    return type(expr) is Constant or is_call_of(expr, "on_device")


def _chosen_branch(node: If, cond: bool, ty: Type | None) -> Expr:
    """Return the branch for a condition, annotated with the type of the `if`; the node itself if that is unknown."""
    branch = with_type(node.true_branch if cond else node.false_branch, ty)
    return branch if states_type(branch) else node


def _projected_field(post: TupleGetItem, whole: Tuple, is_movable: Movability) -> Expr:
    """Return the projected field of a tuple literal, unless evaluating another field has effects."""
    others = (f for i, f in enumerate(whole.fields) if i != post.index)
    return whole.fields[post.index] if all(map(is_movable, others)) else post


def from_type(pre: Expr, post: Call, is_movable: Movability) -> Expr | None:
    """Return the shape or size of an input of static type, in the dtype that the operator returns."""
    if type(post.op) is not Op or post.op.name not in SHAPES or type(pre) is not Call:
        return None
    ty = pre.args[0].checked_type_
    static = type(ty) is TensorType and not ty.dynamic and is_movable(pre.args[0])
    return shape_constant(post, ty) if static else None  # type: ignore[arg-type]


def shape_constant(call: OpCall, ty: TensorType) -> Constant:
    """Return the result of `shape_of` or `ndarray_size` for a tensor of static type."""
    attrs: Any = call.attrs
    shape = ty.concrete_shape
    size = call.op.name == "ndarray_size"
    value = int(np.prod(shape, dtype="int64")) if size else shape
    return Constant(np.asarray(value, dtype=attrs.dtype or "int32"))
