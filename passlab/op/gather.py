"""Operators that select elements by index: take, gather, gather_nd, adv_index, one_hot, argwhere, unravel_index.

A negative index counts from the end. An index outside a dimension raises `RunError`, unless the mode of `take` clips or
wraps it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Reporter
from passlab.ir.types import ANY, Shape, TensorType, Type
from passlab.op import gather_gradients
from passlab.op.attr_fields import attrs, dtype, integer, text
from passlab.op.autodiff import zero_gradient
from passlab.op.create import scalar
from passlab.op.declare import Dynamic, Python, operator
from passlab.op.dtypes import Array, array_dtype, as_array, guard_size
from passlab.op.relations import broadcast_shape, join_dim, normal_axis, on_tensors, refuse, tensor, tensor_fields


def index_tensor(types: Sequence[Type], index: int, name: str = "indices") -> TensorType | None:
    """Return input `index` as a tensor of integers, None while unknown. Raises `RelationError` if it is not one."""
    ty = tensor(types, index, name)
    if ty is not None and "int" not in ty.dtype:
        refuse(f"{name} must be integers", index, expected="an integer dtype", found=ty.dtype)
    return ty


def normal_indices(indices: Array, extent: int, what: str) -> Array:
    """Return `indices` counted from 0. Raises `RunError` naming the first one outside a dimension of `extent`."""
    wide = indices.astype(np.int64, copy=False)
    outside = (wide < -extent) | (wide >= extent)
    if outside.any():
        index = int(wide[outside].flat[0])
        raise RunError(
            Diagnostic(f"{what}: index {index} is outside a dimension of {extent}", expected=f"{-extent}..{extent - 1}")
        )
    return np.where(wide < 0, wide + extent, wide)


# ---------------------------------------------------------------- take
def _batch_dims(attrs: Attrs, rank: int) -> int:
    count = attrs.batch_dims + rank if attrs.batch_dims < 0 else attrs.batch_dims
    if not 0 <= count <= rank:
        refuse(f"batch_dims {attrs.batch_dims} is outside the {rank} dimensions of indices", 1)
    return int(count)


def _take_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, indices = tensor(types, 0, "data"), index_tensor(types, 1)
    if data is None or indices is None:
        return None
    if attrs.axis is None:
        return TensorType(indices.shape, data.dtype)
    axis, batch = normal_axis(attrs.axis, len(data.shape)), _batch_dims(attrs, len(indices.shape))
    if batch > axis:
        refuse(f"batch_dims {batch} is beyond the axis {axis}", 1)
    for dim in range(batch):
        if join_dim(data.shape[dim], indices.shape[dim]) is None:
            refuse(f"batch dimension {dim} is {data.shape[dim]} in data and {indices.shape[dim]} in indices", 1)
    return TensorType((*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :]), data.dtype)


@operator(
    "take",
    ("data", "indices"),
    attrs=attrs(
        "TakeAttrs",
        integer("batch_dims", 0, doc="leading dimensions that data and indices share"),
        integer("axis", None, doc="the dimension to select along, None for all elements in order"),
        text(
            "mode",
            "clip",
            doc='indices out of range: "clip" them, "wrap" them, or "fast": the caller guarantees that none is',
            choices=("clip", "wrap", "fast"),
        ),
    ),
    relation=_take_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    python=Python("data, indices, axis=None, batch_dims=0, mode='clip'"),
    gradient=gather_gradients.take,
    shapes="data (..., n, ...), indices I -> (..., I, ...)",
    source="np.take",
    edge_cases=(
        "take(%x: (2, 3), %i: (2, 2) int32 = [[0, 1], [1, 7]], axis=-1)",
        'take(%x: (2, 3), %i: (2) int64 = [-4, 3], axis=0, mode="wrap")',
        "take(%x: (2, 3), %i: () int32 = 4)",
        "take(%x: (2, 3), %i: (0) int32, axis=0)",
        "take(%x: (2, 3, 2), %i: (2, 1) int32 = [[0], [2]], axis=1, batch_dims=1)",
    ),
    precision=Precision.FOLLOW,
)
def take(attrs: Attrs, data: Array, indices: Array) -> Array:
    """Select elements or slices along one dimension. In mode "clip" negative indices mean 0."""
    extent = data.size if attrs.axis is None else data.shape[attrs.axis]
    if extent == 0 and indices.size:
        raise RunError(Diagnostic("take: there is no element to select from"))
    if attrs.mode == "fast":
        indices = normal_indices(indices, extent, "take")
    elif attrs.mode == "clip":
        indices = np.clip(indices, 0, max(extent - 1, 0))
    else:
        indices = indices % max(extent, 1)
    batch = 0 if attrs.axis is None else _batch_dims(attrs, indices.ndim)
    if not batch:
        return as_array(np.take(data, indices, attrs.axis))
    axis = attrs.axis % data.ndim
    count = math.prod(data.shape[:batch])
    rows = data.reshape(count, math.prod(data.shape[batch:axis]), extent, math.prod(data.shape[axis + 1 :]))
    positions = indices.reshape(count, 1, math.prod(indices.shape[batch:]), 1)
    result = np.take_along_axis(rows, positions.astype(np.int64), axis=2)
    return result.reshape((*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :]))


# ---------------------------------------------------------------- gather
def _gather_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, indices = tensor(types, 0, "data"), index_tensor(types, 1)
    if data is None or indices is None:
        return None
    if attrs.axis is None:
        refuse("axis is missing", hint="give `axis=0`")
    axis = normal_axis(attrs.axis, len(data.shape))
    if len(indices.shape) != len(data.shape):
        refuse("indices must have as many dimensions as data", 1, expected=len(data.shape), found=len(indices.shape))
    for dim, (extent, length) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if dim != axis and type(extent) is int and type(length) is int and length > extent:
            refuse(
                f"dimension {dim} of indices is larger than the same dimension of data",
                1,
                expected=f"at most {extent}",
                found=length,
            )
    return TensorType(indices.shape, data.dtype)


def axis_grid(indices: Array, axis: int, extent: int, what: str) -> tuple[Array, ...]:
    """Return index arrays that use `indices` along `axis` and the element's own index along the other axes."""
    grid: list[Array] = list(np.indices(indices.shape, sparse=True))
    grid[axis] = normal_indices(indices, extent, what)
    return tuple(grid)


