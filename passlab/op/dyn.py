"""Operators whose shape is an input instead of an attribute. The size of the result is known at run time.

Each shares its attribute record and its computation with the operator of the same name without `dyn`; the attributes
that became inputs are left empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Precision, Reporter, Trait
from passlab.ir.types import ANY, Dim, Shape, TensorType, Type
from passlab.op import dyn_gradients, scatter_gradients
from passlab.op.attr_fields import attrs, integer
from passlab.op.autodiff import zero_gradient
from passlab.op.create import INIT, scalar
from passlab.op.declare import operator
from passlab.op.dtypes import Array, ArrayOrArrays, array_dtype, filled_array, guard_size
from passlab.op.gather import ONE_HOT, index_tensor, one_hot_array, one_hot_depth, one_hot_shape
from passlab.op.relations import concrete, refuse, tensor
from passlab.op.replicate import TILE, check_broadcast, collapse_gradient, tile_to
from passlab.op.reshape import MOST_DIMENSIONS, RESHAPE, SQUEEZE, infer_newshape, reshape_gradient, squeeze_axes
from passlab.op.scatter import sparse_to_dense_array
from passlab.op.slice import SLICE, sliced_dim, slices_of
from passlab.op.sort import TOPK, topk_arrays, topk_results, topk_type


def shape_length(types: Sequence[Type], index: int, name: str, *, floats: bool = False) -> int | None:
    """Return the length of the vector `index`, None while it is unknown. Raises `RelationError` if it is not a vector.

    Its elements are integers; with `floats` they may be whole numbers of any dtype.
    """
    ty = tensor(types, index, name) if floats else index_tensor(types, index, name)
    if ty is None:
        return None
    if len(ty.shape) > 1:
        refuse(f"{name} must be a vector of integers", index, found=ty)
    if not ty.shape:
        return 1
    length = ty.shape[0]
    if type(length) is not int:
        refuse(f"the length of {name} must be known, as it is the rank of the result", index, found=ty)
    return length


def _sizes(vector: Array) -> tuple[int, ...]:
    """Return the elements of a computed shape. Raises `RunError` for negative ones."""
    result = tuple(vector.reshape(-1).tolist())
    if any(size < 0 for size in result):
        raise RunError(Diagnostic("a shape has no negative sizes", found=str(list(result))))
    return result


# ---------------------------------------------------------------- zeros, ones, full
def _shape_only_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    rank = shape_length(types, 0, "shape")
    if not attrs.dtype:
        refuse("the dtype is missing", hint='give `dtype="float32"`')
    return None if rank is None else TensorType((ANY,) * rank, attrs.dtype)


def _filled_operator(name: str, value: int, doc: str) -> Op:
    def kernel(attrs: Attrs, shape: Array) -> Array:
        return filled_array(_sizes(shape), array_dtype(attrs.dtype), value, name)

    def shape_function(attrs: Attrs, shape: Array) -> Type:
        return TensorType(_sizes(shape), attrs.dtype)

    return operator(
        name, ("shape",), attrs=INIT, relation=_shape_only_type, shape_function=shape_function,
        pattern=OpPattern.ELEMWISE,
        level=3, doc=doc, gradient=zero_gradient,
        shapes="shape (rank) -> shape", source="np.full",
        edge_cases=(
            f'{name}(%s: (2) int64 = [2, 3], shape=None, dtype="T")', f'{name}(%s: (0) int64, shape=None, dtype="T")',
            f'{name}(%s: (2) int32 = [0, 3], shape=None, dtype="T")',
        ),
    )(kernel)  # fmt: skip


zeros = _filled_operator("dyn.zeros", 0, "A tensor of zeros with the shape that a vector holds.")
ones = _filled_operator("dyn.ones", 1, "A tensor of ones with the shape that a vector holds.")


def _full_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    value, rank = scalar(types, 0, "fill_value"), shape_length(types, 1, "shape")
    return None if value is None or rank is None else TensorType((ANY,) * rank, attrs.dtype or value.dtype)


def _full_shape(attrs: Attrs, fill_value: Array, shape: Array) -> Type:
    return TensorType(_sizes(shape), attrs.dtype or fill_value.dtype)


@operator(
    "dyn.full", ("fill_value", "shape"), attrs=INIT, relation=_full_type, shape_function=_full_shape,
    pattern=OpPattern.ELEMWISE, gradient=dyn_gradients.full,
    level=3, silenced=True,
    shapes="fill_value (), shape (rank) -> shape",
    source="np.full",
    edge_cases=(
        'dyn.full(%v: (), %shape: (2) int64 = [2, 3], shape=None, dtype="T")',
        'dyn.full(%v: (), %s: (2) int32 = [0, 3], shape=None, dtype="T")',
        'dyn.full(%v: (), %s: (0) int64, shape=None, dtype="T")',
    ),
    precision=Precision.FOLLOW,
)  # fmt: skip
def full(attrs: Attrs, fill_value: Array, shape: Array) -> Array:
    """A tensor filled with one value, with the shape that a vector holds."""
    result_dtype = array_dtype(attrs.dtype) if attrs.dtype else fill_value.dtype
    return filled_array(_sizes(shape), result_dtype, fill_value.astype(result_dtype), "dyn.full")


# ---------------------------------------------------------------- operators on data and a vector
Rule = Callable[[Shape, Sequence[int], Any], Shape]


def _entries(vector: Array, name: str) -> list[int]:
    """Return the elements of a vector as integers. Raises `RunError` for one that is not whole."""
    if vector.dtype.kind in "iu":
        return vector.reshape(-1).tolist()
    entries = vector.reshape(-1).astype(np.float64)
    if not np.array_equal(entries, np.trunc(entries)) or np.isinf(entries).any():
        raise RunError(Diagnostic(f"{name} must be whole numbers", found=str(entries.tolist())))
    return [int(entry) for entry in entries.tolist()]


def _data_and_vector(
    name: str, vector: str, record: Any, rule: Rule, work: Callable[[Any, Array, tuple[int, ...]], Array],
    rank: Callable[[int, int, Any], int], doc: str, floats: bool = False, **facts: Any,
) -> Op:  # fmt: skip
    """Declare an operator on data and a vector. `rule` computes the result's shape at run time, `rank` its rank."""

    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        data, length = tensor(types, 0, "data"), shape_length(types, 1, vector, floats=floats)
        if data is None or length is None:
            return None
        dims = rank(len(data.shape), length, attrs)
        if dims > MOST_DIMENSIONS:
            refuse(f"the result would have {dims} dimensions", expected=f"{MOST_DIMENSIONS} at most")
        if dims < 0:
            refuse(f"{vector} has {length} entries for {len(data.shape)} dimensions", 1)
        return TensorType((ANY,) * dims, data.dtype)

    def shape_function(attrs: Attrs, data: Array, values: Array) -> Type:
        return TensorType(rule(data.shape, _entries(values, vector), attrs), data.dtype)

    def kernel(attrs: Attrs, data: Array, values: Array) -> Array:
        result = concrete(rule(data.shape, _entries(values, vector), attrs))
        guard_size(result, data.dtype, name)
        return work(attrs, data, result)

    return operator(
        name, ("data", vector), attrs=record, relation=relation, shape_function=shape_function, doc=doc,
        **facts,
    )(kernel)  # fmt: skip


