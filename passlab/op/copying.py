"""Copies of arrays whose axes have another order in memory, square by square.

Copied row by row, a transposed array is read one element per cache line, and the line is evicted before the next row
reads its neighbour. A square of the array is small enough to stay in cache until all of it has been used.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

_SQUARE = 256  # elements along both axes
_GAP = 16  # elements between the rows of a square: rows a power of two apart would share the same few cache lines
_FEWEST = 192  # elements along both axes; smaller copies gain nothing
_LARGE = 1 << 20  # bytes: smaller arrays stay in cache anyway


def copy_into(target: Any, source: Any) -> None:
    """Copy `source` into `target`, of the same shape."""
    axis = _turned_axis(target, source)
    if axis is None:
        np.copyto(target, source)
        return
    square = np.empty((_SQUARE, _SQUARE + _GAP), source.dtype)
    others = [range(n) if a not in (axis, source.ndim - 1) else (slice(None),) for a, n in enumerate(source.shape)]
    for position in itertools.product(*others):
        _copy_turned(target[position], source[position].T, square)


def _copy_turned(target: Any, source: Any, square: Any) -> None:
    """Copy a matrix into its transpose, through a contiguous square."""
    rows, columns = source.shape
    for i, j in itertools.product(range(0, rows, _SQUARE), range(0, columns, _SQUARE)):
        part = source[i : i + _SQUARE, j : j + _SQUARE]
        held = square[: part.shape[0], : part.shape[1]]
        np.copyto(held, part)
        np.copyto(target[j : j + _SQUARE, i : i + _SQUARE], held.T)


def _turned_axis(target: Any, source: Any) -> int | None:
    """Return the axis along which the source is contiguous, if it is long and not that of the target."""
    if not isinstance(source, np.ndarray) or source.nbytes < _LARGE or source.shape != target.shape:
        return None
    if target.strides[-1] != target.itemsize or source.strides[-1] == source.itemsize:
        return None
    long = [a for a, n in enumerate(source.shape[:-1]) if source.strides[a] == source.itemsize and n >= _FEWEST]
    return long[0] if long and source.shape[-1] >= _FEWEST else None
