"""Operators on sparse tensors given as indices (one row each) and values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Tuple, TupleGetItem
from passlab.ir.op import OpCall, OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, TupleType, Type
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import Python, call, operator
from passlab.op.dtypes import Array
from passlab.op.gather import index_tensor
from passlab.op.nn import sparse_gradients
from passlab.op.relations import refuse, tensor


def _matrix_and_vectors(types: Sequence[Type], vectors: Sequence[str]) -> tuple[TensorType, ...] | None:
    """Return the types of sparse_indices (a matrix) and of integer vectors, None while one is unknown."""
    indices = index_tensor(types, 0, "sparse_indices")
    if indices is not None and len(indices.shape) != 2:
        refuse("sparse_indices must be a matrix", 0, found=indices)
    operands = [indices]
    for index, name in enumerate(vectors, start=1):
        vector = tensor(types, index, name)
        if vector is not None and len(vector.shape) > 1:
            refuse(f"{name} must be a vector", index, found=vector)
        operands.append(vector)
    operand_types = tuple(ty for ty in operands if ty is not None)
    return operand_types if len(operand_types) == len(operands) else None


# ---------------------------------------------------------------- sparse_reshape
def _reshape_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    operand_types = _matrix_and_vectors(types, ("prev_shape", "new_shape"))
    if operand_types is None:
        return None
    indices, _, new_shape = operand_types
    return TupleType(
        [TensorType((indices.shape[0], new_shape.shape[0] if new_shape.shape else 1), indices.dtype), new_shape]
    )


@operator(
    "sparse_reshape",
    ("sparse_indices", "prev_shape", "new_shape"),
    relation=_reshape_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    results=2,
    gradient=zero_gradient,
    shapes="sparse_indices (n, r), prev_shape (r), new_shape (q) -> (n, q), (q)",
    source="TensorFlow's sparse_reshape",
    edge_cases=(
        "sparse_reshape(%i: (2, 2) int64 = [[0, 1], [1, 2]], %p: (2) int64 = [2, 3], %n: (2) int64 = [3, -1])",
        "sparse_reshape(%i: (0, 2) int32, %p: (2) int32 = [2, 3], %n: (1) int32 = [6])",
    ),
)
def sparse_reshape(attrs: Attrs, sparse_indices: Array, prev_shape: Array, new_shape: Array) -> tuple[Array, Array]:
    """The indices of a sparse tensor in another shape, and that shape with its -1 filled in."""
    before, after = prev_shape.reshape(-1).tolist(), new_shape.reshape(-1).tolist()
    if before == after:
        return sparse_indices, new_shape
    total = math.prod(before)
    if after.count(-1) == 1:
        others = math.prod(size for size in after if size != -1)
        after = [total // others if size == -1 and others else size for size in after]
    if math.prod(after) != total or any(size < 0 for size in after):
        raise RunError(Diagnostic(f"sparse_reshape: {before} cannot be reshaped", found=f"the shape {after}"))
    flat = np.zeros(len(sparse_indices), np.int64)
    for axis, size in enumerate(before):
        flat = flat * size + sparse_indices[:, axis]
    result = np.empty((len(flat), len(after)), sparse_indices.dtype)
    for axis in range(len(after) - 1, -1, -1):
        flat, result[:, axis] = np.divmod(flat, max(after[axis], 1))
    return result, np.array(after, new_shape.dtype).reshape(new_shape.shape)


# ---------------------------------------------------------------- sparse_fill_empty_rows
def _fill_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    operand_types = _matrix_and_vectors(types, ("sparse_values", "dense_shape", "default_value"))
    return None if operand_types is None else _fill_result(operand_types[0], operand_types[1], ANY, ANY)


def _fill_result(indices: TensorType, values: TensorType, count: Any, rows: Any) -> Type:
    rank = indices.shape[1]
    return TupleType(
        [TensorType((count, rank), "int64"), TensorType((count,), values.dtype), TensorType((rows,), "int64")]
    )


def _fill_shape(
    attrs: Attrs, sparse_indices: Array, sparse_values: Array, dense_shape: Array, default_value: Array
) -> Type:
    rows = int(dense_shape.reshape(-1)[0])
    empty = rows - np.unique(sparse_indices[:, 0]).size
    indices = TensorType(sparse_indices.shape, sparse_indices.dtype)
    return _fill_result(indices, TensorType((), sparse_values.dtype), len(sparse_indices) + empty, rows)


def _fill_results(result: OpCall) -> Tuple:
    """Return the results in the dtypes of Relay's function: the dtypes of the indices and of the values, and bool."""
    sparse_indices, sparse_values = result.args[:2]
    indices, values, empty = (TupleGetItem(result, i) for i in range(3))
    return Tuple(
        (
            call("cast_like", indices, sparse_indices),
            call("cast_like", values, sparse_values),
            call("cast", empty, dtype="bool"),
        )
    )


@operator(
    "sparse_fill_empty_rows",
    ("sparse_indices", "sparse_values", "dense_shape", "default_value"),
    relation=_fill_type,
    shape_function=_fill_shape,
    level=3,
    python=Python(finish=_fill_results),
    gradient=sparse_gradients.sparse_fill_empty_rows,
    shapes="sparse_indices (n, 2), sparse_values (n), dense_shape (2), default_value (1) -> (m, 2), (m), (rows)",
    source="TensorFlow's sparse_fill_empty_rows",
    edge_cases=(
        "sparse_fill_empty_rows(%i: (2, 2) int64 = [[0, 1], [2, 0]], %v: (2), %shape: (2) int64 = [4, 3], %d: (1))",
        "sparse_fill_empty_rows(%i: (0, 2) int64, %v: (0), %s: (2) int64 = [2, 3], %d: (1))",
    ),
)
def sparse_fill_empty_rows(
    attrs: Attrs, sparse_indices: Array, sparse_values: Array, dense_shape: Array, default_value: Array
) -> tuple[Array, Array, Array]:
    """Insert an element at column 0 of each empty row of a sparse tensor; also returns which rows were empty."""
    rows = int(dense_shape.reshape(-1)[0])
    used_rows = sparse_indices[:, 0]
    if used_rows.size and (used_rows.min() < 0 or used_rows.max() >= rows):
        raise RunError(
            Diagnostic(f"sparse_fill_empty_rows: an index lies outside {rows} rows", found=str(used_rows.tolist()[:8]))
        )
    empty = np.ones(rows, bool)
    empty[used_rows] = False
    added = np.zeros((int(empty.sum()), sparse_indices.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    indices = np.concatenate([sparse_indices.astype(np.int64), added])
    values = np.concatenate([sparse_values, np.full(len(added), default_value.reshape(-1)[0], sparse_values.dtype)])
    order = np.argsort(indices[:, 0], kind="stable")
    return indices[order], values[order], empty.astype(np.int64)
