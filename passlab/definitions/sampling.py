"""Resizing and sampling of images between pixels, for several definitions; see `elements`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.op.dtypes import Array


def source_position(mode: str, i: int, length: int, count: int, start: float, end: float) -> float:
    """Return the source position of element i of `count` on an axis of `length` elements (as in ONNX's Resize)."""
    scale = length / count
    return {
        "half_pixel": (i + 0.5) * scale - 0.5,
        "pytorch_half_pixel": (i + 0.5) * scale - 0.5 if count > 1 else 0.0,
        "align_corners": (length - 1) / max(count - 1, 1) * i,
        "asymmetric": i * scale,
        "tf_half_pixel_for_nn": (i + 0.5) * scale,
        "tf_crop_and_resize": start * (length - 1) + i * (end - start) * (length - 1) / (count - 1)
        if count > 1
        else 0.5 * (start + end) * (length - 1),
    }[mode]


def cubic_weight(t: float, a: float) -> float:
    """Return the cubic convolution kernel at distance t (Keys, 1981)."""
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def resize_last_axis(
    x: Any,
    count: Any,
    method: Any,
    mode: Any,
    *,
    rounding: Any = "",
    alpha: Any = -0.5,
    exclude: Any = False,
    roi: Any = (0.0, 1.0),
    fill: Any = 0.0,
) -> Array:
    """Resize the last axis of x to `count` elements. The parameters are attributes of `image.resize2d`."""
    length, result = x.shape[-1], np.zeros((*x.shape[:-1], count))
    for i in range(count):
        at = source_position(mode, i, length, count, *roi)
        if mode == "tf_crop_and_resize" and not 0 <= at <= length - 1:
            result[..., i] = fill
            continue
        if method == "nearest_neighbor" and mode == "asymmetric" and length and count % length == 0:
            at = i // (count // length)  # whole multiples repeat each element, whatever the rounding (as in Relay)
        if method == "nearest_neighbor":
            nearest = {
                "floor": math.floor(at + 1e-5),
                "ceil": math.ceil(at - 1e-5),
                "round": math.floor(at + 0.5) if at >= 0 else math.ceil(at - 0.5),
                "round_prefer_floor": math.ceil(at - 0.5),
                "round_prefer_ceil": math.floor(at + 0.5),
            }[rounding or ("round" if mode == "align_corners" else "floor")]
            result[..., i] = x[..., min(max(nearest, 0), length - 1)]
            continue
        low = math.floor(at)
        taps = (low, low + 1) if method == "linear" else (low - 1, low, low + 1, low + 2)
        weights = [1 - abs(at - t) if method == "linear" else cubic_weight(at - t, alpha) for t in taps]
        if exclude:
            weights = [w if 0 <= t < length else 0.0 for w, t in zip(weights, taps, strict=True)]
            weights = [w / sum(weights) for w in weights]
        for t, w in zip(taps, weights, strict=True):
            result[..., i] += w * x[..., min(max(t, 0), length - 1)]
    return result


def reflect(at: float, length: int, aligned: bool) -> float:
    """Return a coordinate reflected at the borders until it is inside."""
    low, high = (0.0, length - 1.0) if aligned else (-0.5, length - 0.5)
    if high <= low:
        return 0.0
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return min(max(at, 0.0), length - 1.0)


def _pixel_value(image: Any, pixel: Any) -> Any:
    """Return the values (C,) of a pixel, zeros outside the image."""
    if all(0 <= p < n for p, n in zip(pixel, image.shape[1:], strict=True)):
        return image[(slice(None), *pixel)]
    return np.zeros(len(image))


def grid_value(image: Any, at: Any, method: Any, mode: Any, aligned: Any) -> Any:
    """Sample an image (C, *S) at one position; `mode` is the padding mode of `image.grid_sample`."""
    sizes = image.shape[1:]
    if method == "bicubic":
        total = np.zeros(len(image))
        for i, j in np.ndindex(4, 4):
            pixel = [math.floor(at[0]) - 1 + i, math.floor(at[1]) - 1 + j]
            weight = cubic_weight(at[0] - pixel[0], -0.75) * cubic_weight(at[1] - pixel[1], -0.75)
            if mode == "border":
                pixel = [min(max(p, 0), n - 1) for p, n in zip(pixel, sizes, strict=True)]
            elif mode == "reflection":
                pixel = [int(reflect(p, n, aligned)) for p, n in zip(pixel, sizes, strict=True)]
            total += weight * _pixel_value(image, pixel)
        return total
    if mode == "reflection":
        at = [reflect(a, n, aligned) for a, n in zip(at, sizes, strict=True)]
    elif mode == "border":
        at = [min(max(a, 0), n - 1) for a, n in zip(at, sizes, strict=True)]
    if method == "nearest":
        return _pixel_value(image, [round(a) for a in at])  # halves to even
    total = np.zeros(len(image))
    for corner in np.ndindex(*(2,) * len(at)):
        pixel = [math.floor(a) + c for a, c in zip(at, corner, strict=True)]
        weight = np.prod([1 - abs(a - p) for a, p in zip(at, pixel, strict=True)])
        total += weight * _pixel_value(image, pixel)
    return total


def sample(image: Any, y: Any, x: Any) -> Any:
    """Interpolate an image (C, H, W) at a position; zero more than one pixel outside."""
    return sum(weighted_pixels(image, y, x))


def weighted_pixels(image: Any, y: Any, x: Any) -> list[Any]:
    """Return the four pixels around a position, each times its weight: their sum is the interpolated value."""
    height, width = image.shape[1:]
    if y < -1 or x < -1 or y > height or x > width:
        return [np.zeros(len(image))]
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    dy, dx = y - y0, x - x0
    rows, columns = ((y0, 1 - dy), (y1, dy)), ((x0, 1 - dx), (x1, dx))
    return [image[:, row, column] * a * b for row, a in rows for column, b in columns]


def bilinear(image: Any, y: Any, x: Any) -> Any:
    """Interpolate an image (H, W) at a position; zero outside, and mixed with zeros past the last row or column."""
    height, width = image.shape
    if not (0 <= y < height and 0 <= x < width):
        return 0.0
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    dy, dx = y - y0, x - x0
    larger = np.pad(image, ((0, 1), (0, 1)))
    rows = [(larger[r, x0] * (1 - dx) + larger[r, x0 + 1] * dx) for r in (y0, y0 + 1)]
    return rows[0] * (1 - dy) + rows[1] * dy
