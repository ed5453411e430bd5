"""Pooling of images: maxima, means, and the indices of the maxima.

In ONNX and PyTorch, the last window may extend beyond the padding, but does not start there; in Relay it may.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from passlab.frontend.model_node import ModelNode
from passlab.frontend.sizes import Size, broadcast_to, product, reshape_to, size_of, sizes_of
from passlab.ir.expr import Expr


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

    def extent(self, at: int) -> int:
        """The number of elements from the first to the last of a window along a spatial axis."""
        return (self.kernel[at] - 1) * self.dilations[at] + 1


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
    result = n(
        f"nn.{kind}_pool{windows.rank}d",
        x,
        pool_size=windows.kernel,
        strides=windows.strides,
        dilation=windows.dilations,
        padding=windows.pads,
        ceil_mode=ceil,
        **more,
    )
    for at in range(windows.rank if ceil else 0):
        may_start_behind = windows.pads[windows.rank + at] + windows.strides[at] > windows.extent(at)
        if may_start_behind and not isinstance(n.shape(x)[2 + at], int):
            count = _window_count(n, _scalar(n, size_of(n, x, 2 + at)), windows, at, ceil)
            result = n("take", result, _numbers(n, n("reshape", count, newshape=[1])), axis=2 + at)
    return result


def _window_count(n: ModelNode, length: Expr, windows: Windows, at: int, ceil: bool) -> Expr:
    """Return the number of windows along a spatial axis of a length; none starts behind the image."""
    step = windows.strides[at]
    over = sum(windows.pads[at :: windows.rank]) - windows.extent(at) + (step - 1) * ceil
    last = n("floor_divide", n("add", length, over), step)
    if ceil:
        starts_behind = n("greater_equal", n("multiply", last, step), n("add", length, windows.pads[at]))
        last = n("subtract", last, n.cast(starts_behind, "int64"))
    return n("add", last, 1)


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
        extent = windows.extent(at)
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
    batch, channels, *image = sizes_of(n, x)
    taps, table, counts = _taps(n, x, windows, ceil, by_columns)
    (tap_count,) = n.static_shape(taps, [1])
    planes, size = product(n, [channels]), product(n, image)
    n.check_size(*(part if isinstance(part, int) else 1 for part in (batch, channels, size)), *windows.kernel)
    flat = reshape_to(n, x, [batch, channels, size])
    lowest = n("reshape", n("min", flat, axis=[0, 1, 2]), newshape=[1, 1, 1])
    flat = n.concat([flat, broadcast_to(n, lowest, [batch, channels, 1])], 2)
    best = n("argmax", n("take", flat, taps, axis=2), axis=3)
    first_taps = n("multiply", _numbers(n, product(n, counts)), tap_count)
    positions = n("take", table, n("add", n.cast(best, "int64"), first_taps), axis=0)
    if whole:
        plane_starts = n("multiply", _numbers(n, planes), _scalar(n, size))
        sample_starts = n("multiply", _numbers(n, batch), n("multiply", _scalar(n, planes), _scalar(n, size)))
        starts = [
            n("reshape", part, newshape=form)
            for part, form in ((sample_starts, [-1, 1, 1]), (plane_starts, [1, -1, 1]))
        ]
        positions = n("add", positions, n("add", *starts))
    return reshape_to(n, positions, [batch, channels, *counts])


def _scalar(n: ModelNode, size: Size) -> Expr:
    return n.constant(size, "int64") if isinstance(size, int) else n.scalar(size)


def _numbers(n: ModelNode, count: Size) -> Expr:
    """Return 0, 1, ... below a count, int64."""
    return n("arange", n.constant(0, "int64"), _scalar(n, count), n.constant(1, "int64"), dtype="int64")


def _taps(n: ModelNode, x: Expr, windows: Windows, ceil: bool, by_columns: bool) -> tuple[Expr, Expr, list[Size]]:
    """Return the elements of each window as indices by rows, the index that each has, and the number of windows.

    The first has a row for each window, the second is flat, the third has a number for each axis. Elements outside the
    image are `size`, where `argmax_indices` stores the minimum.
    """
    rank, image = windows.rank, sizes_of(n, x)[2:]
    counts: list[Size] = []
    inside = n.constant(True, "bool")
    # Axes: the windows along each spatial axis, then the elements of a window along each.
    by_rows = index = n.constant(np.zeros([1] * 2 * rank), "int64")
    before = _scalar(n, 1)  # elements of one step along the axis, by columns
    for at, length in enumerate(image):
        own = _scalar(n, length)
        count = n("reshape", _window_count(n, own, windows, at, ceil), newshape=[1])
        known = n.value(count)
        counts.append(count if known is None else int(known[0]))
        starts = n("subtract", n("multiply", _numbers(n, counts[-1]), windows.strides[at]), windows.pads[at])
        form = [-1 if axis == at else 1 for axis in range(2 * rank)]
        steps = np.arange(windows.kernel[at]) * windows.dilations[at]
        places = n(
            "add",
            n("reshape", starts, newshape=form),
            n.constant(steps.reshape([-1 if axis == rank + at else 1 for axis in range(2 * rank)]), "int64"),
        )
        is_inside = n("logical_and", n("greater_equal", places, 0), n("less", places, own))
        inside = n("logical_and", inside, is_inside)
        by_rows = n("add", n("multiply", by_rows, own), places)  # the last axis is the fastest
        index = n("add", index, n("multiply", places, before))
        before = n("multiply", before, own)
    taps = n("reshape", n("where", inside, by_rows, before), newshape=[-1, math.prod(windows.kernel)])
    table = n("where", inside, index if by_columns else by_rows, n.constant(0, "int64"))
    return taps, n("reshape", table, newshape=[-1]), counts