def _reshape_to(attrs: Attrs, data: Array, shape: tuple[int, ...]) -> Array:
    return data.reshape(shape)


reshape = _data_and_vector(
    "dyn.reshape", "newshape", RESHAPE, lambda shape, values, attrs: infer_newshape(shape, values, attrs.allowzero),
    _reshape_to,
    lambda rank, length, attrs: length, "The elements in the shape that a vector holds, with the codes of `reshape`.",
    precision=Precision.FOLLOW, pattern=OpPattern.INJECTIVE, level=3, gradient=reshape_gradient,
    shapes="data (...), newshape (rank) -> newshape",
    source="np.reshape, with Relay's codes",
    edge_cases=(
        "dyn.reshape(%x: (2, 3), %shape: (2) int64 = [3, -1], newshape=[])",
        "dyn.reshape(%x: (1), %s: (0) int32, newshape=[])",
        "dyn.reshape(%x: (0, 3), %s: (2) int64 = [0, 3], newshape=[])",
    ),
    traits=Trait.RESHAPES | Trait.MOVES,
)  # fmt: skip

squeeze = _data_and_vector(
    "dyn.squeeze", "axes", SQUEEZE, lambda shape, values, attrs: squeeze_axes(shape, values), _reshape_to,
    lambda rank, length, attrs: rank - length, "Drop the dimensions of size 1 that a vector names.",
    pattern=OpPattern.INJECTIVE, level=3, gradient=reshape_gradient,
    shapes="data (..., 1, ...), axes (k) -> (..., ...)",
    source="np.squeeze",
    edge_cases=(
        "dyn.squeeze(%x: (1, 3, 1), %axes: (1) int64 = [-1], axis=[])",
        "dyn.squeeze(%x: (1, 0), %a: (1) int32 = [0], axis=[])",
    ),
)  # fmt: skip


