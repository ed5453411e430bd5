"""Comparisons of two tensors that broadcast, with bools as results, and the selection between two tensors by bools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from passlab.errors import RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision, Trait
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.autodiff import zero_gradient
from passlab.op.broadcast import binary, binary_kernel
from passlab.op.declare import call, operator
from passlab.op.dtypes import Array
from passlab.op.relations import broadcast_compare, broadcast_shape, on_tensors, same_dtype


def _comparison(name: str, ufunc: Callable[..., Any], doc: str, precision: Precision | None = None, **facts: Any) -> Op:
    kernel = binary_kernel(ufunc)
    facts |= {"relation": broadcast_compare, "gradient": zero_gradient, "precision": precision}
    facts.setdefault("traits", Trait.COMPARES)
    return binary(name, kernel, doc, level=4, **facts)


equal = _comparison(
    "equal", np.equal, "Whether elements are equal; NaN equals nothing.", traits=Trait.COMMUTATIVE | Trait.COMPARES
)
not_equal = _comparison(
    "not_equal",
    np.not_equal,
    "Whether elements differ; NaN differs from everything.",
    traits=Trait.COMMUTATIVE | Trait.COMPARES,
)
less = _comparison(
    "less", np.less, "Whether each element of `lhs` is less than the element of `rhs`.", Precision.FOLLOW
)
less_equal = _comparison(
    "less_equal",
    np.less_equal,
    "Whether each element of `lhs` is less than the element of `rhs` or equal to it.",
    Precision.FOLLOW,
)
greater = _comparison(
    "greater", np.greater, "Whether each element of `lhs` is greater than the element of `rhs`.", Precision.FOLLOW
)
greater_equal = _comparison(
    "greater_equal",
    np.greater_equal,
    "Whether each element of `lhs` is greater than the element of `rhs` or equal to it.",
    Precision.FOLLOW,
)


@on_tensors
def _where_type(attrs: Attrs, condition: TensorType, x: TensorType, y: TensorType) -> Type:
    same_dtype(x, y, 2)
    if condition.shape == x.shape == y.shape:
        return x
    try:
        branches = TensorType(broadcast_shape(x, y), x.dtype)
        return TensorType(broadcast_shape(condition, branches), x.dtype)
    except RelationError as error:
        hint = "Invalid broadcast shapes: two sizes of one dimension are equal, or one of them is 1"
        raise RelationError(replace(error.diagnostics[0], hint=hint), error.argument) from None


def _where_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    condition, x, y = orig.args
    zeros = call("zeros_like", grad)
    return [
        call("zeros_like", condition),
        call("collapse_sum_like", call("where", condition, grad, zeros), x),
        call("collapse_sum_like", call("where", condition, zeros, grad), y),
    ]


@operator(
    "where",
    ("condition", "x", "y"),
    relation=_where_type,
    pattern=OpPattern.BROADCAST,
    level=4,
    gradient=_where_grad,
    shapes="condition, x, y, which broadcast to S -> S",
    source="np.where",
    edge_cases=(
        "where(%c: (2, 1) bool, %x: (2, 3), %y: (3))",
        "where(%c: () bool, %x: (), %y: (2))",
        "where(%c: (0, 3) bool, %x: (0, 3), %y: (1, 3))",
        "where(%c: (2, 3) float32, %x: (2, 3), %y: ())",
    ),
    layout=layout_rules.broadcast,
    precision=Precision.FOLLOW,
)
def where(attrs: Attrs, condition: Array, x: Array, y: Array) -> Array:
    """Select the element of `x` where `condition` is true (not zero), else the element of `y`; all three broadcast."""
    return np.where(condition if condition.dtype.kind == "b" else condition != 0, x, y)
