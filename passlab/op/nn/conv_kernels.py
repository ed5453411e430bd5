"""Convolution of arrays with NumPy and BLAS, for any number of spatial axes.

Patches are copied block by block into a matrix (im2col) and multiplied with the weight; a 1x1 window needs no copy.
With few output channels the rows of the window are stacked (`convolve_stacked`), and depthwise windows are summed tap
by tap (`depthwise`). Data is an array (N, C, *S) or, with `last`, (N, *S, C). Source of the reduction to a matrix
product: Chellapilla et al., "High performance convolutional neural networks for document processing" (2006).

The file begins with depthwise convolution of arrays: each channel has its own windows, summed tap by tap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from passlab.op.dtypes import Array
from passlab.op.nn.accumulation import result_array, working_dtype, wrap_result
from passlab.op.nn.blas import multiply
from passlab.op.nn.window_arrays import Window, pad_spatial, shifts
from passlab.threads import free_threads, share, share_range

# The sums of a block, their operands and the planes stay in the second-level cache.
_BLOCK_BYTES = 768 << 10
# Longer runs are multiplied and added in two loops; of shorter ones, all taps of a column are summed in one call.
_LONG_RUN = 2048
# With a shorter last axis as well many of the sums in a flat plane cross the edge and are dropped.
_SHORT_ROW = 12
# From this many channels on, loops along the channels are long enough.
_MANY_CHANNELS = 64
# With at least so many samples of images no larger than this, loops along the samples are the longer ones.
_MANY_SAMPLES, _SMALL_IMAGE = 16, 256


def depthwise(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...], last: bool) -> None:
    """Write the depthwise convolution of `x` with `w` into `out`; output channel o reads channel o // multiplier."""
    if last:
        padded = pad_spatial(x, window.before, window.after, True)
        _along_channels(out, padded, w.reshape(*kernel, -1), window, kernel)
    elif x.shape[0] >= _MANY_SAMPLES and math.prod(out.shape[2:]) <= _SMALL_IMAGE:
        _along_samples(out, x, w.reshape(-1, *kernel), window, kernel)
    elif out.shape[-1] < _SHORT_ROW and out.shape[1] == x.shape[1] >= _MANY_CHANNELS:
        _by_transposing(out, pad_spatial(x, window.before, window.after, False), w.reshape(-1, *kernel), window, kernel)
    else:
        _by_rows(out, x, w.reshape(-1, *kernel), window, kernel)