def _broadcast_shape(shape: Shape, values: Sequence[int], attrs: Attrs) -> Shape:
    check_broadcast(shape, tuple(values))
    return tuple(values)


broadcast_to = _data_and_vector(
    "dyn.broadcast_to", "shape", INIT, _broadcast_shape, lambda attrs, data,
    shape: np.array(np.broadcast_to(data, shape)),
    lambda rank, length, attrs: length, "Repeat the elements up to the shape that a vector holds.",
    precision=Precision.FOLLOW, pattern=OpPattern.BROADCAST, level=4, gradient=collapse_gradient,
    shapes="data (...), shape (rank) -> shape",
    source="np.broadcast_to",
    edge_cases=(
        "dyn.broadcast_to(%x: (3, 1), %s: (3) int64 = [2, 3, 4], shape=None)",
        "dyn.broadcast_to(%x: (1, 3), %s: (2) int32 = [0, 3], shape=None)",
    ),
)  # fmt: skip


def _expanded_rank(rank: int, length: int, attrs: Attrs) -> int:
    if attrs.num_newaxis < 0:
        refuse(f"num_newaxis is {attrs.num_newaxis}", 0, expected="a number of new dimensions")
    added: int = attrs.num_newaxis
    return rank + added


def _expand(shape: Shape, values: Sequence[int], attrs: Attrs) -> Shape:
    if len(values) != 1 or not -len(shape) - 1 <= values[0] <= len(shape):
        refuse(f"axis {list(values)} is outside the rank {len(shape)} of the data and its end", 1)
    position = values[0] + (len(shape) + 1 if values[0] < 0 else 0)
    return (*shape[:position], *([1] * attrs.num_newaxis), *shape[position:])


expand_dims = _data_and_vector(
    "dyn.expand_dims", "axis",
    attrs("DynExpandDimsAttrs", integer("num_newaxis", 1, doc="the number of new dimensions")),
    _expand, _reshape_to, _expanded_rank,
    "Insert dimensions of size 1 at the index that a scalar holds.", pattern=OpPattern.INJECTIVE, level=3,
    gradient=reshape_gradient,
    shapes="data (...), axis () -> (..., 1, ...)",
    source="np.expand_dims",
    edge_cases=(
        "dyn.expand_dims(%x: (2, 3), %axis: () int64 = -1)",
        "dyn.expand_dims(%x: (), %a: () int64 = 0, num_newaxis=2)",
        "dyn.expand_dims(%x: (0, 3), %a: () int64 = 1)",
    ),
)  # fmt: skip


