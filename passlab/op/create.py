"""Tensors created from attributes alone, from a single value, or with the shape of another tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, dims, dtype
from passlab.op.declare import Dynamic, Python, call, constant_list, operator
from passlab.op.dtypes import Array, array_dtype, convert, filled_array
from passlab.op.relations import identity, refuse, tensor

INIT = attrs(
    "InitOpAttrs",
    dims("shape", optional=True, doc="the shape of the result"),
    dtype("dtype", "", doc="the dtype of the result"),
)


def _init_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    if attrs.shape is None:
        refuse("the shape is missing", hint="give `shape=[...]`")
    if not attrs.dtype:
        refuse("the dtype is missing", hint='give `dtype="float32"`')
    return TensorType(attrs.shape, attrs.dtype)


def _no_gradient(orig: OpCall, grad: Expr) -> list[Expr]:
    return []


def _filled_operator(name: str, value: int, doc: str) -> Op:
    def kernel(attrs: Attrs) -> Array:
        return filled_array(attrs.shape, array_dtype(attrs.dtype), value, name)

    return operator(
        name,
        (),
        attrs=INIT,
        relation=_init_type,
        precision=Precision.FOLLOW,
        pattern=OpPattern.ELEMWISE,
        level=3,
        python=Python("shape, dtype", dynamic=Dynamic(f"dyn.{name}"), shape=constant_list),
        doc=doc,
        gradient=_no_gradient,
        shapes="-> shape",
        source=f"np.{name}",
        edge_cases=tuple(f'{name}(shape={shape}, dtype="T")' for shape in ([2, 3], [], [0, 3])),
    )(kernel)


zeros = _filled_operator("zeros", 0, "A tensor of zeros of the given shape and dtype.")
ones = _filled_operator("ones", 1, "A tensor of ones of the given shape and dtype.")


def _filled_like(name: str, fill: Callable[[Array], Array], doc: str) -> Op:
    def kernel(attrs: Attrs, data: Array) -> Array:
        return fill(data)

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        return [call("zeros_like", orig.args[0])]

    return operator(
        name,
        ("data",),
        relation=identity,
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        level=4,
        doc=doc,
        gradient=gradient,
    )(kernel)


zeros_like = _filled_like("zeros_like", np.zeros_like, "Zeros with the shape and dtype of a tensor.")
ones_like = _filled_like("ones_like", np.ones_like, "Ones with the shape and dtype of a tensor.")


# ---------------------------------------------------------------- full
def scalar(types: Sequence[Type], index: int, name: str) -> TensorType | None:
    """Return the type of input `index`, a scalar tensor; None while it is unknown."""
    value = tensor(types, index, name)
    if value is not None and value.shape:
        refuse(f"{name} must be a scalar", index, expected="a tensor without dimensions", found=value)
    return value


def _full_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    value = scalar(types, 0, "fill_value")
    if value is None:
        return None
    if attrs.shape is None:
        refuse("the shape is missing", hint="give `shape=[...]`")
    return TensorType(attrs.shape, attrs.dtype or value.dtype)


def _full_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [call("cast_like", call("sum", grad), orig.args[0])]


@operator(
    "full",
    ("fill_value",),
    attrs=INIT,
    relation=_full_type,
    pattern=OpPattern.ELEMWISE,
    level=3,
    silenced=True,
    python=Python("fill_value, shape=(), dtype=''", dynamic=Dynamic("dyn.full"), shape=constant_list),
    gradient=_full_grad,
    shapes="fill_value () -> shape",
    source="np.full",
    edge_cases=("full(%v: (), shape=[2, 3])", 'full(%v: (), shape=[], dtype="int32")', "full(%v: (), shape=[0, 3])"),
    precision=Precision.FOLLOW,
)
def full(attrs: Attrs, fill_value: Array) -> Array:
    """A tensor of the given shape filled with one value."""
    result_dtype = array_dtype(attrs.dtype) if attrs.dtype else fill_value.dtype
    return filled_array(attrs.shape, result_dtype, convert(fill_value, result_dtype), "full")


def _full_like_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    scalar(types, 1, "fill_value")
    return tensor(types, 0, "data")


def _full_like_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    data, value = orig.args
    return [call("zeros_like", data), call("cast_like", call("sum", grad), value)]


@operator(
    "full_like",
    ("data", "fill_value"),
    relation=_full_like_type,
    pattern=OpPattern.ELEMWISE,
    level=3,
    silenced=True,
    gradient=_full_like_grad,
    shapes="data S, fill_value () -> S",
    source="np.full_like",
    edge_cases=("full_like(%x: (2, 3), %v: ())", "full_like(%x: (), %v: () float32)", "full_like(%x: (0, 3), %v: ())"),
    layout=layout_rules.elementwise,
)
def full_like(attrs: Attrs, data: Array, fill_value: Array) -> Array:
    """A tensor with the shape and dtype of `data`, filled with one value."""
    return np.full(data.shape, convert(fill_value, data.dtype))