@operator(
    "gather",
    ("data", "indices"),
    attrs=attrs("GatherAttrs", integer("axis", None, doc="the dimension that indices index")),
    relation=_gather_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    python=Python("data, axis, indices"),
    gradient=gather_gradients.gather,
    shapes="data, indices I of the same rank -> I",
    source="PyTorch's gather",
    edge_cases=(
        "gather(%x: (2, 3), %i: (2, 1) int32 = [[0], [2]], axis=-1)",
        "gather(%x: (2, 3), %i: (1, 3) int64 = [[1, -1, 0]], axis=0)",
        "gather(%x: (2, 3), %i: (0, 3) int32, axis=0)",
    ),
)
def gather(attrs: Attrs, data: Array, indices: Array) -> Array:
    """For each position in `indices`, the element of `data` at that position with the index along `axis` replaced."""
    axis = attrs.axis % data.ndim
    return data[axis_grid(indices, axis, data.shape[axis], "gather")]


# ---------------------------------------------------------------- gather_nd
def _gather_nd_shape(data: Shape, indices: Shape, attrs: Attrs) -> Shape:
    if not indices:
        refuse("indices must have at least one dimension", 1)
    depth = indices[0] if type(indices[0]) is int else attrs.index_rank
    if depth is None:
        refuse("the number of dimensions of an index is not known", 1, found=list(indices), hint="give `index_rank`")
    batch = attrs.batch_dims
    if batch < 0 or batch + depth > len(data) or batch > len(indices) - 1:
        refuse(f"indices of {depth} parts do not fit data of {len(data)} dimensions", 1, found=f"batch_dims={batch}")
    for dim in range(batch):
        if join_dim(data[dim], indices[1 + dim]) is None:
            refuse(f"batch dimension {dim} is {data[dim]} in data and {indices[1 + dim]} in indices", 1)
    return (*indices[1:], *data[batch + depth :])


def _gather_nd_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, indices = tensor(types, 0, "data"), index_tensor(types, 1)
    if data is None or indices is None:
        return None
    return TensorType(_gather_nd_shape(data.shape, indices.shape, attrs), data.dtype)


