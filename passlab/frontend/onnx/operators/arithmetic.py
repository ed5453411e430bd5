"""Operators on two or more tensors that broadcast: arithmetic, comparisons, logic of booleans and bits."""

from __future__ import annotations

from functools import partial

from passlab.frontend.onnx.entries import add_entry, onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr


def align_ranks(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Return the second operand so that it broadcasts: before opset 7 it is aligned with the attribute `axis`."""
    if n.version >= 7 or not n.flag("broadcast"):
        return b
    axis = n.axis(n.integer("axis", n.rank(a) - n.rank(b)), n.rank(a))
    missing_axes = n.rank(a) - axis - n.rank(b)
    return b if missing_axes <= 0 else n("expand_dims", b, axis=n.rank(b), num_newaxis=missing_axes)


# ONNX's name -> (Relay's name, the versions, what the manual adds)
BINARY: dict[str, tuple[str, tuple[int, ...], str]] = {
    "Add": ("add", (1, 6, 7, 13, 14), ""), "Sub": ("subtract", (1, 6, 7, 13, 14), ""),
    "Mul": ("multiply", (1, 6, 7, 13, 14), ""),
    "Div": ("divide", (1, 6, 7, 13, 14), ", which truncates quotients of integers"),
    "And": ("logical_and", (1, 7), ""), "Or": ("logical_or", (1, 7), ""), "Xor": ("logical_xor", (1, 7), ""),
    "Equal": ("equal", (1, 7, 11, 13, 19), ""), "Greater": ("greater", (1, 7, 9, 13), ""),
    "GreaterOrEqual": ("greater_equal", (12, 16), ""), "Less": ("less", (1, 7, 9, 13), ""),
    "LessOrEqual": ("less_equal", (12, 16), ""), "BitwiseAnd": ("bitwise_and", (18,), ""),
    "BitwiseOr": ("bitwise_or", (18,), ""), "BitwiseXor": ("bitwise_xor", (18,), ""),
}  # fmt: skip


def _binary(relay_name: str, n: OnnxNode, a: Expr, b: Expr) -> Expr:
    return n(relay_name, a, align_ranks(n, a, b))


for _name, (_relay_name, _versions, _note) in BINARY.items():
    add_entry(_name, _versions, partial(_binary, _relay_name), f"`{_relay_name}`{_note}.")


@onnx_operator("Pow", 1, 7, 12, 13, 15)
def power(n: OnnxNode, x: Expr, y: Expr) -> Expr:
    """`power`, in the wider of both dtypes; the result has the dtype of the base."""
    y = align_ranks(n, x, y)
    if n.dtype(x) == n.dtype(y):
        return n("power", x, y)
    wide = n.dtype(x) if n.is_float(x) else n.dtype(y) if n.is_float(y) else "int64"  # the dtype that loses least
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


def chain(n: OnnxNode, operator: str, tensors: tuple[Expr, ...]) -> Expr:
    """Return tensors combined pairwise, from the first on, by an operator."""
    result = tensors[0]
    for tensor in tensors[1:]:
        result = n(operator, result, tensor)
    return result


def _variadic(relay_name: str, n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    return chain(n, relay_name, (first, *others))


for _name, _relay_name, _versions in (
    ("Sum", "add", (1, 6, 8, 13)),
    ("Max", "maximum", (1, 6, 8, 12, 13)),
    ("Min", "minimum", (1, 6, 8, 12, 13)),
):
    add_entry(_name, _versions, partial(_variadic, _relay_name), f"`{_relay_name}`, once for each further tensor.")


@onnx_operator("Mean", 1, 6, 8, 13)
def mean(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """The sum of all tensors, divided by their number."""
    result = chain(n, "add", (first, *others))
    return n("divide", result, 1 + len(others)) if others else result
