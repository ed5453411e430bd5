"""Maxima, means and norms over windows, over whole images, and over regions of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import Node
from passlab.frontend.onnx.windows import Windows, windows_of
from passlab.ir.expr import Expr
from passlab.op.dtypes import Array


def _pooled(n: Node, kind: str, x: Expr, **more: bool) -> Expr:
    windows, ceil = windows_of(n, x, n.integers("kernel_shape")), n.flag("ceil_mode")
    if ceil and (spare := _reaching(n, x, windows)) is not None:
        if more.get("count_include_pad"):
            x, spare, more = _with_border(n, x, windows, spare), _beyond(windows, spare), {"count_include_pad": False}
        windows, ceil = replace(windows, pads=spare), False
    return n(
        f"nn.{kind}_pool{windows.rank}d",
        x,
        pool_size=windows.kernel,
        strides=windows.strides,
        dilation=windows.dilations,
        padding=windows.pads,
        ceil_mode=ceil,
        **more,
    )


def _with_border(n: Node, x: Expr, windows: Windows, spare: list[int]) -> Expr:
    """Return an image inside its padding, as far as windows reach into it: zeros that count."""
    rank = windows.rank
    after = [min(pad, most) for pad, most in zip(windows.pads[rank:], spare[rank:], strict=True)]
    sides = [[0, 0], [0, 0], *(list(side) for side in zip(windows.pads[:rank], after, strict=True))]
    return n("nn.pad", x, pad_width=sides, pad_value=n.constant(0, x))


def _beyond(windows: Windows, spare: list[int]) -> list[int]:
    """Return what windows reach beyond the padding, which does not count."""
    rank = windows.rank
    return [0] * rank + [max(most - pad, 0) for pad, most in zip(windows.pads[rank:], spare[rank:], strict=True)]


def _reaching(n: Node, x: Expr, windows: Windows) -> list[int] | None:
    """Return padding with which the windows that ONNX counts fit, where Relay would count one more.

    Both let a last window reach beyond the padding; ONNX does not let it begin there.
    """
    rank, pads, differs = windows.rank, list(windows.pads), False
    for at in range(rank):
        length = n.shape(x)[2 + at]
        if not isinstance(length, int):
            return None
        reach = (windows.kernel[at] - 1) * windows.dilations[at] + 1
        over = length + windows.pads[at] + windows.pads[at + rank] - reach
        last = -(-over // windows.strides[at])
        if last * windows.strides[at] >= length + windows.pads[at]:
            last, differs = last - 1, True
        pads[at + rank] = max(last * windows.strides[at] + reach - length - windows.pads[at], 0)
    return pads if differs else None


@onnx_operator("MaxPool", 1, 8, 10, 11, 12, 22)
def max_pool(n: Node, x: Expr) -> list[Expr]:
    """`nn.max_pool1d`, `nn.max_pool2d` or `nn.max_pool3d`; the places of the maxima by `argmax`."""
    return [_pooled(n, "max", x), _places(n, x)] if n.wants(1) else [_pooled(n, "max", x)]


def _places(n: Node, x: Expr) -> Expr:
    """Return where in the whole tensor the maximum of each window lies."""
    windows = windows_of(n, x, n.integers("kernel_shape"))
    batch, channels, *image = n.static_shape(x)
    size = math.prod(image)
    n.room(batch * channels, size, *windows.kernel)
    taps, counts = _taps(windows, image, n.flag("ceil_mode"))
    many, each = taps.shape
    lines = n("reshape", x, newshape=[batch, channels, size])
    lowest = n("min", lines, axis=[0, 1, 2])
    lines = n.concat([lines, n("broadcast_to", lowest, shape=[batch, channels, 1])], 2)
    best = n("argmax", n("take", lines, n.constant(taps, "int64"), axis=2), axis=3)
    order = np.arange(size).reshape(image)
    if n.flag("storage_order"):
        order = np.arange(size).reshape(image[::-1]).T
    table = np.append(order.reshape(-1), 0)[taps].reshape(-1)
    flat = n("add", n.cast(best, "int64"), n.constant(np.arange(many) * each, "int64"))
    places = n("take", n.constant(table, "int64"), flat, axis=0)
    samples = n.constant((np.arange(batch * channels) * size).reshape(batch, channels, 1), "int64")
    return n("reshape", n("add", places, samples), newshape=[batch, channels, *counts])


def _taps(windows: Windows, image: list[int], ceil: bool) -> tuple[Array, list[int]]:
    """Return for each window where its elements lie in the image, and how many windows there are along each axis.

    What lies outside is said to lie one after the last element.
    """
    rank, counts = windows.rank, list[int]()
    inside: Any = True
    places: Array = np.zeros([1] * 2 * rank, np.int64)
    for at in range(rank):
        step, reach = windows.strides[at], (windows.kernel[at] - 1) * windows.dilations[at] + 1
        over = image[at] + windows.pads[at] + windows.pads[at + rank] - reach
        last = -(-over // step) if ceil else over // step
        last -= ceil and last * step >= image[at] + windows.pads[at]
        counts.append(last + 1)
        starts = np.arange(last + 1) * step - windows.pads[at]
        along = starts[:, None] + np.arange(windows.kernel[at]) * windows.dilations[at]
        shape = [1] * (2 * rank)
        shape[at], shape[rank + at] = along.shape
        along = along.reshape(shape)
        inside = inside & (along >= 0) & (along < image[at])
        places = places * image[at] + along
    made = np.where(inside, places, math.prod(image))
    return made.reshape(math.prod(counts), -1), counts


@onnx_operator("MaxUnpool", 9, 11, 22)
def max_unpool(n: Node, x: Expr, places: Expr, shape: Expr | None = None) -> Expr:
    """`scatter_elements` into zeros."""
    batch, channels, *image = n.static_shape(x)
    rank, kernel = len(image), n.integers("kernel_shape")
    strides, pads = n.integers("strides", [1] * rank), n.integers("pads", [0] * 2 * rank)
    sizes = [(length - 1) * strides[at] - pads[at] - pads[at + rank] + kernel[at] for at, length in enumerate(image)]
    whole = [batch, channels, *sizes]
    zeros = n("zeros", shape=[math.prod(whole)], dtype=n.dtype(x))
    flat = [n("reshape", part, newshape=[-1]) for part in (places, x)]
    made = n("reshape", n("scatter_elements", zeros, *flat, axis=0), newshape=whole)
    if shape is None:
        return made
    wanted = n.known_ints(shape, "the shape of the result")
    sides = [[0, size - own] for size, own in zip(wanted, whole, strict=True)]
    return n("nn.pad", made, pad_width=sides, pad_value=n.constant(0, x))


@onnx_operator("AveragePool", 1, 7, 10, 11, 19, 22)
def average_pool(n: Node, x: Expr) -> Expr:
    """`nn.avg_pool1d`, `nn.avg_pool2d` or `nn.avg_pool3d`."""
    return _pooled(n, "avg", x, count_include_pad=n.flag("count_include_pad"))


@onnx_operator("LpPool", 1, 2, 11, 18, 22)
def norm_pool(n: Node, x: Expr) -> Expr:
    """The root of the mean of powers, times the size of the window."""
    p = n.number("p", 2)
    powers = n("power", n("abs", x), float(p))
    mean = _pooled(n, "avg", powers, count_include_pad=True)
    return n("power", n("multiply", mean, math.prod(n.integers("kernel_shape"))), 1 / p)


def _spatial(n: Node, x: Expr) -> list[int]:
    return list(range(2, n.rank(x)))


@onnx_operator("GlobalAveragePool", 1, 22)
def global_average_pool(n: Node, x: Expr) -> Expr:
    """`nn.global_avg_pool2d`; `mean` where there are not two spatial axes."""
    if n.rank(x) == 4:
        return n("nn.global_avg_pool2d", x)
    return n("mean", x, axis=_spatial(n, x), keepdims=True)


@onnx_operator("GlobalMaxPool", 1, 22)
def global_max_pool(n: Node, x: Expr) -> Expr:
    """`nn.global_max_pool2d`; `max` where there are not two spatial axes."""
    if n.rank(x) == 4:
        return n("nn.global_max_pool2d", x)
    return n("max", x, axis=_spatial(n, x), keepdims=True)


@onnx_operator("GlobalLpPool", 1, 2, 22)
def global_norm_pool(n: Node, x: Expr) -> Expr:
    """The root of the `sum` of powers."""
    p = n.number("p", 2)
    powers = n("power", n("abs", x), float(p))
    return n("power", n("sum", powers, axis=_spatial(n, x), keepdims=True), 1 / p)


@onnx_operator("MaxRoiPool", 1, 22)
def max_roi_pool(n: Node, x: Expr, rois: Expr) -> Expr:
    """`vision.roi_pool`."""
    size, scale = n.integers("pooled_shape"), n.number("spatial_scale", 1.0)
    return n("vision.roi_pool", x, rois, pooled_size=size, spatial_scale=scale)


@onnx_operator("RoiAlign", 10, 16, 22)
def roi_align(n: Node, x: Expr, rois: Expr, batch: Expr) -> Expr:
    """`vision.roi_align`, its regions with their samples' numbers in front."""
    mode = n.choice("mode", "avg", ("avg", "max"))
    half = n.version >= 16 and n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    scale = n.number("spatial_scale", 1.0)
    if half:
        rois = n("subtract", rois, 0.5 / scale)
    numbers = n("expand_dims", n.cast(batch, n.dtype(rois)), axis=1)
    size = [n.integer("output_height", 1), n.integer("output_width", 1)]
    return n(
        "vision.roi_align",
        x,
        n.concat([numbers, rois], 1),
        pooled_size=size,
        spatial_scale=scale,
        sample_ratio=n.integer("sampling_ratio", 0) or -1,
        mode=mode,
    )
