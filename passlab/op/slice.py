"""Operators that slice boxes out of tensors, or write into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpCall, OpPattern, Precision, Reporter, Trait
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op import layout_rules
from passlab.op.declare import Dynamic, Python, call, operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, integers, text
from passlab.op.relations import normal_axes, refuse, same_dtype, tensor

SLICE = attrs(
    "StridedSliceAttrs",
    integers("begin", optional=True, doc="first index of each dimension; negative counts from its end"),
    integers("end", optional=True, doc="index to stop before; negative counts from the end"),
    integers("strides", optional=True, doc="steps; negative for reverse order; 1 by default"),
    text(
        "slice_mode",
        "end",
        doc='"size": `end` holds sizes instead, -1 for all remaining elements',
        choices=("end", "size"),
    ),
    integers("axes", optional=True, doc="the dimensions to slice, None for the first ones in order"),
)

FOREVER = 2**63 - 1  # an end beyond every dimension


def slices_of(
    rank: int,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    mode: str = "end",
    axes: Sequence[int] | None = None,
) -> list[slice]:
    """Return the slice of each dimension of data with that `rank`. Raises `RelationError` if they do not fit."""
    if len(begin) > rank and axes is None:
        refuse(f"begin has {len(begin)} entries for {rank} dimensions", 0, found=list(begin))
    count = min(max(len(begin), len(end), len(strides)), rank)
    targets = range(count) if axes is None else normal_axes(axes, rank, "axes")
    if axes is not None and not len(begin) == len(end) == len(targets):
        refuse(
            "begin, end and axes must have one entry for each axis",
            0,
            found=f"{len(begin)}, {len(end)} and {len(targets)} entries",
        )
    slices = [slice(None)] * rank
    for i, axis in enumerate(targets):
        step = strides[i] if i < len(strides) and mode == "end" else 1
        if step == 0:
            refuse("a stride is 0", 0, found=list(strides))
        start, stop = (bounds[i] if i < len(bounds) else None for bounds in (begin, end))
        slices[axis] = _sized_slice(start or 0, stop) if mode == "size" else slice(start, _open_end(stop, step), step)
    return slices


def _open_end(stop: int | None, step: int) -> int | None:
    """Return the end of a slice; None, so that element 0 is included, for one far before it and a negative step."""
    return None if stop is None or (step < 0 and stop <= -FOREVER) else stop


def _sized_slice(begin: int, size: int | None) -> slice:
    if size is None or size < 0:
        return slice(begin, None)
    stop = begin + size
    return slice(begin, None if begin < 0 <= stop else stop)  # past the last element


def sliced_dim(dim: Dim, part: slice) -> Dim:
    """Return the size of a dimension after a slice; an unknown size is kept if the slice takes all of it."""
    if type(dim) is int:
        return len(range(*part.indices(dim)))
    whole = part.start in (None, 0) and (part.stop is None or part.stop >= FOREVER) and part.step in (None, 1)
    return dim if whole else ANY


def _slice_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    slices = _slices(len(data.shape), attrs)
    return TensorType(tuple([sliced_dim(dim, part) for dim, part in zip(data.shape, slices, strict=True)]), data.dtype)


def _slices(rank: int, attrs: Attrs) -> list[slice]:
    if attrs.begin is None or attrs.end is None:
        refuse("begin and end are missing", hint="give `begin=[...]` and `end=[...]`")
    return slices_of(rank, attrs.begin, attrs.end, attrs.strides or (), attrs.slice_mode, attrs.axes)


_BOUNDS = ("begin", "end", "strides")


def python_slice(begin: Any, end: Any, strides: Any) -> tuple[list[int], list[int], list[int]]:
    """Return Python's begin, end and strides, in which an entry of None is open, as lists of integers."""
    begin, end, strides = (None if v is None else _as_list(v) for v in (begin, end, strides))
    steps = strides or [1]

    def forward(i: int) -> bool:
        return i >= len(steps) or steps[i] is None or steps[i] > 0

    starts = [(0 if forward(i) else -1) if b is None else b for i, b in enumerate(begin)]
    stops = [(FOREVER if forward(i) else -FOREVER) if e is None else e for i, e in enumerate(end)]
    return starts, stops, [1 if step is None else step for step in steps]


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, Constant):
        value = value.data.reshape(-1).tolist()
    return list(value) if hasattr(value, "__iter__") else [value]


