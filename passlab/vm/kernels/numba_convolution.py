"""Convolutions compiled by Numba: no patches are copied, and weights are packed once.

The padded image is laid out in planes, as in `passlab.op.nn.depthwise`: the plane (p, q) of a window that moves by
(s, t) holds the rows p, p + s, ... and the columns q, q + t, ... Each tap of the window is then one run of a plane for
some rows of the result at once, with a few sums across the edge of each row, which are left out in the end. Where
windows are single elements that move by one, the image itself is such a plane. The sums of a few channels of the result
are computed in registers (`numba_blocks`); a bias, a tensor to be added and a relu follow while they are in the
first-level cache. Rows, and blocks of channels, are pieces that threads share. Needs the package numba.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.op.nn.conv import check_window
from passlab.op.nn.sliding import Window
from passlab.threads import work_together
from passlab.vm.kernels.fused_product import Array, Remembered, shape_of
from passlab.vm.kernels.numba_blocks import LANES, SUMS
from passlab.vm.kernels.numba_loops import DATA_BYTES, PLACES, by_blocks, by_channel, by_rows, loop_threads

PIECES = 4  # for each thread, at least: they differ in time, and threads come late
FEWEST_PLACES = 96  # of the pieces that rows are cut into
WORTH = 4_000_000  # additions and products of a convolution; smaller ones are done before another thread is awake
SLOW = 8  # times as long as others take those of channels that have windows of their own
MOST_ROWS = 3  # of a product that goes through its weight once; BLAS does more in blocks
LARGE_WEIGHT = 1 << 17  # elements
NOTHING = np.empty((1, 1, 1, 1), np.float32)


@dataclass(frozen=True)
class Layout:
    """Where the taps of a window find their runs: the planes that are laid out, and the row and column of each tap."""

    window: Array  # strides, then padding before
    planes: Array  # (n, 2)
    beyond: int  # rows of a plane that are read besides those where windows begin
    wide: int  # columns of a plane
    taps: tuple[tuple[int, int, int], ...]  # the plane of each, its row and its column
    is_image: bool  # whether the image itself is the only plane

    def starts(self, rows: int) -> Array:
        """Return the place of each tap in planes of so many rows."""
        return np.array([(plane * rows + y) * self.wide + x for plane, y, x in self.taps], np.int64)


def layout_of(window: Window, kernel: tuple[int, int], size: tuple[int, int]) -> Layout:
    """Return how an image is laid out for a window over it that has `size` places."""
    (s, t), (d, e) = window.strides, window.dilation
    places = [(y * d, x * e) for y, x in itertools.product(range(kernel[0]), range(kernel[1]))]
    planes = sorted({(y % s, x % t) for y, x in places})
    taps = tuple([(planes.index((y % s, x % t)), y // s, x // t) for y, x in places])
    plain = len(taps) == 1 and (s, t) == (1, 1) and not any((*window.before, *window.after))
    numbers = [np.array(values, np.int64) for values in ((s, t, *window.before), planes)]
    return Layout(numbers[0], numbers[1], places[-1][0] // s, size[1] + places[-1][1] // t, taps, plain)


def cut(size: tuple[int, int], row_bytes: int, wide: int, blocks: int, threads: int) -> tuple[int, int]:
    """Return how many rows of the result are computed at a time, and the parts that blocks of channels are cut into.

    The data of the rows is read from the second-level cache once for each block. Several threads want more pieces:
    fewer rows, as long as their vectors are mostly full, then fewer blocks, for which threads lay the same data out.
    """
    heights = -(-size[0] * row_bytes // DATA_BYTES)
    if threads > 1:
        heights = max(heights, min(threads * PIECES, size[0] * wide // FEWEST_PLACES, size[0]))
    rows = max(1, -(-size[0] // max(1, heights)))
    heights = -(-size[0] // rows)
    parts = 1 if threads == 1 else max(1, min(blocks, -(-threads * PIECES // heights)))
    return rows, parts


def threads_for(products: int, by_itself: bool) -> int:
    """Return how many threads so many products are worth; `by_itself` says that each channel has its own windows."""
    return 1 if 2 * products * (SLOW if by_itself else 1) < WORTH else loop_threads()


def is_convolution(call: Call) -> bool:
    """Whether a convolution of images is computed here: channels first."""
    attrs: Any = call.attrs
    data, weight, result = map(shape_of, (*call.args, call))
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    # a depthwise weight may also be written by channel and multiplier
    return layouts == ("NCHW", "OIHW", "NCHW") and weight[:2] == (result[1], data[1] // attrs.groups)


def in_blocks(shape: tuple[int, ...], inputs: int, groups: int, layout: Layout) -> Callable[..., None]:
    """Return the function (data, packed weights, ending, result) of a convolution whose result has this shape."""
    height, wide = shape[2], layout.wide
    image = layout.is_image and shape[3] >= LANES
    threads = threads_for(math.prod(shape) * inputs // groups * len(layout.taps), by_itself=False)
    row_bytes, blocks = 4 * inputs // groups * len(layout.planes) * wide, -(-shape[1] // groups // SUMS)
    rows, parts = cut((height, shape[3]), row_bytes, wide, blocks, threads)
    step, plane_rows = -(-rows // -(-rows * wide // PLACES)), rows + layout.beyond
    places = (layout.planes, layout.window, plane_rows, wide, layout.starts(plane_rows))

    def run(x: Any, factors: Any, ending: Any, to: Any) -> None:
        cuts = (rows, step, parts, np.zeros(1, np.int64))
        work_together(lambda: by_blocks(x, image, places, cuts, factors, ending, to), threads)

    return run


def by_itself(shape: tuple[int, ...], layout: Layout) -> Callable[..., None]:
    """Return the same function of a convolution whose channels have windows of their own."""
    rows = shape[2] + layout.beyond
    places = (layout.planes, layout.window, rows, layout.wide, layout.starts(rows))
    threads = threads_for(math.prod(shape) * len(layout.taps), by_itself=True)

    def run(x: Any, factors: Any, ending: Any, to: Any) -> None:
        counter = np.zeros(1, np.int64)
        work_together(lambda: by_channel(x, places, counter, factors, ending, to), threads)

    return run


def convolution(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    attrs: Any = call.attrs
    shape, (_, inputs, *kernel) = shape_of(call), shape_of(call.args[1])
    groups, area = int(attrs.groups), shape[2] * shape[3]
    layout, seen = layout_of(check_window(attrs, 2), (kernel[0], kernel[1]), (shape[2], shape[3])), shape
    alone = inputs == 1 < groups
    if (
        not alone and layout.is_image and LANES <= area <= min(PLACES, DATA_BYTES // (4 * inputs))
    ):  # one line of numbers
        seen, layout = (*shape[:2], 1, area), replace(layout, wide=area)
    run = by_itself(shape, layout) if alone else in_blocks(seen, inputs * groups, groups, layout)
    weights = Remembered(lambda weight: pack(weight, groups))
    biases = Remembered(lambda bias: np.array(bias, np.float32).reshape(-1))
    no_bias, floor = np.zeros(shape[1], np.float32), np.float32(0 if relu else -np.inf)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        result = np.empty(shape, np.float32) if out is None or not out.flags.c_contiguous else out
        offsets = no_bias if bias is None else biases(bias)
        added = NOTHING if other is None else np.ascontiguousarray(other).reshape(seen)
        ending = (offsets, added, other is not None, floor)
        run(np.ascontiguousarray(data), weights(weight), ending, result.reshape(seen))
        if out is not None and out is not result:
            out[...] = result
        return result if out is None else out

    return compute


def is_flat_product(call: Call) -> bool:
    """Whether a product is of a few rows with a large weight, which is only read: several threads read faster.

    NumPy's own threads would then wait for more on the processor where the next convolution needs help.
    """
    rows, weight = shape_of(call.args[0]), shape_of(call.args[1])
    flat = len(rows) == len(weight) == 2 and rows[0] <= MOST_ROWS
    return flat and loop_threads() > 1 and weight[0] * weight[1] >= LARGE_WEIGHT


def flat_product(call: Call) -> Callable[..., Any]:
    """Return a function (data, weight, out) of arrays, of which the last may be None."""
    shape, threads = shape_of(call), loop_threads()

    def compute(data: Any, weight: Any, out: Any = None) -> Any:
        result = np.empty(shape, np.float32)
        x, factors, counter = np.ascontiguousarray(data), np.ascontiguousarray(weight), np.zeros(1, np.int64)
        work_together(lambda: by_rows(x, factors, counter, result), threads)
        if out is None:
            return result
        out[...] = result
        return out

    return compute


def pack(weight: Array, groups: int) -> Array:
    """Return a weight (O, C, H, W) as (groups, blocks of O, C, taps, SUMS), filled up with zeros.

    Where groups have one channel of data each, every channel of the result is a block of its own.
    """
    each, channels, taps = len(weight) // groups, weight.shape[1], weight[0, 0].size
    if channels == 1 < groups:
        return np.array(weight, order="C").reshape(groups, each, 1, taps, 1)
    blocks = -(-each // SUMS)
    packed = np.zeros((groups, blocks * SUMS, channels, taps), weight.dtype)
    packed[:, :each] = weight.reshape(groups, each, channels, taps)
    return np.ascontiguousarray(np.moveaxis(packed.reshape(groups, blocks, SUMS, channels, taps), 2, -1))
