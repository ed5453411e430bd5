"""Reductions: operators that combine all elements along some dimensions.

`axis` lists the dimensions to reduce, None meaning all; `exclude` inverts the list; `keepdims` keeps reduced dimensions
with size 1. The result has the dtype of the data (int32 for indices). A maximum over no elements is the lowest value of
the dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision, Reporter
from passlab.ir.types import Shape, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, integers
from passlab.op.autodiff import zero_gradient
from passlab.op.broadcast import truncated_quotient
from passlab.op.declare import Python, call, operator
from passlab.op.dtypes import Array, as_array, integer_info, is_float
from passlab.op.elementwise import constant_like
from passlab.op.relations import broadcast_shape, concrete, normal_axes, on_tensors, product, refuse, tensor

_AXIS = integers("axis", None, doc="the dimensions to reduce, None for all", scalar_ok=True)
_KEEPDIMS = boolean("keepdims", False, doc="whether reduced dimensions are kept, with size 1")
_EXCLUDE = boolean("exclude", False, doc="whether `axis` lists the dimensions to keep instead")
REDUCE = attrs("ReduceAttrs", _AXIS, _KEEPDIMS, _EXCLUDE)
ARG_REDUCE = attrs(
    "ArgReduceAttrs",
    _AXIS,
    _KEEPDIMS,
    boolean("select_last_index", False, doc="whether the last of equal elements wins"),
    _EXCLUDE,
)


def reduced_axes(rank: int, attrs: Attrs) -> tuple[int, ...]:
    """Return the dimensions that a reduction removes, ascending. Raises `RelationError` for axes outside the rank."""
    if attrs.axis is None:
        axes: tuple[int, ...] = tuple(range(rank))
        return () if attrs.exclude else axes
    axes = normal_axes(attrs.axis, rank)
    return tuple([dim for dim in range(rank) if (dim in axes) != attrs.exclude])


def reduced_shape(shape: Shape, attrs: Attrs) -> Shape:
    """Return the shape of the result of a reduction."""
    axes = reduced_axes(len(shape), attrs)
    if attrs.keepdims:
        return tuple([1 if axis in axes else dim for axis, dim in enumerate(shape)])
    return tuple([dim for axis, dim in enumerate(shape) if axis not in axes])


@on_tensors
def _reduce_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(reduced_shape(data.shape, attrs), data.dtype)


@on_tensors
def _index_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(reduced_shape(data.shape, attrs), "int32")


# ---------------------------------------------------------------- kernels
_SHORT_ROW, _MANY_ROWS = 16, 64  # measured: rows up to this length, and from this number on, are faster by columns


def _lowest(dtype: np.dtype[Any]) -> Any:
    """Return the lowest value of a dtype, the maximum over no elements."""
    if is_float(dtype):
        return dtype.type(-math.inf)
    return dtype.type(False) if dtype.kind == "b" else integer_info(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    """Return the highest value of a dtype, the minimum over no elements."""
    if is_float(dtype):
        return dtype.type(math.inf)
    return dtype.type(True) if dtype.kind == "b" else integer_info(dtype).max


def _sum(data: Array, **where: Any) -> Array:
    return as_array(np.add.reduce(data, dtype=data.dtype, **where))


def _prod(data: Array, **where: Any) -> Array:
    return as_array(np.multiply.reduce(data, dtype=data.dtype, **where))


def _max(data: Array, **where: Any) -> Array:
    if data.size:
        return extremum(np.maximum, data, **where)
    return as_array(np.maximum.reduce(data, **where, initial=_lowest(data.dtype)))


def _min(data: Array, **where: Any) -> Array:
    if data.size:
        return extremum(np.minimum, data, **where)
    return as_array(np.minimum.reduce(data, **where, initial=_highest(data.dtype)))


def extremum(join: np.ufunc, data: Array, axis: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Return the largest or smallest elements along some dimensions, by `np.maximum` or `np.minimum`.

    NumPy's reduction calls its loop for each row. Where rows are short and many, whole columns are compared instead.
    """
    length = math.prod(data.shape[dim] for dim in axis)
    innermost = bool(axis) and tuple(axis) == tuple(range(data.ndim - len(axis), data.ndim))
    if not innermost or not 1 < length <= _SHORT_ROW or data.size < length * _MANY_ROWS or not data.flags.c_contiguous:
        return as_array(join.reduce(data, axis=axis, keepdims=keepdims))
    rows = data.reshape(-1, length)
    result: Array = join(rows[:, 0], rows[:, 1])
    for column in range(2, length):
        join(result, rows[:, column], out=result)
    return result.reshape(*data.shape[: -len(axis)], *(1,) * (keepdims * len(axis)))


