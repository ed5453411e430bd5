"""Compute what is known at compile time.

before:
    def @main(%x: Tensor[(2), float32]) { add(%x, multiply(2f, 3f)) }
after:
    def @main(%x: Tensor[(2), float32]) { add(%x, 6f) }

before:
    def @main() { let %a = add(1, 2); if (less(%a, 5)) { multiply(%a, 2) } else { 0 } }
after:
    def @main() { 6 }

before:
    def @main(%x: Tensor[(2, 3), float32]) { add(ndarray_size(%x, dtype="int32"), 1) }
after:
    def @main(%x: Tensor[(2, 3), float32]) { 7 }

keep:
    def @main() { zeros(shape=[2], dtype="float32") }
"""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.analysis.purity import LocalPurity
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.transform.base import FunctionPass
from passlab.transform.constant_values import folded_call
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass
from passlab.transform.let_removal import Fate, remove_lets


@standard_pass(opt_level=2, promise=EXACT)
class FoldConstant(FunctionPass):
    """Evaluate operator calls whose arguments are constants, or tuples of them, with the reference evaluator.

    A branch on a constant becomes the branch taken; a projection of a tuple literal becomes the field; a let of a
    constant tensor goes, its value takes the place of the variable. `shape_of` and `ndarray_size` are read off static
    types. Not computed: stateful operators, calls without arguments, QNN operators (unless `fold_qnn`), anything
    inside primitive functions, and calls that fail, which then fail when run.
    """

    fold_qnn: bool = False

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def enter(node: Expr) -> bool:
            return type(node) is not Function or not node.is_primitive

        def fate(let: Let, value: Expr) -> Fate:
            return Fate.INLINE if type(value) is Constant else Fate.KEEP

        purity = LocalPurity()
        return remove_lets(func, fate, lambda pre, post: self._folded(pre, post, purity), enter)  # type: ignore[return-value]

    def _folded(self, pre: Expr, post: Expr, purity: LocalPurity) -> Expr:
        kind = type(post)
        if kind is Call:
            return _from_type(pre, post) or folded_call(post, self.fold_qnn) or post  # type: ignore[arg-type]
        if kind is TupleGetItem and type(post.tuple_value) is Tuple:  # type: ignore[attr-defined]
            return _field(post, purity)  # type: ignore[arg-type]
        if kind is If and type(post.cond) is Constant:  # type: ignore[attr-defined]
            return post.true_branch if post.cond.data else post.false_branch  # type: ignore[attr-defined, no-any-return]
        return post


def _field(post: TupleGetItem, purity: LocalPurity) -> Expr:
    """Return the field that a tuple literal has there, unless computing another one of its fields has effects."""
    fields = post.tuple_value.fields  # type: ignore[attr-defined]
    others = (f for i, f in enumerate(fields) if i != post.index)
    return fields[post.index] if all(map(purity.of, others)) else post


_SHAPES = frozenset({"shape_of", "vm.shape_of", "ndarray_size"})


def _from_type(pre: Expr, post: Expr) -> Expr | None:
    """Return the shape or size that a static input type tells, in the dtype that the operator was asked for."""
    if type(post) is not Call or type(post.op) is not Op or post.op.name not in _SHAPES:
        return None
    arg = pre.args[0]  # type: ignore[attr-defined]
    ty = arg.checked_type_
    if type(ty) is not TensorType or ty.dynamic:
        return None
    attrs: Any = post.attrs
    dtype = attrs.dtype or "int32"
    if post.op.name == "ndarray_size":
        return Constant(np.asarray(int(np.prod(ty.concrete_shape, dtype=object)) if ty.shape else 1, dtype=dtype))
    return Constant(np.asarray(ty.concrete_shape, dtype=dtype))
