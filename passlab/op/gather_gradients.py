"""Gradients of operators that select elements by index: the gradients are added up at the selected elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple, TupleGetItem
from passlab.ir.op import OpCall
from passlab.ir.types import Dim, TensorType, TupleType
from passlab.op.autodiff import attrs_of, by_definition, dtype_of, shape_of, sizes_of
from passlab.op.declare import call
from passlab.op.dtypes import array_dtype
from passlab.op.relations import broadcast_shape, normal_axis, product


def take(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, added into zeros at the selected elements."""
    data, indices = orig.args
    attrs = attrs_of(orig)
    if attrs["batch_dims"] and attrs["axis"] is not None:
        return _BATCHED(orig, grad)
    axis = attrs["axis"]
    flat = axis is None
    rank = 1 if flat else len(shape_of(data))
    axis = 0 if flat else normal_axis(axis, rank)
    zeros = call("zeros_like", data)
    target = call("reshape", zeros, newshape=[-1]) if flat else call("transpose", zeros, axes=_to_front(rank, axis))
    count = len(shape_of(indices))
    # scatter_nd writes slices along the first dimension: the dimensions of the indices go first
    order = [*range(axis, axis + count), *range(axis), *range(axis + count, rank + count - 1)]
    updates = grad if axis == 0 else call("transpose", grad, axes=order)
    extent = product(shape_of(data)) if flat else shape_of(data)[axis]
    positions = call("expand_dims", _effective_indices(indices, extent, attrs["mode"]), axis=0)
    summed = call("scatter_nd", target, positions, updates, mode="add")
    result = call("reshape_like", summed, data) if flat else call("transpose", summed, axes=_from_front(rank, axis))
    return [result, call("zeros_like", indices)]


def _effective_indices(indices: Expr, extent: Dim, mode: str) -> Expr:
    """Return the indices of the elements that `take` selects in a mode, along a dimension of `extent`."""
    if mode == "fast":
        return indices
    if not isinstance(extent, int):  # the size is unknown: only the lower bound can be clipped
        return call("maximum", indices, call("zeros_like", indices)) if mode == "clip" else indices
    dtype = array_dtype(dtype_of(indices))
    if mode == "wrap":
        return call("floor_mod", indices, Constant(np.array(max(extent, 1), dtype)))
    low, high = (Constant(np.array(value, dtype)) for value in (0, max(extent - 1, 0)))
    return call("maximum", call("minimum", indices, high), low)


def _index_along(shape: Sequence[int], axis: int) -> Constant:
    """Return, for each element of a shape, its index along one dimension."""
    return Constant(np.broadcast_to(np.indices(shape, np.int64, sparse=True)[axis], shape))


def _batched_take(attrs: Attrs, data: Expr, indices: Expr) -> Expr:
    """Define `take` with batch dimensions by `gather_nd`, whose indices begin with the indices of the batch."""
    shape, index_shape = sizes_of(data, "take"), sizes_of(indices, "take")
    axis, batch = normal_axis(attrs.axis, len(shape)), attrs.batch_dims % len(index_shape)
    rank, count = len(shape), len(index_shape) - batch
    positions = call("cast", _effective_indices(indices, shape[axis], attrs.mode), dtype="int64")
    leading = [_index_along(index_shape, dim) for dim in range(batch)]
    order = [*range(batch), axis, *(dim for dim in range(batch, rank) if dim != axis)]
    result = call("gather_nd", call("transpose", data, axes=order), call("stack", Tuple([*leading, positions]), axis=0))
    between = axis - batch  # the dimensions between the batch and the axis precede the indices again
    result_order = [*range(batch), *range(batch + count, batch + count + between), *range(batch, batch + count)]
    return call("transpose", result, axes=[*result_order, *range(len(result_order), rank + count - 1)])


_BATCHED = by_definition(_batched_take)


def _to_front(rank: int, axis: int) -> list[int]:
    return [axis, *(dim for dim in range(rank) if dim != axis)]


def _from_front(rank: int, axis: int) -> list[int]:
    order = _to_front(rank, axis)
    return [order.index(dim) for dim in range(rank)]


def gather(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, added into zeros at the selected elements."""
    data, indices = orig.args
    summed = call(
        "scatter_elements", call("zeros_like", data), indices, grad, axis=attrs_of(orig)["axis"], reduction="add"
    )
    return [summed, call("zeros_like", indices)]


def gather_nd(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, added into zeros at the indices, which are prefixed with the indices of the batch."""
    data, indices = orig.args
    batch, positions = attrs_of(orig)["batch_dims"], indices
    if batch:
        index_shape = sizes_of(indices, "gather_nd")[1:]
        batch_indices = call("stack", Tuple([_index_along(index_shape, dim) for dim in range(batch)]), axis=0)
        positions = call("concatenate", Tuple([batch_indices, call("cast", indices, dtype="int64")]), axis=0)
    return [call("scatter_nd", call("zeros_like", data), positions, grad, mode="add"), call("zeros_like", indices)]


def _advanced_index(attrs: Attrs, inputs: Expr) -> Expr:
    """Define `adv_index` by `gather_nd` with index tensors broadcast to one shape."""
    ty = inputs.checked_type
    assert isinstance(ty, TupleType)
    types = [field for field in ty.fields if isinstance(field, TensorType)]
    shape = types[1]
    for field in types[1:]:
        shape = TensorType(broadcast_shape(shape, field), "int64")
    parts = [call("cast", TupleGetItem(inputs, i), dtype="int64") for i in range(1, len(types))]
    broadcast = [call("broadcast_to", part, shape=shape.concrete_shape) for part in parts]
    return call("gather_nd", TupleGetItem(inputs, 0), call("stack", Tuple(broadcast), axis=0))


adv_index = by_definition(_advanced_index)


def one_hot(orig: OpCall, grad: Expr) -> list[Expr]:
    """`on_value` receives the gradients at the indices, `off_value` the gradients of the other elements."""
    indices, on, off = orig.args
    attrs = attrs_of(orig)
    chosen = call("one_hot", indices, ONE, ZERO, depth=attrs["depth"], axis=attrs["axis"], dtype="bool")
    return [call("zeros_like", indices), *value_gradients(chosen, grad, on, off)]


ONE, ZERO = (Constant(np.array(value, np.float32)) for value in (1, 0))


def value_gradients(chosen: Expr, grad: Expr, on: Expr, off: Expr) -> list[Expr]:
    """Return the gradients of the scalars of a one-hot tensor: the sums of `grad` where `chosen` is true and false."""
    zeros = call("zeros_like", grad)
    parts = [call("where", chosen, grad, zeros), call("where", chosen, zeros, grad)]
    return [call("cast_like", call("sum", part), value) for part, value in zip(parts, (on, off), strict=True)]
