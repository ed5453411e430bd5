"""Resizing of images: by Relay's operator if one is equivalent, otherwise by one matrix product per axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
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
        n.refuse("has an empty input or output size", found=f"{list(lengths)} to {counts}")
    spatial = n.rank(x) - 2
    exact = all(c == length * s for c, length, s in zip(counts, lengths, scales, strict=True))  # Relay derives scales
    has_rank = spatial == 2 or (spatial in (1, 3) and resizing.method != "cubic")
    new_sizes = {axis: count for axis, count in zip(axes, counts, strict=True) if count != n.shape(x)[axis]}
    if exact and has_rank and has_relay_operator(resizing) and n.is_float(x) and all(axis > 1 for axis in new_sizes):
        size = [new_sizes.get(axis, n.shape(x)[axis]) for axis in range(2, n.rank(x))]
        if all(isinstance(s, int) for s in size):
            return n(f"image.resize{spatial}d", x, size=size, **resize_attrs(resizing))
    dtype, x = n.dtype(x), _interpolable(n, x, resizing)
    for at, (axis, count, scale, length) in enumerate(zip(axes, counts, scales, lengths, strict=True)):
        part = replace(resizing, length=length, count=count, scale=scale)
        if region is not None:
            part = replace(part, start=region[at], end=region[at + len(axes)])
        if count != length or region is not None:
            x = _resize_axis(n, x, axis, part, fill)
    return n.cast(x, dtype)


def _interpolable(n: ModelNode, x: Expr, resizing: Resizing) -> Expr:
    """Return integers as floats if they are interpolated: they are cut once at the end, and not along each axis."""
    return x if resizing.method == "nearest_neighbor" or n.is_float(x) else n.cast(x, "float32")


def _resize_axis(n: ModelNode, x: Expr, axis: int, resizing: Resizing, fill: float) -> Expr:
    """Return `x` with one axis resized: by `take` of the nearest elements, or by a product with a matrix."""
    n.check_size(resizing.count, resizing.length)
    if resizing.method == "nearest_neighbor":
        result = n("take", x, n.constant(nearest(resizing), "int64"), axis=axis)
    else:
        dtype = n.dtype(x)
        order = [*(a for a in range(n.rank(x)) if a != axis), axis]  # `nn.dense` multiplies the last axis
        moved = n("transpose", x, axes=order)
        product = n("nn.dense", moved, n.constant(matrix(resizing), dtype))
        # The `argsort` of a permutation is its inverse.
        result = n("transpose", product, axes=[int(a) for a in np.argsort(order)])
    if resizing.coordinates != "tf_crop_and_resize" or not outside(resizing).any():
        return result
    is_outside = outside(resizing).reshape([-1 if a == axis else 1 for a in range(n.rank(x))])
    return n("where", n.constant(is_outside, "bool"), n.constant(fill, x), result)


# ---------------------------------------------------------------- axes of unknown length
def resize_open_axes(n: ModelNode, x: Expr, parts: Iterable[tuple[int, Expr, Expr]], resizing: Resizing) -> Expr:
    """Return `x` with each axis of `parts` resized to a count by a scale. See `resize_open_axis`."""
    dtype, x = n.dtype(x), _interpolable(n, x, resizing)
    for axis, count, scale in parts:
        x = resize_open_axis(n, x, axis, count, scale, resizing)
    return n.cast(x, dtype)


def resize_open_axis(n: ModelNode, x: Expr, axis: int, count: Expr, scale: Expr, resizing: Resizing) -> Expr:
    """Return `x` with `count` elements along an axis of unknown length, by the definition of `interpolation.matrix`.

    `count` is an int64 scalar, `scale` a float64 scalar; only floats are interpolated. Raises `ModelError` where the
    kernel depends on the scale.
    """
    if resizing.antialias or resizing.coordinates == "tf_crop_and_resize":
        n.refuse("resizes an axis of unknown length in a way that needs it", hint=n.shape_hint)
    size = n.builder.size(x, axis)
    length = n.constant(size, "float64") if isinstance(size, int) else n.cast(n.scalar(size), "float64")
    position = _open_positions(n, count, length, scale, resizing.coordinates)
    last = n("subtract", length, 1)

    def inside_of(index: Expr) -> Expr:
        return n("maximum", n("minimum", index, last), 0)

    if resizing.method == "nearest_neighbor":
        rounded = {
            "round_prefer_floor": lambda: n("ceil", n("subtract", position, 0.5)),
            "round_prefer_ceil": lambda: n("floor", n("add", position, 0.5)),
            "floor": lambda: n("floor", position),
            "ceil": lambda: n("ceil", position),
        }[resizing.rounding]()
        return n("take", x, n.cast(inside_of(rounded), "int64"), axis=axis)
    dtype = n.dtype(x)
    taps = range(2) if resizing.method == "linear" else range(-1, 3)
    weights, parts = [], []
    for tap in taps:
        index = n("add", n("floor", position), tap)
        weight = _open_kernel(n, n("abs", n("subtract", index, position)), resizing)
        if resizing.exclude:
            is_inside = n("equal", index, inside_of(index))
            weight = n("where", is_inside, weight, n.constant(0, weight))
        weights.append(weight)
        parts.append(n("take", x, n.cast(inside_of(index), "int64"), axis=axis))
    total = reduce(lambda a, b: n("add", a, b), weights)
    form = [-1 if at == axis else 1 for at in range(n.rank(x))]
    terms = [
        n("multiply", part, n("reshape", n.cast(n("divide", weight, total), dtype), newshape=form))
        for part, weight in zip(parts, weights, strict=True)
    ]
    return reduce(lambda a, b: n("add", a, b), terms)


def _open_positions(n: ModelNode, count: Expr, length: Expr, scale: Expr, mode: str) -> Expr:
    """Return the source position of each new element, float64, as `interpolation.source_positions`."""
    zero, one = n.constant(0, "int64"), n.constant(1, "int64")
    new = n.cast(n("arange", zero, count, one, dtype="int64"), "float64")
    if mode == "asymmetric":
        return n("divide", new, scale)
    shifted = n("divide", n("add", new, 0.5), scale)
    if mode == "tf_half_pixel_for_nn":
        return shifted
    if mode == "align_corners":
        reach = n("subtract", n("multiply", scale, length), 1)
        has_one = n("equal", reach, 0.0)
        safe = n("where", has_one, n.constant(1, "float64"), reach)
        return n(
            "where", has_one, n("multiply", new, 0.0), n("divide", n("multiply", new, n("subtract", length, 1)), safe)
        )
    centred = n("subtract", shifted, 0.5)
    if mode == "pytorch_half_pixel":
        has_many = n("greater", count, one)
        return n("where", has_many, centred, n("subtract", n("multiply", new, 0.0), 0.5))
    if mode == "half_pixel_symmetric":
        share = n("divide", n.cast(count, "float64"), n("multiply", scale, length))
        centre = n("multiply", n("divide", length, 2.0), n("subtract", n.constant(1, "float64"), share))
        return n("add", centred, centre)
    return centred


def _open_kernel(n: ModelNode, distance: Expr, resizing: Resizing) -> Expr:
    """Return the weights of elements at these distances, as `interpolation.matrix` has them."""
    if resizing.method == "linear":
        return n("maximum", n("subtract", n.constant(1, distance), distance), 0.0)
    a, d = resizing.alpha, distance
    square = n("multiply", d, d)
    cube = n("multiply", square, d)
    near = n("add", n("subtract", n("multiply", cube, a + 2), n("multiply", square, a + 3)), 1.0)
    far = n("add", n("subtract", n("multiply", cube, a), n("multiply", square, 5 * a)), n("multiply", d, 8 * a))
    far = n("subtract", far, 4 * a)
    outer = n("where", n("less", d, n.constant(2, d)), far, n.constant(0, d))
    return n("where", n("less_equal", d, n.constant(1, d)), near, outer)
