"""Sorting, and counts of what falls between bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.ir.expr import Expr


@aten("sort")
def sort(n: TorchNode, x: Expr, *args: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> list[Expr]:
    """`argsort`, which is stable, and `gather`."""
    # The overloads (dim, descending) and (stable, dim, descending); `argsort` is stable in any case.
    values = list(args)
    if n.overload == "stable" and values:
        values.pop(0)
    dim = values[0] if values else dim
    descending = values[1] if len(values) > 1 else descending
    axis = n.axis(dim, n.rank(x))
    positions = n("argsort", x, axis=axis, is_ascend=not descending, dtype="int64")
    return [n("gather", x, axis=axis, indices=positions), positions]


@aten("argsort")
def argsort(n: TorchNode, x: Expr, *args: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Expr:
    """`argsort`."""
    return sort(n, x, *args, dim=dim, descending=descending)[1]


@aten("topk")
def topk(n: TorchNode, x: Expr, k: Any, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> list[Expr]:
    """`topk`."""
    axis = n.axis(dim, n.rank(x))
    result = n("topk", x, k=n.static_int(k), axis=axis, ret_type="both", is_ascend=not largest, dtype="int64")
    return n.fields(result, 2)


@aten("kthvalue")
def kthvalue(n: TorchNode, x: Expr, k: Any, dim: int = -1, keepdim: bool = False) -> list[Expr]:
    """The last of the `k` smallest elements, by `topk`."""
    smallest = topk(n, x, k, dim, False)
    axis, at = n.axis(dim, n.rank(x)), n.constant([n.static_int(k) - 1], "int64")
    last = [n("take", part, at, axis=axis) for part in smallest]
    return last if keepdim else [n("squeeze", part, axis=[axis]) for part in last]


@aten("median")
def median(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr | list[Expr]:
    """The lower of the two middle elements, by `argsort`; NaN if an element is NaN."""
    return _middle(n, x, dim, keepdim, False)


@aten("nanmedian")
def nanmedian(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr | list[Expr]:
    """The lower of the two middle elements that are not NaN, by `argsort`."""
    return _middle(n, x, dim, keepdim, True)


def _middle(n: TorchNode, x: Expr, dim: Any, keepdim: bool, skips_nan: bool) -> Expr | list[Expr]:
    """Return the middle element of all, or the middle elements along an axis and their places."""
    data = n("reshape", x, newshape=[-1]) if dim is None else x
    axis, one = 0 if dim is None else n.axis(dim, n.rank(x)), n.constant(1, "int64")

    def place(counted: Expr) -> tuple[Expr, Expr]:
        """Return the number of the elements that are counted, and the place of their middle in the order."""
        count = n("sum", n.cast(counted, "int64"), axis=[axis], keepdims=True)
        return count, n("right_shift", n("subtract", count, one), one)

    count, at = place(n("ones_like", n.cast(data, "int64")))
    if not n.dtype(x).startswith(("int", "uint")):
        numbers, middle = place(n("equal", data, data))  # NaN comes last in the order
        if skips_nan:
            at = n("maximum", middle, n.constant(0, "int64"))
        else:
            at = n("where", n("less", numbers, count), n("subtract", count, one), at)
    places = n("gather", n("argsort", data, axis=axis, dtype="int64"), axis=axis, indices=at)
    parts = [n("gather", data, axis=axis, indices=places), places]
    parts = parts if keepdim else [n("squeeze", part, axis=[axis]) for part in parts]
    return parts[0] if dim is None else parts


@aten("searchsorted")
def searchsorted(
    n: TorchNode, sequence: Expr, values: Expr, out_int32: bool = False, right: bool = False, **_: Any
) -> Expr:
    """`searchsorted`."""
    return n("searchsorted", sequence, values, right=right, dtype="int32" if out_int32 else "int64")


@aten("bucketize")
def bucketize(n: TorchNode, values: Expr, boundaries: Expr, out_int32: bool = False, right: bool = False) -> Expr:
    """`searchsorted`."""
    return searchsorted(n, boundaries, values, out_int32, right)


@aten("histc")
def histc(n: TorchNode, x: Expr, bins: Any = 100, min: float = 0, max: float = 0) -> Expr:  # noqa: A002
    """`searchsorted` among the bounds of the bins, and `scatter_elements` of the counts; others are not counted."""
    count, dtype = n.static_int(bins), n.dtype(x)
    flat = n("reshape", x, newshape=[-1])
    steps = n.array(np.arange(count + 1, dtype=dtype))
    if min == max:  # the bounds are those of the data, or 1 around them where all of it is equal
        low, high = (n(extreme, flat, axis=[0], keepdims=True) for extreme in ("min", "max"))
        apart = n("cast", n("equal", low, high), dtype=dtype)
        low, high = n("subtract", low, apart), n("add", high, apart)
        width = n("divide", n("subtract", high, low), n.constant(count, dtype))
        bounds = n("add", low, n("multiply", steps, width))
    else:
        low, high = n.constant(min, dtype), n.constant(max, dtype)
        bounds = n.array(np.linspace(min, max, count + 1, dtype=dtype))
    above = n("searchsorted", bounds, flat, right=True, dtype="int64")
    last = n.constant(count - 1, "int64")  # the upper bound belongs to the last bin
    places = n("maximum", n("minimum", n("subtract", above, n.constant(1, "int64")), last), n.constant(0, "int64"))
    inside = n("logical_and", n("greater_equal", flat, low), n("less_equal", flat, high))
    zeros = n.array(np.zeros(count, dtype))
    return n("scatter_elements", zeros, places, n("cast", inside, dtype=dtype), axis=0, reduction="add")
