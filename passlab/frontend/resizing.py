"""Resizing of images: by Relay's operator if one is equivalent, otherwise by one matrix product per axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from passlab.frontend.interpolation import Resizing, matrix, nearest, outside
from passlab.frontend.model_node import ModelNode
from passlab.ir.expr import Expr
from passlab.op.nn.resample import COORDINATES


def has_relay_operator(resizing: Resizing) -> bool:
    """Whether a Relay operator is equivalent. With `asymmetric` coordinates it rounds down to the nearest element."""
    if resizing.antialias or resizing.coordinates not in COORDINATES or resizing.coordinates == "tf_crop_and_resize":
        return False
    return resizing.method != "nearest_neighbor" or resizing.coordinates != "asymmetric" or resizing.rounding == "floor"


def resize_attrs(resizing: Resizing) -> dict[str, Any]:
    """Return the attributes of `image.resize2d` for a resizing."""
    return {
        "method": resizing.method,
        "coordinate_transformation_mode": resizing.coordinates,
        "rounding_method": resizing.rounding if resizing.method == "nearest_neighbor" else "",
        "cubic_alpha": resizing.alpha,
        "cubic_exclude": int(resizing.exclude),
    }


def resize_axes(
    n: ModelNode,
    x: Expr,
    axes: list[int],
    counts: list[int],
    scales: list[float],
    resizing: Resizing,
    region: list[float] | None = None,
    fill: float = 0.0,
) -> Expr:
    """Return `x` with `counts` elements along `axes`.

    `region` has the start and then the end of the source along each axis, `fill` the value outside the image. Raises
    `ModelError` for sizes below 1.
    """
    lengths = n.static_shape(x, axes)
    if min(counts, default=1) < 1 or min(lengths, default=1) < 1:
        n.refuse("resizes from or to nothing", found=f"{list(lengths)} to {counts}")
    spatial = n.rank(x) - 2
    exact = all(c == length * s for c, length, s in zip(counts, lengths, scales, strict=True))  # Relay derives scales
    has_rank = spatial == 2 or (spatial in (1, 3) and resizing.method != "cubic")
    new_sizes = {axis: count for axis, count in zip(axes, counts, strict=True) if count != n.shape(x)[axis]}
    if exact and has_rank and has_relay_operator(resizing) and n.is_float(x) and all(axis > 1 for axis in new_sizes):
        size = [new_sizes.get(axis, n.shape(x)[axis]) for axis in range(2, n.rank(x))]
        if all(isinstance(s, int) for s in size):
            return n(f"image.resize{spatial}d", x, size=size, **resize_attrs(resizing))
    for at, (axis, count, scale, length) in enumerate(zip(axes, counts, scales, lengths, strict=True)):
        part = replace(resizing, length=length, count=count, scale=scale)
        if region is not None:
            part = replace(part, start=region[at], end=region[at + len(axes)])
        if count != length or region is not None:
            x = _resize_axis(n, x, axis, part, fill)
    return x


def _resize_axis(n: ModelNode, x: Expr, axis: int, resizing: Resizing, fill: float) -> Expr:
    """Return `x` with one axis resized: by `take` of the nearest elements, or by a product with a matrix."""
    n.check_size(resizing.count, resizing.length)
    if resizing.method == "nearest_neighbor":
        result = n("take", x, n.constant(nearest(resizing), "int64"), axis=axis)
    else:
        dtype = n.dtype(x) if n.is_float(x) else "float32"  # integers are interpolated as floats
        order = [*(a for a in range(n.rank(x)) if a != axis), axis]  # `nn.dense` multiplies the last axis
        moved = n("transpose", n.cast(x, dtype), axes=order)
        product = n("nn.dense", moved, n.constant(matrix(resizing), dtype))
        # The `argsort` of a permutation is its inverse.
        result = n.cast(n("transpose", product, axes=[int(a) for a in np.argsort(order)]), n.dtype(x))
    if resizing.coordinates != "tf_crop_and_resize" or not outside(resizing).any():
        return result
    is_outside = outside(resizing).reshape([-1 if a == axis else 1 for a in range(n.rank(x))])
    return n("where", n.constant(is_outside, "bool"), n.constant(fill, x), result)
