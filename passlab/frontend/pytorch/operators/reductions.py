"""Reductions: sums, means, extremes and others along axes."""

from __future__ import annotations

import math
from typing import Any

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Number, TorchNode
from passlab.frontend.pytorch.operators.elementwise import as_bool
from passlab.frontend.sizes import as_vector, product, size_of
from passlab.ir.expr import Expr


@aten("sum")
def sum_(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Expr:
    """`sum`, of integers in int64."""
    return n("sum", n.cast(x, n.out_dtype), axis=n.axes(dim, x), keepdims=keepdim)


@aten("mean")
def mean(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Expr:
    """`mean`."""
    return n("mean", n.cast(x, n.out_dtype), axis=n.axes(dim, x), keepdims=keepdim)


@aten("prod")
def prod(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Expr:
    """`prod`, of integers in int64."""
    return n("prod", n.cast(x, n.out_dtype), axis=n.axes(dim, x), keepdims=keepdim)


@aten("amax")
def amax(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    """`max`."""
    return n("max", x, axis=n.axes(dim, x), keepdims=keepdim)


@aten("amin")
def amin(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    """`min`."""
    return n("min", x, axis=n.axes(dim, x), keepdims=keepdim)


def _extreme(n: TorchNode, kind: str, x: Expr, other: Any, keepdim: bool) -> Expr | list[Expr]:
    if isinstance(other, Expr):
        return n(f"{kind}imum", *n.promote(x, other))
    if other is None:
        return n(kind, x, axis=n.axes(None, x), keepdims=False)
    axis = n.axes(other, x)
    return [n(kind, x, axis=axis, keepdims=keepdim), _arg_along(n, f"arg{kind}", x, axis, keepdim)]


def _arg_along(n: TorchNode, kind: str, x: Expr, axis: list[int], keepdim: bool) -> Expr:
    return n.cast(n(kind, x, axis=axis, keepdims=keepdim), "int64")


@aten("max")
def max_(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr | list[Expr]:
    """`max`; along one axis also `argmax`; of two tensors `maximum`."""
    return _extreme(n, "max", x, dim, keepdim)


@aten("min")
def min_(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr | list[Expr]:
    """`min`; along one axis also `argmin`; of two tensors `minimum`."""
    return _extreme(n, "min", x, dim, keepdim)


@aten("aminmax")
def aminmax(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> list[Expr]:
    """`min` and `max`."""
    axis = n.axes(dim, x)
    return [n(kind, x, axis=axis, keepdims=keepdim) for kind in ("min", "max")]


@aten("argmax")
def argmax(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    """`argmax`."""
    return _arg_extreme(n, "argmax", x, dim, keepdim)


@aten("argmin")
def argmin(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    """`argmin`."""
    return _arg_extreme(n, "argmin", x, dim, keepdim)


def _arg_extreme(n: TorchNode, kind: str, x: Expr, dim: Any, keepdim: bool) -> Expr:
    if dim is not None:
        return _arg_along(n, kind, x, n.axes(dim, x), keepdim)
    # Without an axis, PyTorch returns an index into the flattened tensor.
    result = _arg_along(n, kind, n("reshape", x, newshape=[-1]), [0], False)
    return n("reshape", result, newshape=[1] * n.rank(x)) if keepdim else result


@aten("any")
def any_(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    """`any`."""
    return n("any", as_bool(n, x), axis=n.axes(dim, x), keepdims=keepdim)


@aten("all")
def all_(n: TorchNode, x: Expr, dim: Any = None, keepdim: bool = False) -> Expr:
    """`all`."""
    return n("all", as_bool(n, x), axis=n.axes(dim, x), keepdims=keepdim)


def _variance(n: TorchNode, x: Expr, axes: list[int], correction: Number, keepdim: bool) -> Expr:
    """Return the variance, divided by the number of elements minus the correction."""
    # Relay divides by the count, PyTorch by the count minus the correction.
    result = n("variance", x, axis=axes, keepdims=keepdim)
    if correction == 0:
        return result
    count = product(n, [size_of(n, x, axis) for axis in axes])
    if isinstance(count, int):
        return n("multiply", result, count / (count - correction) if count > correction else math.nan)
    total = n.cast(n("reshape", count, newshape=[]), n.dtype(x))  # an unknown size is a vector of one element
    return n("multiply", result, n("divide", total, n("subtract", total, n.constant(correction, total))))


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Number]:
    if isinstance(dim, bool):  # the overload (x, unbiased)
        return None, int(dim)
    if unbiased is not None:
        return dim, int(unbiased)
    # Without a correction PyTorch divides by the count minus 1 (Bessel's correction).
    return dim, 1 if correction is None else correction


@aten("var")
def var(
    n: TorchNode, x: Expr, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None
) -> Expr:
    """`variance`."""
    dim, correction_value = _correction(dim, unbiased, correction)
    return _variance(n, x, n.axes(dim, x), correction_value, keepdim)


@aten("std")
def std(
    n: TorchNode, x: Expr, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None
) -> Expr:
    """The root of the `variance`."""
    return n("sqrt", var(n, x, dim, unbiased, keepdim, correction))


@aten("var_mean")
def var_mean(
    n: TorchNode, x: Expr, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None
) -> list[Expr]:
    """`variance` and `mean`."""
    dim, correction_value = _correction(dim, unbiased, correction)
    axes = n.axes(dim, x)
    return [_variance(n, x, axes, correction_value, keepdim), n("mean", x, axis=axes, keepdims=keepdim)]


@aten("cumsum")
def cumsum(n: TorchNode, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """`cumsum`."""
    return n("cumsum", n.cast(x, n.out_dtype), axis=n.axis(dim, n.rank(x)))


@aten("cumprod")
def cumprod(n: TorchNode, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """`cumprod`."""
    return n("cumprod", n.cast(x, n.out_dtype), axis=n.axis(dim, n.rank(x)))


@aten("logsumexp")
def logsumexp(n: TorchNode, x: Expr, dim: Any, keepdim: bool = False) -> Expr:
    """`log(sum(exp(x - m))) + m` with the maximum m, without overflow."""
    axes = n.axes(dim, x)
    top = n("max", x, axis=axes, keepdims=True)
    total = n("sum", n("exp", n("subtract", x, top)), axis=axes, keepdims=True)
    result = n("add", n("log", total), top)
    return result if keepdim else n("squeeze", result, axis=axes)


@aten("linalg_vector_norm")
def vector_norm(
    n: TorchNode, x: Expr, order: Number = 2, dim: Any = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    """The root of the `sum` of powers; the maximum or minimum for an infinite order."""
    axes = n.axes(dim, x)
    if order == 0:  # the number of elements other than 0
        return n("sum", n.cast(as_bool(n, x), n.out_dtype), axis=axes, keepdims=keepdim)
    return _norm(n, n("abs", n.cast(x, n.out_dtype)), order, axes, keepdim)


def _norm(n: TorchNode, size: Expr, order: Number, axes: list[int], keepdim: bool) -> Expr:
    """Return the norm of absolute values. Products and roots are faster than powers, and more accurate."""
    if math.isinf(order):
        return n("max" if order > 0 else "min", size, axis=axes, keepdims=keepdim)
    powers = size if order == 1 else n("multiply", size, size) if order == 2 else n("power", size, float(order))
    total = n("sum", powers, axis=axes, keepdims=keepdim)
    return total if order == 1 else n("sqrt", total) if order == 2 else n("power", total, 1 / order)


@aten("_cdist_forward")
def cdist(n: TorchNode, a: Expr, b: Expr, p: float, compute_mode: int | None = None) -> Expr:
    """The norms of the differences between the rows of two matrices."""
    rank = n.rank(a)
    # Each row of one matrix meets each row of the other by broadcasting along an axis of its own.
    apart = n("abs", n("subtract", n("expand_dims", a, axis=rank - 1), n("expand_dims", b, axis=rank - 2)))
    return _norm(n, apart, p, [rank], False)


@aten("_pdist_forward")
def pdist(n: TorchNode, x: Expr, p: float = 2.0) -> Expr:
    """The norms of the differences between each row and the rows after it."""
    rows = size_of(n, x, 0)
    shape = as_vector(n, [rows, rows])
    later = n("trilu", n("ones", shape=shape, dtype="bool"), k=n.constant(1, "int64"), upper=True)
    pairs = n("argwhere", later)  # of a row and a later one
    one, other = (n("take", x, n("take", pairs, n.constant(at, "int64"), axis=1), axis=0) for at in range(2))
    return vector_norm(n, n("subtract", one, other), p, [1])
