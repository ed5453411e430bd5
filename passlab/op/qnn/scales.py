"""Scales and zero points: the checks and computations shared by all quantized operators.

A quantized tensor of integers q represents the numbers `scale * (q - zero_point)`; scale and zero point are scalars, or
have one element for each slice along an axis. A change of scale is computed in integers, as in hardware: the ratio of
scales is a fixed-point number with 31 bits of fraction. See Jacob et al., "Quantization and Training of Neural Networks
for Efficient Integer-Arithmetic-Only Inference", 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from passlab.ir.types import TensorType, Type
from passlab.op.dtypes import Array, array_dtype, as_array, integer_info, is_float_name, round_half_away
from passlab.op.fixed_point import FRACTION_BITS
from passlab.op.relations import join_dim, normal_axis, refuse, tensor

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64")


def check_parameter(
    types: Sequence[Type], index: int, name: str, data: TensorType | None = None, axis: int | None = None
) -> bool:
    """Return whether the type of input `index`, a scale or zero point, is known; `check_scale` checks it."""
    ty = tensor(types, index, name)
    if ty is not None:
        check_scale(ty, index, name, data, axis)
    return ty is not None


def check_scale(ty: TensorType, index: int, name: str, data: TensorType | None = None, axis: int | None = None) -> None:
    """Raise `RelationError` unless the type of a scale or zero point, in input `index`, fits the data.

    It is a float (a scale) or an integer (a zero point), and has a shape that `check_length` accepts.
    """
    is_scale = "scale" in name
    if is_float_name(ty.dtype) != is_scale:
        refuse(f"{name} must be {'a float' if is_scale else 'an integer'}", index, found=ty)
    check_length(ty, index, name, data, axis)


def check_length(ty: TensorType, index: int, name: str, data: TensorType | None, axis: int | None) -> None:
    """Raise `RelationError` unless a scale or zero point, input `index`, is a scalar or a vector of one element.

    If an axis is given, it may also be a vector as long as `data`, if that is known, along the axis.
    """
    if not ty.shape or ty.shape == (1,):
        return
    if axis is None or (data is not None and not data.shape):
        refuse(f"{name} must be a scalar", index, found=ty)
    if len(ty.shape) != 1:
        refuse(f"{name} must be a scalar or a vector", index, found=ty)
    if data is not None:
        extent = data.shape[normal_axis(axis, len(data.shape))]
        if join_dim(extent, ty.shape[0]) is None:
            refuse(f"{name} has {ty.shape[0]} elements for {extent} slices along axis {axis}", index)


def integer_input(types: Sequence[Type], index: int, name: str = "data") -> TensorType | None:
    """Return input `index` as a tensor of integers, None while unknown. Raises `RelationError` if it is not one."""
    ty = tensor(types, index, name)
    if ty is not None and ty.dtype not in INTEGERS:
        refuse(f"{name} must be quantized", index, expected="an integer dtype", found=ty.dtype)
    return ty


def along(value: Array, axis: int, rank: int) -> Array:
    """Return a scalar or a vector in a shape that broadcasts along `axis` of a tensor of `rank` dimensions."""
    if value.ndim == 0 or value.size == 1:
        return value.reshape(())
    return value.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def real(data: Array, scale: Array, zero_point: Array, axis: int = -1) -> Array:
    """Return the real numbers that a quantized tensor represents, in float32."""
    shifted = data.astype(np.int32) - along(zero_point, axis, data.ndim).astype(np.int32)
    return as_array(shifted.astype(np.float32) * along(scale, axis, data.ndim).astype(np.float32))


def saturate(data: Array, dtype: str) -> Array:
    """Return whole numbers in an integer dtype, saturated."""
    kind = array_dtype(dtype)
    info = integer_info(kind)
    if data.dtype.kind != "f":
        return as_array(np.clip(data, info.min, info.max)).astype(kind)
    wide = data.astype(np.float64)  # float32 cannot represent the bounds of int32
    with np.errstate(invalid="ignore"):  # float64 rounds the last integer of 64 bits up, out of the range
        inside = np.clip(wide, float(info.min), float(info.max)).astype(kind)
    return as_array(np.where(wide >= float(info.max), kind.type(info.max), inside))


def quantize_real(data: Array, scale: Array, zero_point: Array, dtype: str, axis: int = -1) -> Array:
    """Return `round(data / scale) + zero_point`, saturated: halves away from zero, NaN to the largest integer.

    The quotient is a float32; the sum is exact.
    """
    steps = round_half_away(data.astype(np.float32) / along(scale, axis, data.ndim).astype(np.float32))
    shifted = steps.astype(np.float64) + along(zero_point, axis, data.ndim)
    return saturate(np.nan_to_num(shifted, nan=np.inf), dtype)


def fixed_point(ratio: float) -> tuple[int, int]:
    """Return (multiplier, shift) such that `ratio` is multiplier * 2^(shift - 31), where the multiplier has 31 bits."""
    if ratio == 0:
        return 0, 0
    mantissa, shift = math.frexp(ratio)
    multiplier = round(mantissa * (1 << FRACTION_BITS))
    return (multiplier // 2, shift + 1) if multiplier == 1 << FRACTION_BITS else (multiplier, shift)


def _fixed_point_factor(ratio: float) -> tuple[int, int]:
    multiplier, shift = fixed_point(ratio)
    right = FRACTION_BITS - shift
    if right > 63:
        return 0, FRACTION_BITS
    return (multiplier, right) if right >= 0 else (int(math.copysign(1 << FRACTION_BITS, ratio)), 0)


def fixed_point_factors(ratio: Array) -> tuple[Array, Array]:
    """Return (multipliers, shifts) in int64: `integer * ratio` is `integer * multiplier >> shift` before rounding.

    A shift is from 0 to 63, so the product of 33 and 31 bits fits int64, also with a half added. A ratio with which all
    products of 32 bits round to 0 is 0 here; one with which all but 0 exceed int32 is 2^31. Raises `RelationError` for
    a ratio that is not finite.
    """
    if not np.isfinite(ratio).all():
        refuse("a ratio of two scales is not finite", hint="a scale is positive and finite")
    factors = [_fixed_point_factor(value) for value in ratio.reshape(-1).astype(np.float64).tolist()]
    multiplier, shift = (np.array([f[i] for f in factors], np.int64).reshape(ratio.shape) for i in (0, 1))
    return multiplier, shift


def half_of(shift: Array) -> Array:
    """Return what a shift to the right rounds with: half of the last place that stays, 0 for no shift."""
    return np.where(shift > 0, np.left_shift(np.int64(1), np.maximum(shift - 1, 0)), 0)


def rescale_floats(data: Array, ratio: Array, zero_point: Array, rounding: str, compute: str) -> Array:
    """Return `data * ratio + zero_point`, computed in the float dtype `compute` and then rounded, as whole floats.

    `rounding` rounds halves "UPWARD", or away from zero ("TONEAREST").
    """
    kind = array_dtype(compute)
    moved = as_array(data.astype(kind) * ratio.astype(kind) + zero_point.astype(kind))
    return as_array(np.floor(moved + kind.type(0.5))) if rounding == "UPWARD" else round_half_away(moved)


def rescale(data: Array, ratio: Array, rounding: str = "UPWARD") -> Array:
    """Return `data` (integers without zero point) times a scalar or broadcasting ratio of scales, in fixed point.

    `rounding` rounds halves "UPWARD", or away from zero ("TONEAREST").
    """
    multiplier, shift = fixed_point_factors(ratio)
    product = data.astype(np.int64) * multiplier
    half = half_of(shift)
    if rounding == "TONEAREST":
        half = half - ((product < 0) & (half > 0))
    return as_array(np.right_shift(product + half, shift))


def requantize_array(
    data: Array,
    source: tuple[Array, Array],
    target: tuple[Array, Array],
    dtype: str,
    axis: int = -1,
    rounding: str = "UPWARD",
    compute: str = "int64",
) -> Array:
    """Return a quantized tensor with another scale and zero point: `source` and `target` are pairs of them."""
    centered = data.astype(np.int64) - along(source[1], axis, data.ndim)
    old = along(source[0], axis, data.ndim).astype(np.float32)
    new = along(target[0], axis, data.ndim).astype(np.float32)
    if not np.array_equal(old, new):
        ratio = as_array(old.astype(np.float64) / new.astype(np.float64))
        if is_float_name(compute):
            return saturate(
                rescale_floats(centered, ratio, along(target[1], axis, data.ndim), rounding, compute), dtype
            )
        centered = rescale(centered, ratio, rounding)
    return saturate(centered + along(target[1], axis, data.ndim), dtype)
