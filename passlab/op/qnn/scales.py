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


def check_parameter(types: Sequence[Type], index: int, name: str, data: TensorType | None, axis: int) -> bool:
    """Return whether the type of input `index`, a scale or zero point of `data` along `axis`, is known.

    Raises `RelationError` unless it is a float (a scale) or an integer (a zero point), and a scalar, a vector of one
    element, or a vector as long as `data` along `axis`.
    """
    ty = tensor(types, index, name)
    if ty is None:
        return False
    is_scale = "scale" in name
    if is_float_name(ty.dtype) != is_scale:
        refuse(f"{name} must be {'a float' if is_scale else 'an integer'}", index, found=ty)
    if not ty.shape or ty.shape == (1,):
        return True
    if len(ty.shape) != 1:
        refuse(f"{name} must be a scalar or a vector", index, found=ty)
    if data is not None and data.shape:
        extent = data.shape[normal_axis(axis, len(data.shape))]
        if join_dim(extent, ty.shape[0]) is None:
            refuse(f"{name} has {ty.shape[0]} elements for {extent} slices along axis {axis}", index)
    return True


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
    pairs = [fixed_point(value) for value in ratio.reshape(-1).astype(np.float64).tolist()]
    multiplier = np.array([pair[0] for pair in pairs], np.int64).reshape(ratio.shape)
    shift = np.array([pair[1] for pair in pairs], np.int64).reshape(ratio.shape)
    # A left shift is subtracted from the right shift, so that the product of 33 and 31 bits fits int64; larger shifts
    # overflow every dtype.
    left_shift = np.clip(shift, 0, FRACTION_BITS - 1)
    product = data.astype(np.int64) * multiplier
    total = FRACTION_BITS - left_shift + np.maximum(-shift, 0)
    half = np.left_shift(np.int64(1), total - 1)
    if rounding == "TONEAREST":
        half = half - (product < 0)
    return as_array(np.right_shift(product + half, total))


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
