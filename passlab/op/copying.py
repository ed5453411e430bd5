"""Copies of arrays whose axes stand in another order in memory, square by square.

Copied row by row, a turned array is read one element from each cache line, and the line is gone again before the next
row asks for its neighbour. A square of the array is small enough to stay in cache until all of it has been used.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

_SQUARE = 128  # elements along both axes
_LARGE = 1 << 20  # bytes: smaller arrays stay in cache anyway


def copy_into(target: Any, source: Any) -> None:
    """Copy `source` into `target`, of the same shape."""
    axis = _turned_axis(target, source)
    if axis is None:
        np.copyto(target, source)
        return
    last = target.ndim - 1
    place = [slice(None)] * target.ndim
    for i, j in itertools.product(range(0, target.shape[axis], _SQUARE), range(0, target.shape[last], _SQUARE)):
        place[axis], place[last] = slice(i, i + _SQUARE), slice(j, j + _SQUARE)
        np.copyto(target[tuple(place)], source[tuple(place)])


def _turned_axis(target: Any, source: Any) -> int | None:
    """Return the axis along which the source is contiguous, if it is long, and another one than the target's."""
    if not isinstance(source, np.ndarray) or source.nbytes < _LARGE or source.shape != target.shape:
        return None
    if target.strides[-1] != target.itemsize or source.strides[-1] == source.itemsize:
        return None
    long = [a for a, n in enumerate(source.shape[:-1]) if source.strides[a] == source.itemsize and n >= 2 * _SQUARE]
    return long[0] if long and source.shape[-1] >= 2 * _SQUARE else None