def _tile(attrs: Attrs, data: Array, shape: tuple[int, ...]) -> Array:
    long = (1,) * (len(shape) - data.ndim) + data.shape
    return np.tile(data, [new // old if old else 0 for new, old in zip(shape, long, strict=True)])


tile = _data_and_vector(
    "dyn.tile", "reps", TILE, lambda shape, values, attrs: tile_to(shape, values), _tile,
    lambda rank, length, attrs: max(rank, length), "Repeat a tensor as a whole, as often as a vector says.",
    floats=True, precision=Precision.FOLLOW, pattern=OpPattern.INJECTIVE, level=3, gradient=dyn_gradients.tile,
    shapes="data (d0, ...), reps (rank) -> (d0 * reps[0], ...)",
    source="np.tile",
    edge_cases=(
        "dyn.tile(%x: (2, 3), %reps: (2) int64 = [2, 1], reps=[])",
        "dyn.tile(%x: (2, 3), %r: (3) int32 = [2, 0, 1], reps=[])",
        "dyn.tile(%x: (2, 3), %r: (2) float32 = [1, 3], reps=[])",
    ),
)  # fmt: skip


# ---------------------------------------------------------------- strided_slice
def _slice_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    lengths: list[Dim] = []
    for index, name in enumerate(("begin", "end", "strides"), start=1):
        bound = index_tensor(types, index, name)
        if bound is not None and len(bound.shape) != 1:
            refuse(f"{name} must be a vector of integers", index, found=bound)
        lengths.append(ANY if bound is None else bound.shape[0])
    if data is None:
        return None
    constants = [length for length in lengths if isinstance(length, int)]
    leading = range(max(constants) if len(constants) == len(lengths) else len(data.shape))
    sliced = leading if attrs.axes is None else attrs.axes
    return TensorType(tuple([ANY if axis in sliced else dim for axis, dim in enumerate(data.shape)]), data.dtype)


def _slices(attrs: Attrs, data: Array, bounds: Sequence[Array]) -> list[slice]:
    begin, end, strides = (bound.tolist() for bound in bounds)
    return slices_of(data.ndim, begin, end, strides, attrs.slice_mode, attrs.axes)


def _slice_shape(attrs: Attrs, data: Array, *bounds: Array) -> Type:
    slices = _slices(attrs, data, bounds)
    return TensorType(tuple([sliced_dim(dim, cut) for dim, cut in zip(data.shape, slices, strict=True)]), data.dtype)


@operator(
    "dyn.strided_slice", ("data", "begin", "end", "strides"), attrs=SLICE, relation=_slice_type,
    shape_function=_slice_shape,
    pattern=OpPattern.INJECTIVE, level=4, gradient=dyn_gradients.strided_slice,
    shapes="data (d0, ...), begin, end, strides (rank) -> (ceil((end - begin) / strides), ...)",
    source="NumPy's basic slicing",
    edge_cases=(
        ("dyn.strided_slice(%x: (4, 5), %begin: (2) int64 = [-1, 1], %end: (2) int64 = [-5, 99], "
        "%strides: (2) int64 = [-2, 2], begin=None, end=None, strides=None, axes=None)"),
        ("dyn.strided_slice(%x: (3), %b: (1) int32 = [1], %e: (1) int32 = [1], %s: (1) int32 = [1], begin=None, "
        'end=None, strides=None, slice_mode="size", axes=None)'),
    ),
    precision=Precision.FOLLOW,
)  # fmt: skip
def strided_slice(attrs: Attrs, data: Array, begin: Array, end: Array, strides: Array) -> Array:
    """Cut a box out of a tensor, as Python's slices do, at bounds that vectors hold."""
    return data[tuple(_slices(attrs, data, (begin, end, strides)))]


# ---------------------------------------------------------------- topk
def _topk_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, k = tensor(types, 0, "data"), tensor(types, 1, "k")
    if k is not None and k.shape not in ((), (1,), (ANY,)):
        refuse("k must be a scalar", 1, found=k)
    return None if data is None or k is None else topk_type(data, attrs, ANY)


def _topk_shape(attrs: Attrs, data: Array, k: Array) -> Type:
    return topk_type(TensorType(data.shape, data.dtype), attrs, int(k.item()))


@operator(
    "dyn.topk", ("data", "k"), attrs=TOPK, relation=_topk_type, shape_function=_topk_shape,
    level=6, gradient=dyn_gradients.topk,
    results=topk_results,
    shapes="(..., n, ...), k () -> (..., k, ...), values and positions",
    source="np.argsort, stable",
    edge_cases=(
        'dyn.topk(%x: (2, 4), %k: () int32 = 2, k=None, dtype="int32")',
        'dyn.topk(%x: (3, 2), %k: () int64 = 1, k=None, axis=0, is_ascend=True, ret_type="values")',
        'dyn.topk(%x: (0, 3), %k: () int32 = 2, k=None, axis=1, dtype="int32")',
    ),
)  # fmt: skip
def topk(attrs: Attrs, data: Array, k: Array) -> ArrayOrArrays:
    """The k largest elements along one dimension in sorted order, with their indices; k is a scalar tensor."""
    return topk_arrays(data, attrs, int(k.item()))


# ---------------------------------------------------------------- one_hot
def _one_hot_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    indices, on, off = index_tensor(types, 0), scalar(types, 1, "on_value"), scalar(types, 2, "off_value")
    depth = index_tensor(types, 3, "depth")
    if depth is not None and depth.shape not in ((), (1,), (ANY,)):
        refuse("depth must be a scalar", 3, found=depth)
    if indices is None or on is None or off is None:
        return None
    return TensorType(one_hot_shape(indices.shape, attrs.axis, ANY), attrs.dtype or on.dtype)


def _one_hot_result(attrs: Attrs, indices: Array, on_value: Array, off_value: Array, depth: Array) -> Type:
    size = one_hot_depth(int(depth.item()))
    return TensorType(one_hot_shape(indices.shape, attrs.axis, size), attrs.dtype or on_value.dtype)


@operator(
    "dyn.one_hot", ("indices", "on_value", "off_value", "depth"), attrs=ONE_HOT, relation=_one_hot_type,
    shape_function=_one_hot_result, pattern=OpPattern.OUT_ELEMWISE_FUSABLE, silenced=True,
    gradient=dyn_gradients.one_hot,
    shapes="indices S, on_value, off_value, depth () -> S with depth inserted at axis",
    source="a row of the identity matrix for each index",
    edge_cases=(
        'dyn.one_hot(%i: (2, 2) int32 = [[0, 1], [5, -1]], %v: (), %w: (), %d: () int32 = 3, depth=0, dtype="T")',
        'dyn.one_hot(%i: (0) int32, %v: (), %w: (), %d: () int32 = 2, depth=0, axis=0, dtype="T")',
    ),
)  # fmt: skip
def one_hot(attrs: Attrs, indices: Array, on_value: Array, off_value: Array, depth: Array) -> Array:
    """A vector of length `depth` for each index, with `on_value` at the index and `off_value` elsewhere."""
    result_dtype = array_dtype(attrs.dtype) if attrs.dtype else on_value.dtype
    return one_hot_array(indices, on_value, off_value, attrs.axis, one_hot_depth(int(depth.item())), result_dtype)


# ---------------------------------------------------------------- sparse_to_dense
def _dense_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    indices, values = index_tensor(types, 0, "sparse_indices"), tensor(types, 1, "sparse_values")
    default, rank = scalar(types, 2, "default_value"), shape_length(types, 3, "output_shape")
    if indices is None or values is None or default is None or rank is None:
        return None
    return TensorType((ANY,) * rank, values.dtype)


def _dense_shape(attrs: Attrs, indices: Array, values: Array, default: Array, output_shape: Array) -> Type:
    return TensorType(_sizes(output_shape), values.dtype)


@operator(
    "dyn.sparse_to_dense", ("sparse_indices", "sparse_values", "default_value", "output_shape"), relation=_dense_type,
    shape_function=_dense_shape, level=3,
    gradient=scatter_gradients.sparse_to_dense,
    shapes=(
        "sparse_indices (n, r) or (n) or (), sparse_values (n) or (), default_value (), "
        "output_shape (r) -> output_shape"
    ),
    source="TensorFlow's sparse_to_dense",
    edge_cases=(
        "dyn.sparse_to_dense(%i: (2, 2) int32 = [[0, 1], [1, 0]], %v: (2), %d: (), %s: (2) int64 = [2, 3])",
        "dyn.sparse_to_dense(%i: (2) int64 = [0, 3], %v: (2), %d: (), %s: (1) int32 = [4])",
    ),
)  # fmt: skip
def sparse_to_dense(
    attrs: Attrs, sparse_indices: Array, sparse_values: Array, default_value: Array, output_shape: Array
) -> Array:
    """A tensor with the shape that a vector holds, with `default_value` everywhere except at the sparse indices."""
    return sparse_to_dense_array(sparse_indices, sparse_values, default_value, _sizes(output_shape))
