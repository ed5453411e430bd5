"""Elementwise functions and comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from passlab.frontend.formulas import to_even
from passlab.frontend.pytorch.entries import aten, enter
from passlab.frontend.pytorch.node import Number, TorchNode
from passlab.ir.expr import Expr


def _same(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# By PyTorch's name: Relay's. Functions in the first table convert integers to floats.
FLOATS = _same(
    "acos acosh asin asinh atan atanh cos cosh erf exp log log10 log2 rsqrt sigmoid sin sinh sqrt tan tanh"
) | {"special_erf": "erf", "special_expit": "sigmoid"}
PLAIN = _same("abs bitwise_not sign isfinite") | {
    "neg": "negative",
    "relu": "nn.relu",
    "sgn": "sign",
    "positive": "copy",
}
WHOLE = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "fix": "trunc"}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
}
LOGICAL = _same("logical_and logical_or logical_xor")
BITWISE = _same("bitwise_and bitwise_or bitwise_xor")
SHIFTS = {
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "__lshift__": "left_shift",
    "__rshift__": "right_shift",
}


def _of_floats(operator: str, n: TorchNode, x: Expr) -> Expr:
    return n(operator, n.floating(x))


def _plain(operator: str, n: TorchNode, x: Expr) -> Expr:
    return n(operator, x)


def _to_whole(operator: str, n: TorchNode, x: Expr) -> Expr:
    return n(operator, x) if n.is_float(x) else x


def _compare(operator: str, n: TorchNode, x: Any, y: Any) -> Expr:
    return n(operator, *n.together(x, y))


def _of_bits(operator: str, n: TorchNode, x: Any, y: Any) -> Expr:
    """The logical operator on booleans, which Relay's operators on bits do not take."""
    a, b = n.together(x, y)
    return n(operator.replace("bitwise", "logical") if n.dtype(a) == "bool" else operator, a, b)


def truth(n: TorchNode, x: Any) -> Expr:
    """Return whether elements are other than 0."""
    x = n.tensor(x)
    return x if n.dtype(x) == "bool" else n("not_equal", x, n.constant(0, x))


def _logical(operator: str, n: TorchNode, x: Any, y: Any) -> Expr:
    return n(operator, truth(n, x), truth(n, y))


_translate: Callable[..., Expr]
for _table, _translate in (
    (FLOATS, _of_floats),
    (PLAIN, _plain),
    (WHOLE, _to_whole),
    (COMPARISONS, _compare),
    (LOGICAL, _logical),
    (BITWISE, _of_bits),
    (SHIFTS, _of_bits),
):
    for _name, _operator in _table.items():
        enter(f"aten.{_name}", partial(_translate, _operator), f"`{_operator}`.")


@aten("logical_not")
def logical_not(n: TorchNode, x: Expr) -> Expr:
    """`logical_not`."""
    return n("logical_not", truth(n, x))


@aten("isnan")
def isnan(n: TorchNode, x: Expr) -> Expr:
    """`isnan`; no integer is."""
    return n("isnan", x) if n.is_float(x) else n("not_equal", x, x)


@aten("isinf")
def isinf(n: TorchNode, x: Expr) -> Expr:
    """`isinf`; no integer is."""
    return n("isinf", x) if n.is_float(x) else n("not_equal", x, x)


@aten("round")
def round_(n: TorchNode, x: Expr, decimals: int = 0) -> Expr:
    """The nearest whole number, of two as near the even one."""
    if not n.is_float(x):
        return x
    if not decimals:
        return to_even(n, x)
    scale = 10.0**decimals
    return n("divide", to_even(n, n("multiply", x, scale)), scale)


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
    x = n.floating(x)
    return n("multiply", n("tanh", n("multiply", x, 0.5)), n("add", n("exp", x), 1))


@aten("log1p")
def log1p(n: TorchNode, x: Expr) -> Expr:
    """`log(1 + x)`; near 0 `2 * atanh(x / (2 + x))`, which is exact there."""
    x = n.floating(x)
    near = n("less", n("abs", x), n.constant(0.5, x))
    inner = n("where", near, x, n.constant(0, x))
    series = n("multiply", n("atanh", n("divide", inner, n("add", inner, 2))), 2)
    return n("where", near, series, n("log", n("add", x, 1)))


@aten("atan2")
def atan2(n: TorchNode, y: Expr, x: Expr) -> Expr:
    """`atan(y / x)`, moved into the quadrant of the point. The sign of a zero does not count."""
    y, x = n.together(y, x, dtype=n.common(y, x, 1.0))
    zero, half = n.constant(0, x), n.constant(math.pi / 2, x)
    at_left = n("where", n("less", y, zero), n.constant(-math.pi, x), n.constant(math.pi, x))
    upright = n("where", n("greater", y, zero), half, n("where", n("less", y, zero), n("negative", half), zero))
    on_axis = n("equal", x, zero)
    angle = n("atan", n("divide", y, n("where", on_axis, n.constant(1, x), x)))
    turned = n("where", n("less", x, zero), n("add", angle, at_left), angle)
    return n("where", on_axis, upright, turned)


@aten("clamp", "clip")
def clamp(n: TorchNode, x: Expr, low: Any = None, high: Any = None, **named: Any) -> Expr:
    """`clip` by numbers, `maximum` and `minimum` by tensors."""
    low, high = named.get("min", low), named.get("max", high)
    bounds = [bound for bound in (low, high) if bound is not None]
    dtype = n.common(x, *bounds)
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
    """`where`; with a condition alone the places where it holds."""
    if x is None:
        positions = n("argwhere", truth(n, condition))
        return [n("take", positions, n.constant(axis, "int64"), axis=1) for axis in range(n.rank(condition))]
    return n("where", truth(n, condition), *n.together(x, y))


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
    """`where` for each of what is no number."""
    if not n.is_float(x):
        return x
    most = {"float16": 65504.0, "float32": 3.4028234663852886e38}.get(n.dtype(x), 1.7976931348623157e308)
    result = n("where", n("isnan", x), n.constant(nan or 0.0, x), x)
    for infinity, value in ((math.inf, posinf), (-math.inf, neginf)):
        bound = math.copysign(most, infinity) if value is None else value
        result = n("where", n("equal", x, n.constant(infinity, x)), n.constant(bound, x), result)
    return result
