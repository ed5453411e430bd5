"""Operators that sort elements, search in sorted elements, or remove duplicates.

Sorting is stable, in descending order too: equal elements keep their order. NaN counts as larger than every number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall, Reporter
from passlab.ir.types import TensorType, TupleType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, dtype, integer, text
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import Dynamic, Python, call, constant_integer, field_of, operator
from passlab.op.dtypes import Array, ArrayOrArrays, array_dtype
from passlab.op.layout_change import LayoutArguments, Result
from passlab.op.relations import identity_along_axis, may_agree, normal_axis, on_tensors, refuse, tensor

_AXIS = integer("axis", -1, doc="the dimension to sort along")
_ASCENDING = boolean("is_ascend", True, doc="whether the smallest comes first")
ARGSORT = attrs("ArgsortAttrs", _AXIS, _ASCENDING, dtype("dtype", "", doc="the dtype of indices, by default int32"))


def stable_order(data: Array, axis: int, ascending: bool) -> Array:
    """Return the indices of the elements of `data` in sorted order along `axis`, NaN after all numbers."""
    if data.dtype.kind == "V":  # NumPy sorts bfloat16 by `<` alone, which puts NaN anywhere
        data = data.astype(np.float32)
    if ascending:
        return np.argsort(data, axis=axis, kind="stable")
    # sorted ascending from the other end and reversed, so that equal elements keep their order
    reversed_order = np.flip(np.argsort(np.flip(data, axis), axis=axis, kind="stable"), axis)
    return np.asarray(data.shape[axis] - 1 - reversed_order)


# ---------------------------------------------------------------- sort, argsort
def _sort_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """Each element receives the gradient of its new position."""
    data, attrs = orig.args[0], orig.attrs
    axis = attrs["axis"]
    order = call("argsort", data, axis=axis, is_ascend=attrs["is_ascend"], dtype="int32")
    return [call("gather", grad, call("argsort", order, axis=axis, dtype="int32"), axis=axis)]


@operator(
    "sort",
    ("data",),
    attrs=ARGSORT,
    relation=identity_along_axis,
    level=6,
    python=Python("data, axis=-1, is_ascend=True", is_ascend=bool),
    gradient=_sort_grad,
    shapes="S -> S",
    source="np.sort",
    edge_cases=(
        "sort(%x: (2, 4), axis=-1)",
        "sort(%x: (3, 2), axis=0, is_ascend=False)",
        "sort(%x: (0, 3), axis=0)",
        "sort(%x: (1), axis=0)",
    ),
    layout=layout_rules.along(),
)
def sort(attrs: Attrs, data: Array) -> Array:
    """The elements in sorted order along one dimension."""
    if attrs.is_ascend and data.dtype.kind != "V":
        return np.sort(data, axis=attrs.axis, kind=None if _stability_is_invisible(data) else "stable")
    return np.take_along_axis(data, stable_order(data, attrs.axis, attrs.is_ascend), attrs.axis)


def _stability_is_invisible(data: Array) -> bool:
    """Whether equal elements have equal bits: an unstable sort then gives the same, up to 20 times faster."""
    if data.dtype.kind != "f":
        return True
    zeros = data == 0
    return not (zeros.any() and np.signbit(data[zeros]).any()) and not np.isnan(data).any()


def _argsort_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = identity_along_axis(types, attrs, reporter)
    return TensorType(data.shape, attrs.dtype or "int32") if isinstance(data, TensorType) else None


@operator(
    "argsort",
    ("data",),
    attrs=ARGSORT,
    relation=_argsort_type,
    level=6,
    python=Python("data, axis=-1, is_ascend=True, dtype='int32'", is_ascend=bool),
    gradient=zero_gradient,
    shapes="S -> S",
    source="np.argsort, stable",
    edge_cases=(
        'argsort(%x: (2, 4), axis=-1, dtype="int32")',
        'argsort(%x: (3, 2), axis=0, is_ascend=False, dtype="int64")',
        'argsort(%x: (0, 3), axis=0, dtype="int32")',
    ),
    layout=layout_rules.along(),
)
def argsort(attrs: Attrs, data: Array) -> Array:
    """The indices of the elements in sorted order along one dimension."""
    return stable_order(data, attrs.axis, attrs.is_ascend).astype(array_dtype(attrs.dtype or "int32"))


# ---------------------------------------------------------------- topk
TOPK = attrs(
    "TopkAttrs",
    integer("k", optional=True, doc="the number of elements; less than 1 means all"),
    _AXIS,
    text("ret_type", "both", doc="what to return", choices=("both", "values", "indices")),
    boolean("is_ascend", False, doc="whether to return the smallest"),
    dtype("dtype", "", doc="the dtype of indices, by default int32"),
)


def topk_type(data: TensorType, attrs: Attrs, k: Any) -> Type:
    """Return the type of the `k` top elements (a number, or `?`)."""
    axis = normal_axis(attrs.axis, len(data.shape))
    extent = data.shape[axis]
    if type(k) is int:
        size = _count(k, extent) if type(extent) is int else extent if k < 1 else k
    else:
        size = k
    shape = (*data.shape[:axis], size, *data.shape[axis + 1 :])
    values, indices = TensorType(shape, data.dtype), TensorType(shape, attrs.dtype or "int32")
    return (
        TupleType([values, indices]) if attrs.ret_type == "both" else values if attrs.ret_type == "values" else indices
    )


def _count(k: int, extent: int) -> int:
    """Return how many elements `k` means. Raises `RelationError` if there are fewer."""
    if k > extent:
        refuse(f"there are no {k} elements along a dimension of {extent}", 0)
    return k if k >= 1 else extent


def topk_arrays(data: Array, attrs: Attrs, k: int) -> ArrayOrArrays:
    """Return the values, the indices, or both, of the `k` top elements."""
    order = stable_order(data, attrs.axis, attrs.is_ascend)
    first = np.take(order, np.arange(_count(k, data.shape[attrs.axis])), axis=attrs.axis)
    indices = first.astype(array_dtype(attrs.dtype or "int32"))
    if attrs.ret_type == "indices":
        return indices
    values = np.take_along_axis(data, first, attrs.axis)
    return values if attrs.ret_type == "values" else (values, indices)


@on_tensors
def _topk_type(attrs: Attrs, data: TensorType) -> Type:
    if attrs.k is None:
        refuse("k is missing", hint="give `k=1`, or use `dyn.topk`")
    return topk_type(data, attrs, attrs.k)


def topk_results(attrs: Attrs) -> int | None:
    """Return the number of results of `topk` if it returns a tuple."""
    return 2 if attrs.ret_type == "both" else None


def _topk_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The selected elements receive the gradients of the values."""
    data, attrs = orig.args[0], orig.attrs
    zeros = call("zeros_like", data)
    if attrs["ret_type"] == "indices":
        return [zeros]
    attributes = {"k": attrs["k"], "axis": attrs["axis"], "is_ascend": attrs["is_ascend"], "dtype": "int64"}
    positions = call("topk", data, ret_type="indices", **attributes)
    values = field_of(grad, 0) if attrs["ret_type"] == "both" else grad
    return [call("scatter_elements", zeros, positions, values, axis=attrs["axis"])]


