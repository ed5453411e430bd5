"""Operators that return parts of a tensor, or write into them: boxes, sliding windows, triangles of matrices."""

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
from passlab.op.along_axis import FOREVER
from passlab.op.attr_fields import attrs, boolean, integer, integers, text
from passlab.op.declare import Dynamic, Python, call, constant, operator
from passlab.op.dtypes import Array, is_extended
from passlab.op.nn import window_gradients
from passlab.op.relations import normal_axes, normal_axis, on_tensors, refuse, same_dtype, tensor

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


@on_tensors
def _slice_type(attrs: Attrs, data: TensorType) -> Type:
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


@on_tensors
def _slice_like_type(attrs: Attrs, data: TensorType, shape_like: TensorType) -> Type:
    shape = list(data.shape)
    for axis in _axes_to_slice(len(shape), len(shape_like.shape), attrs.axes):
        length, size = shape[axis], shape_like.shape[axis]
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


# ---------------------------------------------------------------- sliding_window
@on_tensors
def _window_type(attrs: Attrs, data: TensorType) -> Type:
    axis = normal_axis(attrs.axis, len(data.shape))
    windows, steps = attrs.window_shape, attrs.strides
    if len(windows) != len(data.shape) - axis or len(steps) != len(windows):
        refuse(
            "window_shape and strides must have one entry for each dimension from axis on",
            0,
            expected=len(data.shape) - axis,
            found=len(windows),
        )
    positions: list[Dim] = []
    for dim, size, step in zip(data.shape[axis:], windows, steps, strict=True):
        if size < 1 or step < 1:
            refuse("windows and strides must be at least 1", found=f"{size} and {step}")
        if type(dim) is int and size > dim:
            refuse(f"a window of {size} does not fit a dimension of {dim}", 0)
        positions.append((dim - size) // step + 1 if type(dim) is int else ANY)
    return TensorType((*data.shape[:axis], *positions, *windows), data.dtype)


@operator(
    "sliding_window",
    ("data",),
    attrs=attrs(
        "SlidingWindowAttrs",
        integer("axis", doc="the first dimension along which the window moves"),
        integers("window_shape", doc="the sizes of the window"),
        integers("strides", doc="the distance between the starts of windows"),
    ),
    relation=_window_type,
    gradient=window_gradients.sliding_window,
    shapes="(..., S) -> (..., windows, window_shape)",
    source="np.lib.stride_tricks.sliding_window_view",
    edge_cases=(
        "sliding_window(%x: (2, 5), axis=-1, window_shape=[3], strides=[2])",
        "sliding_window(%x: (3, 4), axis=0, window_shape=[2, 2], strides=[1, 1])",
        "sliding_window(%x: (0, 4), axis=1, window_shape=[2], strides=[1])",
    ),
)
def sliding_window(attrs: Attrs, data: Array) -> Array:
    """All positions of a window on a tensor: first the positions, then the elements of the window."""
    axis = attrs.axis % data.ndim
    moving = tuple(range(axis, data.ndim))
    bits = data.view(f"u{data.dtype.itemsize}") if is_extended(data.dtype) else data  # NumPy's view takes no float8
    windows = np.lib.stride_tricks.sliding_window_view(bits, attrs.window_shape, moving).view(data.dtype)
    return np.asarray(windows[(slice(None),) * axis + tuple(slice(None, None, step) for step in attrs.strides)])


# ---------------------------------------------------------------- trilu
def _trilu_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, k = tensor(types, 0, "data"), tensor(types, 1, "k")
    if data is not None and len(data.shape) < 2:
        refuse("trilu needs at least two dimensions", 0, found=data)
    if k is not None and ("int" not in k.dtype or k.shape not in ((), (1,), (ANY,))):
        refuse("k must be an integer scalar", 1, found=k)
    return data


def _trilu_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [call("trilu", grad, orig.args[1], upper=orig.attrs["upper"]), call("zeros_like", orig.args[1])]


@operator(
    "trilu",
    ("data", "k"),
    attrs=attrs("TriluAttrs", boolean("upper", True, doc="whether to keep the upper triangle")),
    relation=_trilu_type,
    pattern=OpPattern.ELEMWISE,
    level=3,
    python=Python(k=constant("int32")),
    gradient=_trilu_grad,
    shapes="(..., m, n), k () -> (..., m, n)",
    source="np.triu, np.tril",
    edge_cases=(
        "trilu(%x: (2, 3, 4), %k: () int64 = 1)",
        "trilu(%x: (3, 3), %k: () int32 = -1, upper=False)",
        "trilu(%x: (0, 3), %k: () int64 = 0)",
        "trilu(%x: (2, 2), %k: () int64 = 99)",
    ),
)
def trilu(attrs: Attrs, data: Array, k: Array) -> Array:
    """The upper or lower triangle of the matrices in the last two dimensions, up to diagonal `k`; zero elsewhere."""
    return np.triu(data, int(k.item())) if attrs.upper else np.tril(data, int(k.item()))
