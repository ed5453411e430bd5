"""The loops of compiled convolutions, over samples, groups, rows, channels of the result and vectors.

They are Python functions that Numba compiles when they are first called; arrays are float32, in C's order. Needs the
package numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from passlab.threads import thread_count
from passlab.vm.kernels.numba_blocks import (
    LANES,
    PANEL,
    SUMS,
    add_panel,
    ask_for,
    next_number,
    one_vector,
    three_vectors,
    two_vectors,
)
from passlab.vm.kernels.numba_rows import (
    add_and_end_vector,
    copy_each,
    copy_second,
    end_vector,
    fill,
    maximum_2,
    sum_2,
    sum_4,
)

ROWS = 32  # of a weight
DATA_BYTES = 512 << 10  # of the data that rows of the result are computed from: it is read from the second-level cache
DEPTH = 256  # of the sums of a product: this part of a panel is read from the nearest caches for all rows
LINE = 16  # elements of a line of cache
PLACES = 512  # that the sums of a block of channels are held for, in the first-level cache


def loop_threads() -> int:
    """Return how many threads a compiled loop may have."""
    return min(thread_count(), int(numba.config.NUMBA_NUM_THREADS))


# Numba keeps machine code beside this file for as long as the file stays as it is. It does not look at the files of
# the instructions: a test compares this sum over them.
INSTRUCTIONS = 521942046


def njit(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function as machine code, which is kept from process to process where a folder can be written to."""
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}}
    try:
        result: Callable[..., None] = numba.njit(function, cache=True, **options)
    except RuntimeError:  # nothing can be written beside this file, nor in the user's folder
        result = numba.njit(function, **options)
    return result


