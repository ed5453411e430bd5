"""Gradients of operators on sparse matrices, in terms of dense operators: selections, products and sums by row.

A matrix in compressed rows is one in blocks of one by one. Elements after the last row pointer do not belong to it.
"""

from __future__ import annotations

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple
from passlab.ir.op import OpCall
from passlab.op.along_axis import indices, number, reshape_to
from passlab.op.autodiff import by_definition, dtype_of, sizes_of
from passlab.op.declare import call, field_of


def _row_of_elements(pointers: Expr, count: int) -> tuple[Expr, Expr]:
    """Return the row of each of `count` elements, and whether the element belongs to a row."""
    rows = sizes_of(pointers, "a sparse matrix")[0] - 1
    positions = Constant(np.arange(count, dtype=np.int64))
    row_starts = call("cast", pointers, dtype="int64")
    row_numbers = call("searchsorted", row_starts, positions, right=True, dtype="int64") - indices(1)
    return call("minimum", row_numbers, indices(max(rows - 1, 0))), call("less", row_numbers, indices(rows))


def _sparse_product(dense: Expr, shape: tuple[int, int], data: Expr, columns: Expr, pointers: Expr) -> Expr:
    """Return a dense matrix of `shape` times the transpose of a sparse one: (rows of dense, rows of sparse)."""
    count, *block = sizes_of(data, "a sparse matrix")
    height, width = block or (1, 1)
    (dense_rows, inner), dtype = shape, dtype_of(data)
    row, inside = _row_of_elements(pointers, count)
    blocks = reshape_to(data, (count, height, width))
    mask = call("cast", reshape_to(inside, (count, 1, 1)), dtype=dtype)
    dense_blocks = reshape_to(dense, (dense_rows, inner // width, width))
    dense_blocks = call("take", dense_blocks, columns, axis=1, mode="fast")
    products = call("einsum", Tuple([dense_blocks, blocks * mask]), equation="mbj,bij->bmi")
    rows = sizes_of(pointers, "a sparse matrix")[0] - 1
    zeros = number(np.zeros((rows, dense_rows, height)), dtype)
    total = call("scatter_nd", zeros, call("expand_dims", row, axis=0), products, mode="add")
    return reshape_to(call("transpose", total, axes=[1, 0, 2]), (dense_rows, rows * height))


def _define_sparse_dense(attrs: Attrs, dense: Expr, data: Expr, columns: Expr, pointers: Expr) -> Expr:
    dense_rows, inner = sizes_of(dense, "nn.sparse_dense")
    result = _sparse_product(dense, (dense_rows, inner), data, columns, pointers)
    return call("transpose", result, axes=[1, 0]) if attrs.sparse_lhs else result


sparse_dense = by_definition(_define_sparse_dense)


def _define_sparse_add(attrs: Attrs, dense: Expr, data: Expr, columns: Expr, pointers: Expr) -> Expr:
    count = sizes_of(data, "nn.sparse_add")[0]
    row, inside = _row_of_elements(pointers, count)
    mask = call("cast", inside, dtype=dtype_of(dense))
    positions = call("stack", Tuple([row, call("cast", columns, dtype="int64")]), axis=0)
    elements = data if dtype_of(data) == dtype_of(dense) else call("cast", data, dtype=dtype_of(dense))
    return call("scatter_nd", dense, positions, elements * mask, mode="add")


sparse_add = by_definition(_define_sparse_add)


def _define_sparse_conv2d(attrs: Attrs, dense: Expr, data: Expr, columns: Expr, pointers: Expr) -> Expr:
    """Define `nn.sparse_conv2d`: patches of the image, as rows, times the sparse weight."""
    x = dense if attrs.layout == "NHWC" else call("transpose", dense, axes=[0, 2, 3, 1])
    shape = sizes_of(dense, "nn.sparse_conv2d")
    n, h, w, c = shape if attrs.layout == "NHWC" else (shape[0], *shape[2:], shape[1])
    if attrs.kernel_size == (3, 3):
        padded = call("nn.pad", x, number(0, dtype_of(dense)), pad_width=((0, 0), (1, 1), (1, 1), (0, 0)))
        taps = [
            call("strided_slice", padded, begin=[i, j], end=[i + h, j + w], strides=[1, 1], axes=[1, 2])
            for i in range(3)
            for j in range(3)
        ]
        x, c = call("concatenate", Tuple(taps), axis=3), 9 * c
    rows = reshape_to(x, (n * h * w, c))
    result = _sparse_product(rows, (n * h * w, c), data, columns, pointers)
    block = sizes_of(data, "nn.sparse_conv2d")[1:]
    outputs = (sizes_of(pointers, "nn.sparse_conv2d")[0] - 1) * (block[0] if block else 1)
    image = reshape_to(result, (n, h, w, outputs))
    return image if attrs.layout == "NHWC" else call("transpose", image, axes=[0, 3, 1, 2])


sparse_conv2d = by_definition(_define_sparse_conv2d)


def sparse_transpose(orig: OpCall, grad: Expr) -> list[Expr]:
    """Each element receives the gradient of its new position: in the order of columns, and of rows within one."""
    data, columns, pointers = orig.args
    count = sizes_of(data, "nn.sparse_transpose")[0]
    order = call("argsort", columns, axis=0, is_ascend=True, dtype="int64")
    zeros = call("zeros_like", data)
    result = call("scatter_elements", zeros, order, field_of(grad, 0), axis=0) if count else zeros
    return [result, call("zeros_like", columns), call("zeros_like", pointers)]


def sparse_fill_empty_rows(orig: OpCall, grad: Expr) -> list[Expr]:
    """The values receive the gradients of their positions; the default receives the gradients of the rows that were
    empty.
    """
    rows, values, shape, default = orig.args
    count = sizes_of(values, "sparse_fill_empty_rows")[0]
    empty = reshape_to(call("argwhere", field_of(orig, 2)), [-1])
    used_rows = reshape_to(call("strided_slice", rows, begin=[0], end=[1], strides=[1], axes=[1]), [-1])
    row_numbers = [call("cast", part, dtype="int64") for part in (used_rows, empty)]
    order = call("argsort", call("concatenate", Tuple(row_numbers), axis=0), axis=0, is_ascend=True, dtype="int64")
    value_grad = field_of(grad, 1)
    original_order = call("scatter_elements", call("zeros_like", value_grad), order, value_grad, axis=0)
    element_grads = call("strided_slice", original_order, begin=[0], end=[count], strides=[1], axes=[0])
    element_grads = reshape_to(element_grads, [count])
    default_total = call("sum", value_grad, axis=None) - call("sum", element_grads, axis=None)
    default_grad = call("reshape_like", default_total, default)
    return [call("zeros_like", rows), element_grads, call("zeros_like", shape), default_grad]