def _slice_bounds(values: dict[str, Any]) -> None:
    """Convert the bounds to lists, or to expressions if one is computed at run time; entries of None are open."""
    bounds = begin, end, strides = values["begin"], values["end"], values["strides"]
    if any(isinstance(v, Expr) and not isinstance(v, Constant) for v in bounds):
        exprs = [as_index(v) for v in (begin, end, [1] if strides is None else strides)]
        values.update(zip(_BOUNDS, exprs, strict=True))
    else:
        values.update(zip(_BOUNDS, python_slice(begin, end, strides), strict=True))


def as_index(value: Any) -> Expr:
    """Return a list of integers as a constant; an expression stays as it is."""
    return value if isinstance(value, Expr) else Constant(np.asarray(value, np.int64).reshape(-1))


def _slice_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, written into zeros at the positions of the slice."""
    data, attrs = orig.args[0], orig.attrs
    ty = data.checked_type
    if not isinstance(ty, TensorType) or ty.dynamic:
        refuse("the gradient of strided_slice needs a known shape", 0, found=ty)
    bounds = [part.indices(dim) for part, dim in zip(_slices(len(ty.shape), attrs), ty.concrete_shape, strict=True)]
    begin, end = [b[0] for b in bounds], [b[1] if b[1] >= 0 else -FOREVER for b in bounds]
    strides = [b[2] for b in bounds]
    return [call("strided_set", call("zeros_like", data), grad, as_index(begin), as_index(end), as_index(strides))]


@operator(
    "strided_slice",
    ("data",),
    attrs=SLICE,
    relation=_slice_type,
    pattern=OpPattern.INJECTIVE,
    level=4,
    out=False,
    python=Python(
        'data, begin, end, strides=None, axes=None, slice_mode="end"',
        prepare=_slice_bounds,
        dynamic=Dynamic("dyn.strided_slice"),
    ),
    gradient=_slice_grad,
    shapes="(d0, ...) -> (ceil((end - begin) / strides), ...)",
    source="NumPy's basic slicing",
    edge_cases=(
        "strided_slice(%x: (4, 5), begin=[-1, 1], end=[-5, 99], strides=[-2, 2], axes=None)",
        "strided_slice(%x: (3), begin=[2], end=[1], strides=[1], axes=None)",
        "strided_slice(%x: (0, 3), begin=[0, 0], end=[9, 1], strides=[1], axes=None)",
        'strided_slice(%x: (4, 5), begin=[1], end=[2], strides=[1], slice_mode="size", axes=[-1])',
    ),
    example="strided_slice(%x, begin=[0, 1], end=[2, 3], strides=[1, 1], axes=None)",
    layout=layout_rules.slice_axes,
    precision=Precision.FOLLOW,
    traits=Trait.MOVES,
)
def strided_slice(attrs: Attrs, data: Array) -> Array:
    """Cut a box out of a tensor, as Python's slices do; indices beyond a dimension are clipped."""
    return data[tuple(_slices(data.ndim, attrs))]


# ---------------------------------------------------------------- strided_set
def _strided_set_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, v = tensor(types, 0, "data"), tensor(types, 1, "v")
    if data is None:
        return None
    if v is not None:
        same_dtype(data, v)
    for index, name in ((2, "begin"), (3, "end"), (4, "strides")):
        ty = tensor(types, index, name)
        if ty is not None and (len(ty.shape) != 1 or "int" not in ty.dtype):
            refuse(f"{name} must be a vector of integers", index, found=ty)
    return data


def _strided_set_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    _, v, begin, end, strides = orig.args
    inside = call("dyn.strided_slice", grad, begin, end, strides, begin=None, end=None, strides=None)
    outside = call("strided_set", grad, call("zeros_like", v), begin, end, strides)
    return [outside, call("collapse_sum_like", inside, v), *(call("zeros_like", arg) for arg in (begin, end, strides))]


