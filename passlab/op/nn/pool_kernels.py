"""Pooling of arrays along any axes with NumPy: maxima and sums of shifted views of the array, one axis at a time.

A window's maximum (or sum) is computed along one axis, then along the next, so a window of k1 x k2 elements takes k1 +
k2 steps. The functions here take arrays and indices of axes, not operators or layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.op.dtypes import Array, as_array, float_info, integer_info, is_float


def lowest(dtype: Any) -> Any:
    """Return the lowest finite value of a dtype, with which Relay pads before it takes a maximum."""
    if is_float(dtype):
        return float_info(dtype).min
    return False if dtype.kind == "b" else integer_info(dtype).min


def pad_axes(x: Array, axes: Sequence[int], before: Sequence[int], after: Sequence[int], value: Any) -> Array:
    """Return `x` padded with `value` along some axes; `x` itself if there is no padding."""
    if not any(before) and not any(after):
        return x
    shape, slices = list(x.shape), [slice(None)] * x.ndim
    for axis, a, b in zip(axes, before, after, strict=True):
        slices[axis] = slice(a, a + shape[axis])
        shape[axis] += a + b
    padded = np.full(shape, value, x.dtype)
    padded[tuple(slices)] = x
    return padded


def _taps_inside(length: int, window: Sequence[int], count: int) -> list[tuple[int, int, int]]:
    """Return for each tap its first index, and the first and last windows (exclusive) in which it reads data."""
    size, stride, dilation, before = window
    result = []
    for tap in range(size):
        start = tap * dilation - before
        low = min(count, max(0, -(start // stride)))
        result.append((start, low, max(low, min(count, -((start - length) // stride)))))
    return result


def _sweep(x: Array, axis: int, window: Sequence[int], count: int, fill: Any, combine: Any, out: Array | None) -> Array:
    """Combine (`np.maximum`, `np.add`) the elements of each of `count` windows along one axis, with `fill` for padding.

    `window` is its size, stride, dilation, and the padding before. Windows that reach into the padding are handled
    separately, so that no padded copy is needed. The result is new, or `out`, or a view of `x`.
    """
    head = (slice(None),) * axis
    stride = window[1]
    taps = _taps_inside(x.shape[axis], window, count)
    low, high = max(t[1] for t in taps), min(t[2] for t in taps)
    if low >= high:
        low = high = count  # every window reaches into the padding
    if len(taps) == 1 and low == 0 and high == count and out is None:
        return x[(*head, slice(taps[0][0], taps[0][0] + (count - 1) * stride + 1 if count else taps[0][0], stride))]
    result = np.empty((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype) if out is None else out
    for first, end, inside in ((0, low, False), (low, high, True), (high, count, False)):
        if first >= end:
            continue
        if not inside:
            result[(*head, slice(first, end))] = fill
        pending = None
        for start, tap_low, tap_high in taps:
            low_window, high_window = max(first, tap_low), min(end, tap_high)
            if low_window >= high_window:
                continue
            data = x[(*head, slice(start + low_window * stride, start + (high_window - 1) * stride + 1, stride))]
            target = result[(*head, slice(low_window, high_window))]
            if not inside:
                combine(target, data, out=target)
            elif pending is None and start == taps[0][0] and len(taps) > 1:
                pending = data  # combined with the next tap in one call
            elif len(taps) == 1:
                target[...] = data
            else:
                combine(target if pending is None else pending, data, out=target)
                pending = None
    return result


def sweep_windows(
    x: Array,
    axes: Sequence[int],
    windows: Sequence[Sequence[int]],
    counts: Sequence[int],
    fill: Any,
    combine: Any,
    out: Array | None = None,
) -> Array:
    """Combine the elements of every window over `axes`, the outer axis first: its rows are whole and contiguous.

    `windows` are size, stride, dilation and padding before, per axis. The result may be a view of `x`.
    """
    order = sorted(zip(axes, windows, counts, strict=True), key=lambda part: part[0])
    for i, (axis, window, count) in enumerate(order, 1):
        x = _sweep(x, axis, window, count, fill, combine, out if i == len(order) else None)
    return x


def flat_windows(
    x: Array, windows: Sequence[Sequence[int]], counts: Sequence[int], fill: Any, combine: Any, out: Array | None = None
) -> Array:
    """Combine the elements of every window over all axes of `x` (M, *S) but the first, in loops as long as `x` itself.

    Rows are too short for NumPy's loops. So the padded array is treated as one row, and windows are combined at every
    position, also across the ends of rows; those results, and the ones between strides, are dropped at the end. Worth
    it for strides of 1 or 2.
    """
    sizes = [max(1, (n - 1) * s + (k - 1) * d + 1) for (k, s, d, _), n in zip(windows, counts, strict=True)]
    line = _pad_to_sizes(x, sizes, [w[3] for w in windows], fill)
    scratch = np.empty_like(line)
    owns_line = not np.may_share_memory(line, x)
    shift = 1
    flat = line.reshape(-1)
    length = flat.size
    for (size, _, dilation, _), extent in zip(reversed(windows), reversed(sizes), strict=True):
        step = shift * dilation
        shift *= extent
        if size == 1:
            continue
        length -= (size - 1) * step
        result = scratch.reshape(-1)
        combine(flat[:length], flat[step : step + length], out=result[:length])
        for tap in range(2, size):
            combine(result[:length], flat[tap * step : tap * step + length], out=result[:length])
        scratch, line = (line if owns_line else np.empty_like(line)), scratch
        owns_line, flat = True, result
    positions = tuple(slice(0, (n - 1) * w[1] + 1, w[1]) for n, w in zip(counts, windows, strict=True))
    result_view = line[(slice(None), *positions)]
    if out is None:
        return result_view
    out.reshape(result_view.shape)[...] = result_view
    return out


def _pad_to_sizes(x: Array, sizes: Sequence[int], before: Sequence[int], fill: Any) -> Array:
    """Return the contiguous array (M, *sizes) that windows over `x` read: `x` itself if it is that array."""
    if x.shape[1:] == tuple(sizes) and not any(before) and x.flags.c_contiguous:
        return x
    result = np.empty((len(x), *sizes), x.dtype)
    target: list[slice] = [slice(None)]
    source: list[slice] = [slice(None)]
    for axis, (n, size, b) in enumerate(zip(x.shape[1:], sizes, before, strict=True), 1):
        end = max(b, min(size, b + n))
        head = (slice(None),) * axis
        result[(*head, slice(0, min(b, size)))] = fill
        result[(*head, slice(end, size))] = fill
        target.append(slice(min(b, size), end))
        source.append(slice(0, max(0, min(n, size - b))))
    result[tuple(target)] = x[tuple(source)]
    return result


def window_counts(length: int, window: int, stride: int, dilation: int, before: int, count: int) -> Array:
    """Return the number of taps of each window along one axis that read data, not padding (at least 1)."""
    positions = np.arange(count)[:, None] * stride + np.arange(window)[None, :] * dilation - before
    return as_array(np.maximum(((positions >= 0) & (positions < length)).sum(axis=1), 1))


def divide_sums(total: Array, count: Any, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """Return `total / count` in `dtype`; whole numbers are truncated, as in Relay.

    `out` may hold sums of that dtype; it then receives the quotients.
    """
    if is_float(dtype):
        divisor = np.asarray(count).astype(total.dtype)
        quotient: Array = np.divide(total, divisor, out=out if total is out else None)
        return quotient.astype(dtype, copy=False)
    return as_array(np.sign(total) * (np.abs(total) // count)).astype(dtype)


def sum_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype in which elements of `dtype` are summed."""
    if not is_float(dtype):
        return np.dtype("int64")
    return np.dtype("float32") if dtype.itemsize < 4 else dtype


def adaptive_spans(length: int, count: int) -> list[tuple[int, int]]:
    """Return the (start, end) of `count` windows covering an axis: floor(i * length / count), and the ceiling after."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def adaptive(x: Array, axes: Sequence[int], counts: Sequence[int], combine: Any) -> Array:
    """Reduce `x` with the ufunc `combine` to `counts` adaptive windows along each axis."""
    for axis, count in sorted(zip(axes, counts, strict=True), reverse=True):
        length = x.shape[axis]
        if count == 1 or (count and length % count == 0):
            windows = x.reshape(*x.shape[:axis], count, length // count, *x.shape[axis + 1 :])
            x = combine.reduce(windows, axis=axis + 1)
            continue
        head = (slice(None),) * axis
        parts = [combine.reduce(x[(*head, slice(a, b))], axis=axis) for a, b in adaptive_spans(length, count)]
        x = np.stack(parts, axis=axis) if parts else x[(*head, slice(0, 0))]
    return x
