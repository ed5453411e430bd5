"""Elementwise operators that Relay has, possibly under another name."""

from __future__ import annotations

from functools import partial

from passlab.frontend.formulas import round_half_to_even
from passlab.frontend.onnx.entries import add_entry, onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.tensors import dtype_of
from passlab.ir.expr import Expr

# By ONNX's name: Relay's, then the versions. Attributes of the first definitions do not affect the result.
RENAMED: dict[str, tuple[str, tuple[int, ...]]] = {
    "Abs": ("abs", (1, 6, 13)), "Acos": ("acos", (7, 22)), "Acosh": ("acosh", (9, 22)), "Asin": ("asin", (7, 22)),
    "Asinh": ("asinh", (9, 22)), "Atan": ("atan", (7, 22)), "Atanh": ("atanh", (9, 22)),
    "BitwiseNot": ("bitwise_not", (18,)), "Ceil": ("ceil", (1, 6, 13)), "Cos": ("cos", (7, 22)),
    "Cosh": ("cosh", (9, 22)), "Erf": ("erf", (9, 13)), "Exp": ("exp", (1, 6, 13)), "Floor": ("floor", (1, 6, 13)),
    "IsNaN": ("isnan", (9, 13, 20)), "Log": ("log", (1, 6, 13)), "Neg": ("negative", (1, 6, 13)),
    "Not": ("logical_not", (1,)), "Relu": ("nn.relu", (1, 6, 13, 14)),
    "Sigmoid": ("sigmoid", (1, 6, 13)), "Sign": ("sign", (9, 13)), "Sin": ("sin", (7, 22)),
    "Sinh": ("sinh", (9, 22)), "Sqrt": ("sqrt", (1, 6, 13)), "Tan": ("tan", (7, 22)), "Tanh": ("tanh", (1, 6, 13)),
}  # fmt: skip


def _rename(relay_name: str, n: OnnxNode, x: Expr) -> Expr:
    return n(relay_name, x)


for _name, (_relay_name, _versions) in RENAMED.items():
    add_entry(_name, _versions, partial(_rename, _relay_name), f"`{_relay_name}`.")


@onnx_operator("Round", 11, 22)
def round_(n: OnnxNode, x: Expr) -> Expr:
    """`round`; a half becomes twice the `round` of its half, the even neighbour."""
    return round_half_to_even(n, x)


@onnx_operator("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(n: OnnxNode, x: Expr) -> Expr:
    """Its input."""
    return x


@onnx_operator("Reciprocal", 1, 6, 13)
def reciprocal(n: OnnxNode, x: Expr) -> Expr:
    """`divide` of one."""
    return n("divide", n.constant(1, x), x)


@onnx_operator("IsInf", 10, 20)
def is_inf(n: OnnxNode, x: Expr) -> Expr:
    """`isinf`, or a comparison with one infinity."""
    positive, negative = n.flag("detect_positive", True), n.flag("detect_negative", True)
    if positive and negative:
        return n("isinf", x)
    infinity = n.constant(float("inf") if positive else float("-inf"), x)
    if positive or negative:
        return n("equal", x, infinity)
    return n("not_equal", n("isinf", x), n("isinf", x))  # false everywhere


@onnx_operator("Clip", 1, 6, 11, 12, 13)
def clip(n: OnnxNode, x: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """`clip` where both bounds are known and the elements are floats; `maximum` and `minimum` otherwise."""
    if n.version < 11:
        low, high = (n.constant(n.number(name), x) if n.has(name) else None for name in ("min", "max"))
    bounds = [n.value(bound) for bound in (low, high) if bound is not None]
    if len(bounds) == 2 and n.is_float(x) and all(bound is not None and bound.size == 1 for bound in bounds):
        a_min, a_max = (float(bound.reshape(-1)[0]) for bound in bounds if bound is not None)
        if a_min <= a_max:  # where bounds cross, ONNX takes the upper one, as below
            return n("clip", x, a_min=a_min, a_max=a_max)
    for operator, bound in (("maximum", low), ("minimum", high)):
        x = x if bound is None else n(operator, x, bound)
    return x


@onnx_operator("Cast", 1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(n: OnnxNode, x: Expr) -> Expr:
    """`cast`."""
    target = n.attribute("to", (int, str))
    return _cast(n, x, target.lower() if isinstance(target, str) else dtype_of(target))


@onnx_operator("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(n: OnnxNode, x: Expr, target: Expr) -> Expr:
    """`cast` to the dtype of its second input."""
    return _cast(n, x, n.dtype(target))


# The largest 8-bit floats, at which a cast in ONNX saturates by default.
_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def saturate(n: OnnxNode, x: Expr, dtype: str) -> Expr:
    """Return a tensor cast to a dtype; for an 8-bit float, clipped to its range."""
    if dtype in _LARGEST and n.flag("saturate", True) and n.is_float(x):
        return n("clip", x, a_min=-_LARGEST[dtype], a_max=_LARGEST[dtype])
    return x


def _cast(n: OnnxNode, x: Expr, dtype: str) -> Expr:
    if n.dtype(x) == dtype:
        return x
    x = saturate(n, x, dtype)
    result, entries = n.cast(x, dtype), n.entries(x)
    return result if entries is None or "int" not in dtype else n.record_entries(result, entries)


@onnx_operator("BitCast", 26)
def bit_cast(n: OnnxNode, x: Expr) -> Expr:
    """`reinterpret`."""
    return n("reinterpret", x, dtype=dtype_of(n.integer("to")))


@onnx_operator("Dropout", 1, 6, 7, 10, 12, 13, 22)
def dropout(n: OnnxNode, x: Expr, ratio: Expr | None = None, training: Expr | None = None) -> list[Expr]:
    """Its input, and a mask of ones: nothing is dropped outside training."""
    if n.version < 7 and not n.flag("is_test"):
        n.refuse("drops elements: the model is in training mode", hint="export the model for inference")
    active = training is not None and bool(n.constant_value(training, "whether it is in training mode").any())
    if active and (ratio is None or n.constant_value(ratio, "its ratio").any()):
        n.refuse("drops elements: the model is in training mode", hint="export the model for inference")
    return [x, n("ones_like", n.cast(x, "bool") if n.version >= 10 else x)] if n.uses_output(1) else [x]


@onnx_operator("Where", 9, 16)
def where(n: OnnxNode, condition: Expr, x: Expr, y: Expr) -> Expr:
    """`where`."""
    return n("where", condition, x, y)