def _topk_layout(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """The axis becomes its current index, and both results have the layout of the data."""
    result = layout_rules.along()(call, layouts)
    several = isinstance(call.checked_type, TupleType)
    return (result[0], [layouts.change_of(call.args[0])] * 2) if result is not None and several else result


@operator(
    "topk",
    ("data",),
    attrs=TOPK,
    relation=_topk_type,
    level=6,
    python=Python(
        "data, k=1, axis=-1, ret_type='both', is_ascend=False, dtype='int32'",
        dynamic=Dynamic("dyn.topk"),
        k=constant_integer,
    ),
    results=topk_results,
    gradient=_topk_grad,
    layout=_topk_layout,
    shapes="(..., n, ...) -> (..., k, ...), values and positions",
    source="np.argsort, stable",
    edge_cases=(
        'topk(%x: (2, 4), k=2, dtype="int32")',
        'topk(%x: (3, 2), k=1, axis=0, is_ascend=True, ret_type="values")',
        'topk(%x: (2, 3), k=0, axis=-1, ret_type="indices", dtype="int64")',
        'topk(%x: (0, 3), k=2, axis=1, dtype="int32")',
    ),
)
def topk(attrs: Attrs, data: Array) -> ArrayOrArrays:
    """The k largest elements along one dimension in sorted order, with their indices."""
    return topk_arrays(data, attrs, attrs.k)


# ---------------------------------------------------------------- searchsorted
def _search_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    rows, values = tensor(types, 0, "sorted_sequence"), tensor(types, 1, "values")
    if rows is None or values is None:
        return None
    if not rows.shape:
        refuse("sorted_sequence must have at least one dimension", 0, found=rows)
    if rows.dtype != values.dtype:
        refuse("the values have another dtype than the sorted sequence", 1, expected=rows.dtype, found=values.dtype)
    if len(rows.shape) > 1 and not may_agree(rows.shape[:-1], values.shape[:-1]):
        refuse("sorted_sequence and values must agree in all dimensions but the last", 1, expected=rows, found=values)
    return TensorType(values.shape, attrs.dtype)


@operator(
    "searchsorted",
    ("sorted_sequence", "values"),
    attrs=attrs(
        "SearchSortedAttrs",
        boolean("right", False, doc="whether to return the index after equal elements"),
        dtype("dtype", "int32", doc="the dtype of the result"),
    ),
    relation=_search_type,
    level=6,
    gradient=zero_gradient,
    shapes="sorted_sequence (..., n), values (..., m) -> (..., m)",
    source="np.searchsorted",
    edge_cases=(
        "searchsorted(%s: (3) float32 = [1, 2, 2], %v: (2, 2) float32 = [[0, 2], [9, 1]])",
        (
            "searchsorted(%s: (2, 3) int32 = [[1, 2, 2], [0, 5, 7]], %v: (2, 2) int32 = [[2, 3], [5, 9]], "
            'right=True, dtype="int64")'
        ),
        "searchsorted(%s: (0) float32, %v: (2) float32)",
    ),
)
def searchsorted(attrs: Attrs, sorted_sequence: Array, values: Array) -> Array:
    """The indices at which values would be inserted into the sorted rows of the last dimension to keep them sorted."""
    side: Any = "right" if attrs.right else "left"
    result_dtype = array_dtype(attrs.dtype)
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, values, side)).astype(result_dtype)
    result = np.empty(values.shape, result_dtype)
    for row in np.ndindex(values.shape[:-1]):
        result[row] = np.searchsorted(sorted_sequence[row], values[row], side)
    return result


