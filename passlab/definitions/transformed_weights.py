"""Definitions of convolutions with transformed weights; see `networks`.

The matrices of Winograd's algorithm are computed from its equations: the interpolation points determine the transforms
of the weight and of the products; that of the data is the solution for which the result is the convolution.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, definition_of
from passlab.definitions.networks import PLAIN_LAYOUTS, conv, pad_widths, to_layout

_POINTS = (0.0, -1.0, 1.0, 0.5, -2.0, -0.5)


def _powers_of_points(count: int, alpha: int) -> Any:
    """Return the powers (alpha, count) of the points of Winograd's algorithm, the last point being infinity."""
    points = (*_POINTS[:3], 0.5, -0.5, 2.0, -2.0) if alpha == 8 else _POINTS[: alpha - 1]
    return np.array([[a**j for j in range(count)] for a in points] + [[0.0] * (count - 1) + [1.0]])


def _weight_transform(tile: int, taps: int) -> Any:
    """Return the matrix that transforms `taps` of a weight: values at the points, divided by products of distances."""
    alpha = tile + taps - 1
    points = _powers_of_points(2, alpha)[:-1, 1]
    scales = [math.prod(a - b for b in points if b != a) for a in points] + [1.0]
    scales[0] = abs(scales[0])
    return _powers_of_points(taps, alpha) / np.array(scales)[:, None]


def _data_transform(tile: int, taps: int) -> Any:
    """Return the matrix for which the products of transformed data and weights give the convolution."""
    alpha = tile + taps - 1
    results, weights = _powers_of_points(tile, alpha), _weight_transform(tile, taps)
    expected = np.zeros((tile, taps, alpha))
    for m, r in np.ndindex(tile, taps):
        expected[m, r, m + r] = 1
    pairs = np.einsum("im,ir->mri", results, weights).reshape(-1, alpha)
    return np.linalg.lstsq(pairs, expected.reshape(-1, alpha), rcond=None)[0]


def _matrix_along(matrix: Any, x: Any, axis: int) -> Any:
    return np.swapaxes(np.swapaxes(x, axis, -1) @ matrix.T, axis, -1)


def _transformed_axes(rank: int, kernel: Any) -> list[bool]:
    return [not (rank == 3 and axis == 0 and not 2 < taps < 8) for axis, taps in enumerate(kernel)]


@definition_of("nn.contrib_conv2d_winograd_weight_transform")
def winograd_weight_transform(attrs: Any, w: Any) -> Any:
    """Define `nn.contrib_conv2d_winograd_weight_transform` and that of conv3d."""
    result = w.astype(np.float64).transpose(*range(2, w.ndim), 0, 1)
    for axis, (taps, changed) in enumerate(zip(w.shape[2:], _transformed_axes(w.ndim - 2, w.shape[2:]), strict=True)):
        if changed:
            result = _matrix_along(_weight_transform(attrs.tile_size, taps), result, axis)
    return result.astype(w.dtype)


@definition_of("nn.contrib_conv2d_winograd_without_weight_transform")
def winograd(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.contrib_conv2d_winograd_without_weight_transform` and that of conv3d, one tile after the other."""
    kernel, tile = attrs.kernel_size, attrs.tile_size
    rank = len(kernel)
    plain = PLAIN_LAYOUTS[rank][0]
    padding = [(0, 0), (0, 0), *pad_widths(attrs.padding, rank)]
    x = np.pad(to_layout(x, attrs.data_layout, plain), padding).astype(np.float64)
    size = [n - k + 1 for n, k in zip(x.shape[2:], kernel, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0)] + [(0, tile + k) for k in kernel])
    changed = _transformed_axes(rank, kernel)
    steps = [tile if c else 1 for c in changed]
    result = np.zeros((len(x), attrs.channels, *[n + tile for n in size]))
    for at in itertools.product(*[range(0, n, s) for n, s in zip(size, steps, strict=True)]):
        window = tuple(slice(a, a + s + k - 1) for a, s, k in zip(at, steps, kernel, strict=True))
        d = x[(slice(None), slice(None), *window)]
        for axis, k in enumerate(kernel):
            if changed[axis]:
                d = _matrix_along(_data_transform(tile, k), d, 2 + axis)
        products = np.zeros((len(x), attrs.channels, *d.shape[2:]))
        for o in range(attrs.channels):
            products[:, o] = sum(d[:, c] * w[..., o, c] for c in range(d.shape[1]))
        for axis, k in enumerate(kernel):
            if changed[axis]:
                products = _matrix_along(_powers_of_points(tile, tile + k - 1).T, products, 2 + axis)
            else:
                products = products.sum(2 + axis, keepdims=True)
        result[(slice(None), slice(None), *(slice(a, a + s) for a, s in zip(at, steps, strict=True)))] = products
    result = result[(slice(None), slice(None), *[slice(n) for n in size])]
    return to_layout(result, plain, attrs.out_layout or attrs.data_layout)


for _name in ("weight_transform", "without_weight_transform"):
    MEANING[f"nn.contrib_conv3d_winograd_{_name}"] = MEANING[f"nn.contrib_conv2d_winograd_{_name}"]


@definition_of("nn.contrib_conv2d_gemm_weight_transform")
def gemm_weight_transform(attrs: Any, w: Any) -> Any:
    """Define `nn.contrib_conv2d_gemm_weight_transform`: the weight as a matrix in tiles."""
    rows, cols, (*_, inputs, outputs) = attrs.tile_rows, attrs.tile_cols, w.shape
    taps = w.size // max(outputs, 1)
    result = np.zeros((-(-outputs // rows), -(-taps // cols), rows, cols), w.dtype)
    for i, j, c, o in np.ndindex(*w.shape):
        tap = (i * w.shape[1] + j) * inputs + c
        result[o // rows, tap // cols, o % rows, tap % cols] = w[i, j, c, o]
    return result


@definition_of("nn.contrib_conv2d_gemm_without_weight_transform")
def gemm(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.contrib_conv2d_gemm_without_weight_transform`: the convolution with the weight in these tiles."""
    shape = (*attrs.kernel_size, x.shape[3], attrs.channels)
    weight = np.zeros(shape, w.dtype)
    for i, j, c, o in np.ndindex(*shape):
        tap = (i * shape[1] + j) * shape[2] + c
        weight[i, j, c, o] = w[o // w.shape[2], tap // w.shape[3], o % w.shape[2], tap % w.shape[3]]
    return to_layout(conv(to_layout(x, "NHWC", "NCHW"), to_layout(weight, "HWIO", "OIHW"), attrs), "NCHW", "NHWC")
