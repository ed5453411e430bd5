"""Running sums and products along one dimension."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, dtype, integer
from passlab.op.declare import Python, call, operator
from passlab.op.dtypes import Array, array_dtype
from passlab.op.relations import normal_axis, on_tensors, product

SCAN = attrs(
    "ScanopAttrs",
    integer("axis", None, doc="the dimension to scan, None for all elements in order"),
    dtype("dtype", "", doc="the dtype of the result, by default the dtype of the data"),
    boolean("exclusive", False, doc="whether each result excludes its own element"),
)


@on_tensors
def _scan_type(attrs: Attrs, data: TensorType) -> Type:
    if attrs.axis is None:
        return TensorType((product(data.shape),), attrs.dtype or data.dtype)
    normal_axis(attrs.axis, len(data.shape))
    return TensorType(data.shape, attrs.dtype or data.dtype)


_LONG_ROW = 64  # elements: from this length on, adding whole rows is faster than separate running sums


def _accumulate(ufunc: np.ufunc, data: Array, axis: int) -> Array:
    """Return running results. Along outer axes whole rows are combined at once, in the same order of elements."""
    if data.ndim < 2 or data.strides[axis] < _LONG_ROW * data.itemsize or not data.flags.c_contiguous:
        return np.asarray(ufunc.accumulate(data, axis=axis, dtype=data.dtype))
    result = data.copy()
    rows = np.moveaxis(result, axis, 0)
    for previous, row in pairwise(rows):
        ufunc(previous, row, out=row)
    return result


def _scan_kernel(ufunc: np.ufunc, start: int, attrs: Attrs, data: Array) -> Array:
    """The kernel of a scan; an exclusive one starts with `start` and omits the last element."""
    rows = data.reshape(-1) if attrs.axis is None else data
    axis = attrs.axis if attrs.axis is not None else 0
    rows = rows.astype(array_dtype(attrs.dtype) if attrs.dtype else data.dtype, copy=False)
    if not attrs.exclusive:
        return _accumulate(ufunc, rows, axis)
    result = np.full(rows.shape, start, rows.dtype)
    np.moveaxis(result, axis, 0)[1:] = np.moveaxis(_accumulate(ufunc, rows, axis), axis, 0)[:-1]
    return result


def _scan(name: str, ufunc: np.ufunc, start: int, doc: str, gradient: Any = None) -> Op:
    return operator(
        name,
        ("data",),
        layout=layout_rules.along(),
        attrs=SCAN,
        relation=_scan_type,
        level=3,
        silenced=True,
        python=Python("data, axis=None, dtype=None, exclusive=None", dtype=lambda dtype: dtype or "", exclusive=bool),
        doc=doc,
        gradient=gradient,
        shapes="S -> S, or (size of S) without axis",
        source=f"np.{name}",
        edge_cases=(
            f"{name}(%x: (2, 3), axis=-1)",
            f"{name}(%x: (2, 3))",
            f"{name}(%x: (2, 3), axis=0, exclusive=True)",
            f"{name}(%x: (0, 3), axis=0)",
            f'{name}(%x: (3), axis=0, dtype="int64")',
        ),
    )(partial(_scan_kernel, ufunc, start))


def _cumsum_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """Each element contributes to all sums after it: a running sum from the other end."""
    return [_reverse_cumsum(grad, orig)]


def _reverse_cumsum(value: Expr, orig: OpCall) -> Expr:
    """Return running sums from the other end, in the shape and dtype of the data of a scan."""
    data, attrs = orig.args[0], orig.attrs
    axis = attrs["axis"] if attrs["axis"] is not None else 0
    sums = call("cumsum", call("reverse", value, axis=axis), axis=axis, exclusive=attrs["exclusive"])
    return call("cast_like", call("reshape_like", call("reverse", sums, axis=axis), data), data)


def _cumprod_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """Each element is a factor of all later products; as for `prod`, none may be zero."""
    return [_reverse_cumsum(grad * orig, orig) / orig.args[0]]


cumsum = _scan("cumsum", np.add, 0, "The running sums along one dimension; integers wrap.", _cumsum_grad)
cumprod = _scan("cumprod", np.multiply, 1, "The running products along one dimension; integers wrap.", _cumprod_grad)