# ---------------------------------------------------------------- unique
@on_tensors
def _unique_type(attrs: Attrs, data: TensorType) -> Type:
    if len(data.shape) != 1:
        refuse("unique works on a vector", 0, found=data)
    positions = TensorType(data.shape, "int32")
    fields = [data, positions, positions, TensorType((1,), "int32")]
    return TupleType([*fields, positions] if attrs.return_counts else fields)


@operator(
    "unique",
    ("data",),
    attrs=attrs(
        "UniqueAttrs",
        boolean("sorted", True, doc="whether to sort the elements, or keep the order of first occurrence"),
        boolean("return_counts", False, doc="whether to count the elements"),
    ),
    relation=_unique_type,
    level=3,
    python=Python("data, is_sorted=True, return_counts=False", names={"is_sorted": "sorted"}),
    results=lambda attrs: 5 if attrs.return_counts else 4,
    shapes="(n) -> (n), whose first `count` elements are set, and positions",
    source="np.unique",
    edge_cases=(
        "unique(%x: (5) int32 = [3, 1, 3, 2, 1])",
        "unique(%x: (4) int64 = [2, 2, 1, 2], return_counts=True)",
        "unique(%x: (4) float32 = [2, 1, 2, 5], sorted=False)",
        "unique(%x: (0) int32)",
    ),
    no_gradient="equal elements are merged, so the size of the result jumps when they differ",
)
def unique(attrs: Attrs, data: Array) -> tuple[Array, ...]:
    """The distinct elements, their first indices, for each element its index among them, and their number.

    The size of the results does not depend on the values: the distinct elements are followed by zeros.
    """
    elements, first, inverse, counts = np.unique(
        data, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    if not attrs.sorted:
        order = np.argsort(first, kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        elements, first, counts, inverse = elements[order], first[order], counts[order], position[inverse]
    number = np.array([elements.size], np.int32)
    indices = inverse.reshape(-1).astype(np.int32)
    results = (_pad(elements, data), _pad(first.astype(np.int32), data), indices, number)
    return (*results, _pad(counts.astype(np.int32), data)) if attrs.return_counts else results


def _pad(values: Array, data: Array) -> Array:
    """Return a vector padded with zeros to the length of the data."""
    result = np.zeros(data.shape, values.dtype)
    result[: values.size] = values
    return result
