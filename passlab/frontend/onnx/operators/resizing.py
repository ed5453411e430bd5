"""Resize and its predecessor, Upsample.

Resizings without an equivalent operator in Relay become a product with one matrix per axis (`frontend.resizing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from passlab.frontend.interpolation import Resizing
from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.resizing import has_relay_operator, resize_attrs, resize_axes, resize_open_axes
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr
from passlab.op.nn.resample import COORDINATES

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_POLICIES = ("stretch", "not_larger", "not_smaller")


@onnx_operator("Upsample", 1, 7, 9, 10)
def upsample(n: OnnxNode, x: Expr, scales: Expr | None = None) -> Expr:
    """As Resize with asymmetric coordinates."""
    if n.version == 1:
        factors: list[float] | None = [1.0, 1.0, n.number("height_scale"), n.number("width_scale")]
    else:
        factors = n.numbers("scales") if scales is None else _known_scales(n, scales)
    method = _METHODS[n.choice("mode", "nearest", tuple(_METHODS))]
    # Lengths and scale are filled in for each axis.
    resizing, axes = Resizing(0, 0, 1.0, method, "asymmetric", "floor", -0.75, False, False), list(range(n.rank(x)))
    if factors is None and scales is not None:
        return _by_computed_scales(n, x, axes, scales, resizing)
    return _by_scales(n, x, axes, factors or [], resizing)


@onnx_operator("Resize", 10, 11, 13, 18, 19)
def resize(
    n: OnnxNode, x: Expr, roi: Expr | None = None, scales: Expr | None = None, sizes: Expr | None = None
) -> Expr:
    """`image.resize1d`, `image.resize2d` or `image.resize3d`; otherwise a product with a matrix for each axis."""
    old = n.version < 11
    if old:
        roi, scales = None, roi  # version 10 has the scales in place of the region
    rank = n.rank(x)
    axes = [n.axis(axis, rank) for axis in n.integers("axes", None) or range(rank)]
    resizing = Resizing(
        0,
        0,
        1.0,
        _METHODS[n.choice("mode", "nearest", tuple(_METHODS))],
        "asymmetric" if old else n.choice("coordinate_transformation_mode", "half_pixel", _COORDINATES),
        "floor" if old else n.choice("nearest_mode", "round_prefer_floor", _ROUNDINGS),
        n.number("cubic_coeff_a", -0.75),
        n.flag("exclude_outside"),
        n.flag("antialias"),
    )
    region = (
        _numbers(n, roi, "the region") if roi is not None and resizing.coordinates == "tf_crop_and_resize" else None
    )
    if sizes is not None and n.static_shape(sizes) != (0,):
        return _by_sizes(n, x, axes, sizes, resizing, region)
    if scales is None:
        n.refuse("needs scales or sizes")
    factors = _known_scales(n, scales)
    if factors is None and region is None:
        return _by_computed_scales(n, x, axes, scales, resizing)
    return _by_scales(n, x, axes, factors or _numbers(n, scales, "the scales"), resizing, region)


_COORDINATES = (*COORDINATES, "half_pixel_symmetric")


def _numbers(n: OnnxNode, x: Expr, what: str) -> list[float]:
    return [float(entry) for entry in n.constant_value(x, what).reshape(-1)]


def _known_scales(n: OnnxNode, scales: Expr) -> list[float] | None:
    return None if n.value(scales) is None else _numbers(n, scales, "the scales")


def _by_computed_scales(n: OnnxNode, x: Expr, axes: list[int], scales: Expr, resizing: Resizing) -> Expr:
    """Resize by factors that are computed. The batch and the channels of an image stay as they are."""
    chosen = [(at, axis) for at, axis in enumerate(axes) if axis > 1 or len(axes) < n.rank(x) or n.rank(x) < 3]
    parts = []
    for at, axis in chosen:
        scale = n.cast(n.scalar(n("take", scales, n.constant([at], "int64"), axis=0)), "float32")
        parts.append((axis, _scaled(n, x, axis, scale), n.cast(scale, "float64")))
    return resize_open_axes(n, x, parts, resizing)


def _scaled(n: OnnxNode, x: Expr, axis: int, scale: Expr) -> Expr:
    """Return the length of an axis times a float32 scalar, rounded down, int64.

    As in onnxruntime, the product is a float32: 3 times the nearest number to 5/3 is 5, and not 4.
    """
    return n.cast(n("floor", n("multiply", n.cast(_scalar_size(n, x, axis), "float32"), scale)), "int64")


def _by_sizes(
    n: OnnxNode, x: Expr, axes: list[int], sizes: Expr, resizing: Resizing, region: list[float] | None
) -> Expr:
    """Resize to sizes, or to the largest or smallest sizes for them that keep the aspect ratio."""
    policy = n.choice("keep_aspect_ratio_policy", "stretch", _POLICIES)
    if n.value(sizes) is None and policy == "stretch" and len(axes) == n.rank(x) == 4 and has_relay_operator(resizing):
        target = n("strided_slice", sizes, begin=[2], end=[4], strides=[1])
        return _dynamic(n, x, target, resizing)
    if n.value(sizes) is None or any(not isinstance(n.shape(x)[axis], int) for axis in axes):
        return _open_by_sizes(n, x, axes, sizes, policy, resizing)
    counts, sizes_now = n.constant_ints(sizes, "the sizes"), n.static_shape(x, axes)
    if policy == "stretch":
        scales = [count / length for count, length in zip(counts, sizes_now, strict=True)]
    else:
        ratios = [count / length for count, length in zip(counts, sizes_now, strict=True)]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        # Sizes are rounded to the nearest whole number.
        scales, counts = [ratio] * len(axes), [math.floor(ratio * length + 0.5) for length in sizes_now]
    return resize_axes(n, x, axes, counts, scales, resizing, region, n.number("extrapolation_value", 0.0))


def _open_by_sizes(n: OnnxNode, x: Expr, axes: list[int], sizes: Expr, policy: str, resizing: Resizing) -> Expr:
    """Resize to sizes where they, or the sizes of the image, are computed."""
    entries = n.known_entries(sizes) or [None] * len(axes)
    shape = n.shape(x)
    # The batch and the channels of an image stay, and so does an axis whose size is the same expression.
    kept = {axis for axis, entry in zip(axes, entries, strict=True) if entry is not None and entry is shape[axis]}
    kept |= {axis for axis in axes if axis < 2 and len(axes) == n.rank(x) > 2 and policy == "stretch"}
    chosen = [(at, axis) for at, axis in enumerate(axes) if axis not in kept]
    lengths = [n.cast(_scalar_size(n, x, axis), "float64") for _, axis in chosen]
    targets = [n.scalar(n("take", n.cast(sizes, "int64"), n.constant([at], "int64"), axis=0)) for at, _ in chosen]
    scales = [n("divide", n.cast(target, "float64"), length) for target, length in zip(targets, lengths, strict=True)]
    if policy != "stretch":
        choose = "minimum" if policy == "not_larger" else "maximum"
        ratio = reduce(lambda a, b: n(choose, a, b), scales)
        scales = [ratio] * len(chosen)
        targets = [n.cast(n("floor", n("add", n("multiply", ratio, length), 0.5)), "int64") for length in lengths]
    resized = [(axis, target, scale) for (_, axis), target, scale in zip(chosen, targets, scales, strict=True)]
    return resize_open_axes(n, x, resized, resizing)


def _scalar_size(n: OnnxNode, x: Expr, axis: int) -> Expr:
    size = size_of(n, x, axis)
    return n.constant(size, "int64") if isinstance(size, int) else n.scalar(size)


def _by_scales(
    n: OnnxNode,
    x: Expr,
    axes: list[int],
    scales: Sequence[float],
    resizing: Resizing,
    region: list[float] | None = None,
) -> Expr:
    """Resize by factors; if the size of an image is unknown, the size of the result is unknown."""
    if len(scales) != len(axes):
        n.refuse("needs a scale for each axis", str(len(axes)), str(len(scales)))
    if not all(0 < scale < 1e6 for scale in scales):
        n.refuse("has impossible scales", found=str(scales))
    resized = [(axis, scale) for axis, scale in zip(axes, scales, strict=True) if scale != 1 or region]
    shape = n.shape(x)
    if any(not isinstance(shape[axis], int) for axis, _ in resized):
        whole = all(scale == int(scale) for _, scale in resized)  # else the size is rounded, and the scale is not
        if n.rank(x) == 4 and all(axis > 1 for axis, _ in resized) and whole and has_relay_operator(resizing):
            factors = n.constant([int(dict(resized).get(axis, 1)) for axis in (2, 3)], "int64")
            spatial = n("strided_slice", n("shape_of", x, dtype="int64"), begin=[2], end=[4], strides=[1])
            return _dynamic(n, x, n("multiply", spatial, factors), resizing)
        parts = []
        for axis, scale in resized:
            parts.append((axis, _scaled(n, x, axis, n.constant(scale, "float32")), n.constant(scale, "float64")))
        return resize_open_axes(n, x, parts, resizing)
    lengths = n.static_shape(x, [axis for axis, _ in resized])
    shares = [region[at + len(axes)] - region[at] if region else 1.0 for at in range(len(resized))]
    counts = [
        math.floor(np.float32(length * share) * np.float32(scale))
        for length, (_, scale), share in zip(lengths, resized, shares, strict=True)
    ]
    return resize_axes(
        n,
        x,
        [axis for axis, _ in resized],
        counts,
        [scale for _, scale in resized],
        resizing,
        region,
        n.number("extrapolation_value", 0.0),
    )


def _dynamic(n: OnnxNode, x: Expr, size: Expr, resizing: Resizing) -> Expr:
    return n("image.resize2d", x, size=size, **resize_attrs(resizing))
