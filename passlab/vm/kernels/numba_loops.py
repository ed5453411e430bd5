"""The loops of compiled convolutions, pooling and products over samples, groups, rows, channels and vectors.

They are Python functions that Numba compiles on their first call. Arrays are float32 in C order. Several threads may
run one call: each takes the next piece of the work from a shared counter until none is left. Needs the package numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from passlab.threads import thread_count
from passlab.vm.kernels.numba_blocks import (
    BLOCK_ROWS,
    CACHE_LINE,
    LANES,
    PANEL,
    add_panel,
    next_piece,
    prefetch,
    sum_one_vector,
    sum_three_vectors,
    sum_two_vectors,
)
from passlab.vm.kernels.numba_rows import (
    add_and_store_results,
    copy_contiguous,
    copy_every_second,
    fill_vector,
    store_results,
)

DATA_BYTES = 512 << 10  # of data for the rows of a piece: it stays in the second-level cache
BLOCK_POSITIONS = 512  # output positions of a block of channels whose sums stay in the first-level cache
PANEL_DEPTH = 96  # rows of a panel used at a time: they stay in the nearest cache for all rows of the data
WEIGHT_ROWS = 32  # of a piece of a flat product


def loop_threads() -> int:
    """Return how many threads a compiled loop may use."""
    return min(thread_count(), int(numba.config.NUMBA_NUM_THREADS))


# Numba's cache of machine code is invalidated when this file changes, but not when the files of the intrinsics do.
# So this file contains their crc32, which a test compares.
INSTRUCTIONS = 638585261


def njit(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function compiled by Numba, cached on disk where a folder is writable."""
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}}
    try:
        result: Callable[..., None] = numba.njit(function, cache=True, **options)
    except RuntimeError:  # neither the folder of this file nor the user's cache folder is writable
        result = numba.njit(function, **options)
    return result


