"""Resizing an axis as a product with a matrix of interpolation weights.

The definition is ONNX's Resize, computed in float64 at import. This file knows arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from passlab.op.dtypes import Array, as_array


@dataclass(frozen=True)
class Resizing:
    """The resizing of one axis from `length` elements to `count`; `scale` is the factor in the model.

    `start` and `end` bound the region to resize, in units of the length.
    """

    length: int
    count: int
    scale: float
    method: str  # "nearest_neighbor", "linear", "cubic"
    coordinates: str
    rounding: str
    alpha: float
    exclude: bool
    antialias: bool
    start: float = 0.0
    end: float = 1.0


def positions(way: Resizing) -> Array:
    """Return the position of each new element on the axis."""
    new, mode, scale = np.arange(way.count, dtype=np.float64), way.coordinates, way.scale
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and way.count > 1):
        return (new + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return np.full(way.count, -0.5)
    if mode == "half_pixel_symmetric":
        centre = way.length / 2 * (1 - way.count / (scale * way.length))
        return centre + (new + 0.5) / scale - 0.5
    if mode == "align_corners":
        return new * (way.length - 1) / (scale * way.length - 1) if scale * way.length != 1 else np.zeros(way.count)
    if mode == "tf_half_pixel_for_nn":
        return (new + 0.5) / scale
    if mode == "tf_crop_and_resize":
        last = way.length - 1
        if way.count > 1:
            return way.start * last + new * (way.end - way.start) * last / (way.count - 1)
        return np.full(way.count, (way.start + way.end) / 2 * last)
    return new / scale


def outside(way: Resizing) -> Array:
    """Return which new elements are outside the axis."""
    at = positions(way)
    return (at < 0) | (at > way.length - 1)


def nearest(way: Resizing) -> Array:
    """Return the index of the element nearest to each new one."""
    at = positions(way)
    rounded = {
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
        "floor": np.floor(at),
        "ceil": np.ceil(at),
    }[way.rounding]
    return np.clip(rounded, 0, way.length - 1).astype(np.int64)


def matrix(way: Resizing) -> Array:
    """Return the matrix of `count` rows and `length` columns that resizes the axis."""
    at = positions(way)
    stretch = max(1.0, 1 / way.scale) if way.antialias else 1.0
    reach = (1 if way.method == "linear" else 2) * stretch
    taps = np.arange(np.floor(-reach), np.ceil(reach) + 1)
    index = np.floor(at)[:, None] + taps
    weights = _kernel((index - at[:, None]) / stretch, way)
    inside = (index >= 0) & (index < way.length)
    if way.exclude:
        weights = np.where(inside, weights, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    array = np.zeros((way.count, way.length))
    rows = np.broadcast_to(np.arange(way.count)[:, None], index.shape)
    np.add.at(array, (rows, np.clip(index, 0, way.length - 1).astype(np.int64)), weights)
    return array


def _kernel(distance: Array, way: Resizing) -> Array:
    """Return the weight of an element at a distance: a triangle, or Keys' cubic (1981)."""
    d = np.abs(distance)
    if way.method == "linear":
        return as_array(np.maximum(1 - d, 0))
    a = way.alpha
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))
