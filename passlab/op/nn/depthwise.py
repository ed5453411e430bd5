"""Depthwise convolution of arrays: each channel has its own windows, summed tap by tap.

Without a matrix product, it is bound by NumPy's speed in memory. Rows of an image are short, and starting a NumPy loop
costs as much as a hundred elements. So the padded image is stored flat, in planes: the plane (p, q) of a window with
strides (s, t) holds the elements of the rows p, p + s, ... and columns q, q + t, ... A tap is then one contiguous run
of one plane, for all rows at once; at the end of each row it also computes a few sums across the edge, which are
dropped from the result. For short runs, the taps of a column of the window are multiplied and summed in one call. Data
is (N, C, *S), or (N, *S, C) if loops along the channels are long anyway.
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
from passlab.op.nn.sliding import Window, pad_spatial, shifts
from passlab.threads import free_threads, share

# The sums of a block, their operands and the planes stay in the second-level cache.
_BLOCK_BYTES = 768 << 10
# Longer runs are multiplied and added in two loops; of shorter ones, all taps of a column are summed in one call.
_LONG_RUN = 2048
# With a shorter last axis, too many of the sums in a flat plane cross the edge and are dropped.
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
    """Taps that read the same plane at equal distances: those of one column of the window, or a single tap.

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
