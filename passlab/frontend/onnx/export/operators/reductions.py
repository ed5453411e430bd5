"""Reductions, running sums, and sorting."""

from __future__ import annotations

import math
from typing import Any

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.table import exports
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall

REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}


def axes_of(e: GraphEmitter, data: Expr, attrs: Any) -> list[int]:
    """Return the axes of a reduction, counted from 0."""
    rank = e.rank(data)
    axis = attrs.axis
    listed = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted({int(a) % rank for a in listed}) if rank else []
    return [a for a in range(rank) if a not in axes] if attrs.exclude else axes


def reduce_over(e: GraphEmitter, op_type: str, data: str, axes: list[int], keepdims: bool) -> str:
    """Return a reduction; one over no axes is the tensor itself."""
    if not axes:
        return e.node("Identity", [data])
    return e.node(op_type, [data, e.ints(*axes)], keepdims=int(keepdims))


@exports(*REDUCTIONS)
def reduction(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The reduction with the same meaning."""
    attrs = call.attrs
    return reduce_over(e, REDUCTIONS[op_name(call)], data, axes_of(e, call.args[0], attrs), attrs.keepdims)


@exports("all", "any")
def logical(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The minimum or maximum of zeros and ones, for values that are not zero."""
    attrs = call.attrs
    op_type = "ReduceMin" if op_name(call) == "all" else "ReduceMax"
    bits = e.cast(e.cast(data, "bool"), "int32")
    name = reduce_over(e, op_type, bits, axes_of(e, call.args[0], attrs), attrs.keepdims)
    return e.node("Greater", [name, e.constant(0, "int32")])  # the maximum over no elements is below 0


@exports("argmax", "argmin")
def arg_extreme(e: GraphEmitter, call: OpCall, data: str) -> str:
    """ArgMax or ArgMin along one axis, or of the flattened tensor."""
    attrs = call.attrs
    axes = axes_of(e, call.args[0], attrs)
    op_type = "ArgMax" if op_name(call) == "argmax" else "ArgMin"
    last = int(bool(attrs.select_last_index))
    if len(axes) == 1:
        name = e.node(op_type, [data], axis=axes[0], keepdims=int(attrs.keepdims), select_last_index=last)
    elif len(axes) == e.rank(call.args[0]) and not attrs.keepdims:
        flattened = e.node("Reshape", [data, e.ints(-1)])
        name = e.node(op_type, [flattened], axis=0, keepdims=0, select_last_index=last)
    else:
        e.refuse("ONNX looks along one axis, or through the whole tensor")
    return e.cast(name, e.type(call).dtype)


@exports("variance")
def variance(e: GraphEmitter, call: OpCall, data: str, mean: str) -> str:
    """The mean of the squared differences."""
    attrs = call.attrs
    axes = axes_of(e, call.args[0], attrs)
    difference = e.node("Sub", [data, mean])
    name = reduce_over(e, "ReduceMean", e.node("Mul", [difference, difference]), axes, attrs.keepdims)
    if not attrs.unbiased:
        return name
    shape = e.shape(call.args[0])
    count = 1
    for axis in axes:
        count *= shape[axis]
    if "float" not in e.type(call).dtype:
        e.refuse("the unbiased variance of integers has a fraction as factor")
    return e.node("Mul", [name, e.constant(count / (count - 1), e.type(call).dtype)])


@exports("cumsum")
def cumsum(e: GraphEmitter, call: OpCall, data: str) -> str:
    """CumSum, of the flattened tensor if there is no axis."""
    attrs = call.attrs
    dtype = e.type(call).dtype
    if attrs.axis is None:
        data = e.node("Reshape", [data, e.ints(-1)])
    if dtype != e.type(call.args[0]).dtype:
        data = e.cast(data, dtype)
    axis = e.constant(attrs.axis or 0, "int64")
    return e.node("CumSum", [data, axis], exclusive=int(bool(attrs.exclusive)))


@exports("cumprod")
def cumprod(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Products with the elements 1, 2, 4, ... positions before, which include all elements after log2(n) steps."""
    attrs = call.attrs
    dtype, shape = e.type(call).dtype, list(e.shape(call.args[0]))
    if attrs.axis is None:
        data, shape = e.node("Reshape", [data, e.ints(-1)]), [math.prod(shape)]
    data, axis = e.cast(data, dtype), (attrs.axis or 0) % max(len(shape), 1)
    one = e.constant(1, dtype)

    def shift(name: str, positions: int) -> str:
        sides = [positions if at == axis else 0 for at in range(len(shape))]
        prefix = e.node("Slice", [name, e.ints(0), e.ints(shape[axis] - positions), e.ints(axis)])
        result: str = e.node("Pad", [prefix, e.ints(*sides, *[0] * len(shape)), one])
        return result

    if attrs.exclusive and shape[axis]:
        data = shift(data, 1)
    positions = 1
    while positions < shape[axis]:
        data = e.node("Mul", [data, shift(data, positions)])
        positions *= 2
    return data


@exports("dft")
def dft(e: GraphEmitter, call: OpCall, real: str, imaginary: str) -> list[str]:
    """DFT along the last axis, with both parts in a new axis."""
    rank = e.rank(call.args[0])
    parts = [e.node("Unsqueeze", [part, e.ints(rank)]) for part in (real, imaginary)]
    both = e.node("Concat", parts, axis=rank)
    lines = e.node("Unsqueeze", [both, e.ints(0)]) if rank == 1 else both  # DFT needs a batch
    axis = rank - 1 + (rank == 1)
    if e.opset >= 20:
        spectrum = e.node("DFT", [lines, "", e.constant(axis, "int64")], inverse=int(call.attrs.inverse))
    else:
        spectrum = e.node("DFT", [lines], axis=axis, inverse=int(call.attrs.inverse))
    spectrum = e.node("Squeeze", [spectrum, e.ints(0)]) if rank == 1 else spectrum
    return [e.node("Gather", [spectrum, e.constant(at, "int64")], axis=rank) for at in (0, 1)]


@exports("topk")
def topk(e: GraphEmitter, call: OpCall, data: str) -> str | list[str]:
    """TopK."""
    attrs = call.attrs
    k = attrs.k if attrs.k > 0 else e.shape(call.args[0])[attrs.axis]
    return _top(e, call, data, e.ints(k))


@exports("dyn.topk")
def dyn_topk(e: GraphEmitter, call: OpCall, data: str, k: str) -> str | list[str]:
    """TopK."""
    return _top(e, call, data, e.node("Reshape", [e.cast(k, "int64"), e.ints(1)]))


def _top(e: GraphEmitter, call: OpCall, data: str, k: str) -> str | list[str]:
    attrs = call.attrs
    values, indices = e.node_with(2, "TopK", [data, k], axis=attrs.axis, largest=int(not attrs.is_ascend))
    if attrs.ret_type == "values":
        return values
    return indices if attrs.ret_type == "indices" else [values, indices]


@exports("sort", "argsort")
def sort(e: GraphEmitter, call: OpCall, data: str) -> str:
    """TopK of all elements."""
    attrs = call.attrs
    size = e.shape(call.args[0])[attrs.axis]
    values, indices = e.node_with(2, "TopK", [data, e.ints(size)], axis=attrs.axis, largest=int(not attrs.is_ascend))
    return values if op_name(call) == "sort" else indices
