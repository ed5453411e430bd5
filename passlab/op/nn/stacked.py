"""Convolution of arrays with few output channels: the products of a window's rows are stacked and added up.

A product of a weight with few rows and a matrix of patches is slow, because BLAS reorders each patch and uses it only a
few times; copying the patches takes as long again. Here only the taps within a row of the window are copied. The
weights of all its rows are stacked into one matrix with more rows, and the product for row r of the data and row k of
the window is added to row r - k * dilation of the result. See Anderson et al., "Low-memory GEMM-based convolution
algorithms for deep neural networks" (2017). Data is (N, C, *S).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from passlab.op.dtypes import Array
from passlab.op.nn.products import multiply
from passlab.op.nn.sliding import Window
from passlab.threads import share_range

MAX_CHANNELS = 128  # of the output; with more, one product with all patches is as fast
MIN_ROWS = 8  # of the output, for each row at its edges whose products are dropped
MIN_INPUTS = 32  # in a row of the window
MAX_TAPS = 4  # rows of the window: each is added to the result separately
PRODUCT_BYTES = 512 << 10  # of the products of a block, which are added up in the second-level cache


def suits_stacking(out: Any, x: Any, window: Window, kernel: tuple[int, ...]) -> bool:
    """Whether this method is faster for a convolution without groups."""
    inputs = x.shape[1] * math.prod(kernel[1:])
    small = out.shape[1] <= MAX_CHANNELS and inputs >= MIN_INPUTS
    edge_rows = (kernel[0] - 1) * window.dilation[0]
    return small and window.strides[0] == 1 and 1 < kernel[0] <= MAX_TAPS and out.shape[2] >= MIN_ROWS * edge_rows


def convolve_stacked(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...]) -> None:
    """Write the convolution of `x` with `w` (O, C, *K), of stride 1 along the first spatial axis, into `out`."""
    size = out.shape[2:]
    matrix = _stack_weights(w, kernel)
    rest = math.prod(size[1:])
    total = size[0] + (kernel[0] - 1) * window.dilation[0]  # rows of data and padding
    step = max(1, PRODUCT_BYTES // max(1, len(matrix) * rest * x.itemsize))
    step = -(-total // -(-total // step))  # blocks of nearly the same height
    columns = np.zeros((x.shape[1], *kernel[1:], step, *size[1:]), x.dtype)
    products = np.empty((len(matrix), step * rest), x.dtype)
    result = out.reshape(*out.shape[:2], -1)
    for n, r in itertools.product(range(x.shape[0]), range(0, total, step)):
        rows = min(step, total - r)
        _share_row_copies(columns, x[n], r, rows, window, kernel)
        data = columns.reshape(matrix.shape[1], -1)[:, : rows * rest]
        product = multiply(matrix, data, out=products[:, : rows * rest])
        _add_rows(result[n], product.reshape(kernel[0], out.shape[1], -1), r, rows, window.dilation[0], rest)


def _add_rows(result: Array, products: Any, r: int, rows: int, dilation: int, rest: int) -> None:
    """Add the products (K0, O, rows * rest) of `rows` rows from row `r` on to `result` (O, rows * rest)."""
    size = result.shape[1] // rest

    def add(begin: int, stop: int) -> None:
        for k, product in enumerate(products[:, begin:stop]):
            first, end = max(0, r - k * dilation), min(size, r + rows - k * dilation)
            if first < end:
                start = (first + k * dilation - r) * rest
                source = product[:, start : start + (end - first) * rest]
                target = result[begin:stop, first * rest : end * rest]
                if k:
                    np.add(target, source, out=target)
                else:  # row r of the result starts here; this block and later ones add to it
                    np.copyto(target, source)

    share_range(add, len(result), products.nbytes)


def _share_row_copies(columns: Any, x: Array, first: int, rows: int, window: Window, kernel: tuple[int, ...]) -> None:
    """Copy rows as `_copy_rows` does; threads share the channels."""

    def copy(begin: int, end: int) -> None:
        _copy_rows(columns[begin:end], x[begin:end], first, rows, window, kernel)

    share_range(copy, len(x), columns.nbytes)


def _stack_weights(w: Array, kernel: tuple[int, ...]) -> Array:
    """Return the weights of each row of the window, stacked: (K0 * O, C * rest of K)."""
    w = np.ascontiguousarray(w)
    row = math.prod(kernel[1:])
    flat = w.reshape(w.shape[0] * w.shape[1], kernel[0] * row)
    if row > 1:  # moving a row as one element is faster than moving its numbers
        flat = flat.view(np.dtype((np.void, row * w.itemsize)))
    transposed = np.ascontiguousarray(flat.T)
    return transposed.view(w.dtype).reshape(kernel[0] * w.shape[0], -1)


def _copy_rows(columns: Any, x: Array, first: int, rows: int, window: Window, kernel: tuple[int, ...]) -> None:
    """Copy `rows` rows of the padded data (C, *S) from row `first` on, once for each tap within a row of the window.

    `columns` is (C, *rest of K, rows, *rest of S); the padding within its rows is zero already.
    """
    before, length = window.before[0], x.shape[1]
    low, high = min(rows, max(0, before - first)), max(0, min(rows, before + length - first))
    head = (slice(None),) * len(kernel)
    columns[(*head, slice(0, low))] = 0
    columns[(*head, slice(max(low, high), rows))] = 0
    if low >= high:
        return
    source_rows = slice(low + first - before, high + first - before)
    for tap in itertools.product(*map(range, kernel[1:])):
        position, source = [], []
        for i, t in enumerate(tap, 1):
            stride, start = window.strides[i], t * window.dilation[i] - window.before[i]
            begin = max(0, -(start // stride))
            end = max(begin, min(columns.shape[len(kernel) + i], -((start - x.shape[1 + i]) // stride)))
            position.append(slice(begin, end))
            source.append(slice(start + begin * stride, max(0, start + (end - 1) * stride + 1), stride))
        if all(p.start < p.stop for p in position):
            columns[(slice(None), *tap, slice(low, high), *position)] = x[(slice(None), source_rows, *source)]