def _mean(data: Array, **where: Any) -> Array:
    count = math.prod(data.shape[axis] for axis in where["axis"])
    if is_float(data.dtype):
        if count == 0:  # NumPy's mean also returns NaN, but with a warning that no error state silences
            return as_array(np.add.reduce(data, dtype=data.dtype, **where) * data.dtype.type(np.nan))
        return as_array(np.mean(data if data.dtype.kind == "f" else data.astype(np.float32), **where))
    if count == 0:
        raise RunError(Diagnostic("the mean of no integers has no value", hint="cast the data to a float first"))
    wide = np.dtype(np.uint64 if data.dtype == np.uint64 else np.int64)
    sums = as_array(np.add.reduce(data, dtype=data.dtype, **where)).astype(wide)
    return truncated_quotient(sums, np.asarray(count, wide))


def _reduction_kernel(function: Callable[..., Array]) -> Callable[..., Any]:
    def kernel(attrs: Attrs, data: Array) -> Array:
        result = function(data, axis=reduced_axes(data.ndim, attrs), keepdims=attrs.keepdims)
        return as_array(result).astype(data.dtype, copy=False)

    return kernel


# ---------------------------------------------------------------- gradients
def _expand(value: Expr, orig: OpCall) -> Expr:
    """Return a reduced value broadcast to the shape of the data."""
    data, attrs = orig.args[0], orig.attrs
    ty = data.checked_type
    assert isinstance(ty, TensorType)
    if attrs is not None and not attrs["keepdims"]:
        for axis in reduced_axes(len(ty.shape), attrs):
            value = call("expand_dims", value, axis=axis)
    return call("broadcast_to_like", value, data)


def _sum_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [_expand(grad, orig)]


def _reduced_count(orig: OpCall) -> int:
    """Return the number of elements combined into each result. Raises `RelationError` if it is unknown."""
    ty = orig.args[0].checked_type
    assert isinstance(ty, TensorType)
    count = product(ty.shape[axis] for axis in reduced_axes(len(ty.shape), orig.attrs))
    if type(count) is not int:
        refuse("this gradient needs a known shape", 0, found=ty)
    return count


def _mean_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [_expand(grad, orig) * constant_like(1 / max(_reduced_count(orig), 1), orig.args[0])]


