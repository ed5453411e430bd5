"""Copies of images whose channels are last in memory: turned, padded, or with room between places.

An image is an array (samples, rows, columns, channels) here, in C's order. These are Python functions that Numba
compiles when they are first called. Needs the package numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.vm.kernels.numba_blocks import CACHE_LINE, LANES
from passlab.vm.kernels.numba_loops import njit
from passlab.vm.kernels.numba_rows import copy_memory, interleave_three

INSTRUCTIONS = 638585261  # the crc32 of the instructions that other files hold, as in `numba_loops`
TOGETHER = 8  # channels that are turned together: more would displace each other from the nearest cache
SAME_LINES = 4096  # bytes: what lies a multiple of them apart shares a few lines of the nearest cache
IN_PLACE, PADDED, APART = range(3)  # what windows read: the image, a padded copy, or one with room between places


def _turn(x: Any, out: Any, channels: Any, places: Any) -> None:  # pragma: no cover
    """Write an image (channels, places) as (places, channels), both flat; unsigned numbers need no look at the sign."""
    if channels == 3 and places >= LANES:  # a picture
        for i in range(0, places + LANES - 1, LANES):
            start = min(i, places - LANES)
            source, target = x.ctypes.data + np.uintp(4 * start), out.ctypes.data + np.uintp(12 * start)
            interleave_three(source, places, target)
        return
    many, length = np.uintp(channels), np.uintp(places)
    for first in range(np.uintp(0), many, np.uintp(TOGETHER)):
        end = min(first + np.uintp(TOGETHER), many)
        for i in range(length):
            if end - first == np.uintp(TOGETHER):  # a loop of known length is unrolled
                for c in range(np.uintp(TOGETHER)):
                    out[i * many + first + c] = x[(first + c) * length + i]
            else:
                for c in range(first, end):
                    out[i * many + c] = x[c * length + i]


def _lay_out(image: Any, top: int, left: int, padding: Any, held: Any) -> None:  # pragma: no cover
    """Write the rows of an image (rows, columns, channels) from `top` on and its columns from `left` on, padded."""
    rows, wide, channels = held.shape
    height, width = image.shape[:2]
    low = min(wide, max(0, -left))
    high = max(low, min(wide, width - left))
    for r in range(rows):
        y, to = top + r, held[r].reshape(wide * channels)
        if 0 <= y < height:
            to[: low * channels] = padding
            to[high * channels :] = padding
            copy_memory(image[y, low + left].ctypes.data, to[low * channels :].ctypes.data, 4 * (high - low) * channels)
        else:
            to[:] = padding


def _aligned_memory(size: int) -> Any:  # pragma: no cover
    """Return new memory for so many numbers that begins with a line of cache: no vector lies across two lines.

    The copies of a loop live here: memory from Python (`reused_memory`) costs a small convolution a third of its time.
    """
    memory = np.empty(size + 2 * CACHE_LINE, np.float32)
    first = (np.uintp(-memory.ctypes.data) % np.uintp(4 * CACHE_LINE)) // np.uintp(4)
    return memory[first : first + np.uintp(size + CACHE_LINE)]


aligned: Any = njit(_aligned_memory)
turn, lay_out = njit(_turn), njit(_lay_out)


def _set_apart(image: Any, first: Any, steps: Any, size: Any, held: Any) -> None:  # pragma: no cover
    """Copy so many places of an image (rows, columns, channels), of every so many rows and columns, with room between.

    Places a multiple of SAME_LINES apart would displace each other from the nearest cache.
    """
    (top, left), (down, across), (rows, columns) = first, steps, size
    length, to_step = np.uintp(4 * image.shape[2]), np.uintp(held.strides[1])
    for y in range(rows):
        source, target = image[top + y * down, left].ctypes.data, held[y].ctypes.data
        for _ in range(columns):
            copy_memory(source, target, length)
            source, target = source + np.uintp(across) * length, target + to_step


set_apart: Any = njit(_set_apart)


def _room_for(most: Any, window: Any, channels: int) -> Any:  # pragma: no cover
    """Return new memory (rows, columns, elements of a place) for what windows of the most rows and columns read."""
    down, _, _, _, reads, beyond, wide = window
    rows, columns, place = 0, 0, channels
    if reads == PADDED:
        rows, columns = (most[0] - 1) * down + 1 + beyond, wide
    elif reads == APART:
        rows, columns, place = most[0], most[1], channels + CACHE_LINE
    return aligned(rows * columns * place)[: rows * columns * place].reshape((rows, columns, place))


def _moves_of(columns: int, channels: int, window: Any, held: Any) -> Any:  # pragma: no cover
    """Return the bytes from a row of windows to the next, and the elements from a window to its neighbour."""
    down, across, _, _, reads, _, _ = window
    if reads == APART:
        return held.strides[0], held.shape[2]
    return 4 * down * (held.shape[1] if reads == PADDED else columns) * channels, across * channels


def _copy_reach(image: Any, first: Any, window: Any, size: Any, held: Any) -> None:  # pragma: no cover
    """Copy what windows read whose results are so many rows and columns from `first` on."""
    down, across, top, left, reads, _, _ = window
    y, i = first
    if reads == PADDED:
        lay_out(image, y * down + top, left, np.float32(0), held)
    else:
        set_apart(image, (y * down, i * across), (down, across), size, held)


room_for: Any = njit(_room_for)
moves_of: Any = njit(_moves_of)
copy_reach: Any = njit(_copy_reach)
