"""Gradients of pooling: windows over one and three axes by those over two, adaptive ones by products and selections.

Relay has operators for the gradients of `nn.max_pool2d` and `nn.avg_pool2d`; the others are defined by these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall
from passlab.op.along_axis import matmul_along_axis, number, reshape_to, take_along, to_layout
from passlab.op.autodiff import Gradient, attrs_of, by_definition, dtype_of, infer_types, shape_of, sizes_of
from passlab.op.declare import call
from passlab.op.dtypes import array_dtype
from passlab.op.layout_names import DATA_LAYOUTS, layout_axes
from passlab.op.nn import pool_kernels
from passlab.op.nn.window_sizes import full_padding


# ---------------------------------------------------------------- windows
def pool2d(name: str) -> Gradient:
    """Return the gradient of a pooling operator, given the operator that computes it."""

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        return [call(f"{name}_grad", grad, orig.args[0], **dict(attrs_of(orig).items()))]

    return gradient


def _mode_attrs(attrs: Attrs) -> dict[str, Any]:
    flags = {"ceil_mode": attrs.ceil_mode}
    return flags | {"count_include_pad": attrs.count_include_pad} if "count_include_pad" in attrs else flags


def _pool_along(data: Expr, name: str, attrs: Attrs, axes: Sequence[int | None]) -> Expr:
    """Pool images by the window that `attrs` has along `axes`, its axes by index; None is an axis without a window."""
    rank = len(attrs.pool_size)
    padding = full_padding(attrs.padding, rank)

    def pick_values(values: Sequence[int], default: int) -> list[int]:
        return [default if axis is None else values[axis] for axis in axes]

    window = {
        "pool_size": pick_values(attrs.pool_size, 1),
        "strides": pick_values(attrs.strides, 1),
        "dilation": pick_values(attrs.dilation, 1),
        "padding": [*pick_values(padding[:rank], 0), *pick_values(padding[rank:], 0)],
    }
    return call(name, data, **window, **_mode_attrs(attrs))


def pool1d(name: str) -> Gradient:
    """Return the gradient of pooling along one axis, as for an image with one row."""

    def define(attrs: Attrs, data: Expr) -> Expr:
        image = call("expand_dims", to_layout(data, attrs.layout, "NCW"), axis=2)
        result = call("squeeze", _pool_along(image, name, attrs, (None, 0)), axis=[2])
        return to_layout(result, "NCW", attrs.layout)

    return by_definition(define)


def pool3d(name: str) -> Gradient:
    """Return the gradient of pooling over three axes: over two of them, then over the third.

    The maximum of maxima is the maximum; the mean of means is the mean, since the number of elements in a window is
    the product of those along its axes.
    """

    def define(attrs: Attrs, data: Expr) -> Expr:
        volume = infer_types(to_layout(data, attrs.layout, "NCDHW"))
        n, c, d, h, w = sizes_of(volume, name)
        slices = reshape_to(volume, (n, c * d, h, w))
        images = infer_types(_pool_along(slices, name, attrs, (1, 2)))
        _, _, height, width = sizes_of(images, name)
        stack = reshape_to(images, (n, c, d, height * width))
        result = infer_types(_pool_along(stack, name, attrs, (0, None)))
        result_volume = reshape_to(result, (n, c, sizes_of(result, name)[2], height, width))
        return to_layout(result_volume, "NCDHW", attrs.layout)

    return by_definition(define)


# ---------------------------------------------------------------- gradients of gradients
def avg_pool2d_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of the first gradient is its mean over each window; the gradient of the data is zero."""
    return [call("nn.avg_pool2d", grad, **dict(attrs_of(orig).items())), call("zeros_like", orig.args[1])]


