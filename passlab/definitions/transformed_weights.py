"""What convolutions on transformed weights mean, for small arrays; see `networks`.

The matrices of Winograd's algorithm are those of its equations: points determine what is made of the weight and of the
products, and the data's matrix is the one by which the results are those of the convolution.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, means
from passlab.definitions.networks import _PLAIN, _sides, _to, conv

_POINTS = (0.0, -1.0, 1.0, 0.5, -2.0, -0.5)


def _powers_of_points(count: int, alpha: int) -> Any:
    """Return the powers (alpha, count) of the points of Winograd's algorithm, the last point being infinity."""
    points = (*_POINTS[:3], 0.5, -0.5, 2.0, -2.0) if alpha == 8 else _POINTS[: alpha - 1]
    return np.array([[a**j for j in range(count)] for a in points] + [[0.0] * (count - 1) + [1.0]])


def _of_weight(tile: int, taps: int) -> Any:
    """Return what transforms `taps` of a weight: values at the points, divided by their distances from each other."""
    alpha = tile + taps - 1
    points = _powers_of_points(2, alpha)[:-1, 1]
    scales = [math.prod(a - b for b in points if b != a) for a in points] + [1.0]
    scales[0] = abs(scales[0])
    return _powers_of_points(taps, alpha) / np.array(scales)[:, None]


def _of_data(tile: int, taps: int) -> Any:
    """Return the one matrix by which products of transformed data and weights are the results of the convolution."""
    alpha = tile + taps - 1
    results, weights = _powers_of_points(tile, alpha), _of_weight(tile, taps)
    expected = np.zeros((tile, taps, alpha))
    for m, r in np.ndindex(tile, taps):
        expected[m, r, m + r] = 1
    pairs = np.einsum("im,ir->mri", results, weights).reshape(-1, alpha)
    return np.linalg.lstsq(pairs, expected.reshape(-1, alpha), rcond=None)[0]


def _matrix_along(matrix: Any, x: Any, axis: int) -> Any:
    return np.swapaxes(np.swapaxes(x, axis, -1) @ matrix.T, axis, -1)


def _transformed_axes(rank: int, kernel: Any) -> list[bool]:
    return [not (rank == 3 and axis == 0 and not 2 < taps < 8) for axis, taps in enumerate(kernel)]


@means("nn.contrib_conv2d_winograd_weight_transform")
def winograd_weight(attrs: Any, w: Any) -> Any:
    """Return what the transforms of a weight for Winograd's algorithm give."""
    result = w.astype(np.float64).transpose(*range(2, w.ndim), 0, 1)
    for axis, (taps, changed) in enumerate(zip(w.shape[2:], _transformed_axes(w.ndim - 2, w.shape[2:]), strict=True)):
        if changed:
            result = _matrix_along(_of_weight(attrs.tile_size, taps), result, axis)
    return result.astype(w.dtype)


@means("nn.contrib_conv2d_winograd_without_weight_transform")
def winograd(attrs: Any, x: Any, w: Any) -> Any:
    """Return what convolutions by Winograd's algorithm give, one tile after the other."""
    kernel, tile = attrs.kernel_size, attrs.tile_size
    rank = len(kernel)
    plain = _PLAIN[rank][0]
    x = np.pad(_to(x, attrs.data_layout, plain), [(0, 0), (0, 0), *_sides(attrs.padding, rank)]).astype(np.float64)
    size = [n - k + 1 for n, k in zip(x.shape[2:], kernel, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0)] + [(0, tile + k) for k in kernel])
    changed = _transformed_axes(rank, kernel)
    steps = [tile if c else 1 for c in changed]
    result = np.zeros((len(x), attrs.channels, *[n + tile for n in size]))
    for at in itertools.product(*[range(0, n, s) for n, s in zip(size, steps, strict=True)]):
        spots = tuple(slice(a, a + s + k - 1) for a, s, k in zip(at, steps, kernel, strict=True))
        d = x[(slice(None), slice(None), *spots)]
        for axis, k in enumerate(kernel):
            if changed[axis]:
                d = _matrix_along(_of_data(tile, k), d, 2 + axis)
        products = np.zeros((len(x), attrs.channels, *d.shape[2:]))
        for o in range(attrs.channels):
            products[:, o] = sum(d[:, c] * w[..., o, c] for c in range(d.shape[1]))
        for axis, k in enumerate(kernel):
            if changed[axis]:
                products = _matrix_along(_powers_of_points(tile, tile + k - 1).T, products, 2 + axis)
            else:
                products = products.sum(2 + axis, keepdims=True)
        places = tuple(slice(a, a + s) for a, s in zip(at, steps, strict=True))
        result[(slice(None), slice(None), *places)] = products
    cut = result[(slice(None), slice(None), *[slice(n) for n in size])]
    return _to(cut, plain, attrs.out_layout or attrs.data_layout)


for _name in ("weight_transform", "without_weight_transform"):
    MEANING[f"nn.contrib_conv3d_winograd_{_name}"] = MEANING[f"nn.contrib_conv2d_winograd_{_name}"]


@means("nn.contrib_conv2d_gemm_weight_transform")
def gemm_weight(attrs: Any, w: Any) -> Any:
    """Return the weight as a matrix in tiles."""
    rows, cols, (*_, inputs, outputs) = attrs.tile_rows, attrs.tile_cols, w.shape
    taps = w.size // max(outputs, 1)
    result = np.zeros((-(-outputs // rows), -(-taps // cols), rows, cols), w.dtype)
    for i, j, c, o in np.ndindex(*w.shape):
        tap = (i * w.shape[1] + j) * inputs + c
        result[o // rows, tap // cols, o % rows, tap % cols] = w[i, j, c, o]
    return result


@means("nn.contrib_conv2d_gemm_without_weight_transform")
def gemm(attrs: Any, x: Any, w: Any) -> Any:
    """Return the convolution by the weight whose tiles are given."""
    shape = (*attrs.kernel_size, x.shape[3], attrs.channels)
    whole = np.zeros(shape, w.dtype)
    for i, j, c, o in np.ndindex(*shape):
        tap = (i * shape[1] + j) * shape[2] + c
        whole[i, j, c, o] = w[o // w.shape[2], tap // w.shape[3], o % w.shape[2], tap % w.shape[3]]
    return _to(conv(_to(x, "NHWC", "NCHW"), _to(whole, "HWIO", "OIHW"), attrs), "NCHW", "NHWC")
