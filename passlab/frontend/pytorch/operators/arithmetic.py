"""Sums, products, quotients and powers, with PyTorch's promotion of dtypes."""

from __future__ import annotations

from typing import Any

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Number, TorchNode
from passlab.ir.expr import Expr


def _scale(n: TorchNode, x: Expr | Number, factor: Number) -> Expr | Number:
    if factor == 1:
        return x
    return x * factor if isinstance(x, (bool, int, float)) else n("multiply", x, n.constant(factor, n.dtype(x)))


@aten("add")
def add(n: TorchNode, x: Any, y: Any, alpha: Number = 1) -> Expr:
    """`add`."""
    a, b = n.promote(x, y)
    # The sum of booleans is a boolean in PyTorch; Relay's `add` takes numbers alone.
    return n("logical_or" if n.dtype(a) == "bool" else "add", a, _scale(n, b, alpha))


@aten("sub", "subtract")
def sub(n: TorchNode, x: Any, y: Any, alpha: Number = 1) -> Expr:
    """`subtract`."""
    a, b = n.promote(x, y)
    return n("subtract", a, _scale(n, b, alpha))


@aten("rsub")
def rsub(n: TorchNode, x: Any, y: Any, alpha: Number = 1) -> Expr:
    """`subtract` with swapped operands."""
    return sub(n, y, x, alpha)


@aten("mul", "multiply")
def mul(n: TorchNode, x: Any, y: Any) -> Expr:
    """`multiply`."""
    a, b = n.promote(x, y)
    return n("logical_and" if n.dtype(a) == "bool" else "multiply", a, b)


@aten("div", "true_divide", "divide")
def div(n: TorchNode, x: Any, y: Any, rounding_mode: str | None = None) -> Expr:
    """`divide`; with a rounding mode `floor_divide` or `trunc_divide`."""
    if rounding_mode is None:
        a, b = n.promote(x, y, dtype=n.out_dtype if n.result is not None else n.promoted_dtype(x, y, 1.0))
        return n("divide", a, b)
    a, b = n.promote(x, y)
    # Relay's integer divisions round exactly; floats are divided first, as PyTorch does.
    if n.is_float(a):
        return n("floor" if rounding_mode == "floor" else "trunc", n("divide", a, b))
    return n("floor_divide" if rounding_mode == "floor" else "trunc_divide", a, b)


@aten("floor_divide")
def floor_divide(n: TorchNode, x: Any, y: Any) -> Expr:
    """`floor_divide`."""
    return div(n, x, y, "floor")


@aten("remainder")
def remainder(n: TorchNode, x: Any, y: Any) -> Expr:
    """`floor_mod`: its sign follows the divisor."""
    return n("floor_mod", *n.promote(x, y))


@aten("fmod")
def fmod(n: TorchNode, x: Any, y: Any) -> Expr:
    """`mod`: its sign follows the dividend."""
    return n("mod", *n.promote(x, y))


@aten("pow")
def power(n: TorchNode, x: Any, y: Any) -> Expr:
    """`power`; a square is a product."""
    # A product and a root are correctly rounded and faster; the exponent 0.5 makes an integer a float.
    if isinstance(x, Expr) and isinstance(y, (int, float)) and y == 2:
        x = n.cast(x, n.promoted_dtype(x, y))
        return n("multiply", x, x)
    if isinstance(x, Expr) and y == 0.5:
        return n("sqrt", n.floating(x))
    return n("power", *n.promote(x, y))


@aten("hypot")
def hypot(n: TorchNode, x: Expr, y: Expr) -> Expr:
    """`sqrt(x * x + y * y)`."""
    a, b = n.promote(x, y)
    return n("sqrt", n("add", n("multiply", a, a), n("multiply", b, b)))


@aten("addcmul")
def addcmul(n: TorchNode, x: Expr, a: Expr, b: Expr, value: Number = 1) -> Expr:
    """`x + value * a * b`."""
    return add(n, x, _scale(n, mul(n, a, b), value))


@aten("addcdiv")
def addcdiv(n: TorchNode, x: Expr, a: Expr, b: Expr, value: Number = 1) -> Expr:
    """`x + value * a / b`."""
    return add(n, x, _scale(n, n("divide", *n.promote(a, b)), value))