# ---------------------------------------------------------------- channels first
def _by_rows(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...]) -> None:
    """Convolve a large image some rows at a time, so that a block of it fits the cache."""
    size, stride, before = out.shape[2:], window.strides[0], window.before[0]
    step = max(1, _BLOCK_BYTES // max(1, math.prod(x.shape[3:]) * x.itemsize))
    if step >= size[0]:
        _by_planes(out, x, w, window, kernel)
        return
    span = window.extent(kernel)[0]
    for r in range(0, size[0], step):
        part = out[:, :, r : r + step]
        first = r * stride - before
        end = max(0, first + (part.shape[2] - 1) * stride + span)
        inside = Window(window.strides, (max(0, -first), *window.before[1:]), window.after, window.dilation)
        _by_planes(part, x[:, :, max(0, first) : end], w, inside, kernel)


def _by_planes(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...]) -> None:
    """Convolve via flat planes; threads share the blocks of samples and channels."""
    size, times, channels = out.shape[2:], out.shape[1] // x.shape[1], x.shape[1]
    planes = tuple(
        n + (k - 1) * d // s for n, k, d, s in zip(size, kernel, window.dilation, window.strides, strict=True)
    )
    steps = [math.prod(planes[i + 1 :]) for i in range(len(planes))]
    length, area = size[0] * steps[0], math.prod(planes)
    groups = list(_groups(kernel, steps, window, length >= _LONG_RUN))
    # the last sums across the edge reach beyond the plane
    plane_size = max(g.start + (g.count - 1) * g.step for g in groups) + length
    plane_size = max(plane_size, area)
    each = (math.prod(window.strides) * plane_size + 2 * length) * x.itemsize
    step = max(1, min(channels, _BLOCK_BYTES // each, -(-channels // free_threads())))
    positions = list(_plane_slices(x.shape[2:], planes, window))
    starts = list(itertools.product(range(x.shape[0]), range(0, channels, step)))

    def convolve_blocks(numbers: Iterator[int]) -> None:
        buffer: Any = np.zeros((step, *window.strides, plane_size), x.dtype)
        total: Any = np.empty((step, length), x.dtype)
        add_groups = _group_summer(groups, total)
        sums = total.reshape(step, size[0], *planes[1:])
        sums = sums[(slice(None), slice(None), *[slice(n) for n in size[1:]])]
        for number in numbers:
            n, c = starts[number]
            count = min(step, channels - c)
            for plane, position, source in positions:
                target = buffer[(slice(count), *plane, slice(area))].reshape(count, *planes)
                target[(slice(None), *position)] = x[n, c : c + count][source]
            for m in range(times):
                factors = w[c * times + m : (c + count) * times : times]
                add_groups(buffer[:count], factors, total[:count])
                np.copyto(out[n, c * times + m : (c + count) * times : times], sums[:count])

    share(convolve_blocks, len(starts))


@dataclass(frozen=True)
class TapGroup:
    """Taps that read the same plane at equal distances: the taps of one column of the window, or a single tap.

    `index` selects their weights, `start` is the offset of the first in its plane, `step` the distance between them.
    """

    index: tuple[Any, ...]
    plane: tuple[int, ...]
    start: int
    count: int
    step: int

    def sum(self, buffer: Any, weights: Any, out: Array) -> None:
        """Write the sums of the taps of all channels, multiplied and added in one call, into `out` (C, length)."""
        data = buffer[(slice(None), *self.plane, slice(self.start, None))]
        if out.shape[1] >= _LONG_RUN:  # then the group is one tap
            np.multiply(data[:, : out.shape[1]], weights[(slice(None), *self.index)], out=out)
            return
        strides = (data.strides[0], self.step * data.itemsize, data.itemsize)
        runs = as_strided(data, (len(out), self.count, out.shape[1]), strides, writeable=False)
        np.einsum("ckn,ck->cn", runs, weights[(slice(None), *self.index)], out=out)


def _group_summer(groups: list[TapGroup], like: Any) -> Callable[[Any, Any, Any], None]:
    """Return a function that writes the sums of all taps, group by group, into arrays of the shape of `like`."""
    scratch = np.empty_like(like)

    def add_groups(buffer: Any, factors: Any, total: Array) -> None:
        part = scratch[: len(total)]
        for i, group in enumerate(groups):
            group.sum(buffer, factors, part if i else total)
            if i:
                np.add(total, part, out=total)

    return add_groups


def _plane_slices(
    lengths: tuple[int, ...], planes: tuple[int, ...], window: Window
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
    """Yield each plane, the slices of it that hold data, not padding, and the slices of (C, *S) with that data."""
    for plane in itertools.product(*map(range, window.strides)):
        position, source = [], [slice(None)]
        for p, n, size, s, before in zip(plane, lengths, planes, window.strides, window.before, strict=True):
            first = max(0, -(-(before - p) // s))
            start = first * s + p - before
            count = max(0, min(size - first, -(-(n - start) // s)))
            position.append(slice(first, first + count))
            source.append(slice(start, start + (count - 1) * s + 1, s) if count else slice(0, 0))
        yield plane, tuple(position), tuple(source)


def _groups(kernel: tuple[int, ...], steps: list[int], window: Window, single: bool) -> Iterator[TapGroup]:
    """Yield the taps of a window in groups along its first axis, or each in a group of its own if `single`.

    On a single axis, taps are not grouped: they are as close together as the elements of a run, and NumPy would choose
    the wrong loop.
    """
    stride, dilation = window.strides[0], window.dilation[0]
    # distance of taps in the same plane
    distance = kernel[0] if single or len(kernel) == 1 else stride // math.gcd(stride, dilation)
    for rest in itertools.product(*map(range, kernel[1:])):
        offsets = [t * d for t, d in zip(rest, window.dilation[1:], strict=True)]
        inner = tuple(o % s for o, s in zip(offsets, window.strides[1:], strict=True))
        base = sum(o // s * step for o, s, step in zip(offsets, window.strides[1:], steps[1:], strict=True))
        for first in range(min(distance, kernel[0])):
            offset, count = first * dilation, len(range(first, kernel[0], distance))
            index = (slice(first, None, distance), *rest)
            start = base + offset // stride * steps[0]
            yield TapGroup(index, (offset % stride, *inner), start, count, distance * dilation // stride * steps[0])


def _by_transposing(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...]) -> None:
    """Convolve data of many channels and short rows: a few rows at a time are transposed so that channels are last.

    The rows stay in cache between transposing, summing and transposing back, which pays for transposing them.
    """
    size = out.shape[2:]
    taps = np.ascontiguousarray(np.moveaxis(w, 0, -1))
    span = window.extent(kernel)[0]
    rest = math.prod(x.shape[3:]) * x.shape[1] * x.itemsize
    step = max(1, min(size[0], _BLOCK_BYTES // max(1, rest * window.strides[0])))
    result = np.empty((step, *size[1:], x.shape[1]), out.dtype)
    for n, r in itertools.product(range(x.shape[0]), range(0, size[0], step)):
        rows = min(step, size[0] - r)
        first = r * window.strides[0]
        data = np.ascontiguousarray(np.moveaxis(x[n, :, first : first + (rows - 1) * window.strides[0] + span], 0, -1))
        _sum_taps(result[:rows], data, taps, window)
        np.copyto(out[n, :, r : r + rows], np.moveaxis(result[:rows], -1, 0))


def _along_samples(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...]) -> None:
    """Convolve many small images: some at a time are transposed so that samples are last."""
    channels, size, times = x.shape[1], out.shape[2:], out.shape[1] // x.shape[1]
    step = max(_MANY_SAMPLES, _BLOCK_BYTES // max(1, 2 * x[0].nbytes))
    taps = w.reshape(channels, times, *kernel, *(1,) * (len(size) + 1))
    for start in range(0, len(x), step):
        padded = pad_spatial(x[start : start + step], window.before, window.after, False)
        data = np.ascontiguousarray(np.moveaxis(padded, 0, -1))
        total = np.empty((channels, times, *size, data.shape[-1]), out.dtype)
        product = np.empty_like(total)
        for i, (tap, position) in enumerate(shifts(window, kernel, size)):
            tap_index: tuple[int | slice, ...] = (slice(None), slice(None), *tap)
            factor = taps[tap_index]
            np.multiply(data[(slice(None), *position)][:, None], factor, out=product if i else total)
            if i:
                np.add(total, product, out=total)
        out[start : start + step] = np.moveaxis(total.reshape(out.shape[1], *size, -1), -1, 0)


# ---------------------------------------------------------------- channels last
def _along_channels(out: Array, x: Array, w: Array, window: Window, kernel: tuple[int, ...]) -> None:
    """Convolve data whose channels are last; `x` is padded already and `w` is (*K, O)."""
    size, times = out.shape[1:-1], out.shape[-1] // x.shape[-1]
    if times == 1 and x.shape[-1] >= _MANY_CHANNELS:
        for n in range(x.shape[0]):
            _sum_taps(out[n], x[n], w, window)
        return
    rest = math.prod(size[1:]) * x.shape[-1]
    step = max(1, min(size[0], _BLOCK_BYTES // max(1, rest * out.itemsize)))
    product = np.empty((step, *size[1:], x.shape[-1]), out.dtype)
    for n, m, r in itertools.product(range(x.shape[0]), range(times), range(0, size[0], step)):
        target = out[n, r : r + step, ..., m::times]
        rows = (len(target), *size[1:])
        data = x[n, r * window.strides[0] :]
        term = product[: len(target)]
        for i, (tap, position) in enumerate(shifts(window, kernel, rows)):
            np.multiply(data[position], w[tap][m::times], out=term if i else target)
            if i:
                np.add(target, term, out=target)


def _sum_taps(out: Array, x: Array, w: Array, window: Window) -> None:
    """Sum a channel's window over (*S, C) into `out`: multiplied and added in one call, along the channels."""
    axes = list(range(x.ndim - 1))
    taps = [x.ndim - 1 + a for a in axes]
    channel = 2 * (x.ndim - 1)
    steps = [s * d for s, d in zip(x.strides, window.strides, strict=False)]
    offsets = [s * d for s, d in zip(x.strides, window.dilation, strict=False)]
    shape = (*out.shape[:-1], *w.shape)
    patches = as_strided(x, shape, (*steps, *offsets, x.strides[-1]), writeable=False)
    np.einsum(patches, [*axes, *taps, channel], w, [*taps, channel], [*axes, channel], out=out)


# Convolution of arrays with few output channels: the products of a window's rows are stacked and added up.

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
    """Divide samples and output rows into blocks (first sample, end, first row, end) for a number of output
    channels.
    """
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
    first. Patches then consist of long runs, where copying row by row would take longer.
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
