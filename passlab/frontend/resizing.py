"""Resizing of images: by an operator of Relay if it is equivalent, otherwise by products with matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from passlab.frontend.interpolation import Resizing, matrix, nearest, outside
from passlab.frontend.model_node import ModelNode
from passlab.ir.expr import Expr
from passlab.op.nn.resample import COORDINATES


def is_relays(way: Resizing) -> bool:
    """Whether Relay has an equivalent way of resizing. Its `asymmetric` has one rule for the nearest element."""
    if way.antialias or way.coordinates not in COORDINATES or way.coordinates == "tf_crop_and_resize":
        return False
    return way.method != "nearest_neighbor" or way.coordinates != "asymmetric" or way.rounding == "floor"


def facts(way: Resizing) -> dict[str, Any]:
    """Return a way of resizing as the attributes of `image.resize2d`."""
    return {
        "method": way.method,
        "coordinate_transformation_mode": way.coordinates,
        "rounding_method": way.rounding if way.method == "nearest_neighbor" else "",
        "cubic_alpha": way.alpha,
        "cubic_exclude": int(way.exclude),
    }


def resize_axes(
    n: ModelNode,
    x: Expr,
    axes: list[int],
    counts: list[int],
    scales: list[float],
    way: Resizing,
    region: list[float] | None = None,
    beyond: float = 0.0,
) -> Expr:
    """Return `x` with `counts` elements along `axes`: by Relay's operator if it is equivalent."""
    lengths = n.static_shape(x, axes)
    if min(counts, default=1) < 1 or min(lengths, default=1) < 1:
        n.refuse("resizes from or to nothing", found=f"{list(lengths)} to {counts}")
    spatial = n.rank(x) - 2
    exact = all(c == length * s for c, length, s in zip(counts, lengths, scales, strict=True))
    plain = spatial == 2 or (spatial in (1, 3) and way.method != "cubic")
    ends = {axis: count for axis, count in zip(axes, counts, strict=True) if count != n.shape(x)[axis]}
    if exact and plain and is_relays(way) and n.is_float(x) and all(axis > 1 for axis in ends):
        size = [ends.get(axis, n.shape(x)[axis]) for axis in range(2, n.rank(x))]
        if all(isinstance(s, int) for s in size):
            return n(f"image.resize{spatial}d", x, size=size, **facts(way))
    for at, (axis, count, scale, length) in enumerate(zip(axes, counts, scales, lengths, strict=True)):
        part = replace(way, length=length, count=count, scale=scale)
        if region is not None:
            part = replace(part, start=region[at], end=region[at + len(axes)])
        if count != length or region is not None:
            x = _along(n, x, axis, part, beyond)
    return x


def _along(n: ModelNode, x: Expr, axis: int, way: Resizing, fill: float) -> Expr:
    """Resize one axis."""
    n.room(way.count, way.length)
    if way.method == "nearest_neighbor":
        result = n("take", x, n.constant(nearest(way), "int64"), axis=axis)
    else:
        wide = n.dtype(x) if n.is_float(x) else "float32"
        order = [*(a for a in range(n.rank(x)) if a != axis), axis]
        last = n("transpose", n.cast(x, wide), axes=order)
        mixed = n("nn.dense", last, n.constant(matrix(way), wide))
        result = n.cast(n("transpose", mixed, axes=[int(a) for a in np.argsort(order)]), n.dtype(x))
    if way.coordinates != "tf_crop_and_resize" or not outside(way).any():
        return result
    beyond = outside(way).reshape([-1 if a == axis else 1 for a in range(n.rank(x))])
    return n("where", n.constant(beyond, "bool"), n.constant(fill, x), result)
