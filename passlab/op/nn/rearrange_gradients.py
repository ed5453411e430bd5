"""Gradients of operators that move elements between axes or spread them: the inverse movement."""

from __future__ import annotations

import math

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, Tuple
from passlab.ir.op import OpCall
from passlab.op.along_axis import FOREVER, number, part, reshape_to, to_layout
from passlab.op.autodiff import attrs_of, by_definition, dtype_of, shape_of, sizes_of
from passlab.op.declare import call


# ---------------------------------------------------------------- space and batch
def space_to_batch_nd(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient with its blocks assembled again, without the padding."""
    return [call("nn.batch_to_space_nd", grad, block_shape=attrs_of(orig).block_shape, crops=attrs_of(orig).paddings)]


def batch_to_space_nd(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient in blocks again, with zeros where the result was cropped, and for samples that filled no block."""
    attrs, data = attrs_of(orig), orig.args[0]
    result = call("nn.space_to_batch_nd", grad, block_shape=attrs.block_shape, paddings=attrs.crops)
    shape = shape_of(data)
    dropped = shape[0] % math.prod(attrs.block_shape) if isinstance(shape[0], int) else 0
    if dropped:
        widths = [(0, dropped)] + [(0, 0)] * (len(shape) - 1)
        result = call("nn.pad", result, number(0, dtype_of(data)), pad_width=widths)
    return [result]


# ---------------------------------------------------------------- space and depth
def space_to_depth(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient with its channels moved into blocks of pixels again."""
    size, layout = attrs_of(orig).block_size, attrs_of(orig).layout
    return [call("nn.depth_to_space", grad, block_size=size, layout=layout, mode="DCR")]


def _define_depth_to_space(attrs: Attrs, data: Expr) -> Expr:
    """Define `nn.depth_to_space` by a reshape, a transposition and a reshape."""
    b, layout = attrs.block_size, attrs.layout
    x = to_layout(data, layout, "NCHW")
    shape = dict(zip(layout, sizes_of(data, "nn.depth_to_space"), strict=True))
    n, c, h, w = (shape[axis] for axis in "NCHW")
    channels = c // (b * b)
    if channels * b * b != c:
        x = part(x, 1, 0, channels * b * b)
    block_shape, order = ((n, b, b, channels, h, w), [0, 3, 4, 1, 5, 2])
    if attrs.mode != "DCR":
        block_shape, order = ((n, channels, b, b, h, w), [0, 1, 4, 2, 5, 3])
    blocks = call("transpose", reshape_to(x, block_shape), axes=order)
    return to_layout(reshape_to(blocks, (n, channels, h * b, w * b)), "NCHW", layout)


depth_to_space = by_definition(_define_depth_to_space)


def _define_yolo_reorg(attrs: Attrs, data: Expr) -> Expr:
    """Define `vision.yolo_reorg` by a reshape, a transposition and a reshape."""
    n, c, h, w = sizes_of(data, "vision.yolo_reorg")
    s = attrs.stride
    blocks = reshape_to(data, (n, c // (s * s), h, s, w, s))
    transposed = call("transpose", blocks, axes=[0, 3, 5, 1, 2, 4])
    return reshape_to(transposed, (n, c * s * s, h // s, w // s))


yolo_reorg = by_definition(_define_yolo_reorg)


# ---------------------------------------------------------------- dilate and fifo_buffer
def dilate(orig: OpCall, grad: Expr) -> list[Expr]:
    """The elements of the gradient at the positions of the data."""
    rank = len(shape_of(orig))
    bounds = {"begin": [0] * rank, "end": [FOREVER] * rank, "strides": attrs_of(orig).strides}
    return [call("strided_slice", grad, **bounds, axes=None)]


def _define_fifo_buffer(attrs: Attrs, data: Expr, buffer: Expr) -> Expr:
    """Define `nn.fifo_buffer`: the end of the buffer, then the data."""
    axis = attrs.axis % len(shape_of(buffer))
    count, length = sizes_of(data, "nn.fifo_buffer")[axis], sizes_of(buffer, "nn.fifo_buffer")[axis]
    new = data if dtype_of(data) == dtype_of(buffer) else call("cast", data, dtype=dtype_of(buffer))
    return call("concatenate", Tuple([part(buffer, axis, count, length), new]), axis=axis)


fifo_buffer = by_definition(_define_fifo_buffer)
