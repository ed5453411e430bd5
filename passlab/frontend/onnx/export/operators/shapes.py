"""Operators that move elements without reading them: reshape, transpose, join, split, padding, repetition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.table import exports
from passlab.ir.op import OpCall

LARGEST = 2**63 - 1  # beyond the end of any axis


@exports("reshape", "contrib_reverse_reshape", "nn.batch_flatten", "reshape_like")
def reshape(e: GraphEmitter, call: OpCall, data: str, *like: str) -> str:
    """Reshape to the shape of the result; ONNX infers one unknown dimension, others are computed."""
    dims = e.type(call).shape
    unknown = [i for i, dim in enumerate(dims) if not isinstance(dim, int)]
    if not unknown:
        return e.reshape(data, e.shape(call), e.type(call.args[0]).shape)
    if len(unknown) <= 1 and 0 not in dims:  # a 0 would copy a dimension of the data
        return e.node("Reshape", [data, e.ints(*(dim if isinstance(dim, int) else -1 for dim in dims))])
    if like and op_name(call) == "reshape_like":
        return e.node("Reshape", [data, _shape_like(e, call, data, like[0])], allowzero=1)
    return e.node("Reshape", [data, e.node("Concat", _dimensions(e, call, data), axis=0)])


def _shape_like(e: GraphEmitter, call: OpCall, data: str, like: str) -> str:
    """Return the shape of `data` with some of its dimensions replaced by dimensions of `like`, as a vector."""
    rank, ranks = e.rank(call.args[0]), e.rank(call.args[1])
    attrs = call.attrs
    left, right, _ = slice(attrs.lhs_begin, attrs.lhs_end).indices(rank)
    first, last, _ = slice(attrs.rhs_begin, attrs.rhs_end).indices(ranks)
    parts = [(data, 0, left, rank), (like, first, last, ranks), (data, max(left, right), rank, rank)]
    names: list[str] = [_dimensions_of(e, name, begin, end, size) for name, begin, end, size in parts if begin < end]
    if not names:
        return e.ints()
    joined: str = names[0] if len(names) == 1 else e.node("Concat", names, axis=0)
    return joined


def _dimensions_of(e: GraphEmitter, data: str, begin: int, end: int, rank: int) -> str:
    """Return the dimensions `begin` to `end` of a tensor of this rank as a vector."""
    name: str = e.node("Shape", [data], start=begin or None, end=end if end < rank else None)
    return name


def _dimensions(e: GraphEmitter, call: OpCall, data: str) -> list[str]:
    """Return the dimensions of a reshape with several unknown sizes, as vectors of one element."""
    codes = list(getattr(call.attrs, "newshape", None) or [])
    source = e.type(call.args[0]).shape
    if op_name(call) == "nn.batch_flatten":
        codes = [0, -1]
    if op_name(call) == "contrib_reverse_reshape" or any(code < -1 for code in codes):
        return _special_dimensions(e, data, codes, len(source), reverse=op_name(call) != "reshape")
    return [dimension(e, data, i) if code == 0 else e.ints(code) for i, code in enumerate(codes)]


def _special_dimensions(e: GraphEmitter, data: str, codes: list[int], rank: int, reverse: bool) -> list[str]:
    """Return the dimensions of a reshape by Relay's codes: -2 copies the rest, -3 merges two, -4 splits one."""
    if reverse:
        e.refuse("several dimensions that are read from the end are not known")
    parts: list[str] = []
    at = index = 0
    while index < len(codes):
        code = codes[index]
        if code == -2:
            parts += [dimension(e, data, i) for i in range(at, rank)]
            at = rank
        elif code == -3:
            parts.append(e.node("Mul", [dimension(e, data, at), dimension(e, data, at + 1)]))
            at += 2
        elif code == -4:
            first, second = codes[index + 1 : index + 3]
            size = dimension(e, data, at)
            for part, other in ((first, second), (second, first)):
                parts.append(e.node("Div", [size, e.ints(other)]) if part == -1 else e.ints(part))
            at += 1
            index += 2
        else:
            parts.append(dimension(e, data, at) if code == 0 else e.ints(code))
            at += 1
        index += 1
    return parts


def dimension(e: GraphEmitter, data: str, axis: int) -> str:
    """Return one dimension of a tensor as a vector of one element."""
    name: str = e.node("Shape", [data], start=axis, end=axis + 1)
    return name


@exports("dyn.reshape")
def dyn_reshape(e: GraphEmitter, call: OpCall, data: str, shape: str) -> str:
    """Reshape."""
    return e.node("Reshape", [data, e.cast(shape, "int64")], allowzero=int(bool(call.attrs.allowzero)))


