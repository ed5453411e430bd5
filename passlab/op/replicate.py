"""Operators that enlarge a tensor by repeating its elements, and their inverses, which sum the copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpCall, OpPattern, Precision, Trait
from passlab.ir.types import ANY, Shape, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, integer, integers
from passlab.op.autodiff import gradient_by
from passlab.op.create import INIT
from passlab.op.declare import Dynamic, Python, call, constant_list, operator
from passlab.op.dtypes import Array, as_array, guard_size
from passlab.op.relations import concrete, normal_axis, on_tensors, product, refuse


# ---------------------------------------------------------------- broadcast_to
def check_broadcast(data: Shape, target: Shape) -> None:
    """Raise `RelationError` unless `data` broadcasts to exactly `target`."""
    if len(data) > len(target):
        refuse(
            f"data of {len(data)} dimensions cannot be broadcast to {len(target)}",
            0,
            expected=list(target),
            found=list(data),
        )
    for length, size in zip(data[::-1], target[::-1], strict=False):
        if length != 1 and length != size and length is not ANY and size is not ANY:
            refuse(f"a dimension of {length} cannot be broadcast to {size}", 0, expected=list(target), found=list(data))


@on_tensors
def _broadcast_to_type(attrs: Attrs, data: TensorType) -> Type:
    if attrs.shape is None:
        refuse("the shape is missing", hint="give `shape=[...]`")
    check_broadcast(data.shape, attrs.shape)
    return TensorType(attrs.shape, data.dtype)


collapse_gradient = gradient_by("collapse_sum_like")  # of broadcasting: the sum over the copies of an element
_broadcast_gradient = gradient_by("broadcast_to_like")


@operator(
    "broadcast_to",
    ("data",),
    attrs=INIT,
    relation=_broadcast_to_type,
    pattern=OpPattern.BROADCAST,
    level=4,
    python=Python("data, shape", dynamic=Dynamic("dyn.broadcast_to"), shape=constant_list),
    gradient=collapse_gradient,
    shapes="(...) -> shape",
    source="np.broadcast_to",
    edge_cases=(
        "broadcast_to(%x: (3, 1), shape=[2, 3, 4])",
        "broadcast_to(%x: (), shape=[2])",
        "broadcast_to(%x: (1, 3), shape=[0, 3])",
    ),
    layout=layout_rules.permute("shape"),
    traits=Trait.MOVES,
)
def broadcast_to(attrs: Attrs, data: Array) -> Array:
    """Repeat the elements along dimensions of size 1, and along new leading ones, up to the given shape."""
    guard_size(attrs.shape, data.dtype, "broadcast_to")
    return np.array(np.broadcast_to(data, attrs.shape))


@on_tensors
def _broadcast_like_type(attrs: Attrs, data: TensorType, broadcast_type: TensorType) -> Type:
    check_broadcast(data.shape, broadcast_type.shape)
    return TensorType(broadcast_type.shape, data.dtype)


@operator(
    "broadcast_to_like",
    ("data", "broadcast_type"),
    relation=_broadcast_like_type,
    pattern=OpPattern.BROADCAST,
    gradient=collapse_gradient,
    shapes="data (...), broadcast_type S -> S",
    source="np.broadcast_to",
    edge_cases=(
        "broadcast_to_like(%x: (3, 1), %y: (2, 3, 4))",
        "broadcast_to_like(%x: (), %y: ())",
        "broadcast_to_like(%x: (1, 3), %y: (0, 3))",
    ),
    precision=Precision.FOLLOW,
)
def broadcast_to_like(attrs: Attrs, data: Array, broadcast_type: Array) -> Array:
    """Repeat the elements of `data` up to the shape of `broadcast_type`."""
    return np.array(np.broadcast_to(data, broadcast_type.shape))


# ---------------------------------------------------------------- collapse_sum
def collapse(data: Array, shape: Sequence[int]) -> Array:
    """Return `data` summed to `shape`. Raises `RunError` if `shape` does not broadcast to the shape of `data`."""
    leading = data.ndim - len(shape)
    pairs = list(zip(data.shape[max(leading, 0) :], shape, strict=False))
    if leading < 0 or any(size not in (1, length) for length, size in pairs):
        raise RunError(Diagnostic(f"a tensor of shape {list(data.shape)} does not collapse to {list(shape)}"))
    axes = (*range(leading), *(leading + axis for axis, (length, size) in enumerate(pairs) if length != size))
    if not axes:
        return data
    return as_array(np.add.reduce(data, axis=axes, dtype=data.dtype, keepdims=True)).reshape(tuple(shape))


@on_tensors
def _collapse_like_type(attrs: Attrs, data: TensorType, collapse_type: TensorType) -> Type:
    check_broadcast(collapse_type.shape, data.shape)
    return TensorType(collapse_type.shape, data.dtype)


@operator(
    "collapse_sum_like",
    ("data", "collapse_type"),
    relation=_collapse_like_type,
    pattern=OpPattern.COMM_REDUCE,
    silenced=True,
    gradient=_broadcast_gradient,
    shapes="data (...), collapse_type S -> S",
    source="the transpose of np.broadcast_to",
    edge_cases=(
        "collapse_sum_like(%x: (2, 3), %y: (1, 3))",
        "collapse_sum_like(%x: (2, 3), %y: ())",
        "collapse_sum_like(%x: (0, 3), %y: (1, 3))",
    ),
)
def collapse_sum_like(attrs: Attrs, data: Array, collapse_type: Array) -> Array:
    """Sum `data` down to the shape of `collapse_type`, which broadcasts to it."""
    return collapse(data, collapse_type.shape)


@on_tensors
def _collapse_to_type(attrs: Attrs, data: TensorType, shape: TensorType) -> Type:
    if len(shape.shape) != 1 or "int" not in shape.dtype:
        refuse("shape must be a vector of integers", 1, found=shape)
    if type(shape.shape[0]) is not int:
        refuse("the length of shape must be known", 1, found=shape)
    if attrs.shape is None:
        return TensorType((ANY,) * shape.shape[0], data.dtype)
    if len(attrs.shape) != shape.shape[0]:
        refuse(f"the attribute has {len(attrs.shape)} sizes and shape has another length", 1, found=shape)
    check_broadcast(attrs.shape, data.shape)
    return TensorType(attrs.shape, data.dtype)


def _collapse_inputs(values: dict[str, Any]) -> dict[str, Any]:
    """Convert a shape of integers to a constant; the attribute repeats it, None if it is computed at run time."""
    shape = values["shape"]
    if not isinstance(shape, Expr):
        shape = values["shape"] = Constant(np.asarray(shape, np.int32).reshape(-1))
    return {"shape": shape.data.tolist() if isinstance(shape, Constant) else None}


def _target_sizes(attrs: Attrs, shape: Array) -> Sequence[int]:
    """Return the target shape, from the attributes if they have it, otherwise from the input."""
    dims: Sequence[int] = () if attrs.shape is None else attrs.shape
    return dims if attrs.shape is not None and all(type(n) is int for n in dims) else shape.tolist()


def _collapse_to_shape(attrs: Attrs, data: Array, shape: Array) -> Type:
    return TensorType(tuple(_target_sizes(attrs, shape)), data.dtype)


@operator(
    "collapse_sum_to",
    ("data", "shape"),
    attrs=INIT,
    relation=_collapse_to_type,
    pattern=OpPattern.COMM_REDUCE,
    level=4,
    silenced=True,
    shape_function=_collapse_to_shape,
    gradient=_broadcast_gradient,
    python=Python("data, shape", fixed={"dtype": ""}, prepare=_collapse_inputs),
    shapes="data (...), shape (rank) -> shape",
    source="the transpose of np.broadcast_to",
    edge_cases=(
        "collapse_sum_to(%x: (2, 3), %row: (2) int64 = [1, 3], shape=[1, 3])",
        "collapse_sum_to(%x: (2, 3), %s: (1) int32 = [3])",
        "collapse_sum_to(%x: (0, 3), %s: (2) int64 = [1, 1])",
    ),
)
def collapse_sum_to(attrs: Attrs, data: Array, shape: Array) -> Array:
    """Sum `data` to `shape`, which broadcasts to its shape; if the attributes state it too, the type is static."""
    return collapse(data, _target_sizes(attrs, shape))


# ---------------------------------------------------------------- tile
TILE = attrs("TileAttrs", integers("reps", doc="number of copies for each dimension; missing leading ones are 1"))


def tile_to(shape: Shape, reps: Sequence[int]) -> Shape:
    """Return the shape of data tiled. Raises `RelationError` for a negative count."""
    if any(count < 0 for count in reps):
        refuse("a tensor cannot be repeated less than 0 times", 0, found=list(reps))
    rank = max(len(shape), len(reps))
    padded = (1,) * (rank - len(shape)) + shape
    return tuple(
        [
            product((dim, count)) if count != 1 else dim
            for dim, count in zip(padded, [1] * (rank - len(reps)) + list(reps), strict=True)
        ]
    )


@on_tensors
def _tile_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(tile_to(data.shape, attrs.reps), data.dtype)


def _tile_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    data, attrs = orig.args[0], orig.attrs
    ty = data.checked_type
    assert isinstance(ty, TensorType)
    reps = attrs["reps"]
    rank = max(len(ty.shape), len(reps))
    dims = [1] * (rank - len(ty.shape)) + list(ty.concrete_shape)
    counts = [1] * (rank - len(reps)) + list(reps)
    pairs = [
        size for pair in zip(counts, dims, strict=True) for size in pair
    ]  # the copies get a dimension of their own
    return [
        call("reshape_like", call("sum", call("reshape", grad, newshape=pairs), axis=list(range(0, 2 * rank, 2))), data)
    ]


@operator(
    "tile",
    ("data",),
    attrs=TILE,
    relation=_tile_type,
    pattern=OpPattern.BROADCAST,
    level=3,
    python=Python(dynamic=Dynamic("dyn.tile"), reps=constant_list),
    gradient=_tile_grad,
    shapes="(d0, ...) -> (d0 * reps[0], ...)",
    source="np.tile",
    edge_cases=("tile(%x: (2, 3), reps=[2])", "tile(%x: (), reps=[2, 2])", "tile(%x: (2, 3), reps=[0, 1])"),
    layout=layout_rules.permute("reps"),
    precision=Precision.FOLLOW,
    traits=Trait.MOVES,
)
def tile(attrs: Attrs, data: Array) -> Array:
    """Repeat a tensor as a whole along its dimensions."""
    guard_size(concrete(tile_to(data.shape, attrs.reps)), data.dtype, "tile")
    return np.tile(data, attrs.reps)


# ---------------------------------------------------------------- repeat
@on_tensors
def _repeat_type(attrs: Attrs, data: TensorType) -> Type:
    if attrs.repeats < 0:
        refuse("an element cannot be repeated less than 0 times", 0, found=attrs.repeats)
    if attrs.axis is None:
        return TensorType((product((*data.shape, attrs.repeats)),), data.dtype)
    axis = normal_axis(attrs.axis, len(data.shape))
    return TensorType(
        (*data.shape[:axis], product((data.shape[axis], attrs.repeats)), *data.shape[axis + 1 :]), data.dtype
    )


def _repeat_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    data, attrs = orig.args[0], orig.attrs
    ty = data.checked_type
    assert isinstance(ty, TensorType)
    axis = len(ty.shape) - 1 if attrs["axis"] is None else normal_axis(attrs["axis"], len(ty.shape))
    shape = [*ty.concrete_shape[: axis + 1], attrs["repeats"], *ty.concrete_shape[axis + 1 :]]
    return [call("sum", call("reshape", grad, newshape=shape, allowzero=True), axis=[axis + 1])]


@operator(
    "repeat",
    ("data",),
    attrs=attrs(
        "RepeatAttrs",
        integer("repeats", doc="how often"),
        integer("axis", None, doc="the dimension, None for all elements in order"),
    ),
    relation=_repeat_type,
    pattern=OpPattern.BROADCAST,
    level=3,
    python=Python("data, repeats, axis"),
    gradient=_repeat_grad,
    shapes="(..., n, ...) -> (..., n * repeats, ...)",
    source="np.repeat",
    edge_cases=(
        "repeat(%x: (2, 3), repeats=2, axis=-1)",
        "repeat(%x: (2, 3), repeats=0, axis=0)",
        "repeat(%x: (0, 3), repeats=2, axis=1)",
    ),
    layout=layout_rules.along(),
    traits=Trait.MOVES,
)
def repeat(attrs: Attrs, data: Array) -> Array:
    """Repeat each element in place along one dimension."""
    guard_size((data.size, attrs.repeats), data.dtype, "repeat")
    return np.repeat(data, attrs.repeats, attrs.axis)
