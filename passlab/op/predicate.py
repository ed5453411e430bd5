"""Predicates on single elements, and logical and bitwise negation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import deliver, operator
from passlab.op.dtypes import Array, as_array, is_float
from passlab.op.edge_cases import on_one
from passlab.op.elementwise import elementwise
from passlab.op.relations import refuse, tensor


def _bool_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    return None if data is None else TensorType(data.shape, "bool")


def _predicate_kernel(function: Callable[..., Any], on_integers: bool) -> Callable[..., Any]:
    def kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
        if is_float(data.dtype):
            return as_array(function(data, out=out))
        result = np.full(data.shape, on_integers)
        return result if out is None else deliver(result, out)

    return kernel


def _predicate(name: str, function: Callable[..., Any], on_integers: bool, doc: str) -> Op:
    kernel = _predicate_kernel(function, on_integers)
    return operator(
        name,
        ("data",),
        relation=_bool_type,
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        level=3,
        shapes="S -> S of bool",
        source=f"np.{name}",
        edge_cases=on_one(name),
        doc=doc,
        gradient=zero_gradient,
    )(kernel)


isnan = _predicate("isnan", np.isnan, False, "Whether each element is NaN.")
isinf = _predicate("isinf", np.isinf, False, "Whether each element is an infinity.")
isfinite = _predicate("isfinite", np.isfinite, True, "Whether each element is neither infinite nor NaN.")


def _logical_not_kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    if data.dtype.kind == "b":
        return as_array(np.logical_not(data, out=out))
    result = as_array(np.logical_not(data)).astype(data.dtype)
    return result if out is None else deliver(result, out)


def _bitwise_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is not None and "float" in data.dtype:
        refuse("bitwise operators take integers or bools", 0, expected="an integer or bool dtype", found=data.dtype)
    return data


logical_not = elementwise(
    "logical_not",
    _logical_not_kernel,
    "Whether each element is zero (false), in its own dtype.",
    level=4,
    gradient=zero_gradient,
)


@operator(
    "bitwise_not",
    ("data",),
    relation=_bitwise_type,
    pattern=OpPattern.ELEMWISE,
    level=4,
    shapes="S -> S",
    source="np.invert",
    edge_cases=on_one("bitwise_not"),
    gradient=zero_gradient,
    layout=layout_rules.elementwise,
)
def bitwise_not(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """The bitwise complement of each integer."""
    return as_array(np.invert(data, out=out))
