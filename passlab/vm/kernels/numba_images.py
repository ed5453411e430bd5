"""The loops over images whose channels are last in memory: convolutions, windows over channels, and joined images.

An image is an array (samples, rows, columns, channels) here, in C's order; elsewhere it is seen as (samples, channels,
rows, columns), with other strides. They are Python functions that Numba compiles when they are first called. Needs the
package numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.vm.kernels.numba_blocks import CACHE_LINE, LANES, REGISTERS, next_piece, prefetch
from passlab.vm.kernels.numba_copies import SAME_LINES, aligned, copy_reach, lay_out, moves_of, room_for
from passlab.vm.kernels.numba_loops import njit
from passlab.vm.kernels.numba_rows import copy_memory, scale_vector
from passlab.vm.kernels.numba_tiles import (
    PLACES,
    WIDE,
    alone_0,
    alone_1,
    alone_2,
    alone_3,
    apart_1,
    apart_4,
    apart_7,
    half_0,
    half_1,
    half_2,
    half_3,
    maxima_1,
    maxima_4,
    maxima_7,
    near_1,
    near_4,
    near_7,
    pair_0,
    pair_1,
    pair_2,
    pair_3,
    sums_1,
    sums_4,
    sums_7,
)

# Numba keeps machine code beside this file for as long as the file stays as it is. It does not look at the files of
# the instructions: a test compares this sum over them.
INSTRUCTIONS = 2295523836
STRETCH = 1024  # places that are joined as one piece
# Bytes of the blocks of weights that a pair of groups is multiplied with before the next pair: they stay in the second
# cache, and each place of the result is written at once. Small tiles read weights too often for that.
WEIGHTS_TOGETHER = 256 << 10 if REGISTERS == 32 else 0
ALONE, PAIR, HALF = range(3)  # kinds of tiles: one group, two, or two with a single vector of channels
MAXIMA, SUMS, ROWS = range(3)  # kinds of windows; the last are sums whose rows are read at once


def _place_of(image: Any) -> Any:  # pragma: no cover
    """Return the address of an image, and the bytes between its samples, rows and columns."""
    return np.intp(image.ctypes.data), image.strides[0], image.strides[1], image.strides[2]


place_of: Any = njit(_place_of)


def _tile_of(many: int, kind: int, data: Any, ending: Any) -> None:  # pragma: no cover
    """Compute one tile of one or two groups of `many` places; see `numba_tiles`."""
    if kind == ALONE:
        if many == PLACES[0]:
            alone_0(data, ending)
        elif many == PLACES[1]:
            alone_1(data, ending)
        elif many == PLACES[2]:
            alone_2(data, ending)
        else:
            alone_3(data, ending)
        return
    if kind == PAIR:
        if many == PLACES[0]:
            pair_0(data, ending)
        elif many == PLACES[1]:
            pair_1(data, ending)
        elif many == PLACES[2]:
            pair_2(data, ending)
        else:
            pair_3(data, ending)
    elif many == PLACES[0]:
        half_0(data, ending)
    elif many == PLACES[1]:
        half_1(data, ending)
    elif many == PLACES[2]:
        half_2(data, ending)
    else:
        half_3(data, ending)


def _window_of(many: int, kind: int, data: Any, ending: Any) -> None:  # pragma: no cover
    """Compute `many` windows over a vector of channels each; see `numba_tiles`."""
    if kind == SUMS:
        if many == 7:
            sums_7(data, ending)
        elif many == 4:
            sums_4(data, ending)
        else:
            sums_1(data, ending)
    elif many == 7:
        maxima_7(data, ending)
    elif many == 4:
        maxima_4(data, ending)
    else:
        maxima_1(data, ending)


def _row_window_of(many: int, stride: int, data: Any, ending: Any) -> None:  # pragma: no cover
    """Compute `many` windows of neighbouring columns over a vector of channels each; see `numba_tiles`."""
    if stride == 1:
        if many == 7:
            near_7(data, ending)
        elif many == 4:
            near_4(data, ending)
        else:
            near_1(data, ending)
    elif many == 7:
        apart_7(data, ending)
    elif many == 4:
        apart_4(data, ending)
    else:
        apart_1(data, ending)


tile_of, window_of, row_window_of = njit(_tile_of), njit(_window_of), njit(_row_window_of)


def _edge_of(width: int, many: int, less: int) -> Any:  # pragma: no cover
    """Return how many places of a row come in groups of `many`, so that groups of `less` take the rest and none twice.

    Where there is no such number, the last group of `many` computes some places again.
    """
    for rest in range(0, width + 1, less):
        if (width - rest) % many == 0:
            return width - rest
    return width


def _pairs_of(many: int, size: Any, firsts: Any, moves: Any, factors: Any, ends: Any) -> None:  # pragma: no cover
    """Compute blocks of channels of the places of some rows and columns, two groups of neighbours at a time.

    `firsts` are the addresses of the data, the result and what is added of the first place; `factors` end with the
    number of blocks and the bytes of one, `ends` with the channels that are left from the first block on.
    """
    (height, width), (data, target, other) = size, firsts
    down, across, to_row, to_step, other_row, other_step = moves
    step, starts, runs, length, weights, blocks, block_bytes = factors
    bias, floor, adds, result_step, channels = ends
    each = -(-width // many)
    y, j, held = 0, 0, 0
    x0, t0, m0 = data, target, other
    for q in range(height * each):
        i = min(j * many, width - many)
        x1 = data + np.uintp(y * down + i * across)
        t1 = target + np.uintp(y * to_row + i * to_step)
        m1 = other + np.uintp(y * other_row + i * other_step)
        j += 1
        if j == each:
            y, j = y + 1, 0
        if held == 0 and q + 1 < height * each:  # it waits for a second group
            x0, t0, m0, held = x1, t1, m1, 1
            continue
        pair = held == 1
        if not pair:
            x0, t0, m0 = x1, t1, m1
        held = 0
        for b in range(blocks):
            o, w = np.uintp(4 * WIDE * b), weights + np.uintp(b * block_bytes)
            ending = (bias + o, floor, adds, m0 + o, m1 + o, t0 + o, t1 + o, result_step, channels - b * WIDE)
            kind = ALONE if not pair else HALF if channels - b * WIDE <= LANES else PAIR
            tile_of(many, kind, (x0, x1, step, starts, runs, length, w), ending)


edge_of: Any = njit(_edge_of)
pairs_of = njit(_pairs_of)


def _rows_of_places(
    many: int, less: int, size: Any, firsts: Any, moves: Any, factors: Any, ends: Any
) -> None:  # pragma: no cover
    """Compute blocks of channels of the places of some rows and columns: groups of `many`, at the end of `less`."""
    (height, width), (data, target, other) = size, firsts
    _, across, _, to_step, _, other_step = moves
    edge = edge_of(width, many, less)
    if edge:
        pairs_of(many, (height, edge), firsts, moves, factors, ends)
    if edge < width:
        behind = (
            data + np.uintp(edge * across),
            target + np.uintp(edge * to_step),
            other + np.uintp(edge * other_step),
        )
        pairs_of(less, (height, width - edge), behind, moves, factors, ends)


blocks_of = njit(_rows_of_places)


def _pack_columns(w: Any, column: int, packed: Any) -> None:  # pragma: no cover
    """Write some rows of a matrix (columns, depth) as (depth, WIDE), filled up with zeros."""
    count, depth = min(WIDE, w.shape[0] - column), np.uintp(packed.shape[0])
    if count < WIDE:
        packed[:] = np.float32(0)
    if w.strides[0] == 4:  # the columns are neighbours in memory
        for k in range(depth):
            for j in range(np.uintp(count)):
                packed[k, j] = w[np.uintp(column) + j, k]
        return
    for j in range(np.uintp(count)):
        for k in range(depth):
            packed[k, j] = w[np.uintp(column) + j, k]


pack_columns = njit(_pack_columns)


def _multiply_batches(x: Any, w: Any, cuts: Any, out: Any) -> None:  # pragma: no cover
    """Multiply matrices (rows, depth) and (columns, depth) of each sample; a single sample belongs to all results.

    `cuts` are the rows of a group, those of a group at the end, the parts that the blocks of columns of a sample are
    cut into, and a counter of the pieces that are begun.
    """
    many, less, parts, counter = cuts
    (samples, rows, columns), depth = out.shape, x.shape[2]
    blocks, starts, nothing = -(-columns // WIDE), np.zeros(1, np.int64), np.zeros(WIDE, np.float32)
    # Rows that lie a multiple of SAME_LINES apart would displace each other from the nearest cache.
    copies = x.strides[2] != 4 or x.strides[1] % SAME_LINES == 0
    held = np.empty((rows if copies else 0, depth + CACHE_LINE), np.float32)
    packed = aligned(depth * WIDE)[: depth * WIDE].reshape((depth, WIDE))
    row, copied = held.strides[0] if copies else x.strides[1], -1
    while True:
        piece = next_piece(counter.ctypes.data)
        if piece >= samples * parts:
            return
        n, part = divmod(piece, parts)
        left, right = x[n if x.shape[0] > 1 else 0], w[n if w.shape[0] > 1 else 0]
        if copies and n != copied:
            held[:, :depth], copied = left, n
        data = held.ctypes.data if copies else left.ctypes.data
        for b in range(part * blocks // parts, (part + 1) * blocks // parts):
            pack_columns(right, b * WIDE, packed)
            target = out[n, 0, b * WIDE :].ctypes.data
            moves = (0, row, 0, 4 * columns, 0, 0)
            factors = (row // 4, starts.ctypes.data, 1, depth, packed.ctypes.data, 1, 0)
            ends = (nothing.ctypes.data, np.float32(-np.inf), 0, columns, columns - b * WIDE)
            blocks_of(many, less, (1, rows), (data, target, target), moves, factors, ends)


multiply_batches = njit(_multiply_batches)


def _by_tiles(
    x: Any, size: Any, window: Any, starts: Any, length: int, cuts: Any, weights: Any, ending: Any, result: Any
) -> None:  # pragma: no cover
    """Convolve images with weights (groups, blocks, runs, `length`, WIDE); the result has rows and columns of a `size`.

    `window` is where the data of the first place begins and how far it moves, then what is read (see `numba_copies`):
    so many rows beyond the first of each window, and so many columns. Each run of a window is `length` elements of
    the data, which begin at one of the distances `starts`. `cuts` are the places of a group, those of a group at the
    end, the rows and columns of a piece, the parts that the blocks are cut into, and a counter of the pieces that are
    begun: several threads may run this on the same counter, until there are no more. A result is its address and the
    bytes between samples, rows and columns.
    """
    reads = window[4]
    many, less, most_rows, most_columns, parts, counter = cuts
    bias, floor, adds, (other, other_sample, other_row, other_step) = ending
    target, to_sample, to_row, to_step = result
    height, width, outputs = size
    samples, inputs, (groups, blocks) = x.shape[0], x.shape[3], weights.shape[:2]
    stretches = -(-width // most_columns)
    stretches_of_all = -(-height // most_rows) * stretches
    block_bytes = 4 * weights.shape[2] * length * WIDE
    together = max(1, WEIGHTS_TOGETHER // block_bytes)
    held = room_for((most_rows, most_columns), window, inputs)
    row_bytes, step = moves_of(x.shape[2], inputs, window, held)
    last = -1
    while True:
        piece = next_piece(counter.ctypes.data)
        if piece >= samples * groups * stretches_of_all * parts:
            return
        place, part = divmod(piece, parts)
        which, g = divmod(place, groups)
        n, stretch = divmod(which, stretches_of_all)
        y = stretch // stretches * most_rows
        i = min(stretch % stretches * most_columns, width - many)  # the last stretch has a whole group
        extent = (min(most_rows, height - y), min(most_columns, width - i))
        if reads and which != last:
            last = which
            copy_reach(x[n], (y, i), window, extent, held)
        data = held.ctypes.data if reads else x[n].ctypes.data + np.uintp(y * row_bytes + 4 * i * step)
        data += np.uintp(4 * g * (inputs // groups))
        moves = (row_bytes, 4 * step, to_row, to_step, other_row, other_step)
        to = target + n * to_sample + y * to_row + i * to_step
        more = other + n * other_sample + y * other_row + i * other_step
        end = (part + 1) * blocks // parts
        for b in range(part * blocks // parts, end, together):
            o, now = 4 * (g * outputs + b * WIDE), min(together, end - b)
            firsts = (data, np.uintp(to + o), np.uintp(more + o))
            factors = (step, starts.ctypes.data, starts.size, length, weights[g, b].ctypes.data, now, block_bytes)
            ends = (bias[g, b].ctypes.data, floor, adds, to_step // 4, outputs - b * WIDE)
            blocks_of(many, less, extent, firsts, moves, factors, ends)


def _call_in(address: Any, count: int, step: Any) -> None:  # pragma: no cover
    """Prefetch so many lines of cache, `step` bytes apart."""
    for _ in range(count):
        prefetch(address)
        address += step


call_in = njit(_call_in)


def _rows_of(
    seen: Any, kind: int, channels: int, data: Any, starts: Any, weights: Any, ends: Any
) -> None:  # pragma: no cover
    """Compute windows over each channel of some rows, `many` windows of a row at a time.

    The rows that the next windows read besides are called in, from the row `below` on, unless that is 0: an image that
    is read in place may be in memory, and the processor does not expect lines that lie apart.
    """
    many, rows, width, down, across, row_of, below = seen
    bias, floor, adds, other, target = ends
    at, runs, step, factors = starts.ctypes.data, starts.size, across * channels, weights.ctypes.data
    block = np.uintp(4 * weights.shape[1] * LANES)
    for y in range(rows):
        for first in range(0, width, many):
            i = min(first, width - many)
            source, place = data + np.uintp(y * down * row_of + 4 * i * step), np.uintp(4 * (y * width + i) * channels)
            for b in range(weights.shape[0]):
                o = np.uintp(4 * b * LANES)
                for r in range(below, below + down if below and b * LANES % CACHE_LINE == 0 else 0):
                    call_in(source + o + np.uintp(r * row_of), many * across, np.uintp(4 * channels))
                x, w, more, to = source + o, factors + np.uintp(b) * block, other + place + o, target + place + o
                ending = (bias + o, floor, adds, more, more, to, to, channels, channels - b * LANES)
                if kind == ROWS:
                    row_window_of(many, across, (x, x, channels, at, runs, 1, w), ending)
                else:
                    window_of(many, kind, (x, x, step, at, runs, 1, w), ending)


rows_of = njit(_rows_of)


def _by_windows(
    x: Any, window: Any, starts: Any, kind: int, cuts: Any, weights: Any, ending: Any, out: Any
) -> None:  # pragma: no cover
    """Write sums with weights (blocks of channels, taps, LANES), or maxima, over windows of each channel.

    `starts` are the distances of taps; if `kind` is ROWS, those of the rows of a window.
    """
    down, across, top, left, padded, beyond, wide = window
    many, rows, padding, counter = cuts
    bias, floor, adds, other = ending
    samples, height, width, channels = out.shape
    stretches = -(-height // rows)
    held = aligned(((rows - 1) * down + 1 + beyond) * wide * channels if padded else 0)
    row_of = 4 * (wide if padded else x.shape[2]) * channels
    while True:
        piece = next_piece(counter.ctypes.data)
        if piece >= samples * stretches:
            return
        n, stretch = divmod(piece, stretches)
        begin, end = stretch * rows, min((stretch + 1) * rows, height)
        data = x[n, 0 if padded else begin * down].ctypes.data
        if padded:
            copied = (end - begin - 1) * down + 1 + beyond
            image = held[: copied * wide * channels].reshape((copied, wide, channels))
            lay_out(x[n], begin * down + top, left, padding, image)
            data = held.ctypes.data
        at = np.uintp(4 * (n * height + begin) * width * channels)
        seen = (many, end - begin, width, down, across, row_of, 0 if padded else beyond + 1)
        ends = (bias.ctypes.data, floor, adds, other.ctypes.data + at, out.ctypes.data + at)
        rows_of(seen, kind, channels, data, starts, weights, ends)


def _join(
    x: Any, factors: Any, offsets: Any, is_plain: bool, floor: Any, first: int, counter: Any, out: Any
) -> None:  # pragma: no cover
    """Write places (n, channels) times `factors` plus `offsets`, limited, as channels from `first` on of places."""
    places, channels = x.shape
    while True:
        piece = next_piece(counter.ctypes.data)
        begin, end = piece * STRETCH, min((piece + 1) * STRETCH, places)
        if begin >= places:
            return
        source, row = x[begin].ctypes.data, np.uintp(4 * channels)
        target, to_row = out[begin, first:].ctypes.data, np.uintp(4 * out.shape[1])
        scale, offset = factors[first:].ctypes.data, offsets[first:].ctypes.data
        for _ in range(begin, end):
            if is_plain:
                copy_memory(source, target, 4 * channels)
            else:
                for c in range(0, channels, LANES):
                    at = np.uintp(4 * c)
                    scale_vector(source + at, scale + at, offset + at, floor, target + at, channels - c)
            source, target = source + row, target + to_row


by_tiles, by_windows, join = njit(_by_tiles), njit(_by_windows), njit(_join)
