"""Convolutions compiled by Numba, without an im2col matrix; weights are packed once.

The padded image is copied into planes, as in `passlab.op.nn.depthwise`: for strides (s, t), the plane (p, q) has the
rows p, p + s, ... and the columns q, q + t, ... of the image. Each tap of the window then reads one contiguous run of a
plane for several rows of the result. The few sums of windows that cross the edge of a row are left out at the end. For
1 x 1 windows with stride 1, the image itself is such a plane. The sums of a few channels of the result are computed in
registers (`numba_blocks`); the epilogue (bias, addend, relu) is applied while they are in the first-level cache. Strips
of rows and blocks of channels are pieces of work that threads share. Needs the package numba.
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
from passlab.threads import PIECES
from passlab.vm.kernels import numba_channels
from passlab.vm.kernels.fused_product import Array, FrozenCache, shape_of
from passlab.vm.kernels.numba_blocks import BLOCK_ROWS, LANES
from passlab.vm.kernels.numba_channels import last, write
from passlab.vm.kernels.numba_loops import (
    BLOCK_POSITIONS,
    DATA_BYTES,
    convolve,
    loop_threads,
    multiply_rows,
)
from passlab.vm.kernels.numba_tiles import WIDE
from passlab.vm.kernels.numba_waiting import share_pieces

FEWEST_POSITIONS = 96  # output positions of a strip, at least, so that most of its vectors are full
PARALLEL_OPERATIONS = 4_000_000  # additions and multiplications; less work is done before a second thread wakes up
DEPTHWISE_COST = 8  # time per operation of a depthwise convolution, relative to other convolutions
FLAT_ROWS = 3  # a product of at most so many rows reads its weight once; BLAS is faster for more
NARROW = LANES // 2  # channels of a group of the result: fewer would leave most of a vector of channels empty
LARGE_WEIGHT = 1 << 17  # elements
NO_ADDEND = np.empty((1, 1, 1, 1), np.float32)


@dataclass(frozen=True)
class PlaneLayout:
    """The planes that an image is copied into, and the plane, row and column where each tap of the window reads."""

    window: Array  # strides, then padding before
    planes: Array  # (n, 2): the first row and column of each
    extra_rows: int  # rows of a plane that windows reach below their first row
    width: int  # columns of a plane
    taps: tuple[tuple[int, int, int], ...]  # the plane, row and column of each
    is_image: bool  # whether the image itself is the only plane

    def starts(self, rows: int) -> Array:
        """Return the offset of each tap in planes of so many rows."""
        return np.array([(plane * rows + y) * self.width + x for plane, y, x in self.taps], np.int64)


def plane_layout(window: Window, kernel: tuple[int, int], size: tuple[int, int]) -> PlaneLayout:
    """Return the planes for a window whose results have this size (height, width)."""
    (s, t), (d, e) = window.strides, window.dilation
    offsets = [(y * d, x * e) for y, x in itertools.product(range(kernel[0]), range(kernel[1]))]
    planes = sorted({(y % s, x % t) for y, x in offsets})
    taps = tuple([(planes.index((y % s, x % t)), y // s, x // t) for y, x in offsets])
    is_image = len(taps) == 1 and (s, t) == (1, 1) and not any((*window.before, *window.after))
    strides_and_padding, origins = (np.array(values, np.int64) for values in ((s, t, *window.before), planes))
    last_row, last_column = offsets[-1]
    return PlaneLayout(strides_and_padding, origins, last_row // s, size[1] + last_column // t, taps, is_image)


def tile_sizes(size: tuple[int, int], row_bytes: int, width: int, blocks: int, threads: int) -> tuple[int, int]:
    """Return the rows of the result in a strip, and the number of parts that the blocks of channels are divided into.

    The data of a strip is read from the second-level cache once for each block. Several threads need more pieces: first
    strips of fewer rows, as long as their vectors are mostly full, then parts of fewer blocks, although the threads
    then copy the same data into planes.
    """
    strips = -(-size[0] * row_bytes // DATA_BYTES)
    if threads > 1:
        strips = max(strips, min(threads * PIECES, size[0] * width // FEWEST_POSITIONS, size[0]))
    rows = max(1, -(-size[0] // max(1, strips)))
    strips = -(-size[0] // rows)
    parts = 1 if threads == 1 else max(1, min(blocks, -(-threads * PIECES // strips)))
    return rows, parts


def threads_for(products: int, depthwise: bool) -> int:
    """Return how many threads to use for so many multiply-adds."""
    return 1 if 2 * products * (DEPTHWISE_COST if depthwise else 1) < PARALLEL_OPERATIONS else loop_threads()


def write_result(out: Array | None, shape: tuple[int, ...], write: Callable[[Array], None]) -> Array:
    """Return `out`, or a new array where it is None, after `write` has filled it or a contiguous copy of it."""
    result = np.empty(shape, np.float32) if out is None or not out.flags.c_contiguous else out
    write(result)
    if out is None:
        return result
    if out is not result:
        out[...] = result
    return out


def is_convolution(call: Call) -> bool:
    """Whether a convolution of images is compiled: channels come first."""
    attrs: Any = call.attrs
    data, weight, result = map(shape_of, (*call.args, call))
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    # a depthwise weight may also have the shape (channels, multiplier, ...)
    return layouts == ("NCHW", "OIHW", "NCHW") and weight[:2] == (result[1], data[1] // attrs.groups)


def blocked_convolution(shape: tuple[int, ...], inputs: int, groups: int, layout: PlaneLayout) -> Callable[..., None]:
    """Return the function (data, packed weight, epilogue, result) of a convolution whose result has this shape.

    The epilogue is the tuple (bias, addend, whether there is an addend, minimum of the result).
    """
    height, width = shape[2], layout.width
    is_plane = layout.is_image and shape[3] >= LANES
    threads = threads_for(math.prod(shape) * inputs // groups * len(layout.taps), depthwise=False)
    row_bytes, blocks = 4 * inputs // groups * len(layout.planes) * width, -(-shape[1] // groups // BLOCK_ROWS)
    rows, parts = tile_sizes((height, shape[3]), row_bytes, width, blocks, threads)
    step, plane_rows = -(-rows // -(-rows * width // BLOCK_POSITIONS)), rows + layout.extra_rows
    geometry = (layout.planes, layout.window, plane_rows, width, layout.starts(plane_rows))

    def run(x: Any, packed: Any, epilogue: Any, result: Any) -> None:
        tiling = (rows, step, parts)
        share_pieces(lambda c: convolve(x, is_plane, geometry, (*tiling, c), packed, epilogue, result), threads)

    return run


def convolution(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    attrs: Any = call.attrs
    weight, groups = shape_of(call.args[1]), int(attrs.groups)
    if weight[1] == 1 < groups == weight[0]:
        return _over_channels(call, relu)
    return _in_places(call, relu) if weight[0] // groups < NARROW else _in_channels(call, relu)


def _in_channels(call: Call, relu: bool) -> Callable[..., Any]:
    """Return the function of a convolution whose vectors hold channels of the result."""
    attrs: Any = call.attrs
    data, shape, (outputs, inputs, *kernel), groups = (
        *map(shape_of, (call.args[0], call, call.args[1])),
        int(attrs.groups),
    )
    threads = threads_for(math.prod(shape) * inputs * math.prod(kernel), depthwise=False)
    run, joined = numba_channels.convolution(
        data, shape, (kernel[0], kernel[1]), check_window(attrs, 2), groups, threads
    )
    weights = FrozenCache(lambda weight: numba_channels.pack(weight, groups, joined))
    biases = FrozenCache(lambda bias: numba_channels.pack_bias(bias, groups, WIDE))
    return _ended(run, shape, weights, biases, biases(np.zeros(outputs, np.float32)), relu)


def _over_channels(call: Call, relu: bool) -> Callable[..., Any]:
    """Return the function of a convolution whose channels have windows of their own."""
    attrs: Any = call.attrs
    data, shape, (_, _, *kernel) = map(shape_of, (call.args[0], call, call.args[1]))
    threads = threads_for(math.prod(shape) * math.prod(kernel), depthwise=True)
    window = check_window(attrs, 2)
    run = numba_channels.windows(data, shape, (kernel[0], kernel[1]), window, threads)
    weights = FrozenCache(numba_channels.pack_windows)
    biases = FrozenCache(lambda bias: numba_channels.pack_bias(bias, 1, LANES)[0])
    return _ended(run, shape, weights, biases, biases(np.zeros(shape[1], np.float32)), relu)


def _ended(
    run: numba_channels.Run, shape: tuple[int, ...], weights: FrozenCache, biases: FrozenCache, no_bias: Any, relu: bool
) -> Callable[..., Any]:
    """Return the function of arrays that prepares what `run` reads."""
    floor = np.float32(0 if relu else -np.inf)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        x, factors = last(data), weights(weight)
        offsets, added = no_bias if bias is None else biases(bias), None if other is None else last(other)
        return write(shape, out, lambda result: run(x, factors, offsets, floor, added, result))

    return compute


def _in_places(call: Call, relu: bool) -> Callable[..., Any]:
    """Return the function of a convolution whose vectors hold places of the result, which has few channels."""
    attrs: Any = call.attrs
    shape, (_, inputs, *kernel) = shape_of(call), shape_of(call.args[1])
    groups, area = int(attrs.groups), shape[2] * shape[3]
    layout = plane_layout(check_window(attrs, 2), (kernel[0], kernel[1]), (shape[2], shape[3]))
    run_shape = shape
    if layout.is_image and LANES <= area <= min(BLOCK_POSITIONS, DATA_BYTES // (4 * inputs)):
        # one long row has a single vector that is not full
        run_shape, layout = (*shape[:2], 1, area), replace(layout, width=area)
    run = blocked_convolution(run_shape, inputs * groups, groups, layout)
    weights = FrozenCache(lambda weight: pack(weight, groups))
    biases = FrozenCache(lambda bias: np.array(bias, np.float32).reshape(-1))
    no_bias, floor = np.zeros(shape[1], np.float32), np.float32(0 if relu else -np.inf)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        addend = NO_ADDEND if other is None else np.ascontiguousarray(other).reshape(run_shape)
        epilogue = (no_bias if bias is None else biases(bias), addend, other is not None, floor)
        x, packed = np.ascontiguousarray(data), weights(weight)
        return write_result(out, shape, lambda result: run(x, packed, epilogue, result.reshape(run_shape)))

    return compute


def is_flat_product(call: Call) -> bool:
    """Whether a product is of a few rows with a large weight, whose time is that of reading it: threads read faster.

    NumPy's BLAS threads would keep the processors busy after the product, which slows the next convolution down.
    """
    rows, weight = shape_of(call.args[0]), shape_of(call.args[1])
    flat = len(rows) == len(weight) == 2 and rows[0] <= FLAT_ROWS
    return flat and loop_threads() > 1 and weight[0] * weight[1] >= LARGE_WEIGHT


def flat_product(call: Call) -> Callable[..., Any]:
    """Return a function (data, weight, out) of arrays, of which the last may be None."""
    shape, threads = shape_of(call), loop_threads()

    def compute(data: Any, weight: Any, out: Any = None) -> Any:
        x, w = np.ascontiguousarray(data), np.ascontiguousarray(weight)

        def write(result: Array) -> None:
            share_pieces(lambda counter: multiply_rows(x, w, counter, result), threads)

        return write_result(out, shape, write)

    return compute


def pack(weight: Array, groups: int) -> Array:
    """Return a weight (O, C, H, W) as (groups, blocks of O, C, taps, BLOCK_ROWS), padded with zeros."""
    outputs, channels, taps = len(weight) // groups, weight.shape[1], weight[0, 0].size
    blocks = -(-outputs // BLOCK_ROWS)
    packed = np.zeros((groups, blocks * BLOCK_ROWS, channels, taps), weight.dtype)
    packed[:, :outputs] = weight.reshape(groups, outputs, channels, taps)
    return np.ascontiguousarray(np.moveaxis(packed.reshape(groups, blocks, BLOCK_ROWS, channels, taps), 2, -1))
