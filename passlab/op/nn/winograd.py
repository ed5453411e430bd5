"""Convolutions on weights that were transformed for Winograd's algorithm.

Relay's passes replace `nn.conv2d` and `nn.conv3d` by two operators, one for the weight and one for the rest. A Winograd
convolution evaluates polynomials at a few points: `alpha = tile_size + taps - 1` products give `tile_size` results of
an axis. The matrices, which evaluate and interpolate, are computed in exact fractions from the points that Relay
uses; sums are in float64. See Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016), and Barabasz
et al., "Error analysis and improving the accuracy of Winograd convolution" (2020) for the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op.declare import operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, integer
from passlab.op.layout_names import DATA_LAYOUTS, conversion, forward_shape
from passlab.op.nn.arithmetic import result_dtype
from passlab.op.nn.conv import check_window, conv_attrs, conv_signature
from passlab.op.nn.pad import copy_result
from passlab.op.nn.sliding import pad_spatial
from passlab.op.nn.windows import window_size
from passlab.op.no_gradient import TRANSFORMED_WEIGHT
from passlab.op.relations import refuse, tensor

TILES = range(2, 9)
TAPS = range(3, 8)  # of a kernel along a transformed axis; along the depth, kernels with others are not transformed
_SOURCE = "Lavin and Gray, Fast algorithms for convolutional neural networks (2016)"
_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)
# The points at which polynomials are evaluated besides 0, -1, 1 and infinity, by the number of all finite points.
_MORE_POINTS: dict[int, tuple[Fraction | int, ...]] = {
    3: (),
    4: (_HALF,),
    5: (_HALF, -2),
    6: (_HALF, -2, -_HALF),
    7: (_HALF, -_HALF, 2, -2),
    8: (_HALF, -_HALF, 2, -2, -_QUARTER),
    9: (_HALF, -_HALF, 2, -2, -_QUARTER, 4),
    10: (_HALF, -_HALF, 2, -2, -_QUARTER, Fraction(3, 4), Fraction(-4, 3)),
    11: (_HALF, -_HALF, 2, -2, -_QUARTER, 4, Fraction(3, 4), Fraction(-4, 3)),
    12: (_HALF, -_HALF, 2, -2, -_QUARTER, 4, _QUARTER, Fraction(-3, 4), Fraction(4, 3)),
    13: (_HALF, -_HALF, 2, -2, -_QUARTER, 4, _QUARTER, Fraction(-3, 4), Fraction(4, 3), -4),
}


@lru_cache(maxsize=64)
def transforms(tile: int, taps: int) -> tuple[Array, Array, Array]:
    """Return the matrices of results (alpha, tile), of data (alpha, alpha) and of weights (alpha, taps), in float64."""
    alpha = tile + taps - 1
    points = [Fraction(p) for p in (0, -1, 1, *_MORE_POINTS[alpha - 1])]
    results, weights, data = [], [], []
    for i, point in enumerate(points):
        others = points[:i] + points[i + 1 :]
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        sign = -1 if i == 0 and scale < 0 else 1
        results.append([point**power for power in range(tile)])
        weights.append([point**power / (sign * scale) for power in range(taps)])
        data.append([sign * c for c in _polynomial(others)] + [Fraction(0)])
    results.append([Fraction(int(power == tile - 1)) for power in range(tile)])
    weights.append([Fraction(int(power == taps - 1)) for power in range(taps)])
    data.append(_polynomial(points))
    return tuple(np.array([[float(x) for x in row] for row in m]) for m in (results, data, weights))  # type: ignore[return-value]


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients, lowest first, of the polynomial with these roots."""
    result = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *result]
        result = [a - root * b for a, b in zip(shifted, [*result, Fraction(0)], strict=True)]
    return result


def _transform_axis(matrix: Array, x: Array, axis: int) -> Array:
    """Return the products of a matrix with the columns of `x` along an axis."""
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def _transformed_axes(rank: int, kernel: Sequence[Dim]) -> list[bool]:
    """Return which spatial axes of a kernel are transformed: those of images always, the depth where it has taps."""
    return [rank == 2 or axis > 0 or (isinstance(taps, int) and taps in TAPS) for axis, taps in enumerate(kernel)]


