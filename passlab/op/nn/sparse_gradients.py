"""Gradients of operators on sparse matrices, in terms of dense operators: selections, products and sums by row.

A matrix in compressed rows is one in blocks of one by one. Elements after the last row pointer do not belong to it.
"""

from __future__ import annotations

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple
from passlab.ir.op import OpCall
from passlab.op.along_axis import indices, number, reshape_to
from passlab.op.chain import by_definition, dtype_of, sizes_of
from passlab.op.declare import call, field_of


def _row_of_each(pointers: Expr, count: int) -> tuple[Expr, Expr]:
    """The row of each of `count` elements, and whether it has one."""
    rows = sizes_of(pointers, "a sparse matrix")[0] - 1
    positions = Constant(np.arange(count, dtype=np.int64))
    wide = call("cast", pointers, dtype="int64")
    row_numbers = call("searchsorted", wide, positions, right=True, dtype="int64") - indices(1)
    return call("minimum", row_numbers, indices(max(rows - 1, 0))), call("less", row_numbers, indices(rows))


def _product(dense: Expr, shape: tuple[int, int], data: Expr, columns: Expr, pointers: Expr) -> Expr:
    """A dense matrix times the transpose of a sparse one, with shape (rows of dense, rows of sparse)."""
    count, *block = sizes_of(data, "a sparse matrix")
    height, width = block or (1, 1)
    (many, inner), dtype = shape, dtype_of(data)
    row, inside = _row_of_each(pointers, count)
    blocks = reshape_to(data, (count, height, width))
    kept = call("cast", reshape_to(inside, (count, 1, 1)), dtype=dtype)
    pieces = reshape_to(dense, (many, inner // width, width))
    pieces = call("take", pieces, columns, axis=1, mode="fast")
    each = call("einsum", Tuple([pieces, blocks * kept]), equation="mbj,bij->bmi")
    rows = sizes_of(pointers, "a sparse matrix")[0] - 1
    zeros = number(np.zeros((rows, many, height)), dtype)
    total = call("scatter_nd", zeros, call("expand_dims", row, axis=0), each, mode="add")
    return reshape_to(call("transpose", total, axes=[1, 0, 2]), (many, rows * height))


def _dense_product(attrs: Attrs, dense: Expr, data: Expr, columns: Expr, pointers: Expr) -> Expr:
    many, inner = sizes_of(dense, "nn.sparse_dense")
    result = _product(dense, (many, inner), data, columns, pointers)
    return call("transpose", result, axes=[1, 0]) if attrs.sparse_lhs else result


sparse_dense = by_definition(_dense_product)


def _sum(attrs: Attrs, dense: Expr, data: Expr, columns: Expr, pointers: Expr) -> Expr:
    count = sizes_of(data, "nn.sparse_add")[0]
    row, inside = _row_of_each(pointers, count)
    kept = call("cast", inside, dtype=dtype_of(dense))
    positions = call("stack", Tuple([row, call("cast", columns, dtype="int64")]), axis=0)
    added = data if dtype_of(data) == dtype_of(dense) else call("cast", data, dtype=dtype_of(dense))
    return call("scatter_nd", dense, positions, added * kept, mode="add")


sparse_add = by_definition(_sum)


def _convolution(attrs: Attrs, dense: Expr, data: Expr, columns: Expr, pointers: Expr) -> Expr:
    """Patches of the image, as rows, times the sparse weight."""
    x = dense if attrs.layout == "NHWC" else call("transpose", dense, axes=[0, 2, 3, 1])
    shape = sizes_of(dense, "nn.sparse_conv2d")
    n, h, w, c = shape if attrs.layout == "NHWC" else (shape[0], *shape[2:], shape[1])
    if attrs.kernel_size == (3, 3):
        wide = call("nn.pad", x, number(0, dtype_of(dense)), pad_width=((0, 0), (1, 1), (1, 1), (0, 0)))
        taps = [
            call("strided_slice", wide, begin=[i, j], end=[i + h, j + w], strides=[1, 1], axes=[1, 2])
            for i in range(3)
            for j in range(3)
        ]
        x, c = call("concatenate", Tuple(taps), axis=3), 9 * c
    rows = reshape_to(x, (n * h * w, c))
    result = _product(rows, (n * h * w, c), data, columns, pointers)
    block = sizes_of(data, "nn.sparse_conv2d")[1:]
    outputs = (sizes_of(pointers, "nn.sparse_conv2d")[0] - 1) * (block[0] if block else 1)
    image = reshape_to(result, (n, h, w, outputs))
    return image if attrs.layout == "NHWC" else call("transpose", image, axes=[0, 3, 1, 2])


sparse_conv2d = by_definition(_convolution)


def sparse_transpose(orig: OpCall, grad: Expr) -> list[Expr]:
    """Each element receives the gradient of its new position: in the order of columns, and of rows within one."""
    data, columns, pointers = orig.args
    count = sizes_of(data, "nn.sparse_transpose")[0]
    order = call("argsort", columns, axis=0, is_ascend=True, dtype="int64")
    zeros = call("zeros_like", data)
    result = call("scatter_elements", zeros, order, field_of(grad, 0), axis=0) if count else zeros
    return [result, call("zeros_like", columns), call("zeros_like", pointers)]


def sparse_fill_empty_rows(orig: OpCall, grad: Expr) -> list[Expr]:
    """The values receive the gradients of their positions; the default receives those of the rows that were empty."""
    rows, values, shape, default = orig.args
    count = sizes_of(values, "sparse_fill_empty_rows")[0]
    empty = reshape_to(call("argwhere", field_of(orig, 2)), [-1])
    taken = reshape_to(call("strided_slice", rows, begin=[0], end=[1], strides=[1], axes=[1]), [-1])
    joined = [call("cast", part, dtype="int64") for part in (taken, empty)]
    order = call("argsort", call("concatenate", Tuple(joined), axis=0), axis=0, is_ascend=True, dtype="int64")
    seen = field_of(grad, 1)
    moved = call("scatter_elements", call("zeros_like", seen), order, seen, axis=0)
    back = call("strided_slice", moved, begin=[0], end=[count], strides=[1], axes=[0])
    back = reshape_to(back, [count])
    rest = call("sum", seen, axis=None) - call("sum", back, axis=None)
    slope = call("reshape_like", rest, default)
    return [call("zeros_like", rows), back, call("zeros_like", shape), slope]
