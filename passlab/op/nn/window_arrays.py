"""Sliding windows over arrays: strides, padding and dilation per spatial axis, and the elements that each tap reads.

The functions here take arrays, not operators or layouts: data is (N, C, *S) or, with `last`, (N, *S, C).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from passlab.op.dtypes import Array
from passlab.threads import share_range


@dataclass(frozen=True)
class Window:
    """A sliding window: per spatial axis its stride, the padding before and after, and the dilation of its taps."""

    strides: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dilation: tuple[int, ...]

    def extent(self, kernel: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes that a kernel covers, dilation included."""
        return tuple((k - 1) * d + 1 for k, d in zip(kernel, self.dilation, strict=True))

    def output(self, size: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of windows along each axis."""
        axes = zip(size, self.before, self.after, self.extent(kernel), self.strides, strict=True)
        return tuple(max(0, (n + a + b - e) // s + 1) for n, a, b, e, s in axes)


def pad_spatial(x: Array, before: tuple[int, ...], after: tuple[int, ...], last: bool) -> Array:
    """Return `x` with zeros around its spatial axes; `x` itself if there is no padding."""
    if not any(before) and not any(after):
        return x
    first = 1 if last else 2
    shape = list(x.shape)
    slices = [slice(None)] * x.ndim
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        slices[first + i] = slice(a, a + shape[first + i])
        shape[first + i] += a + b
    padded = np.zeros(shape, x.dtype)
    target = padded[tuple(slices)]

    def copy(begin: int, end: int) -> None:
        target[:, begin:end] = x[:, begin:end]

    share_range(copy, x.shape[1], x.nbytes)
    return padded


def shifts(
    window: Window, kernel: tuple[int, ...], size: tuple[int, ...]
) -> list[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Return each tap with the slices of the padded data it reads for the output `size`."""
    return [
        (
            tap,
            tuple(
                slice(t * d, t * d + (n - 1) * s + 1, s)
                for t, d, n, s in zip(tap, window.dilation, size, window.strides, strict=True)
            ),
        )
        for tap in itertools.product(*map(range, kernel))
    ]
