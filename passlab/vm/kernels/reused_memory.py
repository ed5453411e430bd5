"""Memory of results that is used again as soon as it is free, because what was written last is still in a cache.

Each piece begins with a line of cache, so that vectors do not lie across two lines.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LINE = 64  # bytes of a line of cache
MOST = 16  # pieces that are kept
LARGER = 4  # times as large as needed, at most


class Memory:
    """The owner of the memory of one array, which is free again when the array and all views of it are gone."""

    __slots__ = ("__array_interface__", "held")

    def __init__(self, held: Array, shape: tuple[int, ...]) -> None:
        self.held = held
        first = held.__array_interface__["data"][0]
        address = first + -first % LINE
        self.__array_interface__ = {"shape": shape, "typestr": "<f4", "data": (address, False), "version": 3}

    def __del__(self) -> None:
        _free.append(self.held)


_free: deque[Array] = deque(maxlen=MOST)  # the piece that was freed last is at the end


def aligned(shape: tuple[int, ...]) -> Array:
    """Return a new array of float32, in the memory that was freed last where that fits."""
    return np.asarray(Memory(_take(4 * math.prod(shape) + LINE), shape))


def _take(size: int) -> Array:
    """Return memory of so many bytes. Threads may do so at the same time: methods of a deque are atomic."""
    others: list[Array] = []
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
    return np.empty(size, np.uint8) if result is None else result
