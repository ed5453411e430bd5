"""Pooling of arrays along any axes with NumPy: whole-array maxima and sums of shifted views, one axis after the other.

A window's maximum (and sum) is that of the maxima along one axis, then the next, so that a window of k1 x k2 elements
costs k1 + k2 steps. This file knows arrays and axis numbers, not operators or layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.op.dtypes import is_float


def lowest(dtype: Any) -> Any:
    """The least finite value, which Relay pads with before it takes a maximum."""
    if dtype.kind == "V":
        import ml_dtypes  # only programs in these formats pay for it

        return ml_dtypes.finfo(dtype).min  # type: ignore[no-untyped-call]
    if is_float(dtype):
        return np.finfo(dtype).min
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def pad_axes(x: Any, axes: Sequence[int], before: Sequence[int], after: Sequence[int], value: Any) -> Any:
    """Return `x` with `value` before and after some axes; `x` itself when nothing is padded."""
    if not any(before) and not any(after):
        return x
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis, a, b in zip(axes, before, after, strict=True):
        inner[axis] = slice(a, a + shape[axis])
        shape[axis] += a + b
    padded = np.full(shape, value, x.dtype)
    padded[tuple(inner)] = x
    return padded


def _sweep(x: Any, axis: int, window: int, stride: int, dilation: int, count: int, join: Any) -> Any:
    """Join (`np.maximum`, `np.add`) the `window` elements of each of `count` windows along one axis."""
    head = (slice(None),) * axis

    def shifted(tap: int) -> Any:
        start = tap * dilation
        return x[(*head, slice(start, start + (count - 1) * stride + 1 if count else start, stride))]

    if window == 1:
        return shifted(0)
    made = join(shifted(0), shifted(1))
    for tap in range(2, window):
        join(made, shifted(tap), out=made)
    return made


def sweep_windows(
    x: Any,
    axes: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    counts: Sequence[int],
    join: Any,
) -> Any:
    """Join the elements of every window over `axes` of the padded `x`; the last axis first, where it is cheapest."""
    for axis, window, stride, step, count in sorted(
        zip(axes, windows, strides, dilation, counts, strict=True), key=lambda p: -p[0]
    ):
        x = _sweep(x, axis, window, stride, step, count, join)
    return x


def window_counts(length: int, window: int, stride: int, dilation: int, before: int, count: int) -> Any:
    """Return how many taps of each window along one axis fall on data, not padding (at least 1)."""
    places = np.arange(count)[:, None] * stride + np.arange(window)[None, :] * dilation - before
    return np.maximum(((places >= 0) & (places < length)).sum(axis=1), 1)


def divided(total: Any, count: Any, dtype: Any) -> Any:
    """Return `total / count` in `dtype`; whole numbers are cut off towards zero, as Relay does."""
    if is_float(dtype):
        return (total / np.asarray(count).astype(total.dtype)).astype(dtype, copy=False)
    return (np.sign(total) * (np.abs(total) // count)).astype(dtype)


def sum_dtype(dtype: Any) -> Any:
    """Return the dtype in which elements of `dtype` are summed up."""
    if not is_float(dtype):
        return np.dtype("int64")
    return np.dtype("float32") if dtype.itemsize < 4 else dtype


def adaptive_spans(length: int, count: int) -> list[tuple[int, int]]:
    """Return the (start, end) of `count` windows covering an axis: floor(i * length / count), and the ceiling after."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def adaptive(x: Any, axes: Sequence[int], counts: Sequence[int], join: Any) -> Any:
    """Reduce `x` with the ufunc `join` along each axis to that many adaptive windows."""
    for axis, count in sorted(zip(axes, counts, strict=True), reverse=True):
        length = x.shape[axis]
        if count == 1 or (count and length % count == 0):
            split = x.reshape(*x.shape[:axis], count, length // count, *x.shape[axis + 1 :])
            x = join.reduce(split, axis=axis + 1)
            continue
        head = (slice(None),) * axis
        parts = [join.reduce(x[(*head, slice(a, b))], axis=axis) for a, b in adaptive_spans(length, count)]
        x = np.stack(parts, axis=axis) if parts else x[(*head, slice(0, 0))]
    return x
