"""Positions between pixels, and boxes, shared by several definitions. See `elements`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.op.dtypes import Array


def position(mode: str, i: int, length: int, count: int, start: float, end: float) -> float:
    """Return the source position of element i of `count` on an axis of `length` elements (ONNX, operator Resize)."""
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


def cubic(t: float, a: float) -> float:
    """Keys' cubic kernel at distance t."""
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def resize_line(
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
    """Resize the last axis of x, one element at a time."""
    length, result = x.shape[-1], np.zeros((*x.shape[:-1], count))
    for i in range(count):
        at = position(mode, i, length, count, *roi)
        if mode == "tf_crop_and_resize" and not 0 <= at <= length - 1:
            result[..., i] = fill
            continue
        if method == "nearest_neighbor" and mode == "asymmetric" and length and count % length == 0:
            at = i // (count // length)  # whole multiples repeat each element, whatever the rounding (as in Relay)
        if method == "nearest_neighbor":
            near = {
                "floor": math.floor(at + 1e-5),
                "ceil": math.ceil(at - 1e-5),
                "round": math.floor(at + 0.5) if at >= 0 else math.ceil(at - 0.5),
                "round_prefer_floor": math.ceil(at - 0.5),
                "round_prefer_ceil": math.floor(at + 0.5),
            }[rounding or ("round" if mode == "align_corners" else "floor")]
            result[..., i] = x[..., min(max(near, 0), length - 1)]
            continue
        low = math.floor(at)
        spots = (low, low + 1) if method == "linear" else (low - 1, low, low + 1, low + 2)
        weights = [1 - abs(at - s) if method == "linear" else cubic(at - s, alpha) for s in spots]
        if exclude:
            weights = [w if 0 <= s < length else 0.0 for w, s in zip(weights, spots, strict=True)]
            weights = [w / sum(weights) for w in weights]
        for s, w in zip(spots, weights, strict=True):
            result[..., i] += w * x[..., min(max(s, 0), length - 1)]
    return result


def reflection(at: float, length: int, aligned: bool) -> float:
    """Return a coordinate reflected at the borders, step by step."""
    low, high = (0.0, length - 1.0) if aligned else (-0.5, length - 0.5)
    if high <= low:
        return 0.0
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return min(max(at, 0.0), length - 1.0)


def pixel(image: Any, spot: Any, mode: Any) -> Any:
    """Return the values at a pixel; outside the image the padding mode decides."""
    if all(0 <= s < n for s, n in zip(spot, image.shape[1:], strict=True)):
        return image[(slice(None), *spot)]
    return np.zeros(len(image))


def grid_value(image: Any, at: Any, method: Any, mode: Any, aligned: Any) -> Any:
    """Sample an image (C, *S) at one position."""
    sizes = image.shape[1:]
    if method == "bicubic":
        total = np.zeros(len(image))
        for i, j in np.ndindex(4, 4):
            spot = [math.floor(at[0]) - 1 + i, math.floor(at[1]) - 1 + j]
            weight = cubic(at[0] - spot[0], -0.75) * cubic(at[1] - spot[1], -0.75)
            if mode == "border":
                spot = [min(max(s, 0), n - 1) for s, n in zip(spot, sizes, strict=True)]
            elif mode == "reflection":
                spot = [int(reflection(s, n, aligned)) for s, n in zip(spot, sizes, strict=True)]
            total += weight * pixel(image, spot, mode)
        return total
    if mode == "reflection":
        at = [reflection(a, n, aligned) for a, n in zip(at, sizes, strict=True)]
    elif mode == "border":
        at = [min(max(a, 0), n - 1) for a, n in zip(at, sizes, strict=True)]
    if method == "nearest":
        return pixel(image, [int(a + 0.5) if a > 0 else int(a - 0.5) for a in at], mode)
    total = np.zeros(len(image))
    for corner in np.ndindex(*(2,) * len(at)):
        spot = [math.floor(a) + c for a, c in zip(at, corner, strict=True)]
        weight = np.prod([1 - abs(a - s) for a, s in zip(at, spot, strict=True)])
        total += weight * pixel(image, spot, mode)
    return total


def iou(a: Any, b: Any, edge: Any = 0.0) -> Any:
    """Return the intersection of two boxes divided by their union."""
    a = (min(a[0], a[2]), min(a[1], a[3]), max(a[0], a[2]), max(a[1], a[3]))
    b = (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]) + edge)
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]) + edge)
    areas = [(x[2] - x[0] + edge) * (x[3] - x[1] + edge) for x in (a, b)]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def survivors(rows: Any, limit: Any, threshold: Any, force: Any, top_k: Any) -> Any:
    """Return the rows (class, score, box) that survive suppression, best first."""
    order = sorted(range(len(rows)), key=lambda i: -rows[i][1])[: top_k if top_k > 0 else None]
    best_rows: list[int] = []
    for i in order:
        rivals = [k for k in best_rows if force or rows[k][0] == rows[i][0]]
        if len(best_rows) != limit and all(iou(rows[k][2:], rows[i][2:]) < threshold for k in rivals):
            best_rows.append(i)
    return best_rows


def sample(image: Any, y: Any, x: Any) -> Any:
    """Return the interpolated values of an image at a position, zero far outside."""
    height, width = image.shape[1:]
    if y < -1 or x < -1 or y > height or x > width:
        return np.zeros(len(image))
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    dy, dx = y - y0, x - x0
    upper = image[:, y0, x0] * (1 - dx) + image[:, y0, x1] * dx
    lower = image[:, y1, x0] * (1 - dx) + image[:, y1, x1] * dx
    return upper * (1 - dy) + lower * dy


def bilinear(image: Any, y: Any, x: Any) -> Any:
    """Interpolate an image (H, W) at a position; zero outside, and mixed with zeros past the last row or column."""
    height, width = image.shape
    if not (0 <= y < height and 0 <= x < width):
        return 0.0
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    dy, dx = y - y0, x - x0
    wide = np.pad(image, ((0, 1), (0, 1)))
    rows = [(wide[r, x0] * (1 - dx) + wide[r, x0 + 1] * dx) for r in (y0, y0 + 1)]
    return rows[0] * (1 - dy) + rows[1] * dy