@operator(
    "strided_set",
    ("data", "v", "begin", "end", "strides"),
    relation=_strided_set_type,
    pattern=OpPattern.INJECTIVE,
    level=4,
    out=False,
    python=Python(
        "data, v, begin, end, strides=None",
        begin=as_index,
        end=as_index,
        strides=lambda strides: as_index([1] if strides is None else strides),
    ),
    gradient=_strided_set_grad,
    shapes="data S, v box, begin, end, strides (rank) -> S",
    source="NumPy's basic slicing",
    edge_cases=(
        (
            "strided_set(%x: (3, 4), %v: (1, 2), %begin: (2) int64 = [1, 0], %end: (2) int64 = [2, 4], "
            "%strides: (2) int64 = [1, 2])"
        ),
        "strided_set(%x: (3), %v: (0), %b: (1) int32 = [2], %e: (1) int32 = [1], %s: (1) int32 = [1])",
    ),
)
def strided_set(attrs: Attrs, data: Array, v: Array, begin: Array, end: Array, strides: Array) -> Array:
    """A copy of `data` with the box [begin, end), in steps of `strides`, replaced by `v`.

    Raises `RunError` if `v` does not fit the box.
    """
    result = data.copy()
    box = result[tuple(slices_of(data.ndim, begin.tolist(), end.tolist(), strides.tolist()))]
    pairs = zip(v.shape[::-1], box.shape[::-1], strict=False)
    if not (len(v.shape) <= len(box.shape) and all(length in (1, size) for length, size in pairs)):
        raise RunError(
            Diagnostic(
                "strided_set: `v` does not fill the box",
                expected=f"the shape {list(box.shape)}",
                found=f"the shape {list(v.shape)}",
            )
        )
    box[...] = v
    return result


# ---------------------------------------------------------------- slice_like
def _axes_to_slice(rank: int, like_rank: int, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Return the dimensions that `slice_like` slices. Raises `RelationError` if `shape_like` lacks one."""
    if axes is None:
        if like_rank > rank:
            refuse(f"shape_like has {like_rank} dimensions and data has {rank}", 1)
        return tuple(range(like_rank))
    result = normal_axes(axes, rank, "axes")
    for axis in result:
        if axis >= like_rank:
            refuse(f"shape_like has no dimension {axis}", 1, found=f"{like_rank} dimensions")
    return result


def _slice_like_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, like = tensor(types, 0, "data"), tensor(types, 1, "shape_like")
    if data is None or like is None:
        return None
    shape = list(data.shape)
    for axis in _axes_to_slice(len(shape), len(like.shape), attrs.axes):
        length, size = shape[axis], like.shape[axis]
        if type(length) is int and type(size) is int and size > length:
            refuse(
                f"dimension {axis} of data has {length} elements and shape_like asks for {size}",
                0,
                expected=f"at least {size}",
                found=length,
            )
        shape[axis] = size
    return TensorType(tuple(shape), data.dtype)


def _slice_like_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    data, like = orig.args
    ty = orig.checked_type
    if not isinstance(ty, TensorType) or ty.dynamic:
        refuse("the gradient of slice_like needs a known shape", 0, found=ty)
    bounds = [as_index(values) for values in ([0] * len(ty.shape), ty.shape, [1] * len(ty.shape))]
    return [call("strided_set", call("zeros_like", data), grad, *bounds), call("zeros_like", like)]


@operator(
    "slice_like",
    ("data", "shape_like"),
    attrs=attrs("SliceLikeAttrs", integers("axes", optional=True, doc="the dimensions to cut, None for all")),
    relation=_slice_like_type,
    pattern=OpPattern.INJECTIVE,
    level=10,
    out=False,
    python=Python(axes=lambda axes: axes or None),
    gradient=_slice_like_grad,
    layout=layout_rules.slice_like,
    shapes="data (d0, ...), shape_like (s0, ...) -> (s0, ...)",
    source="NumPy's basic slicing",
    edge_cases=(
        "slice_like(%x: (3, 4), %y: (2, 2), axes=None)",
        "slice_like(%x: (3, 4), %y: (9, 2), axes=[-1])",
        "slice_like(%x: (3), %y: (0), axes=None)",
    ),
)
def slice_like(attrs: Attrs, data: Array, shape_like: Array) -> Array:
    """The leading elements of `data` along each dimension, as many as `shape_like` has."""
    slices = [slice(None)] * data.ndim
    for axis in _axes_to_slice(data.ndim, shape_like.ndim, attrs.axes):
        slices[axis] = slice(0, shape_like.shape[axis])
    return data[tuple(slices)]