def _extremum_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The elements equal to the extremum share the gradient."""
    data = orig.args[0]
    equal = call("cast_like", call("equal", data, _expand(orig, orig)), data)
    attrs = orig.attrs
    ties = _expand(call("sum", equal, axis=attrs["axis"], keepdims=attrs["keepdims"], exclude=attrs["exclude"]), orig)
    return [_expand(grad, orig) * equal / ties]


def _prod_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [_expand(grad * orig, orig) / orig.args[0]]


# ---------------------------------------------------------------- declarations
_SHAPES = "(..., n, ...) -> (..., ...), or (..., 1, ...) with keepdims"
_DEFINED_ON_EMPTY = ("sum", "prod", "all", "any")  # reductions with a value for no elements


def _edge_cases(name: str) -> tuple[str, ...]:
    return (
        f"{name}(%x: (2, 3), axis=[-1])",
        f"{name}(%x: (2, 3), axis=[0], keepdims=True)",
        f"{name}(%x: (2, 3, 2), axis=[1], exclude=True)",
        f"{name}(%x: (2, 3))",
        f"{name}(%x: ())",
        f"{name}(%x: (0, 3), axis=[{0 if name in _DEFINED_ON_EMPTY else 1}])",
    )


def _reduction(name: str, function: Callable[..., Array], doc: str, **facts: Any) -> Op:
    return operator(
        name,
        ("data",),
        attrs=REDUCE,
        layout=layout_rules.reduce_axes,
        relation=_reduce_type,
        pattern=OpPattern.COMM_REDUCE,
        level=4,
        silenced=True,
        doc=doc,
        shapes=_SHAPES,
        source=f"np.{name}",
        edge_cases=_edge_cases(name),
        **facts,
    )(_reduction_kernel(function))


sum_ = _reduction("sum", _sum, "The sums of elements; integers wrap.", precision=Precision.NEVER, gradient=_sum_grad)
mean = _reduction(
    "mean",
    _mean,
    "The means of elements; for integers they are truncated.",
    precision=Precision.NEVER,
    gradient=_mean_grad,
)
prod = _reduction("prod", _prod, "The products of elements; integers wrap.", gradient=_prod_grad)
max_ = _reduction(
    "max", _max, "The largest elements; NaN if one is NaN.", gradient=_extremum_grad, precision=Precision.FOLLOW
)
min_ = _reduction(
    "min", _min, "The smallest elements; NaN if one is NaN.", gradient=_extremum_grad, precision=Precision.FOLLOW
)
all_ = _reduction(
    "all", np.logical_and.reduce, "Whether all elements are true, in their dtype.", gradient=zero_gradient
)
any_ = _reduction("any", np.logical_or.reduce, "Whether any element is true, in their dtype.", gradient=zero_gradient)


def _arg_kernel(find: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(attrs: Attrs, data: Array) -> Array:
        axes = reduced_axes(data.ndim, attrs)
        remaining = [axis for axis in range(data.ndim) if axis not in axes]
        rows = data.transpose(*remaining, *axes).reshape(
            *(data.shape[axis] for axis in remaining), -1 if data.size else math.prod(data.shape[axis] for axis in axes)
        )
        if rows.shape[-1] == 0 and rows[..., :0].shape[:-1] != (0,):
            raise RunError(Diagnostic("the index of an extremum of no elements is undefined"))
        indices = (
            rows.shape[-1] - 1 - find(rows[..., ::-1], axis=-1) if attrs.select_last_index else find(rows, axis=-1)
        )
        return as_array(indices).astype(np.int32).reshape(concrete(reduced_shape(data.shape, attrs)))

    return kernel


def _arg_reduction(name: str, find: Callable[..., Any], doc: str) -> Op:
    return operator(
        name,
        ("data",),
        attrs=ARG_REDUCE,
        layout=layout_rules.reduce_axes,
        precision=Precision.FOLLOW,
        relation=_index_type,
        pattern=OpPattern.COMM_REDUCE,
        level=4,
        python=Python("data, axis=None, keepdims=False, exclude=False, select_last_index=False"),
        doc=doc,
        gradient=zero_gradient,
        shapes=_SHAPES,
        source=f"np.{name}",
        edge_cases=_edge_cases(name),
    )(_arg_kernel(find))


argmax = _arg_reduction(
    "argmax", np.argmax, "The indices of the largest elements, counted along all reduced dimensions together."
)
argmin = _arg_reduction(
    "argmin", np.argmin, "The indices of the smallest elements, counted along all reduced dimensions together."
)


# ---------------------------------------------------------------- variance
def _variance_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, center = tensor(types, 0, "data"), tensor(types, 1, "mean")
    if data is None:
        return None
    if center is not None:
        if center.dtype != data.dtype:
            refuse("data and mean have different dtypes", 1, expected=data.dtype, found=center.dtype)
        if len(center.shape) > len(data.shape):
            refuse("mean has more dimensions than data", 1, expected=data, found=center)
        joined = zip(broadcast_shape(data, center), data.shape, strict=True)
        if any(type(a) is int and type(b) is int and a != b for a, b in joined):
            refuse("mean does not broadcast to the data", 1, expected=data, found=center)
    return TensorType(reduced_shape(data.shape, attrs), data.dtype)


def _default_mean(values: dict[str, Any]) -> None:
    """Set `with_mean`, if it is None, to the mean over the same axes."""
    if values["with_mean"] is None:
        values["with_mean"] = call(
            "mean", values["data"], axis=values["axis"], keepdims=True, exclude=values["exclude"]
        )


def _variance_divisor(count: int, attrs: Attrs) -> int:
    return count - 1 if attrs.unbiased else count


def _variance_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    data, center = orig.args
    scale = constant_like(2 / max(_variance_divisor(_reduced_count(orig), orig.attrs), 1), data)
    data_grad = scale * _expand(grad, orig) * (data - center)
    return [data_grad, call("collapse_sum_like", -data_grad, center)]


@operator(
    "variance",
    ("data", "mean"),
    attrs=attrs(
        "VarianceAttrs", _AXIS, _KEEPDIMS, _EXCLUDE, boolean("unbiased", False, doc="whether to divide by n - 1")
    ),
    relation=_variance_type,
    layout=layout_rules.reduce_axes,
    pattern=OpPattern.COMM_REDUCE,
    precision=Precision.NEVER,
    level=4,
    silenced=True,
    python=Python(
        "data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None",
        {"with_mean": "mean"},
        prepare=_default_mean,
    ),
    gradient=_variance_grad,
    shapes="data S, mean broadcastable to S -> S without axis",
    source="np.var about a given mean",
    edge_cases=(
        "variance(%x: (2, 3), %m: (2, 1), axis=[-1])",
        "variance(%x: (2, 3), %m: (1, 1), unbiased=True)",
        "variance(%x: (0, 3), %m: (0, 1), axis=[1], keepdims=True)",
    ),
)
def variance(attrs: Attrs, data: Array, mean: Array) -> Array:
    """The mean squared distances of elements from `mean`, which broadcasts against `data`."""
    axes = reduced_axes(data.ndim, attrs)
    dtype = data.dtype
    if dtype.kind == "b":  # for bools, the square of a difference is the difference itself
        data, mean = data.astype(np.int64), mean.astype(np.int64)
    elif is_float(dtype) and dtype.itemsize < 4:  # neither the sum of squares nor the count may fit the dtype
        data, mean = data.astype(np.float32), mean.astype(np.float32)
    deviation = data - mean
    count = _variance_divisor(math.prod(data.shape[axis] for axis in axes), attrs)
    squares = np.add.reduce(deviation * deviation, axis=axes, keepdims=attrs.keepdims, dtype=data.dtype)
    if not is_float(data.dtype):  # truncated, as `mean` is
        if count == 0:
            raise RunError(Diagnostic("integer division by zero: the variance has no elements to divide by"))
        return truncated_quotient(as_array(squares), np.asarray(count, squares.dtype)).astype(dtype)
    return as_array(np.true_divide(squares, data.dtype.type(count))).astype(dtype, copy=False)
