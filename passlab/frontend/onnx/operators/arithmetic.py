"""Operators on two or more tensors that broadcast."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr


def align_ranks(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Return the second operand so that it broadcasts: before opset 7 it is aligned with the attribute `axis`."""
    if n.version >= 7 or not n.flag("broadcast"):
        return b
    axis = n.axis(n.integer("axis", n.rank(a) - n.rank(b)), n.rank(a))
    missing_axes = n.rank(a) - axis - n.rank(b)
    return b if missing_axes <= 0 else n("expand_dims", b, axis=n.rank(b), num_newaxis=missing_axes)


@onnx_operator("Add", 1, 6, 7, 13, 14)
def add(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`add`."""
    return n("add", a, align_ranks(n, a, b))


@onnx_operator("Sub", 1, 6, 7, 13, 14)
def subtract(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`subtract`."""
    return n("subtract", a, align_ranks(n, a, b))


@onnx_operator("Mul", 1, 6, 7, 13, 14)
def multiply(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`multiply`."""
    return n("multiply", a, align_ranks(n, a, b))


@onnx_operator("Div", 1, 6, 7, 13, 14)
def divide(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`divide`, which truncates quotients of integers."""
    return n("divide", a, align_ranks(n, a, b))


@onnx_operator("Pow", 1, 7, 12, 13, 15)
def power(n: OnnxNode, x: Expr, y: Expr) -> Expr:
    """`power`, in the wider of both dtypes; the result has the dtype of the base."""
    y = align_ranks(n, x, y)
    if n.dtype(x) == n.dtype(y):
        return n("power", x, y)
    wide = n.dtype(x) if n.is_float(x) else n.dtype(y) if n.is_float(y) else "int64"
    return n.cast(n("power", n.cast(x, wide), n.cast(y, wide)), n.dtype(x))


@onnx_operator("Mod", 10, 13, 28)
def modulo(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`trunc_mod` where `fmod` is set, `floor_mod` otherwise."""
    return n("trunc_mod" if n.flag("fmod") else "floor_mod", a, b)


@onnx_operator("BitShift", 11, 28)
def bit_shift(n: OnnxNode, x: Expr, y: Expr) -> Expr:
    """`left_shift` or `right_shift`."""
    direction = n.choice("direction", "", ("LEFT", "RIGHT"))
    return n("left_shift" if direction == "LEFT" else "right_shift", x, y)


@onnx_operator("BitwiseAnd", 18)
def bitwise_and(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`bitwise_and`."""
    return n("bitwise_and", a, b)


@onnx_operator("BitwiseOr", 18)
def bitwise_or(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`bitwise_or`."""
    return n("bitwise_or", a, b)


@onnx_operator("BitwiseXor", 18)
def bitwise_xor(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`bitwise_xor`."""
    return n("bitwise_xor", a, b)


def chain(n: OnnxNode, operator: str, tensors: tuple[Expr, ...]) -> Expr:
    """Return tensors combined pairwise, from the first on, by an operator."""
    result = tensors[0]
    for tensor in tensors[1:]:
        result = n(operator, result, tensor)
    return result


@onnx_operator("Sum", 1, 6, 8, 13)
def total(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """`add`, once for each further tensor."""
    return chain(n, "add", (first, *others))


@onnx_operator("Max", 1, 6, 8, 12, 13)
def maximum(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """`maximum`, once for each further tensor."""
    return chain(n, "maximum", (first, *others))


@onnx_operator("Min", 1, 6, 8, 12, 13)
def minimum(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """`minimum`, once for each further tensor."""
    return chain(n, "minimum", (first, *others))


@onnx_operator("Mean", 1, 6, 8, 13)
def mean(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """The sum of all tensors, divided by their number."""
    result = chain(n, "add", (first, *others))
    return n("divide", result, 1 + len(others)) if others else result
