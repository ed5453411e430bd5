"""Images whose channels are last in memory: how compiled convolutions and windows read and write them.

To the rest of the machine an image is (samples, channels, rows, columns); only its strides say that the channels of a
place are neighbours. A result stays like this, so that the next convolution or pooling reads it as it is; other kernels
go along the strides. Needs the package numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab.op.nn.sliding import Window
from passlab.threads import PIECES
from passlab.vm.kernels.fused_product import Array
from passlab.vm.kernels.numba_blocks import LANES, REGISTERS
from passlab.vm.kernels.numba_copies import APART, IN_PLACE, PADDED, SAME_LINES, turn
from passlab.vm.kernels.numba_images import MAXIMA, ROWS, SUMS, by_tiles, by_windows, place_of
from passlab.vm.kernels.numba_loops import DATA_BYTES
from passlab.vm.kernels.numba_tiles import COLUMNS, PLACES, WIDE
from passlab.vm.kernels.numba_waiting import share_pieces
from passlab.vm.kernels.reused_memory import aligned

# Places of a group of neighbours that there are tiles for, and how well a tile uses the processor: multiplications of
# one place wait for each other.
TILES = dict(zip(PLACES, (1.0, 0.97, 0.85, 0.2) if PLACES[0] == 7 else (1.0, 0.96, 0.5, 0.5), strict=True))
WINDOWS = {7: 1.0, 4: 0.85, 1: 0.3}
WAYS = 8  # places a multiple of SAME_LINES apart that the nearest cache holds at once
NOWHERE = (0, 0, 0, 0)
Run = Callable[[Array, Any, Any, Any, Array | None, Array], None]


def last(image: Array) -> Array:
    """Return an image (N, C, H, W) as an array (N, H, W, C) in C's order: itself where it lies like this in memory."""
    view = image.transpose(0, 2, 3, 1)
    if view.flags.c_contiguous:
        return view
    if not image.flags.c_contiguous:
        return np.ascontiguousarray(view)
    result = aligned(view.shape)
    for sample, turned in zip(image, result, strict=True):
        turn(sample.reshape(-1), turned.reshape(-1), len(sample), sample[0].size)
    return result


def is_last(image: Array) -> bool:
    """Whether the channels of an image (N, C, H, W) are last in memory."""
    return image.transpose(0, 2, 3, 1).flags.c_contiguous


def write(shape: tuple[int, ...], out: Array | None, compute: Callable[[Array], None]) -> Array:
    """Return the image (N, C, H, W) that `compute` writes as (N, H, W, C), in `out` where that is given."""
    if out is not None and is_last(out):
        compute(out.transpose(0, 2, 3, 1))
        return out
    result = aligned((shape[0], shape[2], shape[3], shape[1]))
    compute(result)
    image = result.transpose(0, 3, 1, 2)
    if out is None:
        return image
    out[...] = image
    return out