@operator(
    "gather_nd",
    ("data", "indices"),
    attrs=attrs(
        "GatherNDAttrs",
        integer("batch_dims", 0, doc="leading dimensions that data and indices share"),
        integer("index_rank", None, doc="the first dimension of indices, if it is not known"),
    ),
    relation=_gather_nd_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=gather_gradients.gather_nd,
    shapes="data (d0, ...), indices (m, I) -> (I, d[m], ...)",
    source="TensorFlow's gather_nd, its index dimension first",
    edge_cases=(
        "gather_nd(%x: (2, 3, 2), %i: (2, 2) int32 = [[0, 1], [2, 0]])",
        "gather_nd(%x: (2, 3), %i: (1, 0) int64)",
        "gather_nd(%x: (2, 3), %i: (1, 2) int32 = [[1, 2]], batch_dims=1)",
    ),
)
def gather_nd(attrs: Attrs, data: Array, indices: Array) -> Array:
    """Select elements or slices by multi-dimensional indices: `indices[:, ...]` is one index into `data`."""
    batch = attrs.batch_dims
    parts = [normal_indices(part, data.shape[batch + dim], "gather_nd") for dim, part in enumerate(indices)]
    grid: list[Array] = list(np.indices(indices.shape[1 : 1 + batch], sparse=True))
    window_rank = indices.ndim - 1 - batch
    batch_indices = [axis.reshape(axis.shape + (1,) * window_rank) for axis in grid]
    return (
        as_array(data[(*batch_indices, *parts)])
        if batch_indices or parts
        else np.broadcast_to(data, indices.shape[1:] + data.shape).copy()
    )


# ---------------------------------------------------------------- adv_index
def _adv_index_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    fields = tensor_fields(types, "inputs")
    if fields is None:
        return None
    if len(fields) < 2 or len(fields) - 1 > len(fields[0].shape):
        refuse(
            "adv_index needs data and at most one index for each of its dimensions", 0, found=f"{len(fields)} fields"
        )
    shape = fields[1]
    for field in fields[1:]:
        if "int" not in field.dtype:
            refuse("an index must be integers", 0, expected="an integer dtype", found=field.dtype)
        shape = TensorType(broadcast_shape(shape, field), "int64")
    return TensorType((*shape.shape, *fields[0].shape[len(fields) - 1 :]), fields[0].dtype)


@operator(
    "adv_index",
    ("inputs",),
    relation=_adv_index_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=gather_gradients.adv_index,
    shapes="data (d0, ...), n index tensors, which broadcast to I -> (I, d[n], ...)",
    source="NumPy's advanced indexing",
    edge_cases=(
        "adv_index((%x: (2, 3), %i: (2) int32 = [0, 1], %j: (2, 1) int64 = [[2], [-1]]))",
        "adv_index((%x: (2, 3), %i: (0) int32))",
    ),
)
def adv_index(attrs: Attrs, inputs: tuple[Array, ...]) -> Array:
    """NumPy's advanced indexing: the first field of `inputs`, indexed along its first dimensions by the others."""
    data, *indices = inputs
    return as_array(data[tuple(normal_indices(part, data.shape[dim], "adv_index") for dim, part in enumerate(indices))])


# ---------------------------------------------------------------- one_hot
ONE_HOT = attrs(
    "OneHotAttrs",
    integer("depth", 1, doc="the size of the new dimension"),
    integer("axis", -1, doc="the index of the new dimension, -1 for the end"),
    dtype("dtype", "", doc="the dtype of the result"),
)


def one_hot_shape(indices: Shape, axis: int, depth: Any) -> Shape:
    """Return the shape of `one_hot`."""
    position = len(indices) if axis == -1 else normal_axis(axis, len(indices) + 1)
    return (*indices[:position], depth, *indices[position:])


def one_hot_depth(depth: int) -> int:
    """Return the depth. Raises `RelationError` unless it is at least 1."""
    if depth <= 0:
        refuse("depth must be at least 1", found=depth)
    return depth


def one_hot_array(
    indices: Array, on_value: Array, off_value: Array, axis: int, depth: int, dtype: np.dtype[Any]
) -> Array:
    """Return `on_value` where the position along the new dimension equals the index, `off_value` elsewhere."""
    guard_size((indices.size, depth), dtype, "one_hot")
    position = indices.ndim if axis == -1 else axis % (indices.ndim + 1)
    positions = np.arange(depth).reshape((depth,) + (1,) * (indices.ndim - position))
    return np.where(np.expand_dims(indices, position) == positions, on_value.astype(dtype), off_value.astype(dtype))


