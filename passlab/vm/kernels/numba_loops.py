"""The loops of compiled convolutions, over samples, groups, rows, channels of the result and vectors.

They are Python functions that Numba compiles when they are first called; arrays are float32, in C's order. Needs the
package numba.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from passlab.threads import thread_count
from passlab.vm.kernels.numba_blocks import (
    LANES,
    LONG,
    SUMS,
    copy_each,
    copy_second,
    next_number,
    one_vector,
    single_run,
    single_vector,
    three_vectors,
    two_vectors,
    zeros,
)

ROWS = 32  # of a weight
DATA_BYTES = 512 << 10  # of the data that rows of the result are computed from: it is read from the second-level cache


def loop_threads() -> int:
    """Return how many threads a compiled loop may have."""
    return min(thread_count(), int(numba.config.NUMBA_NUM_THREADS))


njit: Any = numba.njit(nogil=True, fastmath={"contract"})  # Numba's functions have no types


def _lay_out(
    image: Any, planes: Any, window: Any, top: int, rows: int, wide: int, held: Any
) -> None:  # pragma: no cover
    """Lay `rows` rows of each plane of an image out, from its row `top` on, each with its padding.

    Whole vectors are written: what lies beyond a row is written again by the next one, or is room at the end.
    """
    s, t, above, left = window
    channels, height, width = image.shape
    for p in range(planes.shape[0]):
        first_row, first = planes[p, 0] - above + top * s, planes[p, 1] - left
        begin = min(wide, max(0, -(first // t)))
        end = max(begin, min(wide, -((first - width) // t)))
        start = first + begin * t
        for c in range(channels):
            target = held.ctypes.data + np.uintp(4 * (c * held.shape[1] + p * rows * wide))
            for r in range(rows):
                y = first_row + r * s
                many = end - begin if 0 <= y < height else 0
                for i in range(0, begin, LANES):
                    zeros(target, target + np.uintp(4 * i))
                at = (c * height + y) * width + start
                source, remaining = image.ctypes.data + np.uintp(4 * at), image.size - at
                for i in range(0, many, LANES):
                    x, to = source + np.uintp(4 * i * t), target + np.uintp(4 * (begin + i))
                    if t > 2 or (i + LANES) * t > remaining:
                        for j in range(i, min(i + LANES, many)):
                            held[c, (p * rows + r) * wide + begin + j] = image[c, y, start + j * t]
                    elif t == 1:
                        copy_each(x, to)
                    else:
                        copy_second(x, to)
                for i in range(begin + many, wide, LANES):
                    zeros(target, target + np.uintp(4 * i))
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


def _sum_run(data: Any, starts: Any, weights: Any, sums: Any, length: int) -> None:  # pragma: no cover
    """Write the sums of one channel with its own windows."""
    source, at, to = data.ctypes.data, starts.ctypes.data, sums.ctypes.data
    w, taps, place = weights.ctypes.data, starts.size, 0
    many = LONG if length >= LONG * LANES else 1
    while place < length:
        begin = max(0, min(place, length - many * LANES))
        x, y = source + np.uintp(4 * begin), to + np.uintp(4 * begin)
        if many == LONG:
            single_run(x, 0, at, taps, w, 1, y, 0)
        else:
            single_vector(x, 0, at, taps, w, 1, y, 0)
        place += many * LANES


def _finish(sums: Any, wide: int, ending: Any, n: int, o: int, r: int, out: Any) -> None:  # pragma: no cover
    """Write sums (channels, places), without what lies across edges, into rows from `r` on of channels from `o` on."""
    bias, other, adds, relu = ending
    for k in range(out.shape[0]):
        offset = bias[o + k]
        for i in range(out.shape[1]):
            line, target = sums[k, i * wide :], out[k, i]
            if adds:
                more = other[n, o + k, r + i]
                for x in range(target.size):
                    value = line[x] + offset + more[x]
                    target[x] = np.float32(0) if relu and value < 0 else value
            else:
                for x in range(target.size):
                    value = line[x] + offset
                    target[x] = np.float32(0) if relu and value < 0 else value


lay_out, sum_runs, sum_run, finish = njit(_lay_out), njit(_sum_runs), njit(_sum_run), njit(_finish)


def _by_blocks(
    x: Any, image: bool, places: Any, cuts: Any, weights: Any, ending: Any, out: Any
) -> None:  # pragma: no cover
    """Convolve with weights (groups, blocks, C, taps, SUMS); where `image`, the image is a plane as it is.

    `cuts` are the rows of a piece, the parts that the blocks are cut into, and a counter of the pieces that are begun:
    several threads may run this on the same counter, until there are no more pieces.
    """
    planes, window, plane_rows, wide, starts = places
    rows, parts, counter = cuts
    groups, blocks, inputs = weights.shape[:3]
    height, width = out.shape[2:]
    each = out.shape[1] // groups
    heights = -(-height // rows)
    pieces = x.shape[0] * groups * heights * parts
    sums = np.empty((SUMS, max(LANES, rows * wide)), np.float32)
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
            lay_out(data, planes, window, r, plane_rows, wide, held)
            last = at
        runs = data.reshape((inputs, area)) if image else held
        first, length = r * wide if image else 0, (end - r - 1) * wide + width
        for b in range(part * blocks // parts, (part + 1) * blocks // parts):
            sum_runs(runs, first, starts, weights[g, b], sums, length)
            o, p = g * each + b * SUMS, g * each + min((b + 1) * SUMS, each)
            finish(sums, wide, ending, n, o, r, out[n, o:p, r:end])


def _by_channel(x: Any, places: Any, counter: Any, weights: Any, ending: Any, out: Any) -> None:  # pragma: no cover
    """Convolve with weights (C, times, 1, taps, 1): each channel has windows of its own, and is a piece."""
    planes, window, plane_rows, wide, starts = places
    channels, times = weights.shape[:2]
    height, width = out.shape[2:]
    length = (height - 1) * wide + width
    sums = np.empty((1, max(LANES, length)), np.float32)
    held = np.empty((1, plane_rows * wide * planes.shape[0] + LANES), np.float32)
    while True:
        piece = next_number(counter.ctypes.data)
        if piece >= x.shape[0] * channels:
            return
        n, c = divmod(piece, channels)
        lay_out(x[n, c : c + 1], planes, window, 0, plane_rows, wide, held)
        for m in range(times):
            o = c * times + m
            sum_run(held, starts, weights[c, m], sums, length)
            finish(sums, wide, ending, n, o, 0, out[n, o : o + 1])


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


by_blocks, by_channel = njit(_by_blocks), njit(_by_channel)
by_rows: Any = numba.njit(nogil=True, fastmath={"contract", "reassoc"})(_by_rows)
