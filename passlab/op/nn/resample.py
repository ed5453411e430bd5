"""Resampling of arrays along one axis at a time: the position of each new element, and interpolation.

The coordinates follow the ONNX operator Resize. The functions here take arrays, not operators or layouts.
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
_EPSILON = np.float32(1e-5)  # as in TVM, so that positions meant to be whole numbers round to these


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


def rounding_rule(coordinates: str, rounding: str = "") -> str:
    """Return which element is nearest: the rule that a call states, or else the rule of its coordinates."""
    return rounding or ("round" if coordinates == "align_corners" else "floor")


def nearest(scheme: Scheme, position: Array) -> Array:
    """Return the index of the element nearest to each position, by the scheme's rule for halves."""
    rule = rounding_rule(scheme.coordinates, scheme.rounding)
    if rule == "round":
        index = round_half_away(position)
    elif rule == "round_prefer_floor":
        index = np.ceil(position - np.float32(0.5))
    elif rule == "round_prefer_ceil":
        index = np.floor(position + np.float32(0.5))
    elif rule == "floor":
        index = np.floor(position + _EPSILON)
    else:
        index = np.ceil(position - _EPSILON)
    return index.astype(np.int64)


def cubic_weights(fraction: Any, alpha: float) -> list[Any]:
    """Return the weights of the four neighbours of a position; `fraction` is its distance from the second one.

    See Keys, "Cubic convolution interpolation for digital image processing" (1981).
    """
    a, t = np.float32(alpha), fraction
    t2, t3 = t * t, t * t * t
    return [
        a * (t3 - 2 * t2 + t),
        (a + 2) * t3 - (a + 3) * t2 + 1,
        -(a + 2) * t3 + (2 * a + 3) * t2 - a * t,
        -a * t3 + a * t2,
    ]


def taps(scheme: Scheme, length: int, position: Any) -> list[tuple[Any, Any]]:
    """Return (indices, weights) of the elements whose sum is the value at each position; the weight None is 1."""

    def clip(index: Array) -> Array:
        return np.clip(index, 0, length - 1)

    if scheme.method == "nearest_neighbor":
        return [(clip(nearest(scheme, position)), None)]
    floor = np.floor(position)
    index, fraction = floor.astype(np.int64), position - floor
    if scheme.method == "linear":
        return [(clip(index), 1 - fraction), (clip(index + 1), fraction)]
    weights = cubic_weights(fraction, scheme.alpha)
    if scheme.exclude:
        outside = [(index - 1 + i < 0) | (index - 1 + i >= length) for i in range(4)]
        weights = [np.where(out, np.float32(0), w) for out, w in zip(outside, weights, strict=True)]
        total = sum(weights)
        weights = [w / total for w in weights]
    return [(clip(index - 1 + i), w) for i, w in enumerate(weights)]


def widen(x: Array) -> Array:
    """Return an array in the dtype of the interpolation: float32, or wider if it is wider."""
    return x if x.dtype.itemsize >= 4 and is_float(x.dtype) else x.astype(np.float32)


def mix(x: Array, axis: int, scheme: Scheme, position: Array) -> Array:
    """Return `x` resampled at positions along `axis`; sums are in float32, or wider if `x` is."""
    sources = taps(scheme, x.shape[axis], position)
    if sources[0][1] is None:
        return as_array(x.take(sources[0][0], axis=axis))
    widened = widen(x)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    result: Array | None = None
    for index, weight in sources:
        term: Array = widened.take(index, axis=axis)
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
        position = positions(scheme, x.shape[axes[i]], sizes[i], start, end)
        result = mix(result, axes[i], scheme, position)
        outside.append((axes[i], (position < 0) | (position > x.shape[axes[i]] - 1)))
    if scheme.coordinates == "tf_crop_and_resize":
        for axis, is_outside in outside:
            result[(slice(None),) * axis + (is_outside,)] = scheme.fill
    return result.astype(dtype, copy=False)
