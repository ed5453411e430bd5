"""Operators that read and write elements by index."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from passlab.frontend.onnx.export.emitter import GraphEmitter
from passlab.frontend.onnx.export.table import exports
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import Op, OpCall


def as_int64(e: GraphEmitter, name: str) -> str:
    """Return indices as int64, which every operator accepts."""
    return e.cast(name, "int64")


@exports("take")
def take(e: GraphEmitter, call: OpCall, data: str, indices: str) -> str:
    """Gather; indices out of range are clipped or wrapped first, as in Relay."""
    attrs = call.attrs
    if attrs.batch_dims:
        e.refuse("ONNX has no Gather with shared leading axes")
    if attrs.axis is None:
        data, axis, length = e.node("Reshape", [data, e.ints(-1)]), 0, None
    else:
        axis = attrs.axis % e.rank(call.args[0])
        length = e.type(call.args[0]).shape[axis]
    # Importers write indices from the end as `where`; they become plain indices again.
    from_end = _indices_from_end(call.args[1], length) if attrs.mode == "clip" and attrs.axis is not None else None
    if from_end is not None and isinstance(name := e.values.get(from_end), str):
        return e.node("Gather", [data, as_int64(e, name)], axis=axis)
    indices = as_int64(e, indices)
    if not _is_in_range(call.args[1], length):
        indices = _clip_or_wrap(e, attrs.mode, e.node("Shape", [data], start=axis, end=axis + 1), indices)
    return e.node("Gather", [data, indices], axis=axis)


def _indices_from_end(indices: Expr, length: Any) -> Expr | None:
    """Return `i` of `where(i < 0, i + length, i)`: Gather itself counts negative indices from the end."""
    if not _calls(indices, "where"):
        return None
    test, shifted, original = indices.args
    if not (_calls(test, "less") and _calls(shifted, "add") and test.args[0] is shifted.args[0] is original):
        return None
    zero, size = test.args[1], shifted.args[1]
    if not (isinstance(zero, Constant) and isinstance(size, Constant) and zero.data.size == size.data.size == 1):
        return None
    return original if zero.data.item() == 0 and size.data.item() == length else None


def _calls(expr: Expr, name: str) -> TypeGuard[Call]:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _is_in_range(indices: Expr, length: Any) -> bool:
    """Whether indices are constants in the range of the axis."""
    if not isinstance(indices, Constant) or not isinstance(length, int) or not indices.data.size:
        return False
    return bool(indices.data.min() >= 0 and indices.data.max() < length)


def _clip_or_wrap(e: GraphEmitter, mode: str, size: str, indices: str) -> str:
    """Return indices clipped or wrapped to the range of the axis."""
    size = e.node("Squeeze", [size])  # a scalar, so that the rank of the indices stays
    if mode == "wrap":
        indices = e.node("Mod", [indices, size])
    elif mode == "clip":
        last = e.node("Sub", [size, e.constant(1, "int64")])
        indices = e.node("Max", [e.node("Min", [indices, last]), e.constant(0, "int64")])
    return indices


@exports("gather")
def gather(e: GraphEmitter, call: OpCall, data: str, indices: str) -> str:
    """GatherElements."""
    return e.node("GatherElements", [data, as_int64(e, indices)], axis=call.attrs.axis)


def _last_axis(e: GraphEmitter, call: OpCall, indices: str) -> str:
    """Return indices with their first axis (the coordinates) moved to the end."""
    rank = e.rank(call.args[1])
    name: str = e.transpose(as_int64(e, indices), [*range(1, rank), 0])
    return name


@exports("gather_nd")
def gather_nd(e: GraphEmitter, call: OpCall, data: str, indices: str) -> str:
    """GatherND, which has the coordinates along the last axis."""
    return e.node("GatherND", [data, _last_axis(e, call, indices)], batch_dims=call.attrs.batch_dims)


SCATTERS = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _reduction(e: GraphEmitter, mode: str) -> str:
    if mode not in SCATTERS:
        e.refuse(f"ONNX has no scatter by {mode}")
    return SCATTERS[mode]


@exports("scatter_elements", "scatter")
def scatter_elements(e: GraphEmitter, call: OpCall, data: str, indices: str, updates: str) -> str:
    """ScatterElements."""
    attrs = call.attrs
    reduction = _reduction(e, getattr(attrs, "reduction", "update"))
    return e.node("ScatterElements", [data, as_int64(e, indices), updates], axis=attrs.axis, reduction=reduction)


@exports("scatter_nd")
def scatter_nd(e: GraphEmitter, call: OpCall, data: str, indices: str, updates: str) -> str:
    """ScatterND, which has the coordinates along the last axis."""
    reduction = _reduction(e, call.attrs.mode)
    return e.node("ScatterND", [data, _last_axis(e, call, indices), updates], reduction=reduction)


@exports("argwhere")
def argwhere(e: GraphEmitter, call: OpCall, condition: str) -> str:
    """NonZero, which has the coordinates along the first axis."""
    if not e.rank(call.args[0]):
        e.refuse("ONNX's NonZero gives a scalar a coordinate, Relay none")
    name = e.transpose(e.node("NonZero", [condition]), [1, 0])
    return e.cast(name, e.type(call).dtype)


@exports("einsum")
def einsum(e: GraphEmitter, call: OpCall, data: list[str]) -> str:
    """Einsum."""
    return e.node("Einsum", data, equation=call.attrs.equation)


@exports("sequence_mask")
def sequence_mask(e: GraphEmitter, call: OpCall, data: str, lengths: str) -> str:
    """Where, with the index along the axis compared with the length."""
    shape = e.shape(call.args[0])
    axis = call.attrs.axis % 2
    steps = e.constant(list(range(shape[axis])), "int64")
    rank = len(shape)
    along = e.node("Reshape", [steps, e.ints(*(shape[axis] if i == axis else 1 for i in range(rank)))])
    size = shape[1 - axis]
    bound = e.node("Reshape", [as_int64(e, lengths), e.ints(*(size if i == 1 - axis else 1 for i in range(rank)))])
    value = e.constant(call.attrs.mask_value, e.type(call).dtype)
    return e.node("Where", [e.node("Less", [along, bound]), data, value])


@exports("unique")
def unique(e: GraphEmitter, call: OpCall, data: str) -> list[str]:
    """Unique, its results padded with zeros to the length of the data, and their number."""
    # Relay's results have static shapes, ONNX's are as long as there are values.
    values, first, inverse, counts = e.node_with(4, "Unique", [data], sorted=int(bool(call.attrs.sorted)))
    number = e.node("Shape", [values])
    pads = e.node("Concat", [e.ints(0), e.node("Sub", [e.node("Shape", [data]), number])], axis=0)
    padded = [e.node("Pad", [part, pads]) for part in (values, e.cast(first, "int32"), e.cast(counts, "int32"))]
    results = [*padded[:2], e.cast(inverse, "int32"), e.cast(number, "int32")]
    return [*results, padded[2]] if call.attrs.return_counts else results


@exports("searchsorted")
def search_sorted(e: GraphEmitter, call: OpCall, sequence: str, values: str) -> str:
    """The number of elements that are below each value, or not above it."""
    attrs = call.attrs
    if e.type(call.args[0]).shape[-1] == 0:  # onnxruntime keeps an axis without elements that it sums over
        return e.node("Expand", [e.constant(0, e.type(call).dtype), e.node("Shape", [values])])
    last = e.constant(np.array([-1]), "int64")
    column = e.node("Unsqueeze", [values, last])
    if e.rank(call.args[0]) > 1:  # a sequence for each row of values
        sequence = e.node("Unsqueeze", [sequence, e.constant(np.array([-2]), "int64")])
    # A value that is not a number comes after all.
    below = e.node("Not", [e.node("Greater" if attrs.right else "GreaterOrEqual", [sequence, column])])
    return e.cast(e.node("ReduceSum", [e.cast(below, "int64"), last], keepdims=0), e.type(call).dtype)