def group_of(width: int, tiles: dict[int, float]) -> int:
    """Return how many neighbouring places of a row are computed together: the last group of a row is not cut short."""
    costs = {many: -(-width // many) * many / use for many, use in tiles.items() if many <= width}
    return min(costs, key=lambda many: costs[many])


def groups_of(width: int) -> tuple[int, int]:
    """Return how many neighbouring places of a row are computed together, and how many at the end of a row.

    Tiles for 16 registers are small: two sizes of them fill a row of any length.
    """
    if REGISTERS == 16:
        return min(PLACES[0], width), min(PLACES[1], width)
    many = group_of(width, TILES)
    return many, many


@dataclass(frozen=True)
class Reach:
    """What windows read of an image: rows and columns with padding, or the image itself."""

    steps: tuple[int, int]
    before: tuple[int, int]
    reads: int  # the image or which copy; see `numba_copies`
    beyond: int  # rows besides those where windows begin
    wide: int  # columns that are read, or that the image has

    def numbers(self) -> tuple[int, ...]:
        """What the loops need."""
        return (*self.steps, -self.before[0], -self.before[1], self.reads, self.beyond, self.wide)


def reach_of(
    window: Window, kernel: tuple[int, int], data: tuple[int, int], size: tuple[int, int], copy: bool = False
) -> Reach:
    """Return what the windows over an image of the size `data` read; `copy` says that the image cannot be read."""
    extent = [(k - 1) * d for k, d in zip(kernel, window.dilation, strict=True)]
    ends = [(n - 1) * s + e for n, s, e in zip(size, window.strides, extent, strict=True)]
    outside = any(end - a >= n for end, a, n in zip(ends, window.before, data, strict=True))
    padded = copy or outside or any(window.before)
    (s, t), (a, b) = window.strides, window.before
    return Reach((s, t), (a, b), PADDED if padded else IN_PLACE, extent[0], ends[1] + 1 if padded else data[1])


def convolution(
    data: tuple[int, ...],
    shape: tuple[int, ...],
    kernel: tuple[int, int],
    window: Window,
    groups: int,
    threads: int,
    dense: bool = True,
) -> tuple[Run, bool]:
    """Return the function (data, weights, bias, floor, other, result) of a convolution of images, channels last.

    `data` and `shape` are (N, C, H, W); `dense` says that the places of a result are neighbours in memory. Then whether
    the taps of a row are one run; see `pack`.
    """
    (samples, inputs, *image), size = data, (shape[2], shape[3])
    reach, each = reach_of(window, kernel, (image[0], image[1]), size), inputs // groups
    joined = groups == 1 and window.dilation[1] == 1
    down = [y * window.dilation[0] * reach.wide * inputs for y in range(kernel[0])]
    across = [0] if joined else [x * window.dilation[1] * inputs for x in range(kernel[1])]
    starts = np.array([y + x for y in down for x in across], np.int64)
    length = each * kernel[1] if joined else each
    single = kernel == (1, 1) and reach.reads == IN_PLACE
    if single and 4 * inputs * reach.steps[1] % SAME_LINES == 0 and 2 * PLACES[0] > WAYS:
        reach = replace(reach, reads=APART)
    flat = dense and single and reach.steps == (1, 1)
    if flat:  # one row of places
        samples, size = 1, (1, samples * size[0] * size[1])
    (many, less), blocks = groups_of(size[1]), -(-shape[1] // groups // WIDE)
    step_bytes = 4 * inputs * (many if flat else reach.wide * reach.steps[0])
    piece, parts = _cut(size, many, step_bytes, flat, blocks, 4 * each * math.prod(kernel) * WIDE, threads)
    rows, columns = (1, piece * many) if flat else (piece, size[1])
    numbers, channels = reach.numbers(), (*size, shape[1] // groups)

    def run(x: Array, factors: Any, offsets: Any, floor: Any, other: Array | None, result: Array) -> None:
        if flat:
            x, result = x.reshape(1, 1, -1, inputs), result.reshape(1, 1, -1, shape[1])
            other = None if other is None else other.reshape(result.shape)
        ending = (offsets, floor, int(other is not None), NOWHERE if other is None else place_of(other))
        target = place_of(result)

        def loop(counter: Array) -> None:
            cuts = (many, less, rows, columns, parts, counter)
            by_tiles(x, channels, numbers, starts, length, cuts, factors, ending, target)

        share_pieces(loop, threads)

    return run, joined


def _cut(
    size: tuple[int, int], many: int, step_bytes: int, flat: bool, blocks: int, block_bytes: int, threads: int
) -> tuple[int, int]:
    """Return how many rows are a piece, or groups of a flat image, and the parts that blocks of channels are cut into.

    The data of a piece is read from the second-level cache once for each block. `step_bytes` are those of a group of a
    flat image, of a row of others, whose pieces are whole rows. Each piece reads the weights of its blocks, so several
    threads share places where weights are smaller than data, else blocks.
    """
    row = 1 if flat else -(-size[1] // many)
    steps = size[0] * -(-size[1] // many) // row
    pieces = max(-(-steps * step_bytes // DATA_BYTES), 1)
    needed = threads * PIECES if threads > 1 else 1
    shared = min(blocks, needed) if blocks * block_bytes > steps * step_bytes else 1
    pieces = max(pieces, min(-(-needed // shared), steps))
    each = -(-steps // pieces)
    if flat:
        each += each % 2  # tiles are pairs of groups
    parts = max(1, min(blocks, -(-needed // -(-steps // each))))
    return each, parts


def pack(weight: Array, groups: int, joined: bool) -> Array:
    """Return a weight (O, C, H, W) as (groups, blocks of O, runs, elements of a run, WIDE), filled up with zeros.

    Where taps are joined, the channels of all taps of a row of the window are one run.
    """
    outputs, channels, height, width = weight.shape
    each = outputs // groups
    blocks = -(-each // WIDE)
    packed = np.zeros((groups, blocks * WIDE, channels, height, width), np.float32)
    packed[:, :each] = weight.reshape(groups, each, channels, height, width)
    packed = packed.reshape(groups, blocks, WIDE, channels, height, width).transpose(0, 1, 4, 5, 3, 2)
    runs = (height, width * channels) if joined else (height * width, channels)
    result = aligned((groups, blocks, *runs, WIDE))
    result[...] = packed.reshape(result.shape)
    return result


def pack_bias(bias: Array, groups: int, block: int) -> Array:
    """Return numbers of channels as (groups, blocks, block), filled up with zeros."""
    each = bias.size // groups
    blocks = -(-each // block)
    packed = np.zeros((groups, blocks * block), np.float32)
    packed[:, :each] = bias.reshape(groups, each)
    return packed.reshape(groups, blocks, block)


def windows(
    data: tuple[int, ...],
    shape: tuple[int, ...],
    kernel: tuple[int, int],
    window: Window,
    threads: int,
    maximum_of: float | None = None,
) -> Run:
    """Return the function (data, weights, bias, floor, other, result) of windows over each channel, channels last.

    Weights are (blocks of LANES channels, taps, LANES). With `maximum_of` it gives maxima, with this number as padding.
    """
    channels, size = data[1], (shape[2], shape[3])
    reach = reach_of(window, kernel, (data[2], data[3]), size, copy=channels % LANES > 0)
    kind = _kind_of(window, kernel[1], maximum_of)
    columns = [0] if kind == ROWS else [x * window.dilation[1] for x in range(kernel[1])]
    rows_below = [y * window.dilation[0] * reach.wide for y in range(kernel[0])]
    starts = np.array([(y + x) * channels for y in rows_below for x in columns], np.int64)
    many = group_of(size[1], WINDOWS)
    rows, _ = _cut(size, size[1], 4 * channels * reach.wide * reach.steps[0], False, 1, 0, threads)
    numbers, filler = reach.numbers(), np.float32(maximum_of or 0)

    def run(x: Array, factors: Any, offsets: Any, floor: Any, other: Array | None, result: Array) -> None:
        ending = (offsets, floor, int(other is not None), result if other is None else other)
        cuts = (many, rows, filler)
        share_pieces(lambda c: by_windows(x, numbers, starts, kind, (*cuts, c), factors, ending, result), threads)

    return run


def _kind_of(window: Window, columns: int, maximum_of: float | None) -> int:
    """Return how windows are computed; see `numba_images`."""
    if maximum_of is not None:
        return MAXIMA
    is_row = columns == COLUMNS and window.dilation[1] == 1 and window.strides[1] <= 2
    return ROWS if is_row else SUMS


def pack_windows(weight: Array) -> Array:
    """Return a weight (C, 1, H, W) as (blocks of C, taps, LANES), filled up with zeros."""
    channels, taps = len(weight), math.prod(weight.shape[1:])
    blocks = -(-channels // LANES)
    packed = np.zeros((blocks * LANES, taps), np.float32)
    packed[:channels] = weight.reshape(channels, taps)
    result = aligned((blocks, taps, LANES))
    result[...] = packed.reshape(blocks, LANES, taps).transpose(0, 2, 1)
    return result