def _one_hot_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    indices = index_tensor(types, 0)
    on = scalar(types, 1, "on_value")
    scalar(types, 2, "off_value")
    if indices is None or (on is None and not attrs.dtype):
        return None
    return TensorType(
        one_hot_shape(indices.shape, attrs.axis, one_hot_depth(attrs.depth)), attrs.dtype or (on.dtype if on else "")
    )


@operator(
    "one_hot",
    ("indices", "on_value", "off_value"),
    attrs=ONE_HOT,
    relation=_one_hot_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    silenced=True,
    python=Python("indices, on_value, off_value, depth, axis, dtype", dynamic=Dynamic("dyn.one_hot")),
    gradient=gather_gradients.one_hot,
    shapes="indices S, on_value, off_value () -> S with depth inserted at axis",
    source="a row of the identity matrix for each index",
    edge_cases=(
        'one_hot(%i: (2, 2) int32 = [[0, 1], [5, -1]], %v: (), %w: (), depth=3, dtype="T")',
        'one_hot(%i: () int64 = 1, %v: (), %w: (), depth=2, axis=0, dtype="T")',
        'one_hot(%i: (0) int32, %v: (), %w: (), depth=2, dtype="T")',
    ),
)
def one_hot(attrs: Attrs, indices: Array, on_value: Array, off_value: Array) -> Array:
    """A vector for each index, with `on_value` at the index and `off_value` elsewhere; an index may be out of range."""
    result_dtype = array_dtype(attrs.dtype) if attrs.dtype else on_value.dtype
    return one_hot_array(indices, on_value, off_value, attrs.axis, attrs.depth, result_dtype)


# ---------------------------------------------------------------- argwhere
@on_tensors
def _argwhere_type(attrs: Attrs, condition: TensorType) -> Type:
    return TensorType((ANY, len(condition.shape)), "int32")


def _argwhere_shape(attrs: Attrs, condition: Array) -> Type:
    return TensorType((int(np.count_nonzero(condition)), condition.ndim), "int32")


@operator(
    "argwhere",
    ("condition",),
    relation=_argwhere_type,
    shape_function=_argwhere_shape,
    gradient=zero_gradient,
    precision=Precision.FOLLOW,
    shapes="S of rank r -> (count, r)",
    source="np.argwhere",
    edge_cases=("argwhere(%c: (2, 3))", "argwhere(%c: ())", "argwhere(%c: (0, 3))"),
)
def argwhere(attrs: Attrs, condition: Array) -> Array:
    """The indices of the nonzero elements, one row for each, in order."""
    return np.argwhere(condition).astype(np.int32)


# ---------------------------------------------------------------- unravel_index
def _unravel_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, shape = index_tensor(types, 0, "data"), index_tensor(types, 1, "shape")
    if data is None or shape is None:
        return None
    if len(data.shape) > 1:
        refuse("the indices must be a scalar or a vector", 0, found=data)
    if len(shape.shape) != 1:
        refuse("shape must be a vector of integers", 1, found=shape)
    return TensorType((shape.shape[0], *data.shape), data.dtype)


@operator(
    "unravel_index",
    ("data", "shape"),
    relation=_unravel_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=zero_gradient,
    python=Python("indices, shape", names={"indices": "data"}),
    shapes="indices I, shape (r) -> (r, I)",
    source="np.unravel_index",
    edge_cases=(
        "unravel_index(%i: (3) int32 = [0, 3, 5], %shape: (2) int32 = [2, 3])",
        "unravel_index(%i: () int64 = 4, %s: (2) int64 = [2, 3])",
        "unravel_index(%i: (0) int32, %s: (2) int32 = [2, 3])",
    ),
)
def unravel_index(attrs: Attrs, data: Array, shape: Array) -> Array:
    """The multi-dimensional indices, in a tensor of `shape`, of the elements with the flat indices `data`."""
    flat = normal_indices(data, math.prod(shape.tolist()), "unravel_index")
    return np.array(np.unravel_index(flat, tuple(shape.tolist()))).astype(data.dtype).reshape((shape.size, *data.shape))
