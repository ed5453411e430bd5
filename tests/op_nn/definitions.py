"""What the operators mean, written as slowly and plainly as possible: loops over elements, for small arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def spread(values: Any, rank: int) -> tuple[int, ...]:
    return (values,) * rank if isinstance(values, int) else tuple(values)


def split(padding: Any, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    values = spread(padding, rank)
    values = values * (2 * rank // len(values))
    return values[:rank], values[rank:]


def conv(x: Any, w: Any, strides: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """Convolution of x (N, C, *S) with w (O, C / groups, *K)."""
    rank = x.ndim - 2
    strides, dilation = spread(strides, rank), spread(dilation, rank)
    before, after = split(padding, rank)
    size, kernel = x.shape[2:], w.shape[2:]
    out = [(size[i] + before[i] + after[i] - (kernel[i] - 1) * dilation[i] - 1) // strides[i] + 1 for i in range(rank)]
    array = np.zeros((x.shape[0], w.shape[0], *out), np.float64 if x.dtype.kind == "f" else np.int64)
    each_in, each_out = w.shape[1], w.shape[0] // groups
    for n, o, *place in np.ndindex(*array.shape):
        group = o // each_out
        for i, *tap in np.ndindex(*w.shape[1:]):
            at = [place[d] * strides[d] - before[d] + tap[d] * dilation[d] for d in range(rank)]
            if all(0 <= a < s for a, s in zip(at, size, strict=True)):
                array[(n, o, *place)] += x[(n, group * each_in + i, *at)].item() * w[(o, i, *tap)].item()
    return array


def conv_transpose(
    x: Any, w: Any, strides: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, extra: Any = 0
) -> Any:
    """Transposed convolution of x (N, C, *S) with w (C, O / groups, *K)."""
    rank = x.ndim - 2
    strides, dilation, extra = spread(strides, rank), spread(dilation, rank), spread(extra, rank)
    before, after = split(padding, rank)
    size, kernel = x.shape[2:], w.shape[2:]
    out = [
        (size[i] - 1) * strides[i] + (kernel[i] - 1) * dilation[i] + 1 - before[i] - after[i] + extra[i]
        for i in range(rank)
    ]
    each_in, each_out = x.shape[1] // groups, w.shape[1]
    array = np.zeros((x.shape[0], each_out * groups, *out))
    for n, c, *place in np.ndindex(*x.shape):
        for o, *tap in np.ndindex(*w.shape[1:]):
            at = [place[d] * strides[d] - before[d] + tap[d] * dilation[d] for d in range(rank)]
            if all(0 <= a < s for a, s in zip(at, out, strict=True)):
                array[(n, c // each_in * each_out + o, *at)] += x[(n, c, *place)] * w[(c, o, *tap)]
    return array


def windows(x: Any, size: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    """Yield for each window its place in the result, its data elements, and how many elements it has with the padding.

    What a window has beyond the padding, where `ceil` lets it reach, counts for nothing; x is (N, C, *S).
    """
    rank = x.ndim - 2
    before, after = split(padding, rank)
    counts = []
    for i in range(rank):
        room = x.shape[2 + i] + before[i] + after[i] - (size[i] - 1) * dilation[i] - 1
        counts.append((room + strides[i] - 1 if ceil else room) // strides[i] + 1)
    for place in np.ndindex(x.shape[0], x.shape[1], *counts):
        inside, reached = [], 0
        for tap in itertools.product(*map(range, size)):
            at = [place[2 + d] * strides[d] - before[d] + tap[d] * dilation[d] for d in range(rank)]
            if all(0 <= a < s for a, s in zip(at, x.shape[2:], strict=True)):
                inside.append(x[(*place[:2], *at)])
            reached += all(a < s + after[d] for d, (a, s) in enumerate(zip(at, x.shape[2:], strict=True)))
        yield place, inside, reached, (x.shape[0], x.shape[1], *counts)
