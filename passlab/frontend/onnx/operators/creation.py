"""Shapes of tensors, and tensors created from shapes."""

from __future__ import annotations

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.tensors import dtype_of
from passlab.frontend.sizes import product, sizes_of
from passlab.ir.expr import Expr
from passlab.ir.types import Any


@onnx_operator("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape(n: OnnxNode, x: Expr) -> Expr:
    """The shape as a constant, or `shape_of` if it is not known."""
    rank = n.rank(x)
    # As in a Python slice: negative positions count from the end, and all are cut to the rank.
    start, end = (
        min(max(at + rank if at < 0 else at, 0), rank) for at in (n.integer("start", 0), n.integer("end", rank))
    )
    dims = n.shape(x)[start:end]
    if all(isinstance(dim, int) for dim in dims):
        return n.constant(list(dims), "int64")
    result = n("shape_of", x, dtype="int64")
    if len(dims) < rank:
        result = n("strided_slice", result, begin=[start], end=[max(start, end)], strides=[1])
    return n.record_entries(result, [None if isinstance(dim, Any) else dim for dim in dims])


@onnx_operator("Size", 1, 13, 19, 21, 23, 24, 25)
def size(n: OnnxNode, x: Expr) -> Expr:
    """The number of elements as a constant, or `ndarray_size` if it is not known."""
    total = product(n, [dim for dim in n.shape(x) if isinstance(dim, int)])
    if all(isinstance(dim, int) for dim in n.shape(x)):
        return n.constant(total, "int64")
    return n("ndarray_size", x, dtype="int64")


@onnx_operator("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def constant(n: OnnxNode) -> Expr:
    """A constant."""
    if n.has("value"):
        return n.array(n.tensor("value"))
    for name, dtype in (
        ("value_float", "float32"),
        ("value_floats", "float32"),
        ("value_int", "int64"),
        ("value_ints", "int64"),
    ):
        if n.has(name):
            kinds = (float, int, tuple) if name.endswith("s") else (float, int)
            return n.constant(np.asarray(n.attribute(name, kinds), dtype), dtype)
    return n.refuse("holds text, or a sparse tensor", hint="Relay has neither")


@onnx_operator("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(n: OnnxNode, target: Expr) -> Expr:
    """`full`, or `dyn.full`."""
    value = n.tensor("value", np.zeros(1, np.float32))
    if value.size != 1:
        n.refuse("needs one value", found=f"{value.size}")
    fill = n.array(value.reshape(()))
    shape = n.constant_ints(target, "the shape") if n.value(target) is not None else n.of_stated_length(target)
    return n("full", fill, shape=shape, dtype=value.dtype.name)


@onnx_operator("EyeLike", 9, 22)
def eye_like(n: OnnxNode, x: Expr) -> Expr:
    """A constant with ones on a diagonal; a comparison of row and column numbers where the sizes are not known."""
    dtype, offset = dtype_of(n.integer("dtype")) if n.has("dtype") else n.dtype(x), n.integer("k", 0)
    sizes = sizes_of(n, x)
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == 2:
        n.check_size(*known)
        return n.constant(np.eye(known[0], known[1], offset), dtype)
    lengths = [n.constant(size, "int64") if isinstance(size, int) else n.scalar(size) for size in sizes]
    zero, one = n.constant(0, "int64"), n.constant(1, "int64")
    rows, columns = (n("arange", zero, length, one, dtype="int64") for length in lengths)
    return n.cast(n("equal", n("reshape", n("add", rows, offset), newshape=[-1, 1]), columns), dtype)


@onnx_operator("Range", 11, 27)
def arange(n: OnnxNode, start: Expr, limit: Expr, delta: Expr) -> Expr:
    """`arange`."""
    scalars = [n.scalar(value) for value in (start, limit, delta)]
    return n("arange", *scalars, dtype=n.dtype(start))


@onnx_operator("OneHot", 9, 11, 28)
def one_hot(n: OnnxNode, indices: Expr, depth: Expr, values: Expr) -> Expr:
    """`one_hot`; negative indices count from the end."""
    off, on = (n("take", values, n.constant(position, "int64"), axis=0) for position in (0, 1))
    count = n.cast(n.scalar(depth), "int64")
    positions = n("floor_mod", n.cast(indices, "int64"), count)
    inside = n(
        "logical_and",
        n("greater_equal", n.cast(indices, "int64"), n("negative", count)),
        n("less", n.cast(indices, "int64"), count),
    )
    # -1 is not a class, so such an index gives a row of `off`.
    positions = n("where", inside, positions, n.constant(-1, "int64"))
    value = n.value(count)
    size = count if value is None else int(value)
    axis = n.integer("axis", -1)
    axis = axis + n.rank(indices) + 1 if axis < 0 else axis
    return n("one_hot", positions, on, off, depth=size, axis=axis, dtype=n.dtype(values))


@onnx_operator("NonZero", 9, 13)
def non_zero(n: OnnxNode, x: Expr) -> Expr:
    """`argwhere`, transposed."""
    return n.cast(n("transpose", n("argwhere", x), axes=[1, 0]), "int64")
