"""Operators that reshape or reorder elements."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.sizes import (
    aligned_sizes,
    broadcast_to,
    reshape_to,
    size_of,
    sizes_of,
    two_dimensions,
)
from passlab.ir.expr import Expr
from passlab.op.dtypes import Array


@onnx_operator("Reshape", 1, 5, 13, 14, 19, 21, 23, 24, 25)
def reshape(n: OnnxNode, x: Expr, shape: Expr | None = None) -> Expr:
    """`reshape`, or `dyn.reshape` to a computed shape."""
    if n.version < 5 or shape is None:
        return _static_reshape(n, x, n.integers("shape"))
    if n.value(shape) is None:
        shape = n.of_stated_length(shape)
        target = n.entries(shape)
        if target is None or n.flag("allowzero"):
            return n("reshape", x, newshape=shape, allowzero=n.flag("allowzero"))
        # A reshape to a partly known shape: unknown sizes are copied, and one can be inferred.
        dims = n.shape(x)
        codes = [
            size if isinstance(size, int) else 0 if size is not None and at < len(dims) and dims[at] is size else -1
            for at, size in enumerate(target)
        ]
        return _static_reshape(n, x, codes) if codes.count(-1) <= 1 else n("reshape", x, newshape=shape)
    return _static_reshape(n, x, n.constant_ints(shape, "the shape"))


def _static_reshape(n: OnnxNode, x: Expr, newshape: list[int]) -> Expr:
    if any(size < -1 for size in newshape):
        n.refuse("has a shape with a negative size other than -1", found=str(newshape))
    return n("reshape", x, newshape=newshape, allowzero=n.flag("allowzero"))


@onnx_operator("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(n: OnnxNode, x: Expr) -> Expr:
    """`nn.batch_flatten` after the first axis, otherwise a `reshape` to two dimensions."""
    axis, rank = n.integer("axis", 1), n.rank(x)
    if axis == 1 and rank > 1:
        return n("nn.batch_flatten", x)
    if not -rank <= axis <= rank:
        n.refuse("names an axis that its input does not have", f"{-rank} to {rank}", str(axis))
    return n("reshape", x, newshape=two_dimensions(n, x, axis + rank if axis < 0 else axis))


@onnx_operator("Squeeze", 1, 11, 13, 21, 23, 24, 25)
def squeeze(n: OnnxNode, x: Expr, axes: Expr | None = None) -> Expr:
    """`squeeze`."""
    named = n.integers("axes", None) if n.version < 13 else None if axes is None else n.constant_ints(axes, "the axes")
    if named is None:
        named = [axis for axis, dim in enumerate(n.static_shape(x)) if dim == 1]
    if not named:
        return x
    result, entries = n("squeeze", x, axis=[n.axis(axis, n.rank(x)) for axis in named]), n.entries(x)
    return result if entries is None else n.record_entries(result, entries)


@onnx_operator("Unsqueeze", 1, 11, 13, 21, 23, 24, 25)
def unsqueeze(n: OnnxNode, x: Expr, axes: Expr | None = None) -> Expr:
    """`expand_dims`, once for each new axis."""
    if n.version < 13:
        named = n.integers("axes")
    elif axes is None:
        n.refuse("lacks the input `axes`")
    else:
        named = n.constant_ints(axes, "the axes")
    rank = n.rank(x) + len(named)
    result, entries = x, n.entries(x)
    for axis in sorted(n.axis(axis, rank) for axis in named):
        result = n("expand_dims", result, axis=axis)
    return result if entries is None or len(entries) != 1 else n.record_entries(result, entries)


@onnx_operator("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(n: OnnxNode, x: Expr) -> Expr:
    """`transpose`."""
    return n("transpose", x, axes=n.integers("perm", None))


@onnx_operator("Concat", 1, 4, 11, 13)
def concat(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """`concatenate`."""
    parts = [first, *others]
    result = n.concat(parts, n.axis(n.integer("axis", 1) if n.version < 4 else n.integer("axis"), n.rank(first)))
    entries = [n.known_entries(part) for part in parts] if n.rank(first) == 1 else [None]
    if n.value(result) is not None or not all(entries):
        return result
    return n.record_entries(result, [entry for part in entries for entry in part or ()])


@onnx_operator("Split", 1, 2, 11, 13, 18)
def split(n: OnnxNode, x: Expr, lengths: Expr | None = None) -> list[Expr]:
    """`split`, at the ends of the parts."""
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    length = n.shape(x)[axis]
    if lengths is not None and n.value(lengths) is None:
        return _computed_parts(n, x, axis, lengths)
    if lengths is not None:
        parts = n.constant_ints(lengths, "the lengths of the parts")
    elif n.integers("split", None) is not None:
        parts = n.integers("split")
    elif isinstance(length, int):
        parts = _equal_parts(n, length)
    else:
        return _parts_of_open_axis(n, x, axis)
    if len(parts) == 1:
        return [x]
    ends = [sum(parts[:count]) for count in range(1, len(parts))]
    if any(part < 0 for part in parts) or (isinstance(length, int) and sum(parts) != length):
        n.refuse("has parts that do not make up its input", found=f"{parts}, of {length!r}")
    return n.fields(n("split", x, indices_or_sections=ends, axis=axis), len(parts))


def _equal_parts(n: OnnxNode, length: int) -> list[int]:
    """Return the lengths of parts as equal as possible, the last one shorter."""
    count = n.integer("num_outputs", len(n.outputs))
    if not 0 < count <= max(length, 1):
        n.refuse("splits into an impossible number of parts", found=f"{count} parts of {length}")
    part = -(-length // count)  # rounded up
    return [min(part, max(length - number * part, 0)) for number in range(count)]


def _parts_of_open_axis(n: OnnxNode, x: Expr, axis: int) -> list[Expr]:
    """Return parts as equal as possible of an axis of unknown length, the last one shorter."""
    count = n.integer("num_outputs", len(n.outputs))
    if count < 1:
        n.refuse("splits into an impossible number of parts", found=str(count))
    if n.version < 18:  # parts are equal
        return n.fields(n("split", x, indices_or_sections=count, axis=axis), count) if count > 1 else [x]
    length = size_of(n, x, axis)
    part = n("floor_divide", n("add", length, count - 1), count)
    return [_slice_between(n, x, axis, n("multiply", part, at), n("multiply", part, at + 1)) for at in range(count)]


def _computed_parts(n: OnnxNode, x: Expr, axis: int, lengths: Expr) -> list[Expr]:
    """Return parts of computed lengths."""
    ends = n("cumsum", n.cast(lengths, "int64"), axis=0)
    bounds = [n.constant([0], "int64")]
    bounds += [n("take", ends, n.constant([at], "int64"), axis=0) for at in range(len(n.outputs))]
    return [_slice_between(n, x, axis, start, end) for start, end in pairwise(bounds)]


def _slice_between(n: OnnxNode, x: Expr, axis: int, start: Expr, end: Expr) -> Expr:
    """Return a tensor between two computed positions of an axis, which are vectors of one element."""
    rank = n.rank(x)
    others = axis, rank - axis - 1
    begin = n.concat([*[n.constant([0], "int64")] * others[0], start, *[n.constant([0], "int64")] * others[1]])
    stop = n.concat(
        [*[n.constant([2**63 - 1], "int64")] * others[0], end, *[n.constant([2**63 - 1], "int64")] * others[1]]
    )
    return n("strided_slice", x, begin=begin, end=stop, strides=n.constant([1] * rank, "int64"))


@onnx_operator("Expand", 8, 13)
def expand(n: OnnxNode, x: Expr, shape: Expr) -> Expr:
    """`broadcast_to` the shape that both shapes broadcast to."""
    value = n.value(shape)
    if value is None:
        ones = n("ones", n.of_stated_length(shape), dtype=n.dtype(x))
        return n("logical_and", x, ones) if n.dtype(x) == "bool" else n("multiply", x, ones)
    own, target = sizes_of(n, x), [int(size) for size in value.reshape(-1)]
    return broadcast_to(n, x, [own_size if size == 1 else size for own_size, size in aligned_sizes(own, target)])


@onnx_operator("Tile", 1, 6, 13)
def tile(n: OnnxNode, x: Expr, repeats: Expr, axis: Expr | None = None) -> Expr:
    """`tile`, or `dyn.tile`."""
    if n.version < 6:
        count = n.constant_ints(repeats, "the number of tiles")[0]
        position = 0 if axis is None else n.constant_ints(axis, "the axis")[0]
        return n("tile", x, reps=[count if at == n.axis(position, n.rank(x)) else 1 for at in range(n.rank(x))])
    if n.value(repeats) is None:
        return n("tile", x, reps=repeats)
    reps = n.constant_ints(repeats, "the repeats")
    return n("tile", x, reps=reps) if reps else x


@onnx_operator("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(n: OnnxNode, x: Expr) -> Expr:
    """`nn.depth_to_space`."""
    mode = n.choice("mode", "DCR", ("DCR", "CRD"))
    return n("nn.depth_to_space", x, block_size=n.integer("blocksize"), layout="NCHW", mode=mode)


@onnx_operator("SpaceToDepth", 1, 13, 28)
def space_to_depth(n: OnnxNode, x: Expr) -> Expr:
    """`nn.space_to_depth`; in mode CRD a `transpose` between two reshapes."""
    block = n.integer("blocksize")
    if n.choice("mode", "DCR", ("DCR", "CRD")) == "DCR":
        return n("nn.space_to_depth", x, block_size=block, layout="NCHW")
    batch, channels, height, width = n.static_shape(x)
    parts = n("reshape", x, newshape=[batch, channels, height // block, block, width // block, block])
    moved = n("transpose", parts, axes=[0, 1, 3, 5, 2, 4])  # the positions in a block go to the channels
    return n("reshape", moved, newshape=[batch, channels * block * block, height // block, width // block])


@onnx_operator("Trilu", 14)
def trilu(n: OnnxNode, x: Expr, k: Expr | None = None) -> Expr:
    """`trilu`."""
    diagonal = n.constant(0, "int64") if k is None else n.scalar(k)
    return n("trilu", x, k=diagonal, upper=n.flag("upper", True))


@onnx_operator("ReverseSequence", 10, 28)
def reverse_sequence(n: OnnxNode, x: Expr, lengths: Expr) -> Expr:
    """`reverse_sequence`."""
    time, batch = n.integer("time_axis", 0), n.integer("batch_axis", 1)
    return n("reverse_sequence", x, lengths, seq_axis=time, batch_axis=batch)


@onnx_operator("Col2Im", 18)
def columns_to_image(n: OnnxNode, x: Expr, image_shape: Expr, block_shape: Expr) -> Expr:
    """A transposed convolution with one-hot kernels, which adds the blocks where they overlap."""
    image = n.constant_ints(image_shape, "the shape of the image")
    block = n.constant_ints(block_shape, "the shape of a block")
    rank = len(block)
    strides, dilations = n.integers("strides", [1] * rank), n.integers("dilations", [1] * rank)
    pads = n.integers("pads", [0] * 2 * rank)
    (rows,) = n.static_shape(x, [1])
    taps = math.prod(block)
    extent = [(size - 1) * step + 1 for size, step in zip(block, dilations, strict=True)]
    counts = [(size + pads[at] + pads[at + rank] - extent[at]) // strides[at] + 1 for at, size in enumerate(image)]
    n.check_size(taps, taps)
    batch = size_of(n, x, 0)
    columns = n("reshape", x, newshape=[batch * (rows // taps) if isinstance(batch, int) else -1, taps, *counts])
    kernel = n.constant(_one_hot_kernels(block), x)
    output_padding = [
        size + pads[at] + pads[at + rank] - extent[at] - (counts[at] - 1) * strides[at] for at, size in enumerate(image)
    ]
    window: dict[str, Any] = {"strides": strides, "padding": pads, "dilation": dilations, "kernel_size": block}
    result = n(f"nn.conv{rank}d_transpose", columns, kernel, **window, output_padding=output_padding, channels=1)
    return reshape_to(n, result, [batch, rows // taps, *image])


def _one_hot_kernels(block: list[int]) -> Array:
    """Return for each tap of a block the kernel with a single one at that tap."""
    taps = int(np.prod(block))
    return np.eye(taps).reshape(taps, 1, *block)
