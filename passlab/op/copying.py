"""Copies of arrays whose axes have another order in memory, tile by tile.

Copied row by row, a transposed array is read one element per cache line, and the line is evicted before the next row
reads its neighbour. A square tile of the array is small enough to stay in cache until all of it has been used.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

_TILE = 256  # elements along both axes
_PADDING = 16  # elements between the rows of a tile: rows a power of two apart would share the same few cache lines
_MIN_LENGTH = 192  # elements along both axes; shorter copies gain nothing
_MIN_BYTES = 1 << 20  # smaller arrays stay in cache anyway


def copy_into(target: Any, source: Any) -> None:
    """Copy `source` into `target`, of the same shape."""
    axis = _transposed_axis(target, source)
    if axis is None:
        np.copyto(target, source)
        return
    tile = np.empty((_TILE, _TILE + _PADDING), source.dtype)
    ranges = [range(n) if a not in (axis, source.ndim - 1) else (slice(None),) for a, n in enumerate(source.shape)]
    for position in itertools.product(*ranges):
        _copy_transposed(target[position], source[position].T, tile)


def _copy_transposed(target: Any, source: Any, tile: Any) -> None:
    """Copy `source` into `target`, which has the opposite order of axes in memory, through a contiguous tile."""
    rows, columns = source.shape
    for i, j in itertools.product(range(0, rows, _TILE), range(0, columns, _TILE)):
        part = source[i : i + _TILE, j : j + _TILE]
        buffer = tile[: part.shape[0], : part.shape[1]]
        np.copyto(buffer, part)
        np.copyto(target[j : j + _TILE, i : i + _TILE], buffer.T)


def _transposed_axis(target: Any, source: Any) -> int | None:
    """Return the axis along which the source is contiguous, None if the target is too or the array is small."""
    if not isinstance(source, np.ndarray) or source.nbytes < _MIN_BYTES or source.shape != target.shape:
        return None
    if target.strides[-1] != target.itemsize or source.strides[-1] == source.itemsize:
        return None
    long = [a for a, n in enumerate(source.shape[:-1]) if source.strides[a] == source.itemsize and n >= _MIN_LENGTH]
    return long[0] if long and source.shape[-1] >= _MIN_LENGTH else None
