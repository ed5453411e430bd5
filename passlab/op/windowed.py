"""Operators that return parts of a tensor: sliding windows, and the upper and lower triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall, OpPattern, Reporter
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op.declare import Python, call, constant, operator
from passlab.op.dtypes import Array, is_extended
from passlab.op.fields import attrs, boolean, integer, integers
from passlab.op.nn import window_gradients
from passlab.op.relations import normal_axis, refuse, tensor


# ---------------------------------------------------------------- sliding_window
def _window_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
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
    pattern=OpPattern.OPAQUE,
    level=10,
    out=False,
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
    out=False,
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
