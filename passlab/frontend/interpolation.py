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


def source_positions(resizing: Resizing) -> Array:
    """Return the source position of each new element, by the coordinate transformation of ONNX's Resize."""
    new, mode, scale = np.arange(resizing.count, dtype=np.float64), resizing.coordinates, resizing.scale
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and resizing.count > 1):
        return (new + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return np.full(resizing.count, -0.5)
    if mode == "half_pixel_symmetric":
        # The size was rounded: the grid is shifted so that both centres agree.
        centre = resizing.length / 2 * (1 - resizing.count / (scale * resizing.length))
        return centre + (new + 0.5) / scale - 0.5
    if mode == "align_corners":
        return (
            new * (resizing.length - 1) / (scale * resizing.length - 1)
            if scale * resizing.length != 1
            else np.zeros(resizing.count)
        )
    if mode == "tf_half_pixel_for_nn":
        return (new + 0.5) / scale
    if mode == "tf_crop_and_resize":
        last = resizing.length - 1
        if resizing.count > 1:
            return resizing.start * last + new * (resizing.end - resizing.start) * last / (resizing.count - 1)
        return np.full(resizing.count, (resizing.start + resizing.end) / 2 * last)
    return new / scale


def outside(resizing: Resizing) -> Array:
    """Return the mask of the new elements whose source position is outside the axis."""
    position = source_positions(resizing)
    return (position < 0) | (position > resizing.length - 1)


def nearest(resizing: Resizing) -> Array:
    """Return the index of the element nearest to the source position of each new element, int64."""
    position = source_positions(resizing)
    rounded = {
        "round_prefer_floor": np.ceil(position - 0.5),  # halves down
        "round_prefer_ceil": np.floor(position + 0.5),  # halves up
        "floor": np.floor(position),
        "ceil": np.ceil(position),
    }[resizing.rounding]
    return np.clip(rounded, 0, resizing.length - 1).astype(np.int64)


def matrix(resizing: Resizing) -> Array:
    """Return the matrix (`count`, `length`) of float64 that resizes the axis; its rows sum to 1."""
    position = source_positions(resizing)
    # To shrink without aliasing, the kernel is stretched until it covers every element.
    filter_scale = max(1.0, 1 / resizing.scale) if resizing.antialias else 1.0
    support = (1 if resizing.method == "linear" else 2) * filter_scale
    taps = np.arange(np.floor(-support), np.ceil(support) + 1)  # offsets of the elements that the kernel may reach
    index = np.floor(position)[:, None] + taps
    weights = _kernel((index - position[:, None]) / filter_scale, resizing)
    inside = (index >= 0) & (index < resizing.length)
    if resizing.exclude:
        weights = np.where(inside, weights, 0)  # instead of counting for the element at the border
    weights /= weights.sum(axis=1, keepdims=True)
    array = np.zeros((resizing.count, resizing.length))
    rows = np.broadcast_to(np.arange(resizing.count)[:, None], index.shape)
    # Elements outside count for the border; unlike `+=`, `add.at` adds at repeated indices.
    np.add.at(array, (rows, np.clip(index, 0, resizing.length - 1).astype(np.int64)), weights)
    return array


def _kernel(distance: Array, resizing: Resizing) -> Array:
    """Return the weights of elements at these distances: a triangle, or the cubic of Keys (1981)."""
    d = np.abs(distance)
    if resizing.method == "linear":
        return as_array(np.maximum(1 - d, 0))
    a = resizing.alpha
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))
