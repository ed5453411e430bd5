"""Resizing of images."""

from __future__ import annotations

import math
from typing import Any

from passlab.frontend.interpolation import Resizing
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.frontend.resizing import has_relay_operator, resize_attrs, resize_axes, resize_open_axes
from passlab.frontend.sizes import Size, as_vector, size_of
from passlab.ir.expr import Expr


def _resize(
    n: TorchNode,
    x: Expr,
    size: Any,
    scales: list[float | None] | None,
    method: str,
    coordinates: str,
    antialias: bool = False,
) -> Expr:
    rank = n.rank(x) - 2
    factors = list(scales or [None] * rank)
    targets = None if size is None else n.sizes(size)
    if not all(isinstance(known, int) for known in (*n.shape(x)[2:], *(targets or ()))):
        resizing = Resizing(0, 0, 1.0, method, coordinates, "floor", -0.75, antialias, antialias)
        return _resize_open(n, x, targets, factors, resizing)
    lengths = n.static_shape(x, range(2, 2 + rank))
    if size is None:
        counts = [math.floor(length * (factor or 1)) for length, factor in zip(lengths, factors, strict=True)]
    else:
        counts = n.static_ints(targets)
    # PyTorch computes coordinates with the factor that was passed, which may differ from the quotient of the sizes.
    values = [
        factor if factor and coordinates != "align_corners" else count / length
        for count, length, factor in zip(counts, lengths, factors, strict=True)
    ]
    resizing = Resizing(0, 0, 1.0, method, coordinates, "floor", -0.75, antialias, antialias)
    return resize_axes(n, x, list(range(2, 2 + rank)), counts, values, resizing)


def _resize_open(
    n: TorchNode, x: Expr, targets: list[Size] | None, factors: list[float | None], resizing: Resizing
) -> Expr:
    """Resize an image of open size, or to sizes that are computed: by one operator where that has the same scales."""
    sizes, parts = [], []
    for at, factor in enumerate(factors):
        length = as_vector(n, [size_of(n, x, 2 + at)])
        if targets is None:
            count = n.cast(n("floor", n("multiply", n.cast(length, "float64"), float(factor or 1))), "int64")
        else:
            count = as_vector(n, [targets[at]])
        ratio = n("divide", n.cast(count, "float64"), n.cast(length, "float64"))
        is_given = factor and resizing.coordinates != "align_corners"
        parts.append((2 + at, n.scalar(count), n.constant(factor, "float64") if is_given else n.scalar(ratio)))
        sizes.append(count)
    whole = all(factor is None or factor == int(factor) for factor in factors)
    if len(sizes) == 2 and whole and has_relay_operator(resizing):
        return n("image.resize2d", x, size=n.concat(sizes), **resize_attrs(resizing))
    return resize_open_axes(n, x, parts, resizing)


def _factors(n: TorchNode, rest: tuple[Any, ...]) -> list[float | None] | None:
    """Return the factors of an overload: one list for `vec`, otherwise one number for each axis."""
    if n.overload == "vec":
        return rest[0] if rest else None
    return list(rest) if any(rest) else None


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(n: TorchNode, x: Expr, size: Any, *scales: Any) -> Expr:
    """`image.resize1d` to `image.resize3d`, by the nearest element."""
    return _resize(n, x, size, _factors(n, scales), "nearest_neighbor", "asymmetric")


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "_upsample_bilinear2d_aa")
def upsample_linear(n: TorchNode, x: Expr, size: Any, align_corners: bool, *scales: Any) -> Expr:
    """`image.resize1d` to `image.resize3d`, linear; products with a matrix where scales or filters differ."""
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _resize(n, x, size, _factors(n, scales), "linear", coordinates, n.op_type.startswith("aten._upsample"))


@aten("upsample_bicubic2d", "_upsample_bicubic2d_aa")
def upsample_cubic(n: TorchNode, x: Expr, size: Any, align_corners: bool, *scales: Any) -> Expr:
    """`image.resize2d`, cubic."""
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _resize(n, x, size, _factors(n, scales), "cubic", coordinates, n.op_type.startswith("aten._upsample"))


@aten("grid_sampler_2d", "grid_sampler")
def grid_sampler(
    n: TorchNode, x: Expr, grid: Expr, interpolation_mode: int = 0, padding_mode: int = 0, align_corners: bool = False
) -> Expr:
    """`image.grid_sample`, whose points lie along the second axis."""
    # PyTorch has the coordinates of a point last, Relay second.
    moved = n("transpose", grid, axes=[0, n.rank(grid) - 1, *range(1, n.rank(grid) - 1)])
    return n(
        "image.grid_sample",
        x,
        moved,
        method=("bilinear", "nearest", "bicubic")[interpolation_mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=align_corners,
    )