@exports("transpose")
def transpose(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Transpose."""
    rank = e.rank(call.args[0])
    axes = call.attrs.axes or range(rank - 1, -1, -1)
    return e.transpose(data, [int(a) % rank for a in axes]) if rank else e.node("Identity", [data])


@exports("layout_transform")
def layout_transform(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Transpose, if no axis is split."""
    return in_layout(e, data, call.attrs.src_layout, call.attrs.dst_layout)


def in_layout(e: GraphEmitter, data: str, source: str, target: str) -> str:
    """Return a tensor in another layout, the same name if the layout is the same."""
    if source == target:
        return data
    if sorted(source) != sorted(target) or not (source + target).isalpha() or not source.isupper():
        e.refuse(f"a change of layout from {source} to {target} is not a transpose")
    name: str = e.transpose(data, [source.index(axis) for axis in target])
    return name


@exports("expand_dims")
def expand_dims(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Unsqueeze."""
    attrs = call.attrs
    first = attrs.axis if attrs.axis >= 0 else attrs.axis + e.rank(call.args[0]) + 1
    return e.node("Unsqueeze", [data, e.ints(*range(first, first + attrs.num_newaxis))])


@exports("squeeze")
def squeeze(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Squeeze."""
    attrs = call.attrs
    if attrs.axis is None:
        axes = [i for i, dim in enumerate(e.type(call.args[0]).shape) if dim == 1]
    else:
        axes = [attrs.axis] if isinstance(attrs.axis, int) else list(attrs.axis)
    return e.node("Squeeze", [data, e.ints(*axes)]) if axes else e.node("Identity", [data])


@exports("concatenate", "stack")
def concatenate(e: GraphEmitter, call: OpCall, data: list[str]) -> str:
    """Concat; stacked tensors get a new axis first."""
    attrs = call.attrs
    axis = attrs.axis if attrs.axis >= 0 else attrs.axis + e.rank(call)
    if op_name(call) == "stack":
        data = [e.node("Unsqueeze", [part, e.ints(axis)]) for part in data]
    return e.node("Concat", data, axis=axis)


@exports("split")
def split(e: GraphEmitter, call: OpCall, data: str) -> list[str]:
    """Split into parts of known sizes."""
    attrs = call.attrs
    axis = attrs.axis % max(e.rank(call.args[0]), 1)
    ty: Any = call.checked_type
    sizes = [field.shape[axis] for field in ty.fields]
    if len(sizes) == 1:
        return [e.node("Identity", [data])]
    if all(isinstance(size, int) for size in sizes):
        return e.node_with(len(sizes), "Split", [data, e.ints(*sizes)], axis=axis)
    # Of an axis of unknown length: equal parts, or slices between the cuts.
    if isinstance(attrs.indices_or_sections, int):
        return e.node_with(len(sizes), "Split", [data], axis=axis, num_outputs=len(sizes))
    cuts = [0, *(int(i) for i in attrs.indices_or_sections), LARGEST]
    return [e.node("Slice", [data, e.ints(start), e.ints(stop), e.ints(axis)]) for start, stop in pairwise(cuts)]


@exports("strided_slice")
def strided_slice(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Slice; with negative steps, ONNX's end is adapted to include the first element where Relay's does."""
    attrs = call.attrs
    shape = e.type(call.args[0]).shape
    axes = list(attrs.axes) if attrs.axes is not None else list(range(len(attrs.begin)))
    begin, end = [int(b) for b in attrs.begin], [int(x) for x in attrs.end]
    strides = [int(s) for s in attrs.strides or ()] or [1]
    strides = strides * len(axes) if len(strides) == 1 else strides + [1] * (len(axes) - len(strides))
    if attrs.slice_mode == "size":
        strides = [1] * len(axes)
        sizes = end
        end = [LARGEST if size < 0 else start + size for start, size in zip(begin, sizes, strict=True)]
        end = [LARGEST if start < 0 and stop >= 0 else stop for start, stop in zip(begin, end, strict=True)]
    end += [LARGEST] * (len(axes) - len(end))
    # An end before the first element means the first element as well; ONNX counts any other negative end from the last.
    for i, axis in enumerate(axes):
        size = shape[axis]
        if strides[i] < 0 and end[i] < 0 and isinstance(size, int) and end[i] + size < 0:
            end[i] = -LARGEST
    inputs = [e.ints(*begin), e.ints(*end), e.ints(*axes), e.ints(*strides)]
    return e.node("Slice", [data, *inputs]) if axes else e.node("Identity", [data])


@exports("dyn.strided_slice")
def dyn_strided_slice(e: GraphEmitter, call: OpCall, data: str, begin: str, end: str, strides: str) -> str:
    """Slice with tensors as bounds."""
    if call.attrs.slice_mode != "end" or call.attrs.axes:
        e.refuse("slices by size or of chosen axes have no form with tensors as bounds")
    count = e.shape(call.args[1])[0]
    wide = [e.cast(part, "int64") for part in (begin, end, strides)]
    return e.node("Slice", [data, wide[0], wide[1], e.ints(*range(count)), wide[2]])


@exports("slice_like")
def slice_like(e: GraphEmitter, call: OpCall, data: str, like: str) -> str:
    """Slice to the shape of another tensor."""
    axes = [int(a) % e.rank(call.args[0]) for a in call.attrs.axes or range(e.rank(call.args[1]))]
    ends = e.node("Gather", [e.node("Shape", [like]), e.ints(*axes)])
    return e.node("Slice", [data, e.ints(*([0] * len(axes))), ends, e.ints(*axes)])


@exports("broadcast_to")
def broadcast_to(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Expand."""
    return e.node("Expand", [data, e.ints(*e.shape(call))])


@exports("dyn.broadcast_to")
def dyn_broadcast_to(e: GraphEmitter, call: OpCall, data: str, shape: str) -> str:
    """Expand."""
    return e.node("Expand", [data, e.cast(shape, "int64")])


@exports("broadcast_to_like")
def broadcast_to_like(e: GraphEmitter, call: OpCall, data: str, like: str) -> str:
    """Expand to the shape of another tensor."""
    return e.node("Expand", [data, e.node("Shape", [like])])


@exports("collapse_sum_like")
def collapse_sum_like(e: GraphEmitter, call: OpCall, data: str, like: str) -> str:
    """The sums over the broadcast axes of a tensor."""
    source, target = e.shape(call.args[0]), e.shape(call.args[1])
    extra = len(source) - len(target)
    axes = [*range(extra), *(i + extra for i, n in enumerate(target) if n == 1 and source[i + extra] != 1)]
    # All axes are kept, so that their numbers stay valid; the reshape drops those that the tensor does not have.
    name = e.node("ReduceSum", [data, e.ints(*axes)], keepdims=1) if axes else data
    return e.node("Reshape", [name, e.ints(*target)])


@exports("tile")
def tile(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Tile of a tensor with as many axes as there are repeats."""
    reps, rank = [int(r) for r in call.attrs.reps], e.rank(call.args[0])
    if len(reps) > rank:
        data = e.node("Unsqueeze", [data, e.ints(*range(len(reps) - rank))])
    return e.node("Tile", [data, e.ints(*([1] * (rank - len(reps)) + reps))])


@exports("dyn.tile")
def dyn_tile(e: GraphEmitter, call: OpCall, data: str, reps: str) -> str:
    """Tile."""
    if e.shape(call.args[1])[0] != e.rank(call.args[0]):
        e.refuse("there must be a repeat for each axis")
    return e.node("Tile", [data, e.cast(reps, "int64")])


@exports("repeat")
def repeat(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Repeat each element: a new axis, expanded, and joined to the one before."""
    axis = call.attrs.axis
    if axis is None:
        data, axis, rank = e.node("Reshape", [data, e.ints(-1)]), 0, 1
    else:
        rank = e.rank(call.args[0])
        axis %= rank
    times = e.ints(*([1] * (axis + 1) + [call.attrs.repeats] + [1] * (rank - axis - 1)))
    tiled = e.node("Tile", [e.node("Unsqueeze", [data, e.ints(axis + 1)]), times])
    dims = e.type(call).shape
    if sum(not isinstance(dim, int) for dim in dims) > 1:
        e.refuse("several dimensions are not known")
    shape = e.ints(*(dim if isinstance(dim, int) else -1 for dim in dims))
    return e.node("Reshape", [tiled, shape], allowzero=1 if 0 in dims else None)


@exports("reverse")
def reverse(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Slice with a negative step."""
    # The end is far before the first element, since -1 would be the last one.
    return e.node("Slice", [data, e.ints(-1), e.ints(-LARGEST), e.ints(call.attrs.axis), e.ints(-1)])


@exports("reverse_sequence")
def reverse_sequence(e: GraphEmitter, call: OpCall, data: str, lengths: str) -> str:
    """ReverseSequence."""
    axes = {"time_axis": call.attrs.seq_axis, "batch_axis": call.attrs.batch_axis}
    if set(axes.values()) != {0, 1}:
        e.refuse("ONNX reverses along the first or the second axis, batches along the other")
    return e.node("ReverseSequence", [data, e.cast(lengths, "int64")], **axes)


@exports("nn.pad")
def pad(e: GraphEmitter, call: OpCall, data: str, value: str) -> str:
    """Pad."""
    widths = [[int(n) for n in pair] for pair in call.attrs.pad_width]
    pads = e.ints(*(pair[0] for pair in widths), *(pair[1] for pair in widths))
    return _pad(e, data, pads, call.attrs.pad_mode, e.cast(value, e.type(call.args[0]).dtype))


@exports("nn.mirror_pad")
def mirror_pad(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Pad by reflection without the border itself."""
    if call.attrs.mode != "REFLECT":
        e.refuse("ONNX repeats no border")
    widths = call.attrs.pad_width
    pads = e.ints(*(int(pair[0]) for pair in widths), *(int(pair[1]) for pair in widths))
    return e.node("Pad", [data, pads], mode="reflect")


@exports("dyn.nn.pad")
def dyn_pad(e: GraphEmitter, call: OpCall, data: str, widths: str, value: str) -> str:
    """Pad; ONNX lists all widths before, then all after."""
    pads = e.node("Reshape", [e.transpose(e.cast(widths, "int64"), [1, 0]), e.ints(-1)])
    return _pad(e, data, pads, call.attrs.pad_mode, e.cast(value, e.type(call.args[0]).dtype))


def _pad(e: GraphEmitter, data: str, pads: str, mode: str, value: str) -> str:
    """Return a padded tensor."""
    return e.node("Pad", [data, pads, value] if mode == "constant" else [data, pads], mode=mode)
