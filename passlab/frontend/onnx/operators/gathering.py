"""Operators that read or write elements at indices. Negative indices of ONNX count from the end."""

from __future__ import annotations

import numpy as np

from passlab.frontend.formulas import nonnegative_indices
from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr


@onnx_operator("Gather", 1, 11, 13)
def gather(n: OnnxNode, x: Expr, indices: Expr) -> Expr:
    """`take`."""
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    result = n("take", x, nonnegative_indices(n, indices, x, axis), axis=axis)
    sizes, positions = n.entries(x), n.value(indices)
    # Of a computed shape some sizes may be known, and constant indices select them.
    if sizes is None or positions is None or positions.ndim > 1:
        return result
    selected = [sizes[int(position)] for position in positions.reshape(-1) if -len(sizes) <= position < len(sizes)]
    if not all(isinstance(entry, int) for entry in selected):
        return n.record_entries(result, selected)
    return n("reshape", n.constant(selected, result), newshape=n.static_shape(result))


@onnx_operator("GatherElements", 11, 13)
def gather_elements(n: OnnxNode, x: Expr, indices: Expr) -> Expr:
    """`gather`."""
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    return n("gather", x, axis=axis, indices=nonnegative_indices(n, indices, x, axis))


@onnx_operator("GatherND", 11, 12, 13)
def gather_nd(n: OnnxNode, x: Expr, indices: Expr) -> Expr:
    """`gather_nd`, whose index axis comes first."""
    batch_dims, rank = n.integer("batch_dims", 0), n.rank(indices)
    (length,) = n.static_shape(indices, [rank - 1])
    # Relay has the parts of an index along the first axis, ONNX along the last.
    first = n("transpose", _nonnegative_tuples(n, indices, x, length, batch_dims), axes=[rank - 1, *range(rank - 1)])
    return n("gather_nd", x, first, batch_dims=batch_dims, index_rank=length)


def _nonnegative_tuples(n: OnnxNode, indices: Expr, x: Expr, length: int, first: int) -> Expr:
    """Return index tuples, along the last axis, with each element counted from 0 along its axis of `x`."""
    value = n.value(indices)
    if value is not None and (value >= 0).all():
        return indices
    sizes = [size_of(n, x, first + entry) for entry in range(length)]
    parts = [n.constant([s], indices) if isinstance(s, int) else n.cast(s, n.dtype(indices)) for s in sizes]
    return n("where", n("less", indices, 0), n("add", indices, n.concat(parts)), indices)


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


@onnx_operator("ScatterElements", 11, 13, 16, 18)
def scatter_elements(n: OnnxNode, x: Expr, indices: Expr, updates: Expr) -> Expr:
    """`scatter_elements`."""
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    reduction = _REDUCTIONS[n.choice("reduction", "none", tuple(_REDUCTIONS))]
    return n("scatter_elements", x, nonnegative_indices(n, indices, x, axis), updates, axis=axis, reduction=reduction)


@onnx_operator("Scatter", 9, 11)
def scatter(n: OnnxNode, x: Expr, indices: Expr, updates: Expr) -> Expr:
    """`scatter_elements`: the older name of ScatterElements."""
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    return n("scatter_elements", x, nonnegative_indices(n, indices, x, axis), updates, axis=axis)


@onnx_operator("ScatterND", 11, 13, 16, 18)
def scatter_nd(n: OnnxNode, x: Expr, indices: Expr, updates: Expr) -> Expr:
    """`scatter_nd`, whose index axis comes first."""
    rank = n.rank(indices)
    (length,) = n.static_shape(indices, [rank - 1])
    mode = _REDUCTIONS[n.choice("reduction", "none", tuple(_REDUCTIONS))]
    first = n("transpose", _nonnegative_tuples(n, indices, x, length, 0), axes=[rank - 1, *range(rank - 1)])
    return n("scatter_nd", x, first, updates, mode=mode)


@onnx_operator("Compress", 9, 11, 28)
def compress(n: OnnxNode, x: Expr, condition: Expr) -> Expr:
    """`take` of the indices where the condition holds, by `argwhere`."""
    if n.has("axis"):
        axis = n.axis(n.integer("axis"), n.rank(x))
    else:
        x, axis = n("reshape", x, newshape=[-1]), 0
    positions = n("reshape", n("argwhere", condition), newshape=[-1])
    return n("take", x, positions, axis=axis)


@onnx_operator("TensorScatter", 24)
def tensor_scatter(n: OnnxNode, cache: Expr, update: Expr, starts: Expr | None = None) -> Expr:
    """`scatter_elements` of the update, from the start index of each sample."""
    axis = n.axis(n.integer("axis", -2), n.rank(cache))
    shape, (length,) = n.static_shape(update), n.static_shape(cache, [axis])
    n.check_size(shape[axis])
    steps = n.constant(np.arange(shape[axis]).reshape([-1 if at == axis else 1 for at in range(len(shape))]), "int64")
    if starts is not None:
        steps = n("add", steps, n("reshape", n.cast(starts, "int64"), newshape=[-1, *[1] * (len(shape) - 1)]))
    if n.choice("mode", "linear", ("linear", "circular")) == "circular":
        steps = n("floor_mod", steps, length)  # positions behind the end go on at the start
    return n("scatter_elements", cache, n("broadcast_to", steps, shape=shape), update, axis=axis)
