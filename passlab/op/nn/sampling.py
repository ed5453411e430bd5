"""Reading images between their pixels: bilinear, nearest and bicubic samples at given coordinates.

Images are arrays (C, *S), coordinates are arrays of one shape for each spatial axis; samples have the shape (C, *shape
of the coordinates).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.op.dtypes import Array, as_array


def pixels(image: Array, positions: Sequence[Any], outside: str) -> Array:
    """Return the pixels of `image` at integer coordinates.

    Coordinates beyond the border give zero (`outside` "zeros") or the nearest pixel of the border ("border").
    """
    inside: Any = True
    index = []
    for position, length in zip(positions, image.shape[1:], strict=True):
        index.append(np.clip(position, 0, length - 1))
        if outside == "zeros":
            inside = inside & (position >= 0) & (position < length)
    values = image[(slice(None), *index)]
    return values if inside is True else np.where(inside, values, image.dtype.type(0))


def linear(image: Array, positions: Sequence[Any], outside: str) -> Array:
    """Return samples interpolated between the two nearest pixels along each axis."""
    low = [np.floor(position) for position in positions]
    fractions = [position - floor for position, floor in zip(positions, low, strict=True)]
    indices = [floor.astype(np.int64) for floor in low]
    result: Any = 0
    for corner in itertools.product((0, 1), repeat=len(positions)):
        weight: Any = 1
        for step, fraction in zip(corner, fractions, strict=True):
            weight = weight * (fraction if step else 1 - fraction)
        result = result + pixels(image, [w + s for w, s in zip(indices, corner, strict=True)], outside) * weight
    return as_array(result)


def nearest(image: Array, positions: Sequence[Any], outside: str) -> Array:
    """Return the pixels nearest to the coordinates, of two equally near ones the even one (IEEE 754's default)."""
    return pixels(image, [np.rint(position).astype(np.int64) for position in positions], outside)


def reflect(position: Array, length: int, align_corners: bool) -> Array:
    """Return coordinates reflected at the borders: at the outer pixels' centres, or (not aligned) at their edges."""
    start, span = (0.0, length - 1) if align_corners else (-0.5, length)
    if span <= 0:
        return np.zeros_like(position)
    distance = np.abs(position - position.dtype.type(start))
    times = np.floor(distance / span)
    extra = distance - times * span
    reflected = np.where(times % 2 == 0, extra, span - extra) + position.dtype.type(start)
    return as_array(np.clip(reflected, 0, length - 1)).astype(position.dtype)


_CUBIC = -0.75  # PyTorch's coefficient, which grid_sample uses


def _cubic_weights(fraction: Any) -> list[Any]:
    a = fraction.dtype.type(_CUBIC)

    def near(t: Array) -> Array:
        return as_array(((a + 2) * t - (a + 3)) * t * t + 1)

    def far(t: Array) -> Array:
        return as_array(((a * t - 5 * a) * t + 8 * a) * t - 4 * a)

    return [far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)]


def cubic(image: Array, positions: Sequence[Any], outside: str, align_corners: bool) -> Array:
    """Return samples interpolated between the four nearest pixels along each of two axes (Keys, 1981).

    `outside` is "zeros", "border" or "reflection", and applies to each pixel separately.
    """
    low = [np.floor(position) for position in positions]
    weights = [_cubic_weights(position - floor) for position, floor in zip(positions, low, strict=True)]
    result: Any = 0
    for i, j in itertools.product(range(4), repeat=2):
        coordinates = [low[0] + (i - 1), low[1] + (j - 1)]
        if outside == "reflection":
            coordinates = [reflect(s, n, align_corners) for s, n in zip(coordinates, image.shape[1:], strict=True)]
        indices = [np.trunc(s).astype(np.int64) for s in coordinates]
        values = pixels(image, indices, "zeros" if outside == "zeros" else "border")
        result = result + values * (weights[0][i] * weights[1][j])
    return as_array(result)


def check_batch(name: str, indices: Array, count: int) -> None:
    """Raise `RunError` unless all image numbers are in a batch of `count`."""
    if indices.size and not (0 <= indices.min() and indices.max() < count):
        raise RunError(
            Diagnostic(
                f"{name}: an image number is outside the batch of {count}",
                expected=f"0..{count - 1}",
                found=f"{indices.min()}..{indices.max()}",
            )
        )
