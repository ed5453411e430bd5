"""Rewrite quantized operators as integer arithmetic.

before:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] { qnn.dequantize(%x, 0.5f, 3, out_dtype="float32") }
after:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] {
      multiply(cast(subtract(cast(%x, dtype="int32"), 3), dtype="float32"), 0.5f)
    }

before:
    def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), int32] {
      qnn.dense(%x, %w, 128, 0, 0.5f, 0.25f, units=3, out_dtype="int32")
    }
after:
    def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), int32] {
      nn.dense(subtract(cast(%x, dtype="int32"), 128), cast(%w, dtype="int32"), units=3, out_dtype="int32")
    }

keep:
    def @main(%x: Tensor[(4), int8], %s: float32) -> Tensor[(4), int8] {
      qnn.requantize(%x, %s, 0, 0.5f, 0, out_dtype="int8")
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr, Function, Tuple
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType
from passlab.op import make
from passlab.op.declare import field_of
from passlab.op.dtypes import Array, array_dtype
from passlab.op.qnn.products import output_channel
from passlab.op.qnn.scales import along, fixed_point_factors, half_of
from passlab.passes.layout.legalization import legalize_call
from passlab.rewriting.dimensions import expand_to_axis
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, standard_pass, with_attr

# Quantized operators as integer arithmetic, operation by operation.

Rule = Callable[[Any, Sequence[Expr], Sequence[Any]], Expr | None]
Typed = tuple[Expr, Any]  # a scale or zero point, and its type
_SMALL = ("int8", "uint8")
_MIDDLE = (*_SMALL, "int16", "uint16", "int32", "uint32")


class _UnknownScaleError(Exception):
    """A scale that must be known at compile time is computed at run time, so the rule does not apply."""


def _rule(build: Callable[..., Expr | None]) -> Rule:
    def rule(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr | None:
        try:
            return build(attrs, args, types)
        except _UnknownScaleError:
            return None

    return rule


def _known(expr: Expr) -> Array:
    if type(expr) is not Constant:
        raise _UnknownScaleError
    return expr.data


def _number(value: Any, dtype: str) -> Constant:
    return Constant(np.asarray(value, array_dtype(dtype)))


def _cast(expr: Expr, ty: TensorType, dtype: str) -> Expr:
    """Return a tensor of type `ty` in another dtype; a constant as a constant."""
    if ty.dtype == dtype:
        return expr
    return _number(expr.data, dtype) if type(expr) is Constant else make("cast", expr, dtype=dtype)


def _along(pair: Typed, dtype: str, axis: int, rank: int) -> Expr:
    """Return a scale or zero point in a dtype and in a shape that broadcasts along `axis`."""
    value, ty = pair
    if type(value) is Constant:
        return _number(along(value.data, axis, rank), dtype)
    result = _cast(value, ty, dtype)
    if not ty.shape:
        return result
    return make("squeeze", result) if ty.shape == (1,) else expand_to_axis(result, rank, axis % rank)


def _plus(name: str, data: Expr, term: Expr) -> Expr:
    return data if type(term) is Constant and not np.any(term.data) else make(name, data, term)


def _saturate(data: Expr, source: str, dtype: str) -> Expr:
    """Return whole numbers of dtype `source` as integers of `dtype`, saturated."""
    if source == dtype:
        return data
    if dtype not in _MIDDLE:
        raise _UnknownScaleError
    # float32 does not represent the ends of the other dtypes
    if source == "float32" and dtype not in (*_SMALL, "int16", "uint16"):
        data = make("cast", data, dtype="float64")
    info = np.iinfo(dtype)
    return make("cast", make("clip", data, a_min=float(info.min), a_max=float(info.max)), dtype=dtype)


# ---------------------------------------------------------------- between numbers and integers
def _real(data: Expr, ty: TensorType, scale: Typed, zero: Typed, axis: int) -> Expr:
    """Return the real numbers that a tensor represents, in float32."""
    rank = len(ty.shape)
    moved = _plus("subtract", _cast(data, ty, "int32"), _along(zero, "int32", axis, rank))
    return make("multiply", make("cast", moved, dtype="float32"), _along(scale, "float32", axis, rank))


def _quantize_in(data: Expr, ty: TensorType, scale: Typed, zero: Typed, dtype: str, axis: int = -1) -> Expr:
    rank = len(ty.shape)
    steps = make("divide", _cast(data, ty, "float32"), _along(scale, "float32", axis, rank))
    # float32 holds the sums that 16 bits can hold, float64 those of 32 bits
    wide = "float32" if dtype in (*_SMALL, "int16", "uint16") else "float64"
    rounded = _cast(make("round", steps), TensorType(ty.shape, "float32"), wide)
    return _saturate(_plus("add", rounded, _along(zero, wide, axis, rank)), wide, dtype)


def _pairs(args: Sequence[Expr], types: Sequence[Any], first: int) -> list[Typed]:
    return list(zip(args[first:], types[first:], strict=False))


def _dequantize(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    scale, zero = _pairs(args, types, 1)[:2]
    result = _real(args[0], types[0], scale, zero, attrs.axis)
    return result if attrs.out_dtype == "float32" else make("cast", result, dtype=attrs.out_dtype)


def _quantize(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    scale, zero = _pairs(args, types, 1)[:2]
    return _quantize_in(args[0], types[0], scale, zero, attrs.out_dtype, attrs.axis)


# ---------------------------------------------------------------- from one scale to another
def _rescale_floats(data: Expr, ratio: Any, zero: Expr, rounding: str, compute: str) -> Expr:
    """Return integers multiplied by known ratios of scales, plus a zero point, then rounded: whole floats."""
    moved = _plus("add", make("multiply", make("cast", data, dtype=compute), _number(ratio, compute)), zero)
    return make("floor", make("add", moved, _number(0.5, compute))) if rounding == "UPWARD" else make("round", moved)


def _rescale(data: Expr, ratio: Any, rounding: str = "UPWARD") -> Expr:
    """Return integers in int64 multiplied by known ratios of scales, rounded."""
    if not np.isfinite(ratio).all():
        raise _UnknownScaleError
    multiplier, shift = fixed_point_factors(ratio)
    if not shift.all():  # without a shift nothing is rounded
        raise _UnknownScaleError
    wide = make("multiply", data, Constant(multiplier))
    rounded = make("add", wide, Constant(half_of(shift)))
    if rounding != "UPWARD":
        below = make("cast", make("less", wide, _number(0, "int64")), dtype="int64")
        rounded = make("subtract", rounded, below)
    return make("right_shift", rounded, Constant(shift))


def _change_scale(
    data: Expr,
    ty: TensorType,
    source: Sequence[Typed],
    target: Sequence[Typed],
    dtype: str,
    axis: int = -1,
    rounding: str = "UPWARD",
    compute: str = "int64",
) -> Expr:
    """Return a tensor in another scale and zero point; `source` and `target` are [scale, zero point]."""
    rank = len(ty.shape)
    moved = _plus("subtract", _cast(data, ty, "int64"), _along(source[1], "int64", axis, rank))
    old, new = (along(_known(pair[0][0]), axis, rank).astype(np.float32) for pair in (source, target))
    if not np.array_equal(old, new):
        with np.errstate(all="ignore"):
            ratio = np.asarray(old.astype(np.float64) / new.astype(np.float64))
        if compute != "int64":
            zero = _along(target[1], compute, axis, rank)
            return _saturate(_rescale_floats(moved, ratio, zero, rounding, compute), compute, dtype)
        moved = _rescale(moved, ratio, rounding)
    return _saturate(_plus("add", moved, _along(target[1], "int64", axis, rank)), "int64", dtype)


def _requantize(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    rest = _pairs(args, types, 1)
    rounding = "UPWARD" if attrs.rounding == "None" else attrs.rounding
    compute = "int64" if attrs.compute_dtype == "None" else attrs.compute_dtype
    return _change_scale(args[0], types[0], rest[:2], rest[2:4], types[-1].dtype, attrs.axis, rounding, compute)


def _sum(name: str, back: str) -> Rule:
    def build(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
        rest = _pairs(args, types, 2)
        target, zero = rest[4:6], _along(rest[5], "int64", -1, 1)
        sides = [
            make(
                "cast", _change_scale(args[i], types[i], rest[2 * i : 2 * i + 2], target, "int32", axis), dtype="int64"
            )
            for i, axis in enumerate((attrs.lhs_axis, attrs.rhs_axis))
        ]
        return _saturate(_plus(back, make(name, *sides), zero), "int64", types[-1].dtype)

    return _rule(build)


def _product(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    rest = _pairs(args, types, 2)
    axes, ranks = (attrs.lhs_axis, attrs.rhs_axis), [len(t.shape) for t in types[:2]]
    sides = [
        _plus("subtract", _cast(args[i], types[i], "int64"), _along(rest[2 * i + 1], "int64", axes[i], ranks[i]))
        for i in (0, 1)
    ]
    left, right = (along(_known(args[2 + 2 * i]), axes[i], ranks[i]) for i in (0, 1))
    with np.errstate(all="ignore"):
        ratio = np.asarray(left * right / _known(args[6]).reshape(()))
    array = _rescale(make("multiply", *sides), ratio)
    return _saturate(_plus("add", array, _along(rest[5], "int64", -1, 1)), "int64", types[-1].dtype)


def _concatenate(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    target = _pairs(args, types, 3)[:2]
    assert isinstance(types[0], TupleType)
    parts = []
    for i, ty in enumerate(types[0].fields):
        source = [(field_of(args[j], i), types[j].fields[i]) for j in (1, 2)]
        parts.append(_change_scale(field_of(args[0], i), ty, source, target, ty.dtype))  # type: ignore[attr-defined, arg-type]
    return make("concatenate", Tuple(parts), axis=attrs.axis)


# ---------------------------------------------------------------- products of matrices and convolutions
def _products(plain: str, channel: Callable[[Any], int]) -> Rule:
    def build(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
        zeros = _pairs(args, types, 2)[:2]
        sides = []
        for i, axis in enumerate((-1, channel(attrs))):
            zero = _along(zeros[i], "int32", axis, len(types[i].shape))
            sides.append(_plus("subtract", _cast(args[i], types[i], "int32"), zero))
        return make(plain, *sides, **{**dict(attrs.items()), "out_dtype": types[-1].dtype})

    return _rule(build)


# ---------------------------------------------------------------- functions of each number
def _table(name: str) -> Rule:
    """Return the rule of an elementwise function of 8-bit data: a table of its 256 values, computed now."""

    def build(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr | None:
        dtype = types[0].dtype
        kernel = Op.get(name).spec.kernel
        parameters = [_known(a) for a in args[1:]]
        if dtype not in _SMALL or kernel is None or any(p.size != 1 for p in parameters):
            return None
        first = int(np.iinfo(dtype).min)
        values = np.arange(first, first + 256).astype(dtype)
        index = _plus("subtract", make("cast", args[0], dtype="int32"), _number(first, "int32"))
        return make("take", Constant(kernel(attrs, values, *parameters)), index, axis=0)

    return _rule(build)


def _softmax(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    scale, zero, out_scale, out_zero = _pairs(args, types, 1)[:4]
    result = make("nn.softmax", _real(args[0], types[0], scale, zero, -1), axis=attrs.axis)
    return _quantize_in(result, TensorType(types[0].shape, "float32"), out_scale, out_zero, types[-1].dtype)


def _avg_pool(attrs: Any, args: Sequence[Expr], types: Sequence[Any]) -> Expr:
    rest = _pairs(args, types, 1)
    means = make("nn.avg_pool2d", _cast(args[0], types[0], "int32"), **dict(attrs.items()))
    return _change_scale(means, TensorType(types[-1].shape, "int32"), rest[:2], rest[2:4], types[-1].dtype)


_TABLES = (
    "qnn.abs",
    "qnn.erf",
    "qnn.exp",
    "qnn.hardswish",
    "qnn.leaky_relu",
    "qnn.log",
    "qnn.rsqrt",
    "qnn.sigmoid",
    "qnn.sqrt",
    "qnn.tanh",
)
RULES: dict[str, Rule] = {
    "qnn.add": _sum("add", "subtract"),
    "qnn.avg_pool2d": _rule(_avg_pool),
    "qnn.batch_matmul": _products("nn.batch_matmul", lambda attrs: -1),
    "qnn.concatenate": _rule(_concatenate),
    "qnn.conv2d": _products("nn.conv2d", output_channel),
    "qnn.conv2d_transpose": _products("nn.conv2d_transpose", output_channel),
    "qnn.dense": _products("nn.dense", lambda attrs: 0),
    "qnn.dequantize": _rule(_dequantize),
    "qnn.mul": _rule(_product),
    "qnn.quantize": _rule(_quantize),
    "qnn.requantize": _rule(_requantize),
    "qnn.softmax": _rule(_softmax),
    "qnn.subtract": _sum("subtract", "add"),
    **{name: _table(name) for name in _TABLES},
}


_HOOK = "FTVMQnnCanonicalize"


@standard_pass(opt_level=1, required=("InferType",), contract=FINITE, acts_on=(*RULES, with_attr(_HOOK)))
class QnnCanonicalizeOps(FunctionPass):
    """Rewrite the operators `qnn.*`, except simulations, as operators on integers and floats: `relay.qnn.transform`.

    Products become products of 32-bit integers minus their zero points, changes of scale become fixed-point arithmetic
    in 64 bits, and functions of 8-bit data become tables of 256 values. The results equal the operators' bit for bit,
    except for NaN. A call stays if a scale that must be known at compile time is not, or is 0, and if one scale is at
    least 2^30 times another. Functions registered with
    `relay.op.register_qnn_canonicalize` take precedence over the built-in rules.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return legalize_call(func, _HOOK, RULES)
