"""Pooling: the mean or the maximum of each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.compat.topi.testing.meaning import meaning
from passlab.op.dtypes import Array
from passlab.relay import nn

_LAYOUTS = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
_ADAPTIVE = {
    ("avg", 3): nn.adaptive_avg_pool1d,
    ("avg", 4): nn.adaptive_avg_pool2d,
    ("avg", 5): nn.adaptive_avg_pool3d,
    ("max", 3): nn.adaptive_max_pool1d,
    ("max", 4): nn.adaptive_max_pool2d,
    ("max", 5): nn.adaptive_max_pool3d,
}


def poolnd_python(
    np_data: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding_before: Sequence[int],
    padding_after: Sequence[int],
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str | None = None,
) -> Array:
    """Return the mean (`pool_type` "avg") or the maximum ("max") of each window of 1, 2 or 3 axes."""
    plain = _LAYOUTS[np_data.ndim]
    order = [(layout or plain).index(axis) for axis in plain]
    data = np_data.transpose(order)
    windows = zip(data.shape[2:], kernel, strides, dilation, padding_before, padding_after, strict=True)  # by axis
    taps = [_taps(window, ceil_mode) for window in windows]
    result = np.zeros((*data.shape[:2], *map(len, taps)), dtype)
    for at in np.ndindex(*map(len, taps)):
        spots = [tap[index] for tap, index in zip(taps, at, strict=True)]
        inside = [[spot for spot in axis if 0 <= spot < n] for axis, n in zip(spots, data.shape[2:], strict=True)]
        part = (
            data[(slice(None), slice(None), *np.ix_(*inside))]
            if all(inside)
            else data[:, :, :0].reshape(*data.shape[:2], *[0] * len(kernel))
        )
        axes: Any = tuple(range(2, data.ndim))
        if pool_type == "max":
            low: Any = (np.iinfo if data.dtype.kind in "iu" else np.finfo)(data.dtype).min
            result[(..., *at)] = part.max(axes, initial=low)
        else:
            count = math.prod(map(len, spots if count_include_pad else inside))
            result[(..., *at)] = part.sum(axes) / max(count, 1)
    return result.transpose(np.argsort(order))


def _taps(window: tuple[int, ...], ceil: bool) -> list[range]:
    """Return the indices of each window on one axis, including padding but nothing beyond it."""
    size, kernel, stride, dilation, before, after = window
    room = size + before + after - (kernel - 1) * dilation - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    end = size + after
    starts = [index * stride - before for index in range(count)]
    return [range(start, min(start + (kernel - 1) * dilation + 1, end), dilation) for start in starts]


def pool1d_ncw_python(
    np_data: Any,
    kernel: Any,
    strides: Any,
    padding: Sequence[int],
    out_shape: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
) -> Array:
    """Return the mean or the maximum of each window of (N, C, W)."""
    size, step = (kernel, strides) if isinstance(kernel, int) else (kernel[0], strides[0])
    before, after = padding
    return poolnd_python(
        np_data, (size,), (step,), (1,), (before,), (after,), pool_type, count_include_pad, ceil_mode, dtype
    )


def pool3d_ncdhw_python(
    np_data: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    out_shape: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
) -> Array:
    """Return the mean or the maximum of each window of (N, C, D, H, W)."""
    return poolnd_python(
        np_data, kernel, strides, (1, 1, 1), padding[:3], padding[3:], pool_type, count_include_pad, ceil_mode, dtype
    )


def adaptive_pool(np_data: Any, out_size: Any, pool_type: str, layout: str) -> Array:
    """Return the mean or the maximum of each of `out_size` parts."""
    sizes = (out_size,) if isinstance(out_size, int) else tuple(out_size)
    pool = _ADAPTIVE[pool_type, np_data.ndim]
    return meaning(lambda x: pool(x, sizes, layout), np_data)


def pool_grad_nchw(
    a_np: Any,
    out_grad_np: Any,
    pool_size: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Array:
    """Return the gradient of pooling (N, C, H, W); the first of several maxima gets all of it."""
    out_grad_np = np.asarray(out_grad_np).astype(a_np.dtype)
    if pool_type == "max":
        return meaning(
            lambda g, x: nn.max_pool2d_grad(g, x, pool_size, strides, padding, "NCHW", "", ceil_mode), out_grad_np, a_np
        )
    return meaning(
        lambda g, x: nn.avg_pool2d_grad(
            g, x, pool_size, strides, padding, "NCHW", "", ceil_mode=ceil_mode, count_include_pad=count_include_pad
        ),
        out_grad_np,
        a_np,
    )
