"""Realization: simulated integers become integers, and changes of scale become shifts or fixed-point products."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Tuple
from passlab.ir.op import Op
from passlab.op import make
from passlab.op.autodiff import dtype_of
from passlab.op.fixed_point import FRACTION_BITS
from passlab.op.qnn.scales import fixed_point
from passlab.relay.quantize.annotating import SIMULATED
from passlab.relay.quantize.config import current_qconfig
from passlab.relay.quantize.forward import RECTIFIERS, PendingResult, Rule


def scalar(value: Any, dtype: str = "float32") -> Constant:
    """Return a constant of one number."""
    return Constant(np.asarray(value, dtype))


class Integers(PendingResult):
    """Integers of a dtype, and the float that one represents (`scale`). They may still be stored as floats."""

    float_dtype = "float32"  # of the numbers they represent

    def __init__(self, expr: Expr, scale: float, dtype: str) -> None:
        super().__init__(expr)
        self.scale, self.dtype = scale, dtype

    def _create(self) -> Expr:
        return make("multiply", make("cast", self.expr, dtype=self.float_dtype), scalar(self.scale, self.float_dtype))

    def cast(self, dtype: str) -> Expr:
        """Return the integers in a dtype."""
        return self.expr if self.dtype == dtype else make("cast", self.expr, dtype=dtype)


def _product(a: float, b: float) -> float:
    return float(np.float32(a) * np.float32(b))


def _power_of_two(factor: float) -> int | None:
    """Return the exponent of a power of two, None for another number."""
    part, exponent = math.frexp(factor)
    return exponent - 1 if part == 0.5 else None


def _fixed_point_product(data: Expr, factor: float) -> Expr:
    """Return 64-bit integers multiplied by a factor, rounded as the options say."""
    multiplier, shift = fixed_point(factor)
    if shift < -FRACTION_BITS:  # the product of an activation is far below one half
        multiplier, shift = multiplier >> (-FRACTION_BITS - shift), -FRACTION_BITS
    if current_qconfig().rounding == "UPWARD":
        return make("fixed_point_multiply", data, multiplier=multiplier, shift=shift)
    total = FRACTION_BITS - shift
    half = 1 << (total - 1)
    is_negative = make("less", data, scalar(0, "int64"))
    rounding = make("where", is_negative, scalar(half - 1, "int64"), scalar(half, "int64"))
    wide = make("add", make("multiply", data, scalar(multiplier, "int64")), rounding)
    return make("right_shift", wide, scalar(total, "int64"))


def _enlarge(data: Expr, scale: float, smaller: float, dtype: str) -> Expr:
    """Return integers converted to a smaller scale."""
    if scale == smaller:
        return data
    factor = float(np.float32(scale) / np.float32(smaller))
    shift = _power_of_two(factor)
    if shift is not None:
        return make("left_shift", data, scalar(shift, dtype))
    if factor == int(factor):
        return make("multiply", data, scalar(int(factor), dtype))
    return make("cast", _fixed_point_product(make("cast", data, dtype="int64"), factor), dtype=dtype)


def _attrs(call: Call) -> dict[str, Any]:
    return {} if call.attrs is None else dict(call.attrs.items())


def _quantize(call: Call, args: list[Any]) -> Integers:
    scale, low, high = (float(arg.data) for arg in args[1:])
    data = args[0]
    if not isinstance(data, Integers):
        steps = make("round", make("multiply", data, scalar(1 / scale, dtype_of(call))))
        return Integers(make("clip", steps, a_min=low, a_max=high), scale, dtype_of(call))
    expr = data.expr
    if data.scale != scale:
        expr = _rescale(data, scale)
    clipped = make("clip", expr, a_min=low, a_max=high)
    return Integers(clipped if expr is data.expr else make("cast", clipped, dtype=data.dtype), scale, data.dtype)


def _rescale(data: Integers, scale: float) -> Expr:
    """Return integers at another scale, as wide as activations or wider."""
    config = current_qconfig()
    dtype = config.dtype_activation
    shift = _power_of_two(float(np.float32(scale) / np.float32(data.scale)))
    if shift is None:
        return _fixed_point_product(data.cast("int64"), data.scale / scale)
    wide = data.cast(dtype)
    if shift < 0:
        return make("left_shift", wide, scalar(-shift, dtype))
    if config.round_for_shift:
        wide = make("add", wide, scalar(1 << (shift - 1), dtype))
    return make("right_shift", wide, scalar(shift, dtype))


def _layer(call: Call, args: list[Any]) -> Integers | None:
    if not all(isinstance(arg, Integers) for arg in args):
        return None
    config = current_qconfig()
    assert isinstance(call.op, Op)
    operands = (args[0].cast(config.dtype_input), args[1].cast(config.dtype_weight))
    sums = make(call.op.name, *operands, **{**_attrs(call), "out_dtype": config.dtype_activation})
    return Integers(sums, _product(args[0].scale, args[1].scale), config.dtype_activation)


def _multiply(call: Call, args: list[Any]) -> Integers | None:
    if not all(isinstance(arg, Integers) for arg in args):
        return None
    dtype = current_qconfig().dtype_activation
    product = Call(call.op, [arg.cast(dtype) for arg in args], call.attrs)
    return Integers(product, _product(args[0].scale, args[1].scale), dtype)


def _to_common_scale(args: list[Integers]) -> tuple[list[Expr], float, str]:
    """Return integers as activations of the smallest of their scales."""
    dtype, scale = current_qconfig().dtype_activation, min(arg.scale for arg in args)
    return [_enlarge(arg.cast(dtype), arg.scale, scale, dtype) for arg in args], scale, dtype


def _have_common_scale(args: list[Any]) -> bool:
    """Whether all are integers, and the largest scale divided by the smallest fits in the dtype of activations."""
    if not all(isinstance(arg, Integers) for arg in args):
        return False
    scales: list[float] = [arg.scale for arg in args]
    largest: int = np.iinfo(current_qconfig().dtype_activation).max
    return max(scales) <= largest * min(scales)


def _add(call: Call, args: list[Any]) -> Integers | None:
    if not _have_common_scale(args):
        return None
    operands, scale, dtype = _to_common_scale(args)
    # The conversion from floats to integers stays a separate kernel: its users read integers.
    for i, arg in enumerate(args):
        if arg.dtype.startswith("float"):
            operands[i] = make("annotation.stop_fusion", operands[i])
    return Integers(Call(call.op, operands, call.attrs), scale, dtype)


def _concatenate(call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], list) or not _have_common_scale(args[0]):
        return None
    fields, scale, dtype = _to_common_scale(args[0])
    return Integers(Call(call.op, [Tuple(fields)], call.attrs), scale, dtype)


def _clip(call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], Integers):
        return None
    data, attrs = args[0], _attrs(call)
    bounds = {"a_min": attrs["a_min"] / data.scale, "a_max": attrs["a_max"] / data.scale}
    return Integers(make("clip", data.expr, **bounds), data.scale, data.dtype)


def _follow(call: Call, args: list[Any]) -> Integers | None:
    data = args[0]
    if not isinstance(data, Integers):
        return None
    return Integers(Call(call.op, [data.expr, *args[1:]], call.attrs), data.scale, data.dtype)


def _follow_as_input(call: Call, args: list[Any]) -> Integers | None:
    return _follow_as(current_qconfig().dtype_input, call, args)


def _follow_as_activation(call: Call, args: list[Any]) -> Integers | None:
    return _follow_as(current_qconfig().dtype_activation, call, args)


def _follow_as(dtype: str, call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], Integers):
        return None
    return Integers(Call(call.op, [args[0].cast(dtype)], call.attrs), args[0].scale, dtype)


def _hint(call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], Integers):
        return None
    dtype = str(_attrs(call)["dtype"])
    return Integers(args[0].cast(dtype), args[0].scale, dtype)


def _with_floatdtype_of(rule: Rule) -> Rule:
    """Return a rule that stores in its integers the dtype of the floats they represent."""

    @functools.wraps(rule)
    def realize(call: Call, args: list[Any]) -> object:
        result = rule(call, args)
        if isinstance(result, Integers):
            result.float_dtype = dtype_of(call)
        return result

    return realize


_RULES: dict[str, Rule] = {
    SIMULATED: _quantize,
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul"), _layer),
    "multiply": _multiply,
    "add": _add,
    "concatenate": _concatenate,
    "clip": _clip,
    **dict.fromkeys((*RECTIFIERS, "reshape", "strided_slice", "transpose", "annotation.stop_fusion"), _follow),
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.batch_flatten"), _follow_as_input),
    **dict.fromkeys(("nn.avg_pool2d", "nn.global_avg_pool2d"), _follow_as_activation),
    "annotation.cast_hint": _hint,
}
REALIZE_RULES = {name: _with_floatdtype_of(rule) for name, rule in _RULES.items()}
