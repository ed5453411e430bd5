"""Memory of results that is used again as soon as it is free, because what was written last is still in a cache.

Each piece begins with a line of cache, so that vectors do not lie across two lines.
"""

from __future__ import annotations

import ctypes
import math
from collections import deque
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FLOAT, BYTE = np.dtype(np.float32), np.dtype(np.uint8)
LINE = 64  # bytes of a line of cache
MOST = 16  # pieces that are kept
LARGER = 2  # times as large as needed, at most: small results leave large pieces to large ones


class Memory(np.ndarray[Any, Any]):
    """The bytes of one array, which are free again when the array and all views of it are gone."""

    __slots__ = ()

    def __del__(self) -> None:
        _free.append(self.base)


_free: deque[Any] = deque(maxlen=MOST)  # the piece that was freed last is at the end


def aligned(shape: tuple[int, ...]) -> Array:
    """Return a new array of float32, in the memory that was freed last where that fits."""
    held = _take(4 * math.prod(shape))
    return np.ndarray(shape, FLOAT, Memory(len(held), BYTE, held))


def _new(size: int) -> Any:
    """Return new memory of so many bytes. It is no array, for which NumPy would take it as the owner of all views."""
    array = np.empty(size + LINE, np.uint8)
    first = -array.__array_interface__["data"][0] % LINE
    return (ctypes.c_char * size).from_buffer(array.data, first)


def _take(size: int) -> Any:
    """Return memory of so many bytes. Threads may do so at the same time: methods of a deque are atomic."""
    others: list[Any] = []
    result = None
    while result is None and _free:
        try:
            held = _free.pop()
        except IndexError:  # another thread was faster
            break
        if size <= len(held) <= LARGER * size:
            result = held
        else:
            others.append(held)
    if others:
        _free.extend(reversed(others))
    return _new(size) if result is None else result
