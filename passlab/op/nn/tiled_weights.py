"""`nn.conv2d` in the layout NHWC on a weight divided into tiles of a matrix, as matrix product kernels read it.

Relay's passes replace `nn.conv2d` by these operators for Arm processors. The tiles are the weight (KH KW I, O), padded
with zeros; the kernel here joins them again, so that its values are those of `nn.conv2d`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import Dim, TensorType, Type
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, guard_size
from passlab.op.fields import attrs, integer
from passlab.op.nn.arithmetic import result_dtype
from passlab.op.nn.conv import check_window, conv_attrs, conv_signature
from passlab.op.nn.convolve import convolve
from passlab.op.nn.pad import copy_result
from passlab.op.nn.windows import check_positive, window_size
from passlab.op.no_gradient import TRANSFORMED_WEIGHT
from passlab.op.relations import refuse, tensor

_TRANSFORM = "nn.contrib_conv2d_gemm_weight_transform"
_CONVOLVE = "nn.contrib_conv2d_gemm_without_weight_transform"


def _tiles_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    weights = tensor(types, 0, "weights")
    if weights is None:
        return None
    if len(weights.shape) != 4:
        refuse(f"{_TRANSFORM}: the weight must have the layout HWIO", 0, found=weights)
    check_positive(tile_rows=(attrs.tile_rows,), tile_cols=(attrs.tile_cols,))
    height, width, inputs, outputs = weights.shape
    rows = _tile_count(outputs, attrs.tile_rows)
    return TensorType(
        (rows, _tile_count(height * width * inputs, attrs.tile_cols), attrs.tile_rows, attrs.tile_cols), weights.dtype
    )


def _tile_count(size: Dim, tile: int) -> Dim:
    return (size + (tile - 1)) // tile


@operator(
    _TRANSFORM,
    ("weights",),
    attrs=attrs(
        "ConvGemmWeightTransformAttrs",
        integer("tile_rows", doc="output channels of a tile"),
        integer("tile_cols", doc="taps of a tile, over all input channels"),
    ),
    relation=_tiles_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=10,
    warns=True,
    python=Python("weights, tile_N, tile_K", names={"tile_N": "tile_rows", "tile_K": "tile_cols"}),
    shapes="weights (KH, KW, I, O) -> (ceil(O / rows), ceil(KH KW I / cols), rows, cols)",
    source="the weight as a matrix, transposed and cut into tiles",
    edge_cases=(
        f"{_TRANSFORM}(%w: (1, 2, 2, 3), tile_rows=2, tile_cols=3)",
        f"{_TRANSFORM}(%w: (2, 2, 1, 4) int8, tile_rows=4, tile_cols=2)",
    ),
    example=f"{_TRANSFORM}(%w, tile_rows=4, tile_cols=16)",
    no_gradient=TRANSFORMED_WEIGHT,
)
def gemm_weight_transform(attrs: Attrs, weights: Array, *, out: Array | None = None) -> Array:
    """The weight of a convolution as a matrix in tiles, padded with zeros."""
    rows, cols = attrs.tile_rows, attrs.tile_cols
    matrix = weights.reshape(-1, weights.shape[3]).T
    guard_size([n + -n % tile for n, tile in zip(matrix.shape, (rows, cols), strict=True)], weights.dtype, _TRANSFORM)
    padded = np.pad(matrix, [(0, -size % tile) for size, tile in zip(matrix.shape, (rows, cols), strict=True)])
    tiles = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // cols, cols).transpose(0, 2, 1, 3)
    return copy_result(np.ascontiguousarray(tiles), out)


def _gemm_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, weight = tensor(types, 0, "data"), tensor(types, 1, "weight")
    if data is None or weight is None:
        return None
    window = check_window(attrs, 2)
    if attrs.kernel_size is None or attrs.channels is None:
        refuse(f"{_CONVOLVE}: tiles do not tell them", expected="kernel_size and channels", found="none")
    for field, layout in (("data_layout", "NHWC"), ("kernel_layout", "HWIO")):
        if getattr(attrs, field) != layout:
            refuse(f"{_CONVOLVE}: {field}", expected=layout, found=getattr(attrs, field))
    if attrs.out_layout not in ("", "NHWC"):
        refuse(f"{_CONVOLVE}: out_layout", expected="NHWC", found=attrs.out_layout)
    if attrs.groups != 1:
        refuse(f"{_CONVOLVE}: groups", expected=1, found=attrs.groups)
    if len(data.shape) != 4:
        refuse(f"{_CONVOLVE}: data must have four dimensions", 0, found=data)
    if len(weight.shape) != 4:
        refuse(f"{_CONVOLVE}: the weight must be in tiles", 1, found=weight)
    count, *size, inputs = data.shape
    lengths = (attrs.channels, math.prod(attrs.kernel_size) * inputs)
    for tiles, tile, length in zip(weight.shape[:2], weight.shape[2:], lengths, strict=True):
        if all(isinstance(n, int) for n in (tiles, tile, length)) and not (tiles - 1) * tile < length <= tiles * tile:
            refuse(f"{_CONVOLVE}: the tiles do not hold the weight", 1, expected=f"{length} in tiles", found=weight)
    sides = zip(size, attrs.kernel_size, attrs.strides, window.before, window.after, attrs.dilation, strict=True)
    result = [window_size(n, k, s, before, after, d, axis=i) for i, (n, k, s, before, after, d) in enumerate(sides)]
    return TensorType((count, *result, attrs.channels), attrs.out_dtype or data.dtype)


@operator(
    _CONVOLVE,
    ("data", "weight"),
    attrs=conv_attrs(2),
    relation=_gemm_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=10,
    warns=True,
    python=conv_signature(2),
    shapes="data (N, H, W, C), tiles of a weight -> (N, OH, OW, O)",
    source="im2col and a matrix product in BLAS, panel by panel",
    edge_cases=(
        (
            f"{_CONVOLVE}(%x: (1, 3, 4, 2), %w: (2, 3, 2, 3), padding=[0, 1], channels=3, kernel_size=[2, 2], "
            'data_layout="NHWC", kernel_layout="HWIO", out_layout="NHWC")'
        ),
        (
            f"{_CONVOLVE}(%x: (1, 5, 5, 1) int8, %w: (1, 2, 4, 2) int8, strides=[2, 1], dilation=[1, 2], channels=4, "
            'kernel_size=[2, 2], data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32")'
        ),
    ),
    example=(
        f"{_CONVOLVE}(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], "
        'data_layout="NHWC", kernel_layout="HWIO")'
    ),
    no_gradient=TRANSFORMED_WEIGHT,
)
def conv2d_gemm(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """`nn.conv2d` on a weight that `nn.contrib_conv2d_gemm_weight_transform` cut into tiles."""
    rows, cols = weight.shape[0] * weight.shape[2], weight.shape[1] * weight.shape[3]
    height, width = attrs.kernel_size
    matrix = weight.transpose(0, 2, 1, 3).reshape(rows, cols)[: attrs.channels, : height * width * data.shape[3]]
    kernel = matrix.T.reshape(height, width, data.shape[3], attrs.channels)
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    return convolve(data, kernel, check_window(attrs, 2), 1, dtype, last=True, out=out)
