"""Operators that write elements at indices. The data itself does not change: the result is a modified copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall, OpPattern, Precision, Reporter
from passlab.ir.types import Shape, TensorType, Type
from passlab.op import scatter_gradients
from passlab.op.attr_fields import attrs, boolean, dims, integer, number, text
from passlab.op.declare import Dynamic, Python, call, constant, constant_list, operator
from passlab.op.dtypes import Array, filled_array
from passlab.op.gather import axis_grid, index_tensor, normal_indices
from passlab.op.relations import join_dim, may_agree, normal_axis, refuse, same_dtype, tensor

REDUCTIONS = ("update", "add", "mul", "mean", "min", "max")


def combine(target: Array, positions: tuple[Array, ...], updates: Array, reduction: str) -> None:
    """Write `updates` into `target` at index arrays, one after the other: replacing, or combined with the old value."""
    if reduction == "update":
        target[positions] = updates
    elif reduction == "mean":
        # Average each update with the current value, so that the order matters.
        vectors = [position.reshape(-1) for position in np.broadcast_arrays(*positions)]
        values = updates.reshape(len(vectors[0]), *target.shape[len(positions) :])
        two = target.dtype.type(2)
        for position, value in zip(zip(*vectors, strict=True), values, strict=True):
            total = np.add(target[position], value)
            target[position] = np.true_divide(total, two) if target.dtype.kind in "fV" else np.trunc(total / two)
    else:
        _UFUNCS[reduction].at(target, positions, updates)  # unlike indexing, `at` applies every update of a position


_UFUNCS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


# ---------------------------------------------------------------- scatter_elements
def _scatter_elements_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, indices, updates = tensor(types, 0, "data"), index_tensor(types, 1), tensor(types, 2, "updates")
    if data is None:
        return None
    normal_axis(attrs.axis, len(data.shape))
    if indices is not None and len(indices.shape) != len(data.shape):
        refuse("indices must have as many dimensions as data", 1, expected=len(data.shape), found=len(indices.shape))
    if updates is not None:
        same_dtype(data, updates, 2)
        if indices is not None and not _covers(updates.shape, indices.shape):
            refuse("updates must cover indices", 2, expected=list(indices.shape), found=list(updates.shape))
    return data


def _covers(a: Shape, b: Shape) -> bool:
    """Whether a tensor of shape `a` covers all indices of a tensor of shape `b`, as far as is known."""
    return len(a) == len(b) and all(
        type(x) is not int or type(y) is not int or x >= y for x, y in zip(a, b, strict=True)
    )


def _scatter_elements_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return scatter_gradients.scatter_elements(orig, grad, orig.attrs["reduction"])


@operator(
    "scatter_elements",
    ("data", "indices", "updates"),
    attrs=attrs(
        "ScatterElementsAttrs",
        integer("axis", 0, doc="the dimension that indices index"),
        text("reduction", "update", doc="the combination of an update with the old value", choices=REDUCTIONS),
    ),
    relation=_scatter_elements_type,
    level=3,
    silenced=True,
    gradient=_scatter_elements_grad,
    shapes="data S, indices and updates I -> S",
    source="ONNX's ScatterElements",
    edge_cases=(
        "scatter_elements(%x: (2, 3), %i: (1, 3) int32 = [[1, 0, -1]], %u: (1, 3), axis=0)",
        'scatter_elements(%x: (2, 3), %i: (2, 2) int64 = [[0, 0], [2, 1]], %u: (2, 2), axis=-1, reduction="add")',
        'scatter_elements(%x: (3), %i: (2) int64 = [1, 1], %u: (2), axis=0, reduction="max")',
        "scatter_elements(%x: (2, 3), %i: (0, 3) int32, %u: (0, 3), axis=0)",
    ),
    precision=Precision.FOLLOW,
)
def scatter_elements(attrs: Attrs, data: Array, indices: Array, updates: Array) -> Array:
    """Write each update at its index along `axis`; of several at one position the last wins, or they are combined.

    Updates outside the shape of `indices` have no index and are ignored. Raises `RunError` if there are too few.
    """
    return _scatter_into(data, indices, updates, attrs.axis % data.ndim, attrs.reduction)


def _scatter_into(data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    if not _covers(updates.shape, indices.shape):
        raise RunError(
            Diagnostic(
                "scatter_elements: updates must cover indices", expected=str(indices.shape), found=str(updates.shape)
            )
        )
    used_updates = updates[tuple(slice(size) for size in indices.shape)]
    result = data.copy()
    combine(result, axis_grid(indices, axis, data.shape[axis], "scatter_elements"), used_updates, reduction)
    return result


def _scatter_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return scatter_gradients.scatter_elements(orig, grad, "update")


@operator(
    "scatter",
    ("data", "indices", "updates"),
    attrs=attrs("ScatterAttrs", integer("axis", 0, doc="the dimension that indices index")),
    relation=_scatter_elements_type,
    python=Python("data, indices, updates, axis"),
    gradient=_scatter_grad,
    shapes="data S, indices and updates I -> S",
    source="ONNX's ScatterElements",
    edge_cases=(
        "scatter(%x: (2, 3), %i: (1, 3) int32 = [[1, 0, -1]], %u: (1, 3), axis=0)",
        "scatter(%x: (2, 3), %i: (0, 3) int64, %u: (0, 3), axis=-1)",
    ),
    precision=Precision.FOLLOW,
)
def scatter(attrs: Attrs, data: Array, indices: Array, updates: Array) -> Array:
    """Write each update at its index along `axis`: the name of `scatter_elements` before TVM 0.9."""
    return _scatter_into(data, indices, updates, attrs.axis % data.ndim, "update")


# ---------------------------------------------------------------- scatter_nd
def _scatter_nd_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, indices, updates = tensor(types, 0, "data"), index_tensor(types, 1), tensor(types, 2, "updates")
    if data is None:
        return None
    if updates is not None:
        same_dtype(data, updates, 2)
    if indices is not None:
        if not indices.shape:
            refuse("indices must have at least one dimension", 1)
        depth = indices.shape[0]
        if type(depth) is int and depth > len(data.shape):
            refuse(f"indices of {depth} parts do not fit data of {len(data.shape)} dimensions", 1)
        if type(depth) is int and updates is not None:
            expected = indices.shape[1:] + data.shape[depth:]
            if not may_agree(updates.shape, expected):
                refuse("updates do not fit indices and data", 2, expected=list(expected), found=list(updates.shape))
    return data


@operator(
    "scatter_nd",
    ("data", "indices", "updates"),
    attrs=attrs(
        "ScatterNDAttrs",
        text(
            "mode",
            "update",
            doc="the combination of an update with the old value",
            choices=("update", "add", "mul", "min", "max"),
        ),
    ),
    relation=_scatter_nd_type,
    level=3,
    silenced=True,
    gradient=scatter_gradients.scatter_nd,
    shapes="data S, indices (m, I), updates (I, S[m:]) -> S",
    source="ONNX's ScatterND, its index dimension first",
    edge_cases=(
        "scatter_nd(%x: (2, 3), %i: (2, 2) int32 = [[0, 1], [2, 0]], %u: (2))",
        'scatter_nd(%x: (3, 2), %i: (1, 3) int64 = [[0, 2, 0]], %u: (3, 2), mode="add")',
        "scatter_nd(%x: (2, 3), %i: (1, 0) int32, %u: (0, 3))",
    ),
    precision=Precision.FOLLOW,
)
def scatter_nd(attrs: Attrs, data: Array, indices: Array, updates: Array) -> Array:
    """Write elements or slices at multi-dimensional indices: `indices[:, ...]` is one index into `data`."""
    result = data.copy()
    positions = tuple(normal_indices(part, data.shape[at], "scatter_nd") for at, part in enumerate(indices))
    if positions:
        combine(result, positions, updates, attrs.mode)
        return result
    for update in updates.reshape(-1, *data.shape):  # an empty index selects all of data
        ufunc = _UFUNCS.get(attrs.mode)
        np.copyto(result, update if ufunc is None else ufunc(result, update))
    return result


# ---------------------------------------------------------------- sparse_to_dense
def _sparse_type(types: Sequence[Type]) -> str | None:
    """Check sparse_indices, sparse_values and default_value; return the dtype of the result, None while unknown."""
    indices, values, default = (
        index_tensor(types, 0, "sparse_indices"),
        tensor(types, 1, "sparse_values"),
        tensor(types, 2, "default_value"),
    )
    if indices is not None and len(indices.shape) > 2:
        refuse("sparse_indices must be a scalar, a vector or a matrix", 0, found=indices)
    if values is not None and len(values.shape) > 1:
        refuse("sparse_values must be a scalar or a vector", 1, found=values)
    if default is not None and default.shape:
        refuse("default_value must be a scalar", 2, found=default)
    return values.dtype if values is not None and indices is not None else None


def _sparse_to_dense_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    ty = _sparse_type(types)
    return None if ty is None else TensorType(attrs.output_shape, ty)


def sparse_to_dense_array(indices: Array, values: Array, default: Array, shape: Sequence[int]) -> Array:
    """Return the dense tensor with `values` at sparse indices, a row each. Raises `RunError` if they do not fit."""
    result = filled_array(shape, values.dtype, default.astype(values.dtype), "sparse_to_dense")
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    if rows.shape[1] != len(shape):
        raise RunError(Diagnostic(f"sparse_to_dense: indices of {rows.shape[1]} parts for {len(shape)} dimensions"))
    result[tuple(normal_indices(rows[:, at], extent, "sparse_to_dense") for at, extent in enumerate(shape))] = values
    return result


@operator(
    "sparse_to_dense",
    ("sparse_indices", "sparse_values", "default_value"),
    attrs=attrs("SparseToDenseAttrs", dims("output_shape", doc="the shape of the result")),
    relation=_sparse_to_dense_type,
    level=3,
    python=Python(
        "sparse_indices, output_shape, sparse_values, default_value=0",
        dynamic=Dynamic("dyn.sparse_to_dense"),
        output_shape=constant_list,
        default_value=constant(),
    ),
    gradient=scatter_gradients.sparse_to_dense,
    shapes="sparse_indices (n, r) or (n) or (), sparse_values (n) or (), default_value () -> output_shape",
    source="TensorFlow's sparse_to_dense",
    edge_cases=(
        "sparse_to_dense(%i: (2, 2) int32 = [[0, 1], [1, 0]], %v: (2), %d: (), output_shape=[2, 3])",
        "sparse_to_dense(%i: (2) int64 = [0, 3], %v: (), %d: (), output_shape=[4])",
        "sparse_to_dense(%i: () int32 = 1, %v: (), %d: (), output_shape=[2])",
    ),
)
def sparse_to_dense(attrs: Attrs, sparse_indices: Array, sparse_values: Array, default_value: Array) -> Array:
    """A tensor with `default_value` everywhere except at the sparse indices."""
    return sparse_to_dense_array(sparse_indices, sparse_values, default_value, attrs.output_shape)


# ---------------------------------------------------------------- sequence_mask
def _sequence_mask_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, lengths = tensor(types, 0, "data"), tensor(types, 1, "valid_length")
    if data is None:
        return None
    if attrs.axis not in (0, 1) or len(data.shape) < 2:
        refuse("sequence_mask works along dimension 0 or 1 of at least two", 0, found=f"axis={attrs.axis}, data {data}")
    if lengths is not None:
        if len(lengths.shape) != 1:
            refuse("valid_length must be a vector", 1, found=lengths)
        if join_dim(lengths.shape[0], data.shape[1 - attrs.axis]) is None:
            refuse(f"valid_length has {lengths.shape[0]} elements for {data.shape[1 - attrs.axis]} sequences", 1)
    return data


def _sequence_mask_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    lengths = orig.args[1]
    return [call("sequence_mask", grad, lengths, axis=orig.attrs["axis"]), call("zeros_like", lengths)]


@operator(
    "sequence_mask",
    ("data", "valid_length"),
    attrs=attrs(
        "SequenceMaskAttrs",
        number("mask_value", 0.0, doc="the value beyond the end"),
        integer("axis", 0, doc="the dimension of time"),
    ),
    relation=_sequence_mask_type,
    pattern=OpPattern.INJECTIVE,
    gradient=_sequence_mask_grad,
    shapes="data S, valid_length (batch) -> S",
    source="MXNet's SequenceMask",
    edge_cases=(
        "sequence_mask(%x: (3, 2), %lengths: (2) int32 = [1, 9], mask_value=-1f)",
        "sequence_mask(%x: (2, 3, 2), %n: (2) int64 = [0, 2], axis=1)",
        "sequence_mask(%x: (0, 2), %n: (2) int32 = [1, 0])",
    ),
)
def sequence_mask(attrs: Attrs, data: Array, valid_length: Array) -> Array:
    """Replace the elements of each sequence beyond its valid length by `mask_value`."""
    time, batch = attrs.axis, 1 - attrs.axis
    steps = np.arange(data.shape[time]).reshape([-1 if dim == time else 1 for dim in range(data.ndim)])
    lengths = valid_length.reshape([-1 if dim == batch else 1 for dim in range(data.ndim)])
    return np.where(steps < lengths, data, np.asarray(attrs.mask_value).astype(data.dtype))


# ---------------------------------------------------------------- matrix_set_diag
def _set_diag_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, diagonal = tensor(types, 0, "input"), tensor(types, 1, "diagonal")
    if data is None:
        return None
    if len(data.shape) < 2:
        refuse("matrix_set_diag needs at least two dimensions", 0, found=data)
    if attrs.k1 > attrs.k2:
        refuse("the first diagonal must not lie above the second", found=f"k1={attrs.k1}, k2={attrs.k2}")
    if diagonal is not None:
        same_dtype(data, diagonal)
        expected = len(data.shape) - (attrs.k1 == attrs.k2)
        if len(diagonal.shape) != expected:
            refuse("diagonal has the wrong number of dimensions", 1, expected=expected, found=len(diagonal.shape))
        rows, columns = data.shape[-2:]
        if isinstance(rows, int) and isinstance(columns, int):
            longest = max(min(rows + min(k, 0), columns - max(k, 0)) for k in range(attrs.k1, attrs.k2 + 1))
            if isinstance(diagonal.shape[-1], int) and diagonal.shape[-1] != max(0, longest):
                refuse("diagonal has the wrong length", 1, expected=max(0, longest), found=diagonal.shape[-1])
    return data


def _diagonals(k: int | Sequence[int]) -> tuple[int, int]:
    """Return the lowest and the highest diagonal: one number, or the first and the last of a sequence."""
    return (k, k) if isinstance(k, int) else (k[0], k[-1])


def _right_alignment(align: str) -> tuple[bool, ...]:
    """Return whether short diagonals above the main one are aligned right, and whether those below it are."""
    sides = align.split("_")
    if len(sides) != 2 or any(side not in ("RIGHT", "LEFT") for side in sides):
        refuse("align must name two sides", expected="RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT", found=align)
    return tuple(side == "RIGHT" for side in sides)


@operator(
    "matrix_set_diag",
    ("input", "diagonal"),
    attrs=attrs(
        "MatrixSetDiagAttrs",
        integer("k1", 0, doc="the lowest diagonal, negative below the main one"),
        integer("k2", 0, doc="the highest diagonal"),
        boolean("super_diag_right_align", True, doc="whether short diagonals above the main one are aligned right"),
        boolean("sub_diag_right_align", False, doc="whether short diagonals below the main one are aligned right"),
    ),
    relation=_set_diag_type,
    pattern=OpPattern.INJECTIVE,
    python=Python(
        "data, diagonal, k=0, align='RIGHT_LEFT'",
        names={"data": "input", "k": ("k1", "k2"), "align": ("super_diag_right_align", "sub_diag_right_align")},
        k=_diagonals,
        align=_right_alignment,
    ),
    gradient=scatter_gradients.matrix_set_diag,
    shapes="input (..., m, n), diagonal (..., [k2 - k1 + 1,] length) -> (..., m, n)",
    source="TensorFlow's matrix_set_diag, version 3",
    edge_cases=(
        "matrix_set_diag(%x: (2, 3, 4), %d: (2, 3))",
        "matrix_set_diag(%x: (3, 4), %d: (2, 3), k1=0, k2=1)",
        "matrix_set_diag(%x: (3, 3), %d: (2), k1=-1, k2=-1)",
        "matrix_set_diag(%x: (0, 3, 4), %d: (0, 3))",
    ),
)
def matrix_set_diag(attrs: Attrs, data: Array, diagonal: Array) -> Array:
    """Replace diagonals of the matrices in the last two dimensions; a band holds its highest diagonal first."""
    result = data.copy()
    rows, columns = data.shape[-2:]
    for k in range(attrs.k1, attrs.k2 + 1):
        length = min(rows + min(k, 0), columns - max(k, 0))
        if length <= 0:
            continue
        values = diagonal if attrs.k1 == attrs.k2 else diagonal[..., attrs.k2 - k, :]
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        start = values.shape[-1] - length if right else 0
        steps = np.arange(length)
        result[..., steps + max(-k, 0), steps + max(k, 0)] = values[..., start : start + length]
    return result
