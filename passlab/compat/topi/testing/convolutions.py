"""Convolutions: products of weights with windows of padded data."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from passlab.compat.topi.shapes import Padding, _sides
from passlab.op.dtypes import Array

Sizes = int | Sequence[int]


def _each(sizes: Sizes, rank: int) -> tuple[int, ...]:
    return (sizes,) * rank if isinstance(sizes, int) else tuple(int(size) for size in sizes)


def _dilate_by(array: Any, factors: Sequence[int]) -> Array:
    """Return an array with factor - 1 zeros between neighbours on each axis."""
    shape = [(size - 1) * factor + 1 for size, factor in zip(array.shape, factors, strict=True)]
    result = np.zeros(shape, array.dtype)
    result[tuple(slice(None, None, factor) for factor in factors)] = array
    return result


def _convolve(data: Any, weight: Any, stride: Sizes, padding: Padding, groups: int = 1) -> Array:
    """Return data (N, C, *S) convolved with weight (O, C / groups, *K), in the wider dtype of the two."""
    rank = data.ndim - 2
    sides = _sides(padding, weight.shape[2:])
    padded = np.pad(data, [(0, 0), (0, 0), *zip(sides[:rank], sides[rank:], strict=True)])
    axes = tuple(range(2, 2 + rank))
    windows = sliding_window_view(padded, weight.shape[2:], axes)
    windows = windows[(slice(None), slice(None), *(slice(None, None, step) for step in _each(stride, rank)))]
    out, taps = string.ascii_lowercase[:rank], string.ascii_lowercase[rank : 2 * rank]
    parts = [
        np.einsum(f"YZ{out}{taps},XZ{taps}->YX{out}", part, kernel, optimize=True)
        for part, kernel in zip(np.split(windows, groups, 1), np.split(weight, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


def _transpose_to(
    data: Any, weight: Any, stride: Sizes, padding: Padding, output_padding: Sizes = 0, groups: int = 1
) -> Array:
    """Return the transposed convolution of data (N, C, *S) with weight (C, O / groups, *K)."""
    rank = data.ndim - 2
    kernel, sides, extra = weight.shape[2:], _sides(padding, weight.shape[2:]), _each(output_padding, rank)
    around = [k - 1 - s for k, s in zip((*kernel, *kernel), sides, strict=True)]
    behind = [size + more for size, more in zip(around[rank:], extra, strict=True)]
    spread = _dilate_by(data, (1, 1, *_each(stride, rank)))
    flipped = np.flip(weight, tuple(range(2, 2 + rank)))
    parts = [part.swapaxes(0, 1) for part in np.split(flipped, groups, 0)]
    return _convolve(spread, np.concatenate(parts, 0), 1, (*around[:rank], *behind), groups)


# ------------------------------------------------------------ the names of TVM
def conv1d_ncw_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding, dilation: Sizes) -> Array:
    """Return the convolution of (N, C, W) with (O, C, K)."""
    return group_conv1d_ncw_python(a_np, w_np, stride, padding, dilation, 1)


def group_conv1d_ncw_python(
    a_np: Any, w_np: Any, stride: Sizes, padding: Padding, dilation: Sizes, groups: int
) -> Array:
    """Return the convolution of (N, C, W) with (O, C / groups, K)."""
    return _convolve(a_np, _dilate_by(w_np, (1, 1, *_each(dilation, 1))), stride, padding, groups)


def conv1d_transpose_ncw_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding, output_padding: Sizes) -> Array:
    """Return the transposed convolution of (N, C, W) with (C, O, K)."""
    return _transpose_to(a_np, w_np, stride, padding, output_padding)


def group_conv1d_transpose_ncw_python(
    a_np: Any, w_np: Any, stride: Sizes, padding: Padding, output_padding: Sizes, groups: int = 1
) -> Array:
    """Return the transposed convolution of (N, C, W) with (C, O / groups, K)."""
    return _transpose_to(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_nchw_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding, groups: int = 1) -> Array:
    """Return the convolution of (N, C, H, W) with (O, C / groups, KH, KW)."""
    return _convolve(a_np, w_np, stride, padding, groups)


def conv2d_nhwc_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding, groups: int = 1) -> Array:
    """Return the convolution of (N, H, W, C) with (KH, KW, C / groups, O)."""
    result = _convolve(a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups)
    return result.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding) -> Array:
    """Return the convolution of (H, W, C, N) with (KH, KW, C, O)."""
    result = _convolve(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return result.transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Sizes, padding: Padding) -> Array:
    """Return the convolution of each channel of (N, C, H, W) with its filters (C, multiplier, KH, KW)."""
    channels, multiplier, *kernel = filter_np.shape
    weight = filter_np.reshape(channels * multiplier, 1, *kernel)
    return _convolve(input_np, weight, stride, padding, channels)


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Sizes, padding: Padding) -> Array:
    """Return the convolution of each channel of (N, H, W, C) with its filters (KH, KW, C, multiplier)."""
    result = depthwise_conv2d_python_nchw(
        input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return result.transpose(0, 2, 3, 1)


def conv2d_transpose_nchw_python(
    a_np: Any, w_np: Any, stride: Sizes, padding: Padding, output_padding: Sizes = (0, 0)
) -> Array:
    """Return the transposed convolution of (N, C, H, W) with (C, O, KH, KW)."""
    return _transpose_to(a_np, w_np, stride, padding, output_padding)


def conv2d_transpose_nhwc_python(
    a_nhwc: Any, weight: Any, weight_format: str, stride: Sizes, padding: Padding, output_padding: Sizes = (0, 0)
) -> Array:
    """Return the transposed convolution of (N, H, W, C) with a weight whose axes `weight_format` names."""
    kernel = weight.transpose([weight_format.index(axis) for axis in "IOHW"])
    return _transpose_to(a_nhwc.transpose(0, 3, 1, 2), kernel, stride, padding, output_padding).transpose(0, 2, 3, 1)


def conv3d_ncdhw_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding, groups: int = 1) -> Array:
    """Return the convolution of (N, C, D, H, W) with (O, C / groups, KD, KH, KW)."""
    return _convolve(a_np, w_np, stride, padding, groups)


def conv3d_ndhwc_python(a_np: Any, w_np: Any, stride: Sizes, padding: Padding, groups: int = 1) -> Array:
    """Return the convolution of (N, D, H, W, C) with (KD, KH, KW, C / groups, O)."""
    data, weight = a_np.transpose(0, 4, 1, 2, 3), w_np.transpose(4, 3, 0, 1, 2)
    return _convolve(data, weight, stride, padding, groups).transpose(0, 2, 3, 4, 1)


def conv3d_transpose_ncdhw_python(
    a_np: Any, w_np: Any, stride: Sizes, padding: Padding, output_padding: Sizes = (0, 0, 0)
) -> Array:
    """Return the transposed convolution of (N, C, D, H, W) with (C, O, KD, KH, KW)."""
    return _transpose_to(a_np, w_np, stride, padding, output_padding)


def conv2d_backward_weight_python(
    dy_np: Any,
    x_np: Any,
    kernel_size: Sequence[int],
    stride: Sizes,
    padding: Padding,
    layout: str = "NCHW",
    groups: int = 1,
    channels: int | None = None,
) -> Array:
    """Return the gradient of a convolution's weight, in OIHW, or in OHWI if the data are NHWC."""
    del channels  # the gradient of the output has as many
    if layout == "NHWC":
        dy_np, x_np = dy_np.transpose(0, 3, 1, 2), x_np.transpose(0, 3, 1, 2)
    sides, (sh, sw) = _sides(padding, kernel_size), _each(stride, 2)
    padded = np.pad(x_np, [(0, 0), (0, 0), (sides[0], sides[2]), (sides[1], sides[3])])
    rows, columns = dy_np.shape[2:]
    result = np.zeros((dy_np.shape[1], x_np.shape[1] // groups, *kernel_size), np.result_type(dy_np, x_np))
    for i, j in np.ndindex(*kernel_size):
        taps = padded[:, :, i : i + rows * sh : sh, j : j + columns * sw : sw][:, :, :rows, :columns]
        parts = zip(np.split(dy_np, groups, 1), np.split(taps, groups, 1), strict=True)
        result[:, :, i, j] = np.concatenate([np.einsum("nohw,nihw->oi", dy, x) for dy, x in parts])
    return result if layout == "NCHW" else result.transpose(0, 2, 3, 1)
