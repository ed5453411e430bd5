"""Elementwise functions, comparisons and extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from passlab.frontend.formulas import expm1_of, round_half_to_even
from passlab.frontend.pytorch.entries import add_entry, aten
from passlab.frontend.pytorch.node import Number, TorchNode
from passlab.ir.expr import Expr


def _same_names(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# By PyTorch's name: Relay's. Functions in the first table convert integers to floats.
FLOATS = _same_names(
    "acos acosh asin asinh atan atanh cos cosh erf exp log log10 log2 rsqrt sigmoid sin sinh sqrt tan tanh"
) | {"special_erf": "erf", "special_expit": "sigmoid"}
SAME_DTYPE = _same_names("abs bitwise_not sign isfinite") | {
    "neg": "negative",
    "relu": "nn.relu",
    "sgn": "sign",
    "positive": "copy",
}
ROUNDINGS = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "fix": "trunc"}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
}
EXTREMES = _same_names("maximum minimum")
LOGICAL = _same_names("logical_and logical_or logical_xor")
BITWISE = _same_names("bitwise_and bitwise_or bitwise_xor")
SHIFTS = {
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "__lshift__": "left_shift",
    "__rshift__": "right_shift",
}


def _of_floats(operator: str, n: TorchNode, x: Expr) -> Expr:
    return n(operator, n.floating(x))


def _unary(operator: str, n: TorchNode, x: Expr) -> Expr:
    return n(operator, x)


def _round(operator: str, n: TorchNode, x: Expr) -> Expr:
    return n(operator, x) if n.is_float(x) else x


def _promote(operator: str, n: TorchNode, x: Any, y: Any) -> Expr:
    return n(operator, *n.promote(x, y))


def _bitwise(operator: str, n: TorchNode, x: Any, y: Any) -> Expr:
    """The bitwise operator; on booleans, which Relay's bitwise operators do not take, the logical one."""
    a, b = n.promote(x, y)
    return n(operator.replace("bitwise", "logical") if n.dtype(a) == "bool" else operator, a, b)


def as_bool(n: TorchNode, x: Any) -> Expr:
    """Return whether elements are other than 0."""
    x = n.tensor(x)
    return x if n.dtype(x) == "bool" else n("not_equal", x, n.constant(0, x))


def _logical(operator: str, n: TorchNode, x: Any, y: Any) -> Expr:
    return n(operator, as_bool(n, x), as_bool(n, y))


_translate: Callable[..., Expr]
for _table, _translate in (
    (FLOATS, _of_floats),
    (SAME_DTYPE, _unary),
    (ROUNDINGS, _round),
    (COMPARISONS, _promote),
    (EXTREMES, _promote),
    (LOGICAL, _logical),
    (BITWISE, _bitwise),
    (SHIFTS, _bitwise),
):
    for _name, _operator in _table.items():
        add_entry(f"aten.{_name}", partial(_translate, _operator), f"`{_operator}`.")


@aten("logical_not")
def logical_not(n: TorchNode, x: Expr) -> Expr:
    """`logical_not`."""
    return n("logical_not", as_bool(n, x))


@aten("isnan")
def isnan(n: TorchNode, x: Expr) -> Expr:
    """`isnan`; false for integers."""
    return n("isnan", x) if n.is_float(x) else n("not_equal", x, x)  # false everywhere, for any shape


@aten("isinf")
def isinf(n: TorchNode, x: Expr) -> Expr:
    """`isinf`; false for integers."""
    return n("isinf", x) if n.is_float(x) else n("not_equal", x, x)


@aten("round")
def round_(n: TorchNode, x: Expr, decimals: int = 0) -> Expr:
    """`round`, with halves to even."""
    if not n.is_float(x):
        return x
    if not decimals:
        return round_half_to_even(n, x)
    scale = 10.0**decimals
    return n("divide", round_half_to_even(n, n("multiply", x, scale)), scale)


@aten("reciprocal")
def reciprocal(n: TorchNode, x: Expr) -> Expr:
    """`1 / x`."""
    x = n.floating(x)
    return n("divide", n.constant(1, x), x)


@aten("square")
def square(n: TorchNode, x: Expr) -> Expr:
    """`x * x`."""
    return n("multiply", x, x)


@aten("expm1")
def expm1(n: TorchNode, x: Expr) -> Expr:
    """`tanh(x / 2) * (exp(x) + 1)`, which is exact near 0."""
    return expm1_of(n, n.floating(x))


