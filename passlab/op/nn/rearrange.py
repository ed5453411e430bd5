"""Operators that move elements between axes or spread them: blocks, sub-pixels, dilation, buffers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, integer, integers, number, pairs, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import conversion, forward_shape
from passlab.op.nn import rearrange_gradients
from passlab.op.nn.pad import add_border, copy_result
from passlab.op.relations import divide_dim, normal_axis, on_tensors, refuse, times


# ---------------------------------------------------------------- space and batch
def _check_blocks(
    name: str, data: TensorType, blocks: Sequence[int], widths: Sequence[Sequence[int]], attribute: str
) -> None:
    if len(blocks) != len(widths) or any(len(pair) != 2 for pair in widths):
        refuse(
            f"{name}: {attribute} must have two numbers for each of {len(blocks)} blocks",
            0,
            found=list(map(list, widths)),
        )
    if any(b < 1 for b in blocks) or any(n < 0 for pair in widths for n in pair):
        refuse(f"{name}: blocks must be positive, and {attribute} not negative", 0, found=list(blocks))
    if len(data.shape) <= len(blocks):
        refuse(f"{name}: data needs a batch dimension and {len(blocks)} more", 0, found=data)


@on_tensors
def _to_batch_type(attrs: Attrs, data: TensorType) -> Type:
    _check_blocks("nn.space_to_batch_nd", data, attrs.block_shape, attrs.paddings, "paddings")
    shape: list[Dim] = list(data.shape)
    shape[0] = times(shape[0], math.prod(attrs.block_shape))
    for i, (block, pair) in enumerate(zip(attrs.block_shape, attrs.paddings, strict=True), 1):
        dim = shape[i]
        if isinstance(dim, int):
            if (dim + sum(pair)) % block:
                size = dim + sum(pair)
                refuse(
                    f"nn.space_to_batch_nd: dimension {i} of padded size {size} cannot be cut into blocks of {block}", 0
                )
            shape[i] = (dim + sum(pair)) // block
        elif block != 1 or any(pair):
            shape[i] = ANY
    return TensorType(tuple(shape), data.dtype)


@operator(
    "nn.space_to_batch_nd",
    ("data",),
    attrs=attrs(
        "SpaceToBatchNDAttrs",
        integers("block_shape", (1, 1), "size of a block along the axes after the batch"),
        pairs("paddings", doc="padding before and after each of these axes"),
        number("pad_value", 0.0, "the value of the padding"),
    ),
    relation=_to_batch_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    python=Python("data, block_shape, paddings, pad_value=0"),
    gradient=rearrange_gradients.space_to_batch_nd,
    shapes="(N, S, ...) -> (N * product of blocks, padded S / block, ...)",
    source="TensorFlow's space_to_batch_nd",
    edge_cases=(
        "nn.space_to_batch_nd(%x: (1, 3, 4, 2), block_shape=[2, 2], paddings=[[0, 1], [0, 0]])",
        "nn.space_to_batch_nd(%x: (2, 4), block_shape=[2], paddings=[[0, 0]], pad_value=1f)",
        "nn.space_to_batch_nd(%x: (0, 2, 2), block_shape=[2, 2], paddings=[[0, 0], [0, 0]])",
    ),
)
def space_to_batch_nd(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Divide padded data into blocks; each position in a block becomes a sample, with the batch varying fastest."""
    blocks = attrs.block_shape
    rank = len(blocks)
    rest = [(0, 0)] * (data.ndim - rank - 1)
    padded = add_border(data, [(0, 0), *attrs.paddings, *rest], attrs.pad_value)
    sizes = [n // b for n, b in zip(padded.shape[1:], blocks, strict=False)]
    block_shape = [part for pair in zip(sizes, blocks, strict=True) for part in pair]
    blocked = padded.reshape(data.shape[0], *block_shape, *padded.shape[rank + 1 :])
    inner, outer = range(2, 2 * rank + 2, 2), range(1, 2 * rank + 1, 2)
    result = blocked.transpose(*inner, 0, *outer, *range(2 * rank + 1, blocked.ndim))
    return copy_result(
        result.reshape(-1 if result.size else data.shape[0] * math.prod(blocks), *sizes, *padded.shape[rank + 1 :]), out
    )


@on_tensors
def _from_batch_type(attrs: Attrs, data: TensorType) -> Type:
    _check_blocks("nn.batch_to_space_nd", data, attrs.block_shape, attrs.crops, "crops")
    shape: list[Dim] = list(data.shape)
    count = math.prod(attrs.block_shape)
    shape[0] = divide_dim(shape[0], count)
    for i, (block, pair) in enumerate(zip(attrs.block_shape, attrs.crops, strict=True), 1):
        dim = shape[i]
        if isinstance(dim, int):
            if dim * block < sum(pair):
                refuse(
                    f"nn.batch_to_space_nd: crops remove more than dimension {i} has",
                    0,
                    expected=dim * block,
                    found=sum(pair),
                )
            shape[i] = dim * block - sum(pair)
        elif block != 1 or any(pair):
            shape[i] = ANY
    return TensorType(tuple(shape), data.dtype)


@operator(
    "nn.batch_to_space_nd",
    ("data",),
    attrs=attrs(
        "BatchToSpaceNDAttrs",
        integers("block_shape", (1, 1), "size of a block along the axes after the batch"),
        pairs("crops", doc="cropping before and after each of these axes"),
    ),
    relation=_from_batch_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    python=Python("data, block_shape, crops"),
    gradient=rearrange_gradients.batch_to_space_nd,
    shapes="(N, S, ...) -> (N / product of blocks, cropped S * block, ...)",
    source="TensorFlow's batch_to_space_nd",
    edge_cases=(
        "nn.batch_to_space_nd(%x: (4, 2, 2, 3), block_shape=[2, 2], crops=[[0, 1], [0, 0]])",
        "nn.batch_to_space_nd(%x: (4, 3), block_shape=[2], crops=[[1, 0]])",
        "nn.batch_to_space_nd(%x: (0, 2, 2), block_shape=[2, 2], crops=[[0, 0], [0, 0]])",
    ),
)
def batch_to_space_nd(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Assemble the samples of a batch as blocks, and crop the result: the inverse of `nn.space_to_batch_nd`."""
    blocks = attrs.block_shape
    rank = len(blocks)
    batch = data.shape[0] // math.prod(blocks)
    complete = data[: batch * math.prod(blocks)]  # Relay drops samples that fill no block
    blocked = complete.reshape(*blocks, batch, *data.shape[1:])
    order = [axis for i in range(rank) for axis in (rank + 1 + i, i)]
    sizes = [n * b for n, b in zip(data.shape[1:], blocks, strict=False)]
    result = blocked.transpose(rank, *order, *range(2 * rank + 1, blocked.ndim)).reshape(
        batch, *sizes, *data.shape[rank + 1 :]
    )
    cropped = [slice(a, n - b) for n, (a, b) in zip(sizes, attrs.crops, strict=True)]
    return copy_result(np.ascontiguousarray(result[(slice(None), *cropped)]), out)


# ---------------------------------------------------------------- space and depth
SUB_PIXEL = attrs(
    "SubPixelAttrs",
    integer("block_size", 1, "size of a block along height and width"),
    text("layout", "NCHW", "layout of data and result"),
    text(
        "mode", "DCR", "order of the depth: position in the block before the channel (DCR), or after (any other value)"
    ),
)


def _check_block_size(name: str, attrs: Attrs) -> int:
    if attrs.block_size < 1:
        refuse(f"{name}: block_size must be positive", 0, found=attrs.block_size)
    return int(attrs.block_size)


@on_tensors
def _to_depth_type(attrs: Attrs, data: TensorType) -> Type:
    block, nchw = _check_block_size("nn.space_to_depth", attrs), conversion(attrs.layout, "NCHW", "layout")
    batch, channels, *size = forward_shape(nchw, data.shape, "data", 0)
    channels = times(channels, block * block)
    for i, dim in enumerate(size):
        if isinstance(dim, int) and dim % block:
            refuse(f"nn.space_to_depth: an axis of size {dim} cannot be cut into blocks of {block}", 0)
        size[i] = divide_dim(dim, block)
    return TensorType(nchw.backward_shape((batch, channels, *size)), data.dtype)


@operator(
    "nn.space_to_depth",
    ("data",),
    attrs=SUB_PIXEL,
    relation=_to_depth_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    python=Python("data, block_size, layout='NCHW'", fixed={"mode": ""}),
    gradient=rearrange_gradients.space_to_depth,
    shapes="(N, C, H, W) -> (N, C b², H / b, W / b)",
    source="ONNX's SpaceToDepth",
    edge_cases=(
        "nn.space_to_depth(%x: (1, 2, 4, 6), block_size=2)",
        'nn.space_to_depth(%x: (2, 4, 2, 3), block_size=2, layout="NHWC")',
        "nn.space_to_depth(%x: (0, 1, 2, 4), block_size=2)",
    ),
    layout=layout_rules.OneLayout(ends=True),
)
def space_to_depth(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Move blocks of pixels into the channels, the position in the block before the channel."""
    nchw, b = conversion(attrs.layout, "NCHW", "layout"), attrs.block_size
    n, c, h, w = (x := nchw.forward(data)).shape
    result = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)
    return copy_result(np.ascontiguousarray(nchw.backward(result)), out)


@on_tensors
def _from_depth_type(attrs: Attrs, data: TensorType) -> Type:
    block, nchw = _check_block_size("nn.depth_to_space", attrs), conversion(attrs.layout, "NCHW", "layout")
    batch, channels, *size = forward_shape(nchw, data.shape, "data", 0)
    channels = divide_dim(channels, block * block)
    size = [times(dim, block) for dim in size]
    return TensorType(nchw.backward_shape((batch, channels, *size)), data.dtype)


@operator(
    "nn.depth_to_space",
    ("data",),
    attrs=SUB_PIXEL,
    relation=_from_depth_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    python=Python("data, block_size, layout='NCHW', mode='DCR'"),
    gradient=rearrange_gradients.depth_to_space,
    shapes="(N, C, H, W) -> (N, C / b², H b, W b)",
    source="ONNX's DepthToSpace",
    edge_cases=(
        "nn.depth_to_space(%x: (1, 8, 2, 3), block_size=2)",
        'nn.depth_to_space(%x: (2, 2, 3, 4), block_size=2, layout="NHWC", mode="CRD")',
        "nn.depth_to_space(%x: (0, 4, 2, 3), block_size=2)",
    ),
    layout=layout_rules.OneLayout(ends=True),
    precision=Precision.FOLLOW,
)
def depth_to_space(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Move channels into blocks of pixels; by `mode` the position in the block is before or after the channel."""
    nchw, b = conversion(attrs.layout, "NCHW", "layout"), attrs.block_size
    n, c, h, w = (x := nchw.forward(data)).shape
    c //= b * b
    x = x[:, : c * b * b]  # Relay drops channels that fill no block
    if attrs.mode == "DCR":
        blocks = x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return copy_result(np.ascontiguousarray(nchw.backward(blocks.reshape(n, c, h * b, w * b))), out)


# ---------------------------------------------------------------- dilate
@on_tensors
def _dilate_type(attrs: Attrs, data: TensorType) -> Type:
    if len(attrs.strides) != len(data.shape) or min(attrs.strides, default=1) < 1:
        refuse(
            "nn.dilate: strides must be one positive number for each dimension",
            0,
            expected=len(data.shape),
            found=list(attrs.strides),
        )
    sizes = zip(data.shape, attrs.strides, strict=True)
    result = [max(0, (d - 1) * s + 1) if isinstance(d, int) else d if s == 1 else ANY for d, s in sizes]
    return TensorType(result, data.dtype)


@operator(
    "nn.dilate",
    ("x",),
    attrs=attrs(
        "DilateAttrs",
        integers("strides", doc="distance between the elements in the result, for each dimension"),
        number("dilation_value", 0.0, "the value between them"),
    ),
    relation=_dilate_type,
    pattern=OpPattern.INJECTIVE,
    silenced=True,
    python=Python("data, strides, dilation_value=0.0", names={"data": "x"}),
    gradient=rearrange_gradients.dilate,
    shapes="(d0, ...) -> ((d0 - 1) * strides[0] + 1, ...)",
    source="np.full with every stride-th element set",
    edge_cases=(
        "nn.dilate(%x: (2, 3), strides=[1, 2])",
        "nn.dilate(%x: (2, 3), strides=[3, 2], dilation_value=1f)",
        "nn.dilate(%x: (1), strides=[4])",
    ),
    layout=layout_rules.permute("strides"),
)
def dilate(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Spread the elements apart, with a constant value between them."""
    shape = tuple(max(0, (n - 1) * s + 1) for n, s in zip(data.shape, attrs.strides, strict=True))
    result = np.empty(shape, data.dtype) if out is None else out
    result[...] = np.asarray(attrs.dilation_value).astype(data.dtype)
    result[tuple(slice(None, None, s) for s in attrs.strides)] = data
    return result


# ---------------------------------------------------------------- fifo_buffer
@on_tensors
def _fifo_type(attrs: Attrs, data: TensorType, buffer: TensorType) -> Type:
    if len(data.shape) != len(buffer.shape):
        refuse("nn.fifo_buffer: data and buffer must have one rank", 1, expected=data, found=buffer)
    axis = normal_axis(attrs.axis, len(buffer.shape), "nn.fifo_buffer: axis")
    for i, (a, b) in enumerate(zip(data.shape, buffer.shape, strict=True)):
        if isinstance(a, int) and isinstance(b, int) and (a >= b if i == axis else a != b):
            expected = f"less than {b}" if i == axis else b
            refuse(f"nn.fifo_buffer: dimension {i} of data does not fit the buffer", 0, expected=expected, found=a)
    return buffer


@operator(
    "nn.fifo_buffer",
    ("data", "buffer"),
    attrs=attrs("FIFOBufferAttrs", integer("axis", 0, "the axis of the queue")),
    relation=_fifo_type,
    level=3,
    silenced=True,
    python=Python("data, buffer, axis"),
    gradient=rearrange_gradients.fifo_buffer,
    shapes="data (..., n, ...), buffer (..., length, ...) -> (..., length, ...)",
    source="the last elements of buffer and data",
    edge_cases=(
        "nn.fifo_buffer(%x: (2, 3), %buffer: (4, 3), axis=0)",
        "nn.fifo_buffer(%x: (2, 1), %b: (2, 3), axis=-1)",
        "nn.fifo_buffer(%x: (0, 3), %b: (2, 3), axis=0)",
    ),
)
def fifo_buffer(attrs: Attrs, data: Array, buffer: Array, *, out: Array | None = None) -> Array:
    """Push data into a queue: the buffer shifted by the length of the data, with the data at its end."""
    axis = attrs.axis % buffer.ndim
    remaining = buffer[(slice(None),) * axis + (slice(data.shape[axis], None),)]
    return copy_result(np.concatenate((remaining, data.astype(buffer.dtype, copy=False)), axis=axis), out)