def _lay_out(
    image: Any, planes: Any, window: Any, top: int, rows: int, wide: int, padding: Any, held: Any
) -> None:  # pragma: no cover
    """Lay `rows` rows of each plane of an image out, from its row `top` on, each with its padding.

    Whole vectors are written: what lies beyond a row is written again by the next one, or is room at the end.
    """
    s, t, above, left = window
    channels, height, width = image.shape
    for p in range(planes.shape[0]):
        first_row, first = planes[p, 0] - above + top * s, planes[p, 1] - left
        for c in range(channels):
            target = held[c, p * rows * wide :].ctypes.data
            for r in range(rows):
                y = first_row + r * s
                source = image.ctypes.data + np.uintp(4 * ((c * height + y) * width + first))
                inside = 0 <= y < height
                for i in range(0, wide, LANES):
                    to, low, high = target + np.uintp(4 * i), -first - i * t, width - first - i * t
                    if not inside:
                        fill(padding, to)
                    elif t == 1:
                        copy_each(source + np.uintp(4 * i), to, low, high, padding)
                    elif t == 2:
                        copy_second(source + np.uintp(8 * i), to, low, high, padding)
                    else:
                        fill(padding, to)
                        for j in range(max(0, -(-low // t)), min(LANES, -(-high // t), wide - i)):
                            held[c, (p * rows + r) * wide + i + j] = image[c, y, first + (i + j) * t]
                target += np.uintp(4 * wide)


def _sum_runs(data: Any, first: int, starts: Any, weights: Any, sums: Any, length: int) -> None:  # pragma: no cover
    """Write the sums of a block of channels for `length` places from `first` on; the last ones are done twice."""
    channels, row = data.shape
    source, at, to = data.ctypes.data, starts.ctypes.data, sums.ctypes.data
    w, taps, sums_row = weights.ctypes.data, starts.size, sums.shape[1]
    place, vectors = 0, max(1, -(-length // LANES))
    while vectors:
        many = min(2 if vectors == 4 else 3, vectors, max(1, length // LANES))
        begin = max(0, min(place, length - many * LANES))
        x, y = source + np.uintp(4 * (first + begin)), to + np.uintp(4 * begin)
        if many == 3:
            three_vectors(x, row, at, taps, w, channels, y, sums_row)
        elif many == 2:
            two_vectors(x, row, at, taps, w, channels, y, sums_row)
        else:
            one_vector(x, row, at, taps, w, channels, y, sums_row)
        place += many * LANES
        vectors -= many


def _finish(sums: Any, wide: int, ending: Any, n: int, o: int, r: int, out: Any) -> None:  # pragma: no cover
    """Write sums (channels, places), without what lies across edges, into rows from `r` on of channels from `o` on."""
    bias, other, adds, floor = ending
    height, width = out.shape[1:]
    for k in range(out.shape[0]):
        for i in range(height):
            line, target = sums[k, i * wide :].ctypes.data, out[k, i].ctypes.data
            if adds:
                more = other[n, o + k, r + i].ctypes.data
                for x in range(0, width, LANES):
                    at = np.uintp(4 * x)
                    add_and_end_vector(line + at, bias[o + k], more + at, floor, target + at, width - x)
            else:
                for x in range(0, width, LANES):
                    at = np.uintp(4 * x)
                    end_vector(line + at, bias[o + k], line, floor, target + at, width - x)


def _rows_of(
    data: Any, wide: int, starts: Any, weights: Any, offset: Any, floor: Any, is_sum: bool, out: Any
) -> None:  # pragma: no cover
    """Write the rows of one channel: sums or maxima over windows of its planes, up to four vectors at a time."""
    at, taps, factors = starts.ctypes.data, starts.size, weights.ctypes.data
    for r in range(out.shape[0]):
        x, y, left = data.ctypes.data + np.uintp(4 * r * wide), out[r].ctypes.data, out.shape[1]
        while left > 0:
            if not is_sum:
                maximum_2(x, at, taps, factors, offset, floor, y, left)
            elif left > 2 * LANES:
                sum_4(x, at, taps, factors, offset, floor, y, left)
            else:
                sum_2(x, at, taps, factors, offset, floor, y, left)
            many = 4 if is_sum else 2
            left -= many * LANES
            x, y = x + np.uintp(4 * many * LANES), y + np.uintp(4 * many * LANES)


lay_out, sum_runs, finish, rows_of = njit(_lay_out), njit(_sum_runs), njit(_finish), njit(_rows_of)


def _by_blocks(
    x: Any, image: bool, places: Any, cuts: Any, weights: Any, ending: Any, out: Any
) -> None:  # pragma: no cover
    """Convolve with weights (groups, blocks, C, taps, SUMS); where `image`, the image is a plane as it is.

    `cuts` are the rows of a piece, the rows that are summed at a time, the parts that the blocks are cut into, and a
    counter of the pieces that are begun: several threads may run this on the same counter, until there are no more.
    """
    planes, window, plane_rows, wide, starts = places
    rows, step, parts, counter = cuts
    groups, blocks, inputs = weights.shape[:3]
    height, width = out.shape[2:]
    each = out.shape[1] // groups
    heights = -(-height // rows)
    pieces = x.shape[0] * groups * heights * parts
    sums = np.empty((SUMS, max(LANES, step * wide)), np.float32)
    area = x.shape[2] * x.shape[3] if image else plane_rows * wide * planes.shape[0] + LANES
    held = np.empty((0 if image else inputs, area), np.float32)
    last = -1
    while True:
        piece = next_number(counter.ctypes.data)
        if piece >= pieces:
            return
        at, part = divmod(piece, parts)
        which, row = divmod(at, heights)
        n, g = divmod(which, groups)
        r = row * rows
        end = min(r + rows, height)
        data = x[n, g * inputs : (g + 1) * inputs]
        if not image and at != last:
            lay_out(data, planes, window, r, plane_rows, wide, np.float32(0), held)
            last = at
        runs = data.reshape((inputs, area)) if image else held
        for b in range(part * blocks // parts, (part + 1) * blocks // parts):
            o, p = g * each + b * SUMS, g * each + min((b + 1) * SUMS, each)
            for top in range(r, end, step):
                bottom = min(top + step, end)
                first = (top if image else top - r) * wide
                sum_runs(runs, first, starts, weights[g, b], sums, (bottom - top - 1) * wide + width)
                finish(sums, wide, ending, n, o, top, out[n, o:p, top:bottom])


def _by_channel(x: Any, places: Any, counter: Any, weights: Any, ending: Any, out: Any) -> None:  # pragma: no cover
    """Convolve with weights (C, times, 1, taps, 1): each channel has windows of its own, and is a piece."""
    planes, window, plane_rows, wide, starts = places
    bias, other, adds, floor = ending
    channels, times = weights.shape[:2]
    held = np.empty((1, plane_rows * wide * planes.shape[0] + 4 * LANES), np.float32)
    first = np.float32(-np.inf) if adds else floor
    while True:
        piece = next_number(counter.ctypes.data)
        if piece >= x.shape[0] * channels:
            return
        n, c = divmod(piece, channels)
        lay_out(x[n, c : c + 1], planes, window, 0, plane_rows, wide, np.float32(0), held)
        for m in range(times):
            o = c * times + m
            rows_of(held, wide, starts, weights[c, m], bias[o], first, True, out[n, o])
            for r in range(out.shape[2] if adds else 0):
                line, more = out[n, o, r].ctypes.data, other[n, o, r].ctypes.data
                for i in range(0, out.shape[3], LANES):
                    at = np.uintp(4 * i)
                    add_and_end_vector(line + at, np.float32(0), more + at, floor, line + at, out.shape[3] - i)


def _pool_maximum(x: Any, places: Any, counter: Any, least: Any, out: Any) -> None:  # pragma: no cover
    """Write the maxima of windows, of a channel at a time; padding is the `least` number."""
    planes, window, plane_rows, wide, starts = places
    held = np.empty((1, plane_rows * wide * planes.shape[0] + 4 * LANES), np.float32)
    while True:
        piece = next_number(counter.ctypes.data)
        if piece >= x.shape[0] * x.shape[1]:
            return
        n, c = divmod(piece, x.shape[1])
        lay_out(x[n, c : c + 1], planes, window, 0, plane_rows, wide, least, held)
        rows_of(held, wide, starts, x, least, np.float32(-np.inf), False, out[n, c])


def _pool_mean(x: Any, places: Any, counter: Any, weights: Any, divisors: Any, out: Any) -> None:  # pragma: no cover
    """Write the means of windows, of a channel at a time: sums with the `weights` 1, over `divisors`."""
    planes, window, plane_rows, wide, starts = places
    held = np.empty((1, plane_rows * wide * planes.shape[0] + 4 * LANES), np.float32)
    while True:
        piece = next_number(counter.ctypes.data)
        if piece >= x.shape[0] * x.shape[1]:
            return
        n, c = divmod(piece, x.shape[1])
        lay_out(x[n, c : c + 1], planes, window, 0, plane_rows, wide, np.float32(0), held)
        rows_of(held, wide, starts, weights, np.float32(0), np.float32(-np.inf), True, out[n, c])
        for r in range(out.shape[2]):
            for i in range(out.shape[3]):
                out[n, c, r, i] /= divisors[r, i]


def _by_panels(x: Any, weights: Any, counter: Any, ending: Any, out: Any) -> None:  # pragma: no cover
    """Multiply rows with a weight (panels, K, PANEL), each panel of which is a piece; the last rows are done twice."""
    bias, other, adds, floor = ending
    panels, inputs = weights.shape[:2]
    blocks = -(-out.shape[0] // SUMS)
    sums = np.empty((blocks, SUMS, PANEL), np.float32)
    while True:
        piece = next_number(counter.ctypes.data)
        if piece >= panels:
            return
        column, width = piece * PANEL, min(PANEL, out.shape[1] - piece * PANEL)
        sums[:] = bias[column : column + PANEL]
        for first in range(0, inputs, DEPTH):
            many = min(DEPTH, inputs - first)
            panel = weights[piece, first].ctypes.data
            lines = -(-many * PANEL // (blocks * LINE))  # of the next part of the panel, for each block
            for b in range(blocks):
                following = panel + np.uintp(4 * (many * PANEL + b * lines * LINE))
                for i in range(lines):
                    ask_for(following + np.uintp(4 * LINE * i))
                row = min(b * SUMS, out.shape[0] - SUMS)
                add_panel(panel, x[row, first:].ctypes.data, inputs, many, sums[b].ctypes.data)
        for b in range(blocks):
            row = min(b * SUMS, out.shape[0] - SUMS)
            for k in range(SUMS):
                line, target = sums[b, k].ctypes.data, out[row + k, column:].ctypes.data
                for i in range(0, width, LANES):
                    at, zero = np.uintp(4 * i), np.float32(0)
                    if adds:
                        more = other[row + k, column:].ctypes.data
                        add_and_end_vector(line + at, zero, more + at, floor, target + at, width - i)
                    else:
                        end_vector(line + at, zero, line, floor, target + at, width - i)


def _by_rows(x: Any, weight: Any, counter: Any, out: Any) -> None:  # pragma: no cover
    """Multiply a few rows with the rows of a weight, `ROWS` of which are a piece; four at a time hide their way."""
    while True:
        first = next_number(counter.ctypes.data) * ROWS
        if first >= weight.shape[0]:
            return
        end = min(first + ROWS, weight.shape[0])
        for o in range(first, end, 4):
            a, b, c, d = (
                weight[o],
                weight[min(o + 1, end - 1)],
                weight[min(o + 2, end - 1)],
                weight[min(o + 3, end - 1)],
            )
            for n in range(x.shape[0]):
                sums = (np.float32(0), np.float32(0), np.float32(0), np.float32(0))
                for i in range(weight.shape[1]):
                    value = x[n, i]
                    sums = (
                        sums[0] + value * a[i],
                        sums[1] + value * b[i],
                        sums[2] + value * c[i],
                        sums[3] + value * d[i],
                    )
                for k in range(min(4, end - o)):
                    out[n, o + k] = sums[k]


by_blocks, by_channel, by_panels = njit(_by_blocks), njit(_by_channel), njit(_by_panels)
pool_maximum, pool_mean = njit(_pool_maximum), njit(_pool_mean)
by_rows: Any = numba.njit(nogil=True, fastmath={"contract", "reassoc"})(_by_rows)
