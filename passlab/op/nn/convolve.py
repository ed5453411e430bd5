"""Convolution of arrays with NumPy and BLAS, for any number of spatial axes.

Patches are copied block by block into a matrix (im2col) and multiplied with the weight; a 1x1 window needs no copy;
with few output channels the rows of the window are stacked (see `stacked`), and depthwise windows are summed tap by tap
(see `depthwise`). Data is an array (N, C, *S) or, with `last`, (N, *S, C). Source of the reduction to a matrix product:
Chellapilla et al., "High performance convolutional neural networks for document processing" (2006).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from passlab.op.dtypes import Array
from passlab.op.nn.arithmetic import result_array, working_dtype, wrap_result
from passlab.op.nn.depthwise import depthwise
from passlab.op.nn.products import multiply
from passlab.op.nn.sliding import Window, pad_spatial, shifts
from passlab.op.nn.stacked import convolve_stacked, suits_stacking
from passlab.threads import share_range

# Patches of this many bytes are multiplied at a time. Scratch memory stays small; but BLAS reorders the weight for each
# block, so there should be few blocks, unless the weight is small.
BLOCK_BYTES = 16 << 20
SMALL_BLOCK_BYTES = 2 << 20
LONG_ROW = 48  # elements: shorter rows are copied together with others
FEW_CHANNELS = 128  # of the output: a product with so few rows is faster if its patches are in the second-level cache


def convolve(
    x: Array,
    w: Array,
    window: Window,
    groups: int,
    dtype: np.dtype[Any],
    *,
    last: bool = False,
    out: Array | None = None,
) -> Array:
    """Return the convolution of `x` with `w`, summed and returned in `dtype`.

    `x` is (N, C, *S) and `w` (O, C / groups, *K); with `last`, `x` is (N, *S, C) and `w` (*K, C / groups, O). The
    result has the layout of `x`. Scratch is a padded copy of `x` and one block of patches.
    """
    work = working_dtype(dtype, x.dtype, w.dtype)
    x, w = x.astype(work, copy=False), w.astype(work, copy=False)
    kernel = w.shape[:-2] if last else w.shape[2:]
    size = window.output(x.shape[1:-1] if last else x.shape[2:], kernel)
    channels = w.shape[-1] if last else w.shape[0]
    shape = (x.shape[0], *size, channels) if last else (x.shape[0], channels, *size)
    result = result_array(out, shape, work)
    if w.size == 0:
        result[...] = 0
    elif result.size:
        _convolve_into(result, x, w, window, groups, kernel, last)
    return wrap_result(result, dtype, out)


def _convolve_into(
    out: Array, x: Array, w: Array, window: Window, groups: int, kernel: tuple[int, ...], last: bool
) -> None:
    channels = x.shape[-1] if last else x.shape[1]
    if groups > 1 and groups == channels:
        depthwise(out, x, w, window, kernel, last)
        return
    matrix = _weight_matrix(w, groups, last)
    plain = not any(window.before) and not any(window.after)
    if plain and math.prod(kernel) == 1 and set(window.strides) <= {1}:
        _pointwise(out, x, matrix, groups, last)
        return
    if groups == 1 and not last and suits_stacking(out, x, window, kernel):
        convolve_stacked(out, x, w, window, kernel)
        return
    padded = pad_spatial(x, window.before, window.after, last)
    (_columns_last if last else _columns_first)(out, padded, matrix, window, groups, kernel)


def _weight_matrix(w: Array, groups: int, last: bool) -> Array:
    """Return the weight as one matrix per group: (G, O / G, I * K), or with `last` (G, K * I, O / G)."""
    if not last:
        return w.reshape(groups, w.shape[0] // groups, -1)
    flat = w.reshape(-1, groups, w.shape[-1] // groups)
    return flat.transpose(1, 0, 2)


def _pointwise(out: Array, x: Array, matrix: Any, groups: int, last: bool) -> None:
    """Convolve with a 1x1 window: the data is already the matrix of patches."""
    if last:
        if groups == 1:
            multiply(x.reshape(-1, x.shape[-1]), matrix[0], out=out.reshape(-1, out.shape[-1]))
            return
        data = x.reshape(-1, groups, x.shape[-1] // groups).transpose(1, 0, 2)
        multiply(data, matrix, out=out.reshape(-1, groups, out.shape[-1] // groups).transpose(1, 0, 2))
        return
    n, c, o = x.shape[0], x.shape[1], out.shape[1]
    multiply(matrix, x.reshape(n, groups, c // groups, -1), out=out.reshape(n, groups, o // groups, -1))


def _blocks(samples: int, rows: int, row_bytes: int, channels: int) -> list[tuple[int, int, int, int]]:
    """Divide samples and output rows into blocks (first sample, end, first row, end) for so many output channels."""
    max_bytes = SMALL_BLOCK_BYTES if channels <= FEW_CHANNELS else BLOCK_BYTES
    height = max(1, min(rows, max_bytes // max(row_bytes, 1)))
    height = -(-rows // -(-rows // height))  # blocks of nearly the same height
    depth = max(1, min(samples, max_bytes // max(row_bytes * rows, 1))) if height == rows else 1
    return [
        (n, min(n + depth, samples), r, min(r + height, rows))
        for n in range(0, samples, depth)
        for r in range(0, rows, height)
    ]


def _columns_first(out: Array, x: Array, matrix: Any, window: Window, groups: int, kernel: tuple[int, ...]) -> None:
    """Multiply by blocks for (N, C, *S): patches (n, C, *K, rows, *rest) become the right factor."""
    n, c, size = x.shape[0], x.shape[1], out.shape[2:]
    rest = math.prod(size[1:])
    result = out.reshape(n, groups, out.shape[1] // groups, -1)
    scratch = np.empty(0, x.dtype)
    leading = (slice(None),) * (2 + len(kernel))
    patches: Any = None
    finished = 0  # the number of finished samples
    for n0, n1, r0, r1 in _blocks(n, size[0], c * math.prod(kernel) * rest * x.itemsize, result.shape[2]):
        if n1 > finished:
            patches, finished = _patches(x[n0:n1], window, kernel, size), n1
        shape = (n1 - n0, c, *kernel, r1 - r0, *size[1:])
        scratch = _scratch_of_size(scratch, math.prod(shape))
        block = scratch[: math.prod(shape)].reshape(shape)
        _copy_patches(block, patches[(*leading, slice(r0, r1))])
        factor = block.reshape(n1 - n0, groups, -1, (r1 - r0) * rest)
        multiply(matrix, factor, out=result[n0:n1, :, :, r0 * rest : r1 * rest])


def _copy_patches(block: Any, patches: Any) -> None:
    """Copy patches into a block; threads share the channels."""

    def copy(first: int, end: int) -> None:
        np.copyto(block[:, first:end], patches[:, first:end])

    share_range(copy, block.shape[1], block.nbytes)


def _patches(x: Array, window: Window, kernel: tuple[int, ...], size: tuple[int, ...]) -> Array:
    """Return a view of the padded data as patches (n, C, *K, *size).

    If rows are short, or windows have a stride along them, the elements that each tap of the last axis reads are copied
    first: patches then consist of long runs, where copying row by row would take longer.
    """
    stride, dilation, width = window.strides[-1], window.dilation[-1], size[-1]
    taps = tuple(s * d for s, d in zip(x.strides[2:], window.dilation, strict=True))
    steps = tuple(s * d for s, d in zip(x.strides[2:], window.strides, strict=True))
    bytes_copied = x.nbytes // max(1, x.shape[-1]) * kernel[-1] * width
    if kernel[-1] == 1 or (stride == 1 and width >= LONG_ROW) or bytes_copied > BLOCK_BYTES:
        return as_strided(x, (*x.shape[:2], *kernel, *size), (*x.strides[:2], *taps, *steps), writeable=False)
    rows = np.empty((*x.shape[:2], kernel[-1], *x.shape[2:-1], width), x.dtype)

    def copy(first: int, end: int) -> None:
        for tap in range(kernel[-1]):
            part = x[:, first:end, ..., tap * dilation : tap * dilation + (width - 1) * stride + 1 : stride]
            rows[:, first:end, tap] = part

    share_range(copy, x.shape[1], rows.nbytes)
    taps = tuple(s * d for s, d in zip(rows.strides[3:-1], window.dilation, strict=False))
    steps = tuple(s * d for s, d in zip(rows.strides[3:-1], window.strides, strict=False))
    strides = (*rows.strides[:2], *taps, rows.strides[2], *steps, x.itemsize)
    return as_strided(rows, (*x.shape[:2], *kernel, *size), strides, writeable=False)


def _columns_last(out: Array, x: Array, matrix: Any, window: Window, groups: int, kernel: tuple[int, ...]) -> None:
    """Multiply by blocks for (N, *S, C): patches (G, n, rows, *rest, *K, C / G) become the left factor."""
    n, c, size = x.shape[0], x.shape[-1], out.shape[1:-1]
    strides = x.strides[1:-1]
    taps = tuple(s * d for s, d in zip(strides, window.dilation, strict=True))
    steps = tuple(s * d for s, d in zip(strides, window.strides, strict=True))
    group_channels = c // groups
    patches = as_strided(
        x,
        (groups, n, *size, *kernel, group_channels),
        (x.strides[-1] * group_channels, x.strides[0], *steps, *taps, x.strides[-1]),
        writeable=False,
    )
    inner = math.prod(kernel) * group_channels
    row_bytes = c * math.prod(kernel) * math.prod(size[1:]) * x.itemsize
    scratch = np.empty(0, x.dtype)
    for n0, n1, r0, r1 in _blocks(n, size[0], row_bytes, matrix.shape[-1]):
        shape = (groups, n1 - n0, r1 - r0, *size[1:], *kernel, group_channels)
        scratch = _scratch_of_size(scratch, math.prod(shape))
        block = scratch[: math.prod(shape)].reshape(shape)
        np.copyto(block, patches[:, n0:n1, r0:r1])
        result = out[n0:n1, r0:r1].reshape(-1, groups, out.shape[-1] // groups).transpose(1, 0, 2)
        multiply(block.reshape(groups, -1, inner), matrix, out=result)


def _scratch_of_size(scratch: Any, count: int) -> Array:
    return scratch if scratch.size >= count else np.empty(count, scratch.dtype)


def convolve_transposed(
    x: Array,
    w: Array,
    window: Window,
    extra: tuple[int, ...],
    groups: int,
    dtype: np.dtype[Any],
    out: Array | None = None,
) -> Array:
    """Return the transposed convolution of `x` (N, C, *S) with `w` (C, O / groups, *K): windows are added, not read.

    `extra` enlarges the end of each axis of the result (output padding). Scratch is bounded by working on a few output
    channels at a time.
    """
    work = working_dtype(dtype, x.dtype, w.dtype)
    x, w = x.astype(work, copy=False), w.astype(work, copy=False)
    n, c, size, kernel = x.shape[0], x.shape[1], x.shape[2:], w.shape[2:]
    full = tuple((s - 1) * t + e for s, t, e in zip(size, window.strides, window.extent(kernel), strict=True))
    shape = tuple(f - a - b + p for f, a, b, p in zip(full, window.before, window.after, extra, strict=True))
    canvas = tuple(max(f, a + s) for f, a, s in zip(full, window.before, shape, strict=True))
    outputs = w.shape[1]
    padded = np.zeros((n, groups, outputs, *canvas), work)
    if x.size and w.size:
        data, weight = x.reshape(n, groups, c // groups, -1), w.reshape(groups, c // groups, outputs, -1)
        _add_products(padded, data, weight, window, kernel, size)
    cropped = tuple(slice(a, a + s) for a, s in zip(window.before, shape, strict=True))
    result = padded.reshape(n, groups * outputs, *canvas)[(slice(None), slice(None), *cropped)]
    return wrap_result(np.ascontiguousarray(result) if out is None else result, dtype, out)


def _add_products(out: Any, x: Array, w: Array, window: Window, kernel: tuple[int, ...], size: tuple[int, ...]) -> None:
    """Add the product of data (N, G, C, L) and weight (G, C, O, K) to `out` (N, G, O, *canvas), tap by tap."""
    n, groups, _, length = x.shape
    taps = math.prod(kernel)
    group_outputs = w.shape[2]
    channel_bytes = max(1, groups * taps * length * x.itemsize)  # of products for one output channel of a sample
    step = max(1, min(group_outputs, BLOCK_BYTES // 2 // channel_bytes))
    depth = max(1, min(n, BLOCK_BYTES // 2 // (channel_bytes * group_outputs)))
    tap_positions = shifts(window, kernel, size)
    for i, o in itertools.product(range(0, n, depth), range(0, group_outputs, step)):
        weight = w[:, :, o : o + step]
        factor = weight.reshape(groups, weight.shape[1], -1).transpose(0, 2, 1)
        columns = multiply(factor, x[i : i + depth]).reshape(-1, groups, weight.shape[2], taps, *size)
        _add_taps(out[i : i + depth, :, o : o + step], columns, [position for _, position in tap_positions])


def _add_taps(target: Array, columns: Any, positions: list[tuple[slice, ...]]) -> None:
    """Add the products of each tap (N, G, O, taps, *S) at its position in the target, output channels in threads."""

    def add(first: int, end: int) -> None:
        for k, position in enumerate(positions):
            target[(slice(None), slice(None), slice(first, end), *position)] += columns[:, :, first:end, k]

    share_range(add, target.shape[2], columns.nbytes)
