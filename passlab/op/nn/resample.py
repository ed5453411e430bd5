"""Resampling of arrays along one axis at a time: the position of each new element, and interpolation.

The coordinates follow the ONNX operator Resize. This file knows arrays, not operators or layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.types import Dim
from passlab.op.dtypes import Array, as_array, is_float, round_half_away

METHODS = ("nearest_neighbor", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_EPSILON = np.float32(1e-5)


@dataclass(frozen=True)
class Scheme:
    """An interpolation scheme; `alpha` and `exclude` are the coefficient and the border rule of the cubic method."""

    method: str
    coordinates: str
    rounding: str = ""
    alpha: float = -0.5
    exclude: bool = False
    fill: float = 0.0


ResizePlan = tuple[tuple[int, ...], Sequence[Dim], Scheme, Sequence[float] | None]  # axes, sizes, scheme, region


def positions(scheme: Scheme, length: int, count: int, start: float = 0.0, end: float = 1.0) -> Array:
    """Return the positions of `count` new elements on an axis of `length` elements, as float32."""
    f = np.float32
    new = np.arange(count, dtype=f)
    scale = f(length) / f(max(count, 1))
    mode = scheme.coordinates
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and count > 1):
        return (new + f(0.5)) * scale - f(0.5)
    if mode == "pytorch_half_pixel":
        return np.zeros(count, f)
    if mode == "align_corners":
        return f(length - 1) / f(max(count - 1, 1)) * new
    if mode == "tf_half_pixel_for_nn":
        return (new + f(0.5)) * scale
    if mode == "tf_crop_and_resize":
        if count > 1:
            return f(start) * f(length - 1) + new * (f(end) - f(start)) * f(length - 1) / f(count - 1)
        return np.full(count, f(0.5) * (f(start) + f(end)) * f(length - 1))
    if scheme.method == "nearest_neighbor" and length and count % length == 0:
        return (np.arange(count) // (count // length)).astype(f)
    return scale * new


def nearest(scheme: Scheme, at: Array) -> Array:
    """Return the index of the element nearest to each position, by the scheme's rule for halves."""
    rule = scheme.rounding or ("round" if scheme.coordinates == "align_corners" else "floor")
    if rule == "round":
        index = round_half_away(at)
    elif rule == "round_prefer_floor":
        index = np.ceil(at - np.float32(0.5))
    elif rule == "round_prefer_ceil":
        index = np.floor(at + np.float32(0.5))
    elif rule == "floor":
        index = np.floor(at + _EPSILON)
    else:
        index = np.ceil(at - _EPSILON)
    return index.astype(np.int64)


def cubic_weights(part: Any, alpha: float) -> list[Any]:
    """Return the weights of the four neighbours of a position; `part` is its distance from the second one.

    See Keys, "Cubic convolution interpolation for digital image processing" (1981).
    """
    a, t = np.float32(alpha), part
    t2, t3 = t * t, t * t * t
    return [
        a * (t3 - 2 * t2 + t),
        (a + 2) * t3 - (a + 3) * t2 + 1,
        -(a + 2) * t3 + (2 * a + 3) * t2 - a * t,
        -a * t3 + a * t2,
    ]


def taps(scheme: Scheme, length: int, at: Any) -> list[tuple[Any, Any]]:
    """Return (indices, weights) of the elements that each position is mixed from; the weight None is a plain copy."""

    def inside(index: Array) -> Array:
        return np.clip(index, 0, length - 1)

    if scheme.method == "nearest_neighbor":
        return [(inside(nearest(scheme, at)), None)]
    low = np.floor(at)
    index, part = low.astype(np.int64), at - low
    if scheme.method == "linear":
        return [(inside(index), 1 - part), (inside(index + 1), part)]
    weights = cubic_weights(part, scheme.alpha)
    if scheme.exclude:
        outside = [(index - 1 + i < 0) | (index - 1 + i >= length) for i in range(4)]
        weights = [np.where(out, np.float32(0), w) for out, w in zip(outside, weights, strict=True)]
        total = sum(weights)
        weights = [w / total for w in weights]
    return [(inside(index - 1 + i), w) for i, w in enumerate(weights)]


def widen(x: Array) -> Array:
    """Return an array in the dtype of the interpolation: float32, or wider if it is wider."""
    return x if x.dtype.itemsize >= 4 and is_float(x.dtype) else x.astype(np.float32)


def mix(x: Array, axis: int, scheme: Scheme, at: Array) -> Array:
    """Return `x` with the axis `axis` resampled at the positions `at`; sums are in float32, or wider if `x` is."""
    parts = taps(scheme, x.shape[axis], at)
    if parts[0][1] is None:
        return as_array(x.take(parts[0][0], axis=axis))
    wide = widen(x)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    result: Array | None = None
    for index, weight in parts:
        term: Array = wide.take(index, axis=axis)
        term *= weight.reshape(shape)
        result = term if result is None else np.add(result, term, out=result)
    assert result is not None
    return result


def resample(
    x: Array, axes: tuple[int, ...], sizes: tuple[int, ...], scheme: Scheme, roi: Any, dtype: np.dtype[Any]
) -> Array:
    """Return `x` resampled to `sizes` along `axes`, in `dtype`.

    `roi` is the start and end of the region on each axis in units of its length, for "tf_crop_and_resize";
    `scheme.fill` is the value outside the data.
    """
    result, outside = x, []
    for i in reversed(range(len(axes))):
        start, end = (roi[i], roi[i + len(axes)]) if roi else (0.0, 1.0)
        at = positions(scheme, x.shape[axes[i]], sizes[i], start, end)
        result = mix(result, axes[i], scheme, at)
        outside.append((axes[i], (at < 0) | (at > x.shape[axes[i]] - 1)))
    if scheme.coordinates == "tf_crop_and_resize":
        for axis, beyond in outside:
            result[(slice(None),) * axis + (beyond,)] = scheme.fill
    return result.astype(dtype, copy=False)
