"""Sliding windows over an image: maxima, means, and the indices of the maxima.

ONNX and PyTorch place windows alike: the last one may extend beyond the padding, but does not start there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab.frontend.model_node import ModelNode
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


def pool(n: ModelNode, kind: str, x: Expr, windows: Windows, ceil: bool, **more: bool) -> Expr:
    """Return the maxima (`max`) or means (`avg`) over the windows of an image."""
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


def _with_border(n: ModelNode, x: Expr, windows: Windows, spare: list[int]) -> Expr:
    """Return an image with its padding as far as windows reach into it: zeros that count."""
    rank = windows.rank
    after = [min(pad, most) for pad, most in zip(windows.pads[rank:], spare[rank:], strict=True)]
    sides = [[0, 0], [0, 0], *(list(side) for side in zip(windows.pads[:rank], after, strict=True))]
    return n("nn.pad", x, pad_width=sides, pad_value=n.constant(0, x))


def _beyond(windows: Windows, spare: list[int]) -> list[int]:
    """Return how far windows extend beyond the padding; those elements do not count."""
    rank = windows.rank
    return [0] * rank + [max(most - pad, 0) for pad, most in zip(windows.pads[rank:], spare[rank:], strict=True)]


def _reaching(n: ModelNode, x: Expr, windows: Windows) -> list[int] | None:
    """Return the padding that makes Relay use as many windows as ONNX, where it would use one more.

    Both let the last window extend beyond the padding; ONNX does not let it start there.
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


def places_of(
    n: ModelNode, x: Expr, windows: Windows, ceil: bool, by_columns: bool = False, whole: bool = True
) -> Expr:
    """Return the index of the maximum of each window, in the whole tensor or in its own image, by rows or by
    columns.
    """
    batch, channels, *image = n.static_shape(x)
    size = math.prod(image)
    n.room(batch * channels, size, *windows.kernel)
    taps, counts = _taps(windows, image, ceil)
    many, each = taps.shape
    lines = n("reshape", x, newshape=[batch, channels, size])
    lowest = n("min", lines, axis=[0, 1, 2])
    lines = n.concat([lines, n("broadcast_to", lowest, shape=[batch, channels, 1])], 2)
    best = n("argmax", n("take", lines, n.constant(taps, "int64"), axis=2), axis=3)
    order = np.arange(size).reshape(image)
    if by_columns:
        order = np.arange(size).reshape(image[::-1]).T
    table = np.append(order.reshape(-1), 0)[taps].reshape(-1)
    flat = n("add", n.cast(best, "int64"), n.constant(np.arange(many) * each, "int64"))
    positions = n("take", n.constant(table, "int64"), flat, axis=0)
    if not whole:
        return n("reshape", positions, newshape=[batch, channels, *counts])
    samples = n.constant((np.arange(batch * channels) * size).reshape(batch, channels, 1), "int64")
    return n("reshape", n("add", positions, samples), newshape=[batch, channels, *counts])


def _taps(windows: Windows, image: list[int], ceil: bool) -> tuple[Array, list[int]]:
    """Return the indices in the image of each window's elements, and the number of windows along each axis.

    Elements outside have the index after the last element.
    """
    rank, counts = windows.rank, list[int]()
    inside: Any = True
    positions: Array = np.zeros([1] * 2 * rank, np.int64)
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
        positions = positions * image[at] + along
    array = np.where(inside, positions, math.prod(image))
    return array.reshape(math.prod(counts), -1), counts