def _check_floats(name: str, index: int, ty: TensorType) -> None:
    if "float" not in ty.dtype:
        refuse(f"{name}: the algorithm computes with fractions", index, expected="floats", found=ty)


def _check_sizes(name: str, rank: int, tile: int, kernel: Sequence[Dim]) -> None:
    if tile not in TILES:
        refuse(f"{name}: tile_size", expected=f"{TILES[0]} to {TILES[-1]}", found=tile)
    for axis, (taps, transformed) in enumerate(zip(kernel, _transformed_axes(rank, kernel), strict=True)):
        if transformed and isinstance(taps, int) and taps not in TAPS:
            refuse(f"{name}: the kernel on axis {axis}", expected=f"{TAPS[0]} to {TAPS[-1]} taps", found=taps)


def _weight_sizes(rank: int, tile: int, kernel: Sequence[Dim]) -> tuple[Dim, ...]:
    axes = zip(kernel, _transformed_axes(rank, kernel), strict=True)
    sizes: list[Dim] = [taps + (tile - 1) if transformed else taps for taps, transformed in axes]
    return (sizes[0] if rank == 2 or isinstance(kernel[0], int) else ANY, *sizes[1:])


# ---------------------------------------------------------------- weights
def _weight_type(rank: int, name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    weight = tensor(types, 0, "weight")
    if weight is None:
        return None
    if len(weight.shape) != rank + 2:
        refuse(f"{name}: the weight must have {rank + 2} dimensions", 0, found=weight)
    _check_floats(name, 0, weight)
    outputs, inputs, *kernel = weight.shape
    _check_sizes(name, rank, attrs.tile_size, kernel)
    return TensorType((*_weight_sizes(rank, attrs.tile_size, kernel), outputs, inputs), weight.dtype)


def _transform_weight(attrs: Attrs, weight: Array, *, out: Array | None = None) -> Array:
    rank = weight.ndim - 2
    result = np.moveaxis(weight.astype(np.float64), (0, 1), (rank, rank + 1))
    for axis, transformed in enumerate(_transformed_axes(rank, weight.shape[2:])):
        if transformed:
            result = _transform_axis(transforms(attrs.tile_size, weight.shape[2 + axis])[2], result, axis)
    return copy_result(np.ascontiguousarray(result, weight.dtype), out)


WEIGHT_TRANSFORM = attrs("ConvWinogradWeightTransformAttrs", integer("tile_size", doc="results of an axis at a time"))


def _declare_weight_transform(rank: int, **facts: Any) -> Op:
    """Declare the operator that transforms the weight of a convolution over `rank` axes."""
    name = f"nn.contrib_conv{rank}d_winograd_weight_transform"
    return operator(
        name,
        ("weight",),
        attrs=WEIGHT_TRANSFORM,
        relation=partial(_weight_type, rank, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        level=10,
        warns=True,
        source=_SOURCE,
        no_gradient=TRANSFORMED_WEIGHT,
        **facts,
    )(_transform_weight)


conv2d_weight_transform = _declare_weight_transform(
    2,
    shapes="weight (O, I, KH, KW) -> (tile_size + KH - 1, tile_size + KW - 1, O, I)",
    edge_cases=(
        "nn.contrib_conv2d_winograd_weight_transform(%w: (2, 1, 3, 3), tile_size=2)",
        "nn.contrib_conv2d_winograd_weight_transform(%w: (1, 2, 5, 3), tile_size=4)",
        "nn.contrib_conv2d_winograd_weight_transform(%w: (0, 2, 3, 3), tile_size=4)",
    ),
    example="nn.contrib_conv2d_winograd_weight_transform(%w, tile_size=4)",
    doc="The weight of `nn.conv2d`, evaluated at the points of a Winograd convolution.",
)
conv3d_weight_transform = _declare_weight_transform(
    3,
    shapes="weight (O, I, KD, KH, KW) -> (tile_size + KD - 1 or KD, tile_size + KH - 1, tile_size + KW - 1, O, I)",
    edge_cases=(
        "nn.contrib_conv3d_winograd_weight_transform(%w: (1, 2, 3, 3, 3), tile_size=2)",
        "nn.contrib_conv3d_winograd_weight_transform(%w: (1, 2, 1, 3, 3), tile_size=4)",
    ),
    example="nn.contrib_conv3d_winograd_weight_transform(%w, tile_size=2)",
    doc=(
        "The weight of `nn.conv3d`, evaluated at the points of a Winograd convolution; a depth of 1, 2 or 8 taps stays."
    ),
)


# ---------------------------------------------------------------- convolutions
def _winograd_attrs(rank: int) -> type[Attrs]:
    plain = conv_attrs(rank)
    return attrs(f"Conv{rank}DWinogradAttrs", integer("tile_size", doc="results of an axis at a time"), *plain.schema)


def _convolution_type(rank: int, name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, weight = tensor(types, 0, "data"), tensor(types, 1, "weight")
    if data is None:
        return None
    _check_floats(name, 0, data)
    window = check_window(attrs, rank)
    kernel, channels = attrs.kernel_size, attrs.channels
    if kernel is None or channels is None:
        refuse(f"{name}: a transformed weight does not tell them", expected="kernel_size and channels", found="none")
    _check_sizes(name, rank, attrs.tile_size, kernel)
    for field in ("strides", "dilation"):
        if set(getattr(attrs, field)) != {1}:
            refuse(f"{name}: {field}", expected="1 on each axis", found=list(getattr(attrs, field)))
    if attrs.groups != 1:
        refuse(f"{name}: groups", expected=1, found=attrs.groups)
    shape = forward_shape(conversion(attrs.data_layout, DATA_LAYOUTS[rank], "data_layout"), data.shape, "data", 0)
    expected = TensorType((*_weight_sizes(rank, attrs.tile_size, kernel), channels, shape[1]), data.dtype)
    if weight is None:
        reporter.assign(1, expected)
    elif len(weight.shape) != rank + 2 or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(weight.shape, expected.shape, strict=True)
    ):
        refuse(f"{name}: the weight is not one transformed for it", 1, expected=expected, found=weight)
    sides = zip(shape[2:], kernel, window.before, window.after, strict=True)
    size = [window_size(n, k, 1, before, after, 1, axis=i) for i, (n, k, before, after) in enumerate(sides)]
    out = conversion(attrs.out_layout or attrs.data_layout, DATA_LAYOUTS[rank], "out_layout")
    return TensorType(out.backward_shape((shape[0], channels, *size)), attrs.out_dtype or data.dtype)


def _winograd_convolve(rank: int, attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """Return the convolution, tile by tile: as many products as a tile has points, each of all tiles and channels."""
    window, kernel = check_window(attrs, rank), attrs.kernel_size
    x = conversion(attrs.data_layout, DATA_LAYOUTS[rank], "data_layout").forward(data).astype(np.float64)
    x = pad_spatial(x, window.before, window.after, False)
    size = [n - k + 1 for n, k in zip(x.shape[2:], kernel, strict=True)]
    pairs = list(zip(kernel, _transformed_axes(rank, kernel), strict=True))
    steps = [attrs.tile_size if transformed else 1 for _, transformed in pairs]
    spans = [step + k - 1 for step, k in zip(steps, kernel, strict=True)]
    counts = [-(-n // step) for n, step in zip(size, steps, strict=True)]
    ends = [step * count + k - 1 for step, count, k in zip(steps, counts, kernel, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *[(0, end - n) for end, n in zip(ends, x.shape[2:], strict=True)]])
    views = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, rank + 2)))
    tiles: Any = views[(slice(None), slice(None), *[slice(None, None, step) for step in steps])]
    for axis, (taps, transformed) in enumerate(pairs):
        if transformed:
            tiles = _transform_axis(transforms(attrs.tile_size, taps)[1], tiles, rank + 2 + axis)
    tile_axes = list(range(4, rank + 4))  # 0: images, 1: inputs, 2: outputs; then tiles by axis, then points by axis
    points = list(range(rank + 4, 2 * rank + 4))
    summed_points = [p for p, (_, transformed) in zip(points, pairs, strict=True) if not transformed]
    result_points = [p for p in points if p not in summed_points]
    result = np.einsum(
        tiles,
        [0, 1, *tile_axes, *points],
        weight.astype(np.float64),
        [*points, 2, 1],
        [0, 2, *tile_axes, *result_points],
    )
    for axis, (taps, transformed) in enumerate(pairs):
        axis_of_points = rank + 2 + axis
        result = (
            _transform_axis(transforms(attrs.tile_size, taps)[0].T, result, axis_of_points)
            if transformed
            else np.expand_dims(result, axis_of_points)
        )
    order = [axis for i in range(rank) for axis in (2 + i, rank + 2 + i)]
    whole_axes = [step * count for step, count in zip(steps, counts, strict=True)]
    result = result.transpose(0, 1, *order).reshape(*result.shape[:2], *whole_axes)
    result = result[(slice(None), slice(None), *[slice(n) for n in size])]
    output = conversion(attrs.out_layout or attrs.data_layout, DATA_LAYOUTS[rank], "out_layout").backward(result)
    return copy_result(np.ascontiguousarray(output, result_dtype(attrs.out_dtype, data.dtype)), out)


def _declare_winograd(rank: int, **facts: Any) -> Op:
    """Declare the convolution over `rank` axes on a transformed weight."""
    name = f"nn.contrib_conv{rank}d_winograd_without_weight_transform"
    return operator(
        name,
        ("data", "weight"),
        attrs=_winograd_attrs(rank),
        relation=partial(_convolution_type, rank, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        level=10,
        warns=True,
        python=conv_signature(rank, "data, weight, tile_size"),
        source=_SOURCE,
        no_gradient=TRANSFORMED_WEIGHT,
        **facts,
    )(partial(_winograd_convolve, rank))


conv2d_winograd = _declare_winograd(
    2,
    shapes="data (N, C, H, W), weight (tile_size + KH - 1, tile_size + KW - 1, O, C) -> (N, O, OH, OW)",
    edge_cases=(
        (
            "nn.contrib_conv2d_winograd_without_weight_transform(%x: (1, 2, 5, 4), %w: (4, 4, 3, 2), tile_size=2, "
            "padding=[1, 1], channels=3, kernel_size=[3, 3])"
        ),
        (
            "nn.contrib_conv2d_winograd_without_weight_transform(%x: (1, 4, 4, 1), %w: (6, 6, 2, 1), tile_size=4, "
            'channels=2, kernel_size=[3, 3], data_layout="NHWC", out_layout="NCHW", out_dtype="float64")'
        ),
    ),
    example=(
        "nn.contrib_conv2d_winograd_without_weight_transform(%x, %w, tile_size=4, padding=[1, 1, 1, 1], channels=8, "
        "kernel_size=[3, 3])"
    ),
    doc="`nn.conv2d` by Winograd's algorithm, on a weight that `nn.contrib_conv2d_winograd_weight_transform` made.",
)
conv3d_winograd = _declare_winograd(
    3,
    shapes="data (N, C, D, H, W), a transformed weight -> (N, O, OD, OH, OW)",
    edge_cases=(
        (
            "nn.contrib_conv3d_winograd_without_weight_transform(%x: (1, 1, 3, 4, 4), %w: (4, 4, 4, 2, 1), "
            "tile_size=2, padding=[1, 1, 1], channels=2, kernel_size=[3, 3, 3])"
        ),
        (
            "nn.contrib_conv3d_winograd_without_weight_transform(%x: (1, 2, 2, 3, 3), %w: (1, 4, 4, 2, 2), "
            'tile_size=2, channels=2, kernel_size=[1, 3, 3], out_layout="NDHWC", out_dtype="float64")'
        ),
        (
            "nn.contrib_conv3d_winograd_without_weight_transform(%x: (1, 2, 3, 3, 1), %w: (2, 4, 4, 2, 1), "
            'tile_size=2, channels=2, kernel_size=[2, 3, 3], data_layout="NDHWC")'
        ),
    ),
    example=(
        "nn.contrib_conv3d_winograd_without_weight_transform(%x, %w, tile_size=2, channels=8, kernel_size=[3, 3, 3])"
    ),
    doc="`nn.conv3d` by Winograd's algorithm, on a weight that `nn.contrib_conv3d_winograd_weight_transform` made.",
)