def _copy_planes(
    image: Any, planes: Any, window: Any, top: int, rows: int, plane_width: int, padding: Any, buffer: Any
) -> None:  # pragma: no cover
    """Copy `rows` rows of each plane of an image, from the plane's row `top` on, with padding, into `buffer`.

    Whole vectors are written: the next row, or spare room at the end, takes what exceeds a row.
    """
    s, t, above, left = window
    channels, height, width = image.shape
    for p in range(planes.shape[0]):
        first_row, first = planes[p, 0] - above + top * s, planes[p, 1] - left
        for c in range(channels):
            target = buffer[c, p * rows * plane_width :].ctypes.data
            for r in range(rows):
                y = first_row + r * s
                source = image.ctypes.data + np.uintp(4 * ((c * height + y) * width + first))
                inside = 0 <= y < height
                for i in range(0, plane_width, LANES):
                    to, low, high = target + np.uintp(4 * i), -first - i * t, width - first - i * t
                    if not inside:
                        fill_vector(padding, to)
                    elif t == 1:
                        copy_contiguous(source + np.uintp(4 * i), to, low, high, padding)
                    elif t == 2:
                        copy_every_second(source + np.uintp(8 * i), to, low, high, padding)
                    else:
                        fill_vector(padding, to)
                        for j in range(max(0, -(-low // t)), min(LANES, -(-high // t), plane_width - i)):
                            buffer[c, (p * rows + r) * plane_width + i + j] = image[c, y, first + (i + j) * t]
                target += np.uintp(4 * plane_width)


def _sum_block(data: Any, first: int, starts: Any, weights: Any, sums: Any, length: int) -> None:  # pragma: no cover
    """Write the sums of a block of channels for `length` positions from `first` on.

    The last vectors overlap the ones before, so that all are full: some sums are computed twice.
    """
    channels, row = data.shape
    source, offsets, target = data.ctypes.data, starts.ctypes.data, sums.ctypes.data
    w, taps, sums_row = weights.ctypes.data, starts.size, sums.shape[1]
    position, vectors = 0, max(1, -(-length // LANES))
    while vectors:
        count = min(2 if vectors == 4 else 3, vectors, max(1, length // LANES))
        begin = max(0, min(position, length - count * LANES))
        x, y = source + np.uintp(4 * (first + begin)), target + np.uintp(4 * begin)
        if count == 3:
            sum_three_vectors(x, row, offsets, taps, w, channels, y, sums_row)
        elif count == 2:
            sum_two_vectors(x, row, offsets, taps, w, channels, y, sums_row)
        else:
            sum_one_vector(x, row, offsets, taps, w, channels, y, sums_row)
        position += count * LANES
        vectors -= count


def _store_sums(
    sums: Any, plane_width: int, epilogue: Any, n: int, o: int, r: int, out: Any
) -> None:  # pragma: no cover
    """Apply the epilogue to sums (channels, positions) and write them into rows from `r` on of channels from `o` on.

    Sums of windows that cross the edge of a row are left out.
    """
    bias, other, adds, floor = epilogue
    height, width = out.shape[1:]
    for k in range(out.shape[0]):
        for i in range(height):
            source, target = sums[k, i * plane_width :].ctypes.data, out[k, i].ctypes.data
            if adds:
                addend = other[n, o + k, r + i].ctypes.data
                for x in range(0, width, LANES):
                    at = np.uintp(4 * x)
                    add_and_store_results(source + at, bias[o + k], addend + at, floor, target + at, width - x)
            else:
                for x in range(0, width, LANES):
                    at = np.uintp(4 * x)
                    store_results(source + at, bias[o + k], source, floor, target + at, width - x)


copy_planes, sum_block, store_sums = njit(_copy_planes), njit(_sum_block), njit(_store_sums)


def _convolve(
    x: Any, is_plane: bool, geometry: Any, tiling: Any, weights: Any, epilogue: Any, out: Any
) -> None:  # pragma: no cover
    """Convolve with weights (groups, blocks, C, taps, BLOCK_ROWS); if `is_plane`, the image itself is the only plane.

    `tiling` has the rows of a piece, the rows that are summed at a time, the number of parts that the blocks of
    channels are divided into, and the counter of the pieces.
    """
    planes, window, plane_rows, plane_width, starts = geometry
    rows, step, parts, counter = tiling
    groups, blocks, inputs = weights.shape[:3]
    height, width = out.shape[2:]
    group_channels = out.shape[1] // groups
    strips = -(-height // rows)
    pieces = x.shape[0] * groups * strips * parts
    sums = np.empty((BLOCK_ROWS, max(LANES, step * plane_width)), np.float32)
    area = x.shape[2] * x.shape[3] if is_plane else plane_rows * plane_width * planes.shape[0] + LANES
    buffer = np.empty((0 if is_plane else inputs, area), np.float32)
    copied = -1  # the strip whose planes are in the buffer
    while True:
        piece = next_piece(counter.ctypes.data)
        if piece >= pieces:
            return
        strip, part = divmod(piece, parts)
        group, row = divmod(strip, strips)
        n, g = divmod(group, groups)
        r = row * rows
        end = min(r + rows, height)
        data = x[n, g * inputs : (g + 1) * inputs]
        if not is_plane and strip != copied:
            copy_planes(data, planes, window, r, plane_rows, plane_width, np.float32(0), buffer)
            copied = strip
        source = data.reshape((inputs, area)) if is_plane else buffer
        for b in range(part * blocks // parts, (part + 1) * blocks // parts):
            o, p = g * group_channels + b * BLOCK_ROWS, g * group_channels + min((b + 1) * BLOCK_ROWS, group_channels)
            for top in range(r, end, step):
                bottom = min(top + step, end)
                first = (top if is_plane else top - r) * plane_width
                sum_block(source, first, starts, weights[g, b], sums, (bottom - top - 1) * plane_width + width)
                store_sums(sums, plane_width, epilogue, n, o, top, out[n, o:p, top:bottom])


def _multiply_panels(x: Any, weights: Any, counter: Any, epilogue: Any, out: Any) -> None:  # pragma: no cover
    """Multiply rows with a weight (panels, K, PANEL); each panel is one piece.

    The last block of rows overlaps the one before, so that all are full.
    """
    bias, other, adds, floor = epilogue
    panels, inputs = weights.shape[:2]
    blocks = -(-out.shape[0] // BLOCK_ROWS)
    sums = np.empty((blocks, BLOCK_ROWS, PANEL), np.float32)
    while True:
        piece = next_piece(counter.ctypes.data)
        if piece >= panels:
            return
        column, width = piece * PANEL, min(PANEL, out.shape[1] - piece * PANEL)
        sums[:] = bias[column : column + PANEL]
        for first in range(0, inputs, PANEL_DEPTH):
            depth = min(PANEL_DEPTH, inputs - first)
            panel = weights[piece, first].ctypes.data
            lines = -(-depth * PANEL // (blocks * CACHE_LINE))  # each block prefetches its share of the next part
            for b in range(blocks):
                following = panel + np.uintp(4 * (depth * PANEL + b * lines * CACHE_LINE))
                for i in range(lines):
                    prefetch(following + np.uintp(4 * CACHE_LINE * i))
                row = min(b * BLOCK_ROWS, out.shape[0] - BLOCK_ROWS)
                add_panel(panel, x[row, first:].ctypes.data, inputs, depth, sums[b].ctypes.data)
        for b in range(blocks):
            row = min(b * BLOCK_ROWS, out.shape[0] - BLOCK_ROWS)
            for k in range(BLOCK_ROWS):
                source, target = sums[b, k].ctypes.data, out[row + k, column:].ctypes.data
                for i in range(0, width, LANES):
                    at, zero = np.uintp(4 * i), np.float32(0)
                    if adds:
                        addend = other[row + k, column:].ctypes.data
                        add_and_store_results(source + at, zero, addend + at, floor, target + at, width - i)
                    else:
                        store_results(source + at, zero, source, floor, target + at, width - i)


def _multiply_rows(x: Any, weight: Any, counter: Any, out: Any) -> None:  # pragma: no cover
    """Multiply a few rows of data with the rows of a weight; `WEIGHT_ROWS` of these are one piece.

    Four rows of the weight are read at a time, which hides the latency of memory.
    """
    while True:
        first = next_piece(counter.ctypes.data) * WEIGHT_ROWS
        if first >= weight.shape[0]:
            return
        end = min(first + WEIGHT_ROWS, weight.shape[0])
        for o in range(first, end, 4):
            a, b = weight[o], weight[min(o + 1, end - 1)]
            c, d = weight[min(o + 2, end - 1)], weight[min(o + 3, end - 1)]
            for n in range(x.shape[0]):
                # Four variables are kept in registers where an array of sums would not be.
                p, q, s, t = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
                for i in range(weight.shape[1]):
                    value = x[n, i]
                    p, q, s, t = p + value * a[i], q + value * b[i], s + value * c[i], t + value * d[i]
                sums = (p, q, s, t)
                for k in range(min(4, end - o)):
                    out[n, o + k] = sums[k]


convolve, multiply_panels = njit(_convolve), njit(_multiply_panels)
# Reassociation lets LLVM vectorise the sums over `i`.
multiply_rows: Any = numba.njit(nogil=True, fastmath={"contract", "reassoc"})(_multiply_rows)
