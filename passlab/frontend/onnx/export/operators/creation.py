"""Tensors created from attributes: constants, ranges, one-hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.table import exports
from passlab.frontend.onnx.package import onnx
from passlab.ir.op import OpCall
from passlab.op.dtypes import array_dtype


def constant_tensor(e: GraphEmitter, value: float, shape: str, dtype: str) -> str:
    """Return a tensor of one value whose shape is a tensor."""
    tensor = onnx().numpy_helper.from_array(np.full((1,), value, array_dtype(dtype)))
    return e.node("ConstantOfShape", [shape], value=tensor)


@exports("zeros", "ones")
def constant_of_shape(e: GraphEmitter, call: OpCall) -> str:
    """ConstantOfShape."""
    value = int(op_name(call) == "ones")
    return constant_tensor(e, value, e.ints(*e.shape(call)), e.type(call).dtype)


@exports("dyn.zeros", "dyn.ones")
def constant_of_computed_shape(e: GraphEmitter, call: OpCall, shape: str) -> str:
    """ConstantOfShape."""
    value = int(op_name(call) == "dyn.ones")
    return constant_tensor(e, value, e.cast(shape, "int64"), e.type(call).dtype)


@exports("zeros_like", "ones_like")
def constant_like(e: GraphEmitter, call: OpCall, data: str) -> str:
    """ConstantOfShape of the shape of a tensor."""
    value = int(op_name(call) == "ones_like")
    return constant_tensor(e, value, e.node("Shape", [data]), e.type(call).dtype)


@exports("full")
def full(e: GraphEmitter, call: OpCall, value: str) -> str:
    """Expand."""
    return e.node("Expand", [e.cast(value, e.type(call).dtype), e.ints(*e.shape(call))])


@exports("dyn.full")
def dyn_full(e: GraphEmitter, call: OpCall, value: str, shape: str) -> str:
    """Expand."""
    return e.node("Expand", [e.cast(value, e.type(call).dtype), e.cast(shape, "int64")])


@exports("full_like")
def full_like(e: GraphEmitter, call: OpCall, data: str, value: str) -> str:
    """Expand to the shape of a tensor."""
    return e.node("Expand", [e.cast(value, e.type(call).dtype), e.node("Shape", [data])])


@exports("arange")
def arange(e: GraphEmitter, call: OpCall, start: str, stop: str, step: str) -> str:
    """Range."""
    dtype = e.type(call).dtype
    return e.node("Range", [e.cast(part, dtype) for part in (start, stop, step)])


@exports("one_hot")
def one_hot(e: GraphEmitter, call: OpCall, indices: str, on: str, off: str) -> str:
    """OneHot; indices that Relay ignores, since they are negative, would count from the end in ONNX."""
    return _one_hot(e, call, indices, on, off, e.constant(call.attrs.depth, "int64"))


@exports("dyn.one_hot")
def dyn_one_hot(e: GraphEmitter, call: OpCall, indices: str, on: str, off: str, depth: str) -> str:
    """OneHot."""
    return _one_hot(e, call, indices, on, off, e.cast(depth, "int64"))


def _one_hot(e: GraphEmitter, call: OpCall, indices: str, on: str, off: str, depth: str) -> str:
    dtype = e.type(call).dtype
    wide = e.cast(indices, "int64")
    in_range = e.node("Where", [e.node("Less", [wide, e.constant(0, "int64")]), depth, wide])
    values = [e.node("Unsqueeze", [e.cast(part, dtype), e.ints(0)]) for part in (off, on)]
    both = e.node("Concat", values, axis=0)
    if e.rank(call.args[0]):
        return e.node("OneHot", [in_range, depth, both], axis=call.attrs.axis)
    # ONNX's operator needs an index with at least one dimension
    row = e.node("OneHot", [e.node("Unsqueeze", [in_range, e.ints(0)]), depth, both], axis=1)
    return e.node("Squeeze", [row, e.ints(0)])


@exports("shape_of")
def shape_of(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Shape."""
    return _in_result_dtype(e, call, e.node("Shape", [data]))


@exports("ndarray_size")
def ndarray_size(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Size."""
    return _in_result_dtype(e, call, e.node("Size", [data]))


def _in_result_dtype(e: GraphEmitter, call: OpCall, name: str) -> str:
    """Return sizes, which ONNX gives as int64, in the dtype of a call."""
    dtype = e.type(call).dtype
    return name if dtype == "int64" else e.cast(name, dtype)


@exports("trilu")
def trilu(e: GraphEmitter, call: OpCall, data: str, k: str) -> str:
    """Trilu."""
    return e.node("Trilu", [data, e.cast(k, "int64")], upper=int(bool(call.attrs.upper)))


@exports("meshgrid")
def meshgrid(e: GraphEmitter, call: OpCall, data: list[str]) -> list[str]:
    """Each vector along its own axis, expanded to the common shape."""
    fields: Any = call.args[0].checked_type
    if any(len(ty.shape) != 1 for ty in fields.fields):
        e.refuse("vectors are needed")
    sizes = [ty.shape[0] for ty in fields.fields]
    order = [1, 0, *range(2, len(sizes))] if call.attrs.indexing == "xy" and len(sizes) > 1 else list(range(len(sizes)))
    if all(isinstance(size, int) for size in sizes):
        shape = e.ints(*(sizes[i] for i in order))
    else:
        shape = e.node("Concat", [e.node("Shape", [data[i]]) for i in order], axis=0)
    results = []
    for number, name in enumerate(data):
        axis = order.index(number)
        rank_one = [-1 if i == axis else 1 for i in range(len(sizes))]
        results.append(e.node("Expand", [e.node("Reshape", [name, e.ints(*rank_one)]), shape]))
    return results
