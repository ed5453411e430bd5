"""Gradients of operators that select elements by index: the gradients are added up at the selected elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple, TupleGetItem
from passlab.ir.op import OpCall
from passlab.ir.types import Dim, TensorType, TupleType
from passlab.op.chain import attrs_of, by_definition, dtype_of, shape_of, sizes_of
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
    is_flat = axis is None
    rank = 1 if is_flat else len(shape_of(data))
    axis = 0 if is_flat else normal_axis(axis, rank)
    zeros = call("zeros_like", data)
    target = call("reshape", zeros, newshape=[-1]) if is_flat else call("transpose", zeros, axes=_to_front(rank, axis))
    count = len(shape_of(indices))
    order = [*range(axis, axis + count), *range(axis), *range(axis + count, rank + count - 1)]
    updates = grad if axis == 0 else call("transpose", grad, axes=order)
    extent = product(shape_of(data)) if is_flat else shape_of(data)[axis]
    positions = call("expand_dims", _inside(indices, extent, attrs["mode"]), axis=0)
    summed = call("scatter_nd", target, positions, updates, mode="add")
    back = call("reshape_like", summed, data) if is_flat else call("transpose", summed, axes=_from_front(rank, axis))
    return [back, call("zeros_like", indices)]


def _inside(indices: Expr, extent: Dim, mode: str) -> Expr:
    """The effective indices of the selected elements."""
    if mode == "fast":
        return indices
    if not isinstance(extent, int):  # the size is unknown: only the lower bound can be clipped
        return call("maximum", indices, call("zeros_like", indices)) if mode == "clip" else indices
    kind = array_dtype(dtype_of(indices))
    if mode == "wrap":
        return call("floor_mod", indices, Constant(np.array(max(extent, 1), kind)))
    low, high = (Constant(np.array(value, kind)) for value in (0, max(extent - 1, 0)))
    return call("maximum", call("minimum", indices, high), low)


def _number(shape: Sequence[int], axis: int) -> Constant:
    """The index along one dimension of a shape, for each of its elements."""
    return Constant(np.broadcast_to(np.indices(shape, np.int64, sparse=True)[axis], shape))


def _batched_take(attrs: Attrs, data: Expr, indices: Expr) -> Expr:
    """Batched selection, as selection by indices that begin with the number of the sample."""
    shape, used = sizes_of(data, "take"), sizes_of(indices, "take")
    axis, batch = normal_axis(attrs.axis, len(shape)), attrs.batch_dims % len(used)
    rank, more = len(shape), len(used) - batch
    positions = call("cast", _inside(indices, shape[axis], attrs.mode), dtype="int64")
    lead = [_number(used, at) for at in range(batch)]
    order = [*range(batch), axis, *(at for at in range(batch, rank) if at != axis)]
    result = call("gather_nd", call("transpose", data, axes=order), call("stack", Tuple([*lead, positions]), axis=0))
    between = axis - batch  # the dimensions between the batch and the axis precede the indices again
    back = [*range(batch), *range(batch + more, batch + more + between), *range(batch, batch + more)]
    return call("transpose", result, axes=[*back, *range(len(back), rank + more - 1)])


_BATCHED = by_definition(_batched_take)


def _to_front(rank: int, axis: int) -> list[int]:
    return [axis, *(at for at in range(rank) if at != axis)]


def _from_front(rank: int, axis: int) -> list[int]:
    order = _to_front(rank, axis)
    return [order.index(at) for at in range(rank)]


def gather(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, added into zeros at the selected elements."""
    data, indices = orig.args
    summed = call(
        "scatter_elements", call("zeros_like", data), indices, grad, axis=attrs_of(orig)["axis"], reduction="add"
    )
    return [summed, call("zeros_like", indices)]


def gather_nd(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, added into zeros at the indices, prefixed with the number of the sample."""
    data, indices = orig.args
    batch, positions = attrs_of(orig)["batch_dims"], indices
    if batch:
        used = sizes_of(indices, "gather_nd")[1:]
        lead = call("stack", Tuple([_number(used, at) for at in range(batch)]), axis=0)
        positions = call("concatenate", Tuple([lead, call("cast", indices, dtype="int64")]), axis=0)
    return [call("scatter_nd", call("zeros_like", data), positions, grad, mode="add"), call("zeros_like", indices)]


def _index_by(attrs: Attrs, inputs: Expr) -> Expr:
    """The elements at multi-dimensional indices whose parts broadcast."""
    ty = inputs.checked_type
    assert isinstance(ty, TupleType)
    types = [field for field in ty.fields if isinstance(field, TensorType)]
    shape = types[1]
    for field in types[1:]:
        shape = TensorType(broadcast_shape(shape, field), "int64")
    parts = [call("cast", TupleGetItem(inputs, i), dtype="int64") for i in range(1, len(types))]
    wide = [call("broadcast_to", part, shape=shape.concrete_shape) for part in parts]
    return call("gather_nd", TupleGetItem(inputs, 0), call("stack", Tuple(wide), axis=0))


adv_index = by_definition(_index_by)


def one_hot(orig: OpCall, grad: Expr) -> list[Expr]:
    """`on_value` receives the gradients at the indices, `off_value` those of the other elements."""
    indices, on, off = orig.args
    attrs = attrs_of(orig)
    one, zero = (Constant(np.array(value, np.float32)) for value in (1, 0))
    shape = {"depth": attrs["depth"], "axis": attrs["axis"], "dtype": "bool"}
    chosen = call("one_hot", indices, one, zero, **shape)
    none = call("zeros_like", grad)
    parts = [call("where", chosen, grad, none), call("where", chosen, none, grad)]
    slopes = [call("cast_like", call("sum", part), value) for part, value in zip(parts, (on, off), strict=True)]
    return [call("zeros_like", indices), *slopes]
