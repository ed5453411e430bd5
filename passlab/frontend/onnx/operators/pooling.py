"""Maxima, means and norms over windows, over whole images, and over regions of them."""

from __future__ import annotations

import math

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.windows import windows_of
from passlab.frontend.pooling import argmax_indices, pool
from passlab.frontend.sizes import product, size_of
from passlab.ir.expr import Expr


def _mean(n: OnnxNode, x: Expr, count_include_pad: bool) -> Expr:
    padded, windows = windows_of(n, x, n.integers("kernel_shape"))
    mean = pool(n, "avg", padded, windows, n.flag("ceil_mode"), count_include_pad=count_include_pad)
    if padded is x or count_include_pad:
        return mean
    # The padding, which is not known at import, does not count: the share of each window that is inside the image.
    inside, _ = windows_of(n, n("ones_like", x), windows.kernel)
    return n("divide", mean, pool(n, "avg", inside, windows, n.flag("ceil_mode")))


@onnx_operator("MaxPool", 1, 8, 10, 11, 12, 22)
def max_pool(n: OnnxNode, x: Expr) -> list[Expr]:
    """`nn.max_pool1d`, `nn.max_pool2d` or `nn.max_pool3d`; the indices of the maxima by `argmax`."""
    ceil, dtype = n.flag("ceil_mode"), n.dtype(x)
    lowest = -np.inf if n.is_float(x) else np.iinfo(dtype).min
    padded, windows = windows_of(n, x, n.integers("kernel_shape"), n.constant(lowest, dtype))
    result = pool(n, "max", padded, windows, ceil)
    if not n.uses_output(1):
        return [result]
    if padded is not x:
        n.refuse("gives places in an image of unknown size, which decides its padding", hint=n.shape_hint)
    return [result, argmax_indices(n, x, windows, ceil, n.flag("storage_order"))]


@onnx_operator("MaxUnpool", 9, 11, 22)
def max_unpool(n: OnnxNode, x: Expr, positions: Expr, shape: Expr | None = None) -> Expr:
    """`scatter_elements` into zeros."""
    channels, *image = n.static_shape(x, range(1, n.rank(x)))
    batch, rank, kernel = size_of(n, x, 0), len(image), n.integers("kernel_shape")
    strides, pads = n.integers("strides", [1] * rank), n.integers("pads", [0] * 2 * rank)
    sizes = [(length - 1) * strides[at] - pads[at] - pads[at + rank] + kernel[at] for at, length in enumerate(image)]
    result_shape = [batch if isinstance(batch, int) else -1, channels, *sizes]
    count = product(n, [batch, channels, *sizes])
    zeros = n("zeros", shape=[count] if isinstance(count, int) else count, dtype=n.dtype(x))
    flat = [n("reshape", part, newshape=[-1]) for part in (positions, x)]
    result = n("reshape", n("scatter_elements", zeros, *flat, axis=0), newshape=result_shape)
    if shape is None:
        return result
    target = [size for size in (n.known_entries(shape) or [])[1:] if isinstance(size, int)]  # the batch is the input's
    if len(target) == len(result_shape) - 1:
        sides = [[0, 0], *[[0, size - own] for size, own in zip(target, result_shape[1:], strict=True)]]
        return n("nn.pad", result, pad_width=sides, pad_value=n.constant(0, x))
    after = n("subtract", shape, n.constant([0, *result_shape[1:]], shape))
    after = n("multiply", after, n.constant([0] + [1] * (len(result_shape) - 1), shape))
    widths = n("stack", n.builder.tuple([n("zeros_like", after), after]), axis=1)
    return n("nn.pad", result, pad_width=widths, pad_value=n.constant(0, x))


@onnx_operator("AveragePool", 1, 7, 10, 11, 19, 22)
def average_pool(n: OnnxNode, x: Expr) -> Expr:
    """`nn.avg_pool1d`, `nn.avg_pool2d` or `nn.avg_pool3d`."""
    return _mean(n, x, n.flag("count_include_pad"))


@onnx_operator("LpPool", 1, 2, 11, 18, 22)
def norm_pool(n: OnnxNode, x: Expr) -> Expr:
    """The root of the mean of powers, times the size of the window."""
    p = n.number("p", 2)
    powers = n("power", n("abs", x), float(p))
    # Zeros of the padding add nothing to a sum, so the mean may count them.
    mean = _mean(n, powers, count_include_pad=True)
    return n("power", n("multiply", mean, math.prod(n.integers("kernel_shape"))), 1 / p)


def _spatial(n: OnnxNode, x: Expr) -> list[int]:
    return list(range(2, n.rank(x)))


@onnx_operator("GlobalAveragePool", 1, 22)
def global_average_pool(n: OnnxNode, x: Expr) -> Expr:
    """`nn.global_avg_pool2d`; `mean` if there are not two spatial axes."""
    if n.rank(x) == 4:
        return n("nn.global_avg_pool2d", x)
    return n("mean", x, axis=_spatial(n, x), keepdims=True)


@onnx_operator("GlobalMaxPool", 1, 22)
def global_max_pool(n: OnnxNode, x: Expr) -> Expr:
    """`nn.global_max_pool2d`; `max` if there are not two spatial axes."""
    if n.rank(x) == 4:
        return n("nn.global_max_pool2d", x)
    return n("max", x, axis=_spatial(n, x), keepdims=True)


@onnx_operator("GlobalLpPool", 1, 2, 22)
def global_norm_pool(n: OnnxNode, x: Expr) -> Expr:
    """The root of the `sum` of powers."""
    p = n.number("p", 2)
    powers = n("power", n("abs", x), float(p))
    return n("power", n("sum", powers, axis=_spatial(n, x), keepdims=True), 1 / p)


@onnx_operator("MaxRoiPool", 1, 22)
def max_roi_pool(n: OnnxNode, x: Expr, rois: Expr) -> Expr:
    """`vision.roi_pool`."""
    size, scale = n.integers("pooled_shape"), n.number("spatial_scale", 1.0)
    return n("vision.roi_pool", x, rois, pooled_size=size, spatial_scale=scale)


@onnx_operator("RoiAlign", 10, 16, 22)
def roi_align(n: OnnxNode, x: Expr, rois: Expr, batch: Expr) -> Expr:
    """`contrib.roi_align` or `vision.roi_align`, with the index of the sample in the first column of the regions."""
    mode = n.choice("mode", "avg", ("avg", "max"))
    half = n.version >= 16 and n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    numbers = n("expand_dims", n.cast(batch, n.dtype(rois)), axis=1)
    size = [n.integer("output_height", 1), n.integer("output_width", 1)]
    return n(
        "contrib.roi_align" if half else "vision.roi_align",
        x,
        n.concat([numbers, rois], 1),
        pooled_size=size,
        spatial_scale=n.number("spatial_scale", 1.0),
        sample_ratio=n.integer("sampling_ratio", 0) or -1,
        mode="max_weighted" if mode == "max" else mode,
    )
