"""Pooling of images: maxima, means, and the indices of the maxima.

In ONNX and PyTorch, the last window may extend beyond the padding, but does not start there; in Relay it may.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab.frontend.model_node import ModelNode
from passlab.frontend.sizes import broadcast_to, size_of
from passlab.ir.expr import Expr
from passlab.op.dtypes import Array


@dataclass(frozen=True)
class Windows:
    """Windows over `rank` spatial axes; `pads` lists the padding before all axes, then after all axes."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)


def split_padding(totals: list[int], upper: bool = True) -> list[int]:
    """Return padding before all axes, then after all axes; an odd element goes after with `upper`, else before."""
    smaller, larger = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return [*smaller, *larger] if upper else [*larger, *smaller]


def pool(n: ModelNode, kind: str, x: Expr, windows: Windows, ceil: bool, **more: bool) -> Expr:
    """Return the maxima (`max`) or means (`avg`) of the windows of an image; `more` are attributes of the operator."""
    if ceil and (reach := _reached_padding(n, x, windows)) is not None:
        if more.get("count_include_pad"):
            rank = windows.rank
            after = [min(pad, end) for pad, end in zip(windows.pads[rank:], reach[rank:], strict=True)]
            sides = [[0, 0], [0, 0], *(list(side) for side in zip(windows.pads[:rank], after, strict=True))]
            x, reach, more = (
                n("nn.pad", x, pad_width=sides, pad_value=n.constant(0, x)),
                _uncounted(windows, reach),
                {"count_include_pad": False},
            )
        windows, ceil = replace(windows, pads=reach), False
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


def _uncounted(windows: Windows, reach: list[int]) -> list[int]:
    """Return how far windows extend beyond the padding; these elements do not count in a mean."""
    rank = windows.rank
    return [0] * rank + [max(end - pad, 0) for pad, end in zip(windows.pads[rank:], reach[rank:], strict=True)]


def _reached_padding(n: ModelNode, x: Expr, windows: Windows) -> list[int] | None:
    """Return padding up to the end of ONNX's last window, None where Relay's own rounding gives the same windows."""
    rank, pads, differs = windows.rank, list(windows.pads), False
    for at in range(rank):
        length = n.shape(x)[2 + at]
        if not isinstance(length, int):
            return None
        extent = (windows.kernel[at] - 1) * windows.dilations[at] + 1
        over = length + windows.pads[at] + windows.pads[at + rank] - extent
        last = -(-over // windows.strides[at])  # rounded up
        if last * windows.strides[at] >= length + windows.pads[at]:  # it would start in the padding behind the image
            last, differs = last - 1, True
        pads[at + rank] = max(last * windows.strides[at] + extent - length - windows.pads[at], 0)
    return pads if differs else None


def argmax_indices(
    n: ModelNode, x: Expr, windows: Windows, ceil: bool, by_columns: bool = False, whole: bool = True
) -> Expr:
    """Return the index of the maximum of each window, int64.

    Indices count the elements of the whole tensor, or of one channel if not `whole`, by rows or `by_columns`. Raises
    `LimitError` for too large an image.
    """
    channels, *image = n.static_shape(x, range(1, n.rank(x)))
    batch, size = size_of(n, x, 0), math.prod(image)
    samples = batch if isinstance(batch, int) else -1
    n.check_size(abs(samples) * channels, size, *windows.kernel)
    taps, counts = _taps(windows, image, ceil)
    window_count, tap_count = taps.shape
    flat = n("reshape", x, newshape=[samples, channels, size])
    lowest = n("reshape", n("min", flat, axis=[0, 1, 2]), newshape=[1, 1, 1])
    flat = n.concat([flat, broadcast_to(n, lowest, [batch, channels, 1])], 2)
    best = n("argmax", n("take", flat, n.constant(taps, "int64"), axis=2), axis=3)
    order = np.arange(size).reshape(image)
    if by_columns:
        order = np.arange(size).reshape(image[::-1]).T
    table = np.append(order.reshape(-1), 0)[taps].reshape(-1)
    entry = n("add", n.cast(best, "int64"), n.constant(np.arange(window_count) * tap_count, "int64"))
    positions = n("take", n.constant(table, "int64"), entry, axis=0)
    if not whole:
        return n("reshape", positions, newshape=[samples, channels, *counts])
    if isinstance(batch, int):
        starts = n.constant((np.arange(batch) * channels * size).reshape(batch, 1, 1), "int64")
    else:
        numbers = [n.constant(0, "int64"), n.scalar(batch), n.constant(1, "int64")]
        starts = n("multiply", n("reshape", n("arange", *numbers, dtype="int64"), newshape=[-1, 1, 1]), channels * size)
    planes = n.constant((np.arange(channels) * size).reshape(1, channels, 1), "int64")
    indices = n("add", positions, n("add", starts, planes))
    return n("reshape", indices, newshape=[samples, channels, *counts])


def _taps(windows: Windows, image: list[int], ceil: bool) -> tuple[Array, list[int]]:
    """Return the indices in the image of each window's elements, and the number of windows along each axis.

    Elements outside the image have the index after its last element, where `argmax_indices` stores the minimum.
    """
    rank, counts = windows.rank, list[int]()
    inside: Any = True
    # Axes: the windows along each spatial axis, then the elements of a window along each.
    positions: Array = np.zeros([1] * 2 * rank, np.int64)
    for at in range(rank):
        step, extent = windows.strides[at], (windows.kernel[at] - 1) * windows.dilations[at] + 1
        over = image[at] + windows.pads[at] + windows.pads[at + rank] - extent
        last = -(-over // step) if ceil else over // step
        last -= ceil and last * step >= image[at] + windows.pads[at]
        counts.append(last + 1)
        starts = np.arange(last + 1) * step - windows.pads[at]
        axis_positions = starts[:, None] + np.arange(windows.kernel[at]) * windows.dilations[at]
        shape = [1] * (2 * rank)
        shape[at], shape[rank + at] = axis_positions.shape
        axis_positions = axis_positions.reshape(shape)
        inside = inside & (axis_positions >= 0) & (axis_positions < image[at])
        positions = positions * image[at] + axis_positions  # in row-major order: the last axis is the fastest
    array = np.where(inside, positions, math.prod(image))
    return array.reshape(math.prod(counts), -1), counts