@aten("log1p")
def log1p(n: TorchNode, x: Expr) -> Expr:
    """`log(1 + x)`; near 0 `2 * atanh(x / (2 + x))`, which is exact there."""
    x = n.floating(x)
    near = n("less", n("abs", x), n.constant(0.5, x))
    inner = n("where", near, x, n.constant(0, x))  # `where` computes both sides: elsewhere the series could overflow
    series = n("multiply", n("atanh", n("divide", inner, n("add", inner, 2))), 2)
    return n("where", near, series, n("log", n("add", x, 1)))


@aten("atan2")
def atan2(n: TorchNode, y: Expr, x: Expr) -> Expr:
    """`atan(y / x)`, moved into the quadrant of the point. The sign of zero is ignored."""
    y, x = n.promote(y, x, dtype=n.promoted_dtype(y, x, 1.0))  # 1.0 makes integers floats
    zero, half = n.constant(0, x), n.constant(math.pi / 2, x)
    left_offset = n("where", n("less", y, zero), n.constant(-math.pi, x), n.constant(math.pi, x))
    upright = n("where", n("greater", y, zero), half, n("where", n("less", y, zero), n("negative", half), zero))
    on_axis = n("equal", x, zero)  # these points are divided by 1, and their angle is `upright`
    angle = n("atan", n("divide", y, n("where", on_axis, n.constant(1, x), x)))
    in_quadrant = n("where", n("less", x, zero), n("add", angle, left_offset), angle)
    return n("where", on_axis, upright, in_quadrant)


@aten("clamp", "clip")
def clamp(n: TorchNode, x: Expr, low: Any = None, high: Any = None, **named: Any) -> Expr:
    """`clip` by numbers, `maximum` and `minimum` by tensors."""
    low, high = named.get("min", low), named.get("max", high)  # the schema's names, which Python's functions have
    bounds = [bound for bound in (low, high) if bound is not None]
    dtype = n.promoted_dtype(x, *bounds)
    x = n.cast(x, dtype)
    if len(bounds) == 2 and all(isinstance(bound, (int, float)) for bound in bounds) and n.is_float(x):
        return n("clip", x, a_min=float(low), a_max=float(high))
    if low is not None:
        x = n("maximum", x, n.tensor(low, dtype))
    return x if high is None else n("minimum", x, n.tensor(high, dtype))


@aten("clamp_min")
def clamp_min(n: TorchNode, x: Expr, low: Any) -> Expr:
    """`maximum`."""
    return clamp(n, x, low)


@aten("clamp_max")
def clamp_max(n: TorchNode, x: Expr, high: Any) -> Expr:
    """`minimum`."""
    return clamp(n, x, None, high)


@aten("where")
def where(n: TorchNode, condition: Expr, x: Any = None, y: Any = None) -> Expr | list[Expr]:
    """`where`; of a condition alone, the indices where it holds."""
    if x is None:  # one vector of indices for each axis, as NumPy's `nonzero`
        positions = n("argwhere", as_bool(n, condition))
        return [n("take", positions, n.constant(axis, "int64"), axis=1) for axis in range(n.rank(condition))]
    return n("where", as_bool(n, condition), *n.promote(x, y))


@aten("masked_fill")
def masked_fill(n: TorchNode, x: Expr, mask: Expr, value: Any) -> Expr:
    """`where`."""
    return n("where", mask, n.tensor(value, n.dtype(x)), x)


@aten("lerp")
def lerp(n: TorchNode, start: Expr, end: Expr, weight: Expr | Number) -> Expr:
    """`start + weight * (end - start)`."""
    return n("add", start, n("multiply", n("subtract", end, start), n.tensor(weight, n.dtype(start))))


@aten("nan_to_num")
def nan_to_num(
    n: TorchNode, x: Expr, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Expr:
    """`where`, once for NaN and once for each infinity."""
    if not n.is_float(x):
        return x
    # By default infinities become the largest finite numbers of the dtype.
    largest = {"float16": 65504.0, "float32": 3.4028234663852886e38}.get(n.dtype(x), 1.7976931348623157e308)
    result = n("where", n("isnan", x), n.constant(nan or 0.0, x), x)
    for infinity, value in ((math.inf, posinf), (-math.inf, neginf)):
        bound = math.copysign(largest, infinity) if value is None else value
        result = n("where", n("equal", x, n.constant(infinity, x)), n.constant(bound, x), result)
    return result
