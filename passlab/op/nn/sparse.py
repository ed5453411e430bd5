"""Products and sums with sparse matrices, given as data, indices and row pointers.

One-dimensional data is in compressed rows (CSR), three-dimensional data in blocks (BSR: number, rows, columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, Dim, TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, boolean, integers, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, is_float
from passlab.op.nn import sparse_gradients
from passlab.op.nn.pad import copy_result
from passlab.op.nn.window_sizes import on_axes
from passlab.op.relations import refuse, tensor


def _row_count(name: str, data: TensorType, pointers: TensorType) -> Dim:
    """Return the number of rows of a sparse matrix. Raises `RelationError` if the parts do not form one."""
    if len(data.shape) not in (1, 3):
        refuse(f"{name}: sparse data has one dimension (CSR) or three (BSR)", 1, found=data)
    if len(pointers.shape) != 1 or pointers.shape[0] == 0:
        refuse(f"{name}: row pointers must be a vector of one more than the rows", 3, found=pointers)
    count, block = pointers.shape[0], data.shape[1] if len(data.shape) == 3 else 1
    return (count - 1) * block if isinstance(count, int) and isinstance(block, int) else ANY


def _widen(data: Array) -> Array:
    """Return small floats as float32, the smallest that SciPy multiplies, and int4 and uint4 as int32."""
    if is_float(data.dtype):
        return data.astype(np.float32) if data.dtype.itemsize < 4 else data
    return data.astype(np.int32) if data.dtype.kind == "V" else data


def sparse_matrix(data: Array, indices: Array, pointers: Array, columns: int) -> Any:
    """Return the sparse matrix of these parts, with `columns` columns. Raises `RunError` if they do not fit."""
    import scipy.sparse  # imported only for programs with sparse matrices

    rows, width = data.shape[1:] if data.ndim == 3 else (1, 1)
    _check_parts(data, indices, pointers, columns, width)
    elements = _widen(data)
    matrix_class = scipy.sparse.csr_matrix if data.ndim == 1 else scipy.sparse.bsr_matrix
    return matrix_class((elements, indices, pointers), shape=((len(pointers) - 1) * rows, columns))


def _check_parts(data: Array, indices: Array, pointers: Array, columns: int, width: int) -> None:
    """Raise `RunError` unless the parts form a sparse matrix: SciPy's products do not check them."""

    def error(message: str, expected: object, found: object) -> RunError:
        return RunError(Diagnostic(f"not a sparse matrix: {message}", expected=str(expected), found=str(found)))

    if len(indices) != len(data):
        raise error("indices and data have different lengths", len(data), len(indices))
    if width < 1 or columns % width or 0 in data.shape[1:]:
        raise error("the columns are not whole blocks", f"a divisor of {columns}", width)
    if pointers[0] != 0 or (np.diff(pointers) < 0).any() or pointers[-1] > len(indices):
        raise error("row pointers rise from 0 to the number of elements", f"0..{len(indices)}", pointers.tolist()[:8])
    if len(indices) and not (0 <= indices.min() and indices.max() < columns // width):
        raise error("a column index is outside", f"0..{columns // width - 1}", f"{indices.min()}..{indices.max()}")


def _check_integers(name: str, types: Sequence[Type], indices: Sequence[int]) -> None:
    for i in indices:
        ty = tensor(types, i)
        if ty is not None and (len(ty.shape) != 1 or "int" not in ty.dtype):
            refuse(f"{name}: indices and row pointers are vectors of integers", i, found=ty)


def _dense_and_sparse(name: str, types: Sequence[Type]) -> tuple[TensorType, TensorType, TensorType] | None:
    """Return the types of a dense tensor and of the data and row pointers of a sparse one, None if one is unknown."""
    dense, data = tensor(types, 0, "dense_data"), tensor(types, 1, "sparse_data")
    pointers = tensor(types, 3, "sparse_indptr")
    if dense is None or data is None or pointers is None:
        return None
    _check_integers(name, types, (2, 3))
    return dense, data, pointers


# ---------------------------------------------------------------- sparse_dense
SPARSE_DENSE = attrs("SparseDenseAttrs", boolean("sparse_lhs", False, "whether the sparse matrix is the left factor"))


def _dense_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    inputs = _dense_and_sparse("nn.sparse_dense", types)
    if inputs is None:
        return None
    dense, data, pointers = inputs
    if len(dense.shape) != 2:
        refuse("nn.sparse_dense: dense data must be a matrix", 0, found=dense)
    rows = _row_count("nn.sparse_dense", data, pointers)
    return TensorType((rows, dense.shape[0]) if attrs.sparse_lhs else (dense.shape[0], rows), dense.dtype)


def _sparse_arrays(matrix: object) -> tuple[Any, Any, Any]:
    """Return the data, indices and pointers of a matrix of SciPy, or of a sequence of these three."""
    if hasattr(matrix, "indptr"):
        return matrix.data, matrix.indices, matrix.indptr  # type: ignore[attr-defined]
    data, indices, pointers = cast(Sequence[Any], matrix)
    return data, indices, pointers


def _sparse_dense(
    attrs: Attrs, dense: Array, data: Array, indices: Array, pointers: Array, *, out: Array | None = None
) -> Array:
    matrix = sparse_matrix(data, indices, pointers, dense.shape[1])
    right = _widen(dense).T
    product = np.asarray((matrix @ right) if attrs.sparse_lhs else (matrix @ right).T)
    return copy_result(np.ascontiguousarray(product.astype(dense.dtype, copy=False)), out)


_MATRIX: Any = {"sparse_mat": ("sparse_data", "sparse_indices", "sparse_indptr")}
_DENSE_AND_MATRIX: Any = {"dense_mat": "dense_data", **_MATRIX}
_INPUTS = ("dense_data", "sparse_data", "sparse_indices", "sparse_indptr")
sparse_dense = operator(
    "nn.sparse_dense",
    _INPUTS,
    attrs=SPARSE_DENSE,
    relation=_dense_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=1,
    python=Python("dense_mat, sparse_mat, sparse_lhs=False", names=_DENSE_AND_MATRIX, sparse_mat=_sparse_arrays),
    gradient=sparse_gradients.sparse_dense,
    silenced=True,
    shapes="dense_data (m, k), a sparse matrix (n, k) -> (m, n)",
    source="SciPy's compressed rows",
    edge_cases=(
        "nn.sparse_dense(%x: (2, 3), %data: (3), %indices: (3) int32 = [0, 2, 1], %indptr: (3) int32 = [0, 2, 3])",
        "nn.sparse_dense(%x: (2, 4), %d: (2, 2, 2), %i: (2) int32 = [0, 1], %p: (2) int32 = [0, 2])",
        "nn.sparse_dense(%x: (0, 3), %d: (3), %i: (3) int32 = [0, 2, 1], %p: (3) int32 = [0, 2, 3])",
        "nn.sparse_dense(%x: (4, 3), %d: (3), %i: (3) int32 = [0, 2, 1], %p: (3) int32 = [0, 2, 3], sparse_lhs=True)",
    ),
    doc="Multiply a dense matrix by a transposed sparse one; with `sparse_lhs` a sparse one by a transposed dense one.",
)(_sparse_dense)

sparse_dense_padded = operator(
    "nn.internal.sparse_dense_padded",
    ("data", "weight_data", "weight_indices", "weight_indptr"),
    attrs=SPARSE_DENSE,
    relation=_dense_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=1,
    gradient=sparse_gradients.sparse_dense,
    silenced=True,
    shapes="data (m, k), a sparse matrix (n, k) -> (m, n)",
    source="SciPy's compressed rows",
    edge_cases=(
        (
            "nn.internal.sparse_dense_padded(%x: (2, 3), %data: (3), %indices: (3) int32 = [0, 2, 1], "
            "%indptr: (3) int32 = [0, 2, 3])"
        ),
    ),
    doc="`nn.sparse_dense` on a weight whose rows were padded to equal length for a GPU.",
)(_sparse_dense)


# ---------------------------------------------------------------- sparse_transpose, sparse_add
def _transpose_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    inputs = [tensor(types, i, name) for i, name in enumerate(("sparse_data", "sparse_indices", "sparse_indptr"))]
    data, indices, pointers = inputs
    if data is None or indices is None or pointers is None:
        return None
    for i, ty in enumerate((data, indices, pointers)):
        if len(ty.shape) != 1:
            refuse("nn.sparse_transpose takes a square matrix in compressed rows", i, expected="a vector", found=ty)
    _check_integers("nn.sparse_transpose", types, (1, 2))
    return TupleType((data, indices, pointers))


@operator(
    "nn.sparse_transpose",
    ("sparse_data", "sparse_indices", "sparse_indptr"),
    attrs=attrs("SparseTransposeAttrs"),
    relation=_transpose_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=1,
    python=Python("x", names={"x": _MATRIX["sparse_mat"]}, x=_sparse_arrays),
    gradient=sparse_gradients.sparse_transpose,
    silenced=True,
    results=3,
    shapes="a sparse matrix (n, n) -> its transpose, as data, indices and indptr",
    source="SciPy's compressed rows",
    edge_cases=("nn.sparse_transpose(%data: (3), %indices: (3) int32 = [0, 2, 1], %indptr: (4) int32 = [0, 2, 2, 3])",),
)
def sparse_transpose(attrs: Attrs, data: Array, indices: Array, pointers: Array) -> tuple[Array, ...]:
    """Transpose a square matrix in compressed rows."""
    result = sparse_matrix(data, indices, pointers, len(pointers) - 1).T.tocsr()
    result.sort_indices()
    return (result.data.astype(data.dtype), result.indices.astype(indices.dtype), result.indptr.astype(pointers.dtype))


def _add_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    inputs = _dense_and_sparse("nn.sparse_add", types)
    if inputs is None:
        return None
    dense, data, pointers = inputs
    if len(dense.shape) != 2 or len(data.shape) != 1:
        refuse("nn.sparse_add adds a matrix and one in compressed rows", 0, found=dense)
    rows = _row_count("nn.sparse_add", data, pointers)
    if isinstance(rows, int) and isinstance(dense.shape[0], int) and rows != dense.shape[0]:
        refuse("nn.sparse_add: the matrices have different numbers of rows", 3, expected=dense.shape[0], found=rows)
    return dense


@operator(
    "nn.sparse_add",
    _INPUTS,
    relation=_add_type,
    level=1,
    python=Python("dense_mat, sparse_mat", names=_DENSE_AND_MATRIX, sparse_mat=_sparse_arrays),
    gradient=sparse_gradients.sparse_add,
    silenced=True,
    shapes="dense_data (m, n), a sparse matrix (m, n) -> (m, n)",
    source="SciPy's compressed rows",
    edge_cases=(
        "nn.sparse_add(%x: (2, 3), %data: (3), %indices: (3) int32 = [0, 2, 1], %indptr: (3) int32 = [0, 2, 3])",
        "nn.sparse_add(%x: (2, 3), %d: (0), %i: (0) int32, %p: (3) int32 = [0, 0, 0])",
    ),
)
def sparse_add(
    attrs: Attrs, dense: Array, data: Array, indices: Array, pointers: Array, *, out: Array | None = None
) -> Array:
    """Add a matrix and one in compressed rows."""
    matrix = sparse_matrix(data.astype(dense.dtype, copy=False), indices, pointers, dense.shape[1])
    return copy_result(np.asarray(_widen(dense) + matrix).astype(dense.dtype, copy=False), out)


# ---------------------------------------------------------------- sparse_conv2d
def _conv_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    inputs = _dense_and_sparse("nn.sparse_conv2d", types)
    if inputs is None:
        return None
    dense, data, pointers = inputs
    if len(dense.shape) != 4:
        refuse("nn.sparse_conv2d: dense data must be images", 0, expected="four dimensions", found=dense)
    if attrs.kernel_size not in ((1, 1), (3, 3)):
        refuse("nn.sparse_conv2d: kernel_size", expected="[1, 1] or [3, 3]", found=list(attrs.kernel_size))
    rows = _row_count("nn.sparse_conv2d", data, pointers)
    n, *rest = dense.shape
    return TensorType(
        (n, rest[0], rest[1], rows) if attrs.layout == "NHWC" else (n, rows, rest[1], rest[2]), dense.dtype
    )


@operator(
    "nn.sparse_conv2d",
    _INPUTS,
    attrs=attrs(
        "SparseConv2DAttrs",
        text("layout", "NHWC", "layout of data and result", choices=("NHWC", "NCHW")),
        integers("kernel_size", (1, 1), "size of the window: 1x1, or 3x3 with padding 1"),
    ),
    relation=_conv_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=1,
    python=Python(
        "dense_mat, sparse_mat, layout='NHWC', kernel_size=(1, 1)",
        names=_DENSE_AND_MATRIX,
        sparse_mat=_sparse_arrays,
        kernel_size=on_axes(2),
    ),
    gradient=sparse_gradients.sparse_conv2d,
    silenced=True,
    shapes="dense_data (N, H, W, C), a sparse matrix (O, KH KW C) -> (N, H, W, O)",
    source="a convolution by a sparse matrix product",
    edge_cases=(
        (
            "nn.sparse_conv2d(%x: (1, 2, 2, 2), %data: (2, 1, 1), %indices: (2) int32 = [0, 1], "
            "%indptr: (3) int32 = [0, 1, 2])"
        ),
    ),
)
def sparse_conv2d(
    attrs: Attrs, dense: Array, data: Array, indices: Array, pointers: Array, *, out: Array | None = None
) -> Array:
    """A convolution whose weight is a sparse matrix of outputs by (tap, input channel); the image keeps its size."""
    x = dense if attrs.layout == "NHWC" else dense.transpose(0, 2, 3, 1)
    n, h, w, _ = x.shape
    if attrs.kernel_size == (3, 3):
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        x = np.concatenate([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=3)
    patches = x.reshape(n * h * w, x.shape[3])
    result = np.asarray(sparse_matrix(data, indices, pointers, patches.shape[1]) @ _widen(patches).T)
    result = result.astype(dense.dtype, copy=False).reshape(result.shape[0], n, h, w)
    return copy_result(
        np.ascontiguousarray(result.transpose((1, 2, 3, 0) if attrs.layout == "NHWC" else (1, 0, 2, 3))), out
    )
