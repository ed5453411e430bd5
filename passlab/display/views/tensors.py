"""A tensor in a few numbers and a small picture: statistics, histogram, heat map.

The heat map diverges around zero. Tensors of more than two dimensions are shown as a grid of their first slices. NaN
and infinities have codes of their own, and mark every cell that covers one, however many numbers it covers besides.
"""

from __future__ import annotations

import base64
from math import ceil, sqrt
from typing import Any

import numpy as np

BINS = 28
CELLS = 40  # of a heat map, in each direction
SLICES = 16  # of a tensor of more dimensions that its heat map shows
ZERO, SPAN, NAN, PLUS, MINUS = 125, 125, 255, 254, 253  # codes of cells: 0 to 250 around ZERO, then non-finite ones
SAMPLE = 1 << 15  # numbers that histogram and moments use; range, NaN and infinities always count all

Array = np.ndarray[Any, Any]


def is_numeric(tensor: Array) -> bool:
    """Whether a tensor holds numbers that can be drawn."""
    return tensor.size > 0 and (tensor.dtype.kind in "fiub" or tensor.dtype.name.startswith(("bfloat", "float8")))


def nonfinite_code(tensor: Array) -> int:
    """Return 1 for a tensor that holds NaN, 2 for one with infinities, 3 for both, 0 for neither."""
    if tensor.dtype.kind in "iub" or not is_numeric(tensor):
        return 0
    numbers = tensor if tensor.dtype.kind == "f" else tensor.astype(np.float32)
    with np.errstate(all="ignore"):
        if np.isfinite(numbers.sum(dtype=np.float64)):
            return 0
        return int(np.isnan(numbers).any()) | 2 * int(np.isinf(numbers).any())


def picture(tensor: Array, cells: int = CELLS) -> dict[str, Any] | None:
    """Return statistics, histogram and heat map of a tensor as JSON-able data; None when there is nothing to draw."""
    if not is_numeric(tensor):
        return None
    numbers: Array = tensor.astype(np.float64 if tensor.dtype.kind in "iub" else np.float32, copy=False)
    flat = numbers.reshape(-1)
    nonfinite = nonfinite_code(tensor)
    finite = flat[np.isfinite(flat)] if nonfinite else flat
    sample = finite[:: max(1, finite.size // SAMPLE)]
    picture: dict[str, Any] = {
        "size": int(flat.size),
        "bytes": int(tensor.nbytes),
        "nan": int(np.isnan(flat).sum()) if nonfinite else 0,
        "inf": int((flat == np.inf).sum()) if nonfinite else 0,
        "ninf": int((flat == -np.inf).sum()) if nonfinite else 0,
        "zero": int(flat.size - np.count_nonzero(flat)),
    }
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        sample = sample.astype(np.float64)
        counts, _ = np.histogram(sample, bins=BINS, range=(low, high if high > low else low + 1))
        picture.update(min=low, max=high, mean=float(sample.mean()), std=float(sample.std()))
        picture["bins"] = counts.tolist()
    picture.update(_heat_map(numbers, cells))
    return picture


def _heat_map(numbers: Array, cells: int) -> dict[str, Any]:
    """Return the heat map: rows, columns, cells (base64 of one byte each), how many slices a row of them has."""
    planes, across = _planes(numbers)
    room = max(4, cells // across)
    pooled = [_pool(plane, room) for plane in planes]
    rows, columns = pooled[0][0].shape
    down = ceil(len(pooled) / across)
    values = np.full((down * rows, across * columns), np.nan)
    nonfinite = np.zeros(values.shape, np.uint8)
    blank = np.ones(values.shape, bool)
    for place, (value, marks) in enumerate(pooled):
        top, left = place // across * rows, place % across * columns
        window = slice(top, top + rows), slice(left, left + columns)
        values[window], nonfinite[window], blank[window] = value, marks, False
    finite = values[np.isfinite(values)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    with np.errstate(all="ignore"):
        codes = np.nan_to_num(np.rint(values / (scale or 1.0) * SPAN)).clip(-SPAN, SPAN) + ZERO
    codes = np.where(nonfinite > 0, nonfinite, codes).astype(np.uint8)
    codes[blank] = ZERO
    shown = [len(pooled), across, rows, columns]
    cells_text = base64.b64encode(codes.tobytes()).decode("ascii")
    return {
        "rows": int(values.shape[0]),
        "columns": int(values.shape[1]),
        "cells": cells_text,
        "grid": shown,
        "scale": scale,
    }


def _planes(numbers: Array) -> tuple[list[Array], int]:
    """Return the planes to show and how many stand side by side."""
    shape = [d for d in numbers.shape if d != 1] or [1]
    whole = numbers.reshape(shape)
    if whole.ndim == 1:
        width = whole.size if whole.size <= CELLS else ceil(sqrt(whole.size))
        height = ceil(whole.size / width)
        filled = np.zeros(width * height, whole.dtype)
        filled[: whole.size] = whole
        return [filled.reshape(height, width)], 1
    if whole.ndim == 2:
        return [whole], 1
    slices = whole.reshape(-1, *whole.shape[-2:])[:SLICES]
    return list(slices), ceil(sqrt(len(slices)))


def _pool(plane: Array, room: int) -> tuple[Array, Array]:
    """Return the means of the blocks of a plane, at most `room` in each direction, and their codes."""
    rows = np.unique(np.linspace(0, plane.shape[0], min(room, plane.shape[0]) + 1).astype(int)[:-1])
    columns = np.unique(np.linspace(0, plane.shape[1], min(room, plane.shape[1]) + 1).astype(int)[:-1])

    def sums(values: Array) -> Array:
        total: Array = np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)
        return total

    finite = np.isfinite(plane)
    if finite.all():
        return sums(plane.astype(np.float64)) / sums(np.ones(plane.shape)), np.zeros(
            (rows.size, columns.size), np.uint8
        )
    with np.errstate(all="ignore"):
        means = sums(np.where(finite, plane, 0).astype(np.float64)) / sums(finite.astype(np.float64))
    nonfinite = np.where(sums(np.isposinf(plane).astype(int)) > 0, PLUS, 0)
    nonfinite = np.where(sums(np.isneginf(plane).astype(int)) > 0, MINUS, nonfinite)
    return means, np.where(sums(np.isnan(plane).astype(int)) > 0, NAN, nonfinite).astype(np.uint8)