def max_pool2d_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of the first gradient is read at the first maximum of each window; the gradient of the data is
    zero.
    """
    attrs, (window_grad, data) = attrs_of(orig), orig.args
    windows = shape_of(window_grad)
    counts = [windows[axis] for axis in layout_axes(attrs.layout, windows, 2, "nn.max_pool2d_grad")]
    image = infer_types(to_layout(data, attrs.layout, "NCHW"))
    dtype, shape = dtype_of(data), sizes_of(image, "nn.max_pool2d_grad")
    values = to_layout(grad, attrs.layout, "NCHW")
    lowest = number(pool_kernels.lowest(array_dtype(dtype)), dtype)
    positions = call("argmax", _window_elements(attrs, image, lowest, shape, counts), axis=[-1], keepdims=True)
    selected = call("gather", _window_elements(attrs, values, number(0, dtype), shape, counts), positions, axis=4)
    return [to_layout(call("squeeze", selected, axis=[4]), "NCHW", attrs.layout), call("zeros_like", data)]


def _window_elements(attrs: Attrs, image: Expr, border: Expr, shape: Sequence[int], counts: Sequence[int]) -> Expr:
    """Return the elements (N, C, OH, OW, KH KW) of each window of an image of `shape` in NCHW."""
    before, after = full_padding(attrs.padding, 2)[:2], full_padding(attrs.padding, 2)[2:]
    widths = [(0, 0), (0, 0)]
    window_shape: list[int] = []
    positions = []
    for i in range(2):
        taps = np.arange(attrs.pool_size[i]) * attrs.dilation[i]
        positions.append((np.arange(counts[i])[:, None] * attrs.strides[i] + taps).reshape(-1))
        extent = int(positions[i][-1]) + 1 if len(positions[i]) else 0
        widths.append((before[i], max(after[i], extent - shape[2 + i] - before[i])))
        window_shape += [counts[i], attrs.pool_size[i]]
    repeated = take_along(take_along(call("nn.pad", image, border, pad_width=widths), 2, positions[0]), 3, positions[1])
    parts = call("transpose", reshape_to(repeated, (*shape[:2], *window_shape)), axes=[0, 1, 2, 4, 3, 5])
    return reshape_to(parts, (*shape[:2], *counts, attrs.pool_size[0] * attrs.pool_size[1]))


# ---------------------------------------------------------------- the whole image
def global_avg_pool2d(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of a mean over a window as large as the image."""
    data, layout = orig.args[0], attrs_of(orig).layout
    shape = sizes_of(data, "nn.global_avg_pool2d")
    size = [shape[axis] for axis in layout_axes(layout, shape, 2, "nn.global_avg_pool2d")]
    return [call("nn.avg_pool2d_grad", grad, data, pool_size=size, layout=layout)]


def global_max_pool2d(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient at the maximum of the image; at each, if several elements are equal to it."""
    data = orig.args[0]
    chosen = call("equal", data, call("broadcast_to_like", orig, data))
    return [call("where", chosen, call("broadcast_to_like", grad, data), call("zeros_like", data))]


# ---------------------------------------------------------------- a given number of windows
def _adaptive_spans(attrs: Attrs, data: Expr, name: str) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return each spatial axis with the (start, end) of its windows; empty if the size does not change."""
    shape = shape_of(data)
    rank = len(DATA_LAYOUTS[int(name[-2])]) - 2
    counts = attrs.output_size * (rank if len(attrs.output_size or ()) == 1 else 1)
    axes = layout_axes(attrs.layout, shape, rank, name)
    sizes = sizes_of(data, name)
    return [(a, pool_kernels.adaptive_spans(sizes[a], n)) for a, n in zip(axes, counts or (), strict=False)]


def adaptive_avg(name: str) -> Gradient:
    """Return the gradient of means over a fixed number of windows: along each axis a product with a matrix."""

    def define(attrs: Attrs, data: Expr) -> Expr:
        result, rank = data, len(shape_of(data))
        for axis, spans in _adaptive_spans(attrs, data, name):
            positions = np.arange(sizes_of(data, name)[axis])
            inside = [(positions >= a) & (positions < b) for a, b in spans]
            result = matmul_along_axis(result, rank, axis, [row / max(row.sum(), 1) for row in inside], dtype_of(data))
        return result

    return by_definition(define)


def adaptive_max(name: str) -> Gradient:
    """Return the gradient of maxima over a fixed number of windows, which may overlap.

    Windows shorter than the longest one repeat their last element; the copies of a maximum share its gradient.
    """

    def define(attrs: Attrs, data: Expr) -> Expr:
        result, shape = data, list(shape_of(data))
        for axis, spans in _adaptive_spans(attrs, data, name):
            longest = max(b - a for a, b in spans)
            taps = [min(a + i, b - 1) for a, b in spans for i in range(longest)]
            window_shape = [*shape[:axis], len(spans), longest, *shape[axis + 1 :]]
            result = call("max", reshape_to(take_along(result, axis, taps), window_shape), axis=[axis + 1])
            shape[axis] = len(spans)
        return result

    return by_definition(define)
