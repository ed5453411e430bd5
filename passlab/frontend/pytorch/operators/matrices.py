"""Products of matrices."""

from __future__ import annotations

import numpy as np

from passlab.frontend.products import matrix_product
from passlab.frontend.pytorch.entries import aten, torch_operator
from passlab.frontend.pytorch.node import Number, TorchNode
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr


@aten("linear")
def linear(n: TorchNode, x: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """`nn.dense` and `nn.bias_add`."""
    if n.rank(weight) == 1:
        result = matrix_product(n, x, weight, "")
        return result if bias is None else n("add", result, bias)
    if n.rank(x) == 1:  # `nn.dense` takes rows
        result = n("squeeze", n("nn.dense", n("expand_dims", x, axis=0), weight), axis=[0])
    else:
        result = n("nn.dense", x, weight)
    return result if bias is None else n("nn.bias_add", result, bias, axis=-1)


@aten("mm", "bmm", "matmul", "mv", "dot")
def product(n: TorchNode, a: Expr, b: Expr) -> Expr:
    """`nn.dense` with one matrix, `nn.batch_matmul` with a batch."""
    return matrix_product(n, a, b, "")


@aten("addmm", "baddbmm", "addmv", "addbmm")
def addmm(n: TorchNode, bias: Expr, a: Expr, b: Expr, beta: Number = 1, alpha: Number = 1) -> Expr:
    """A product of matrices, scaled, and `add`."""
    result = matrix_product(n, a, b, "")
    if n.op_type.startswith("aten.addbmm"):
        result = n("sum", result, axis=[0], keepdims=False)
    # The form of a linear layer, which later passes fuse. A bias of one element is broadcast by `add`.
    plain = beta == alpha == 1 and n.rank(bias) == 1 and n.rank(result) == 2
    if plain and isinstance(n.shape(bias)[0], int) and n.shape(bias)[0] == n.shape(result)[1] != 1:
        return n("nn.bias_add", result, bias, axis=1)
    result = result if alpha == 1 else n("multiply", result, n.constant(alpha, result))
    if beta == 0:
        return result
    return n("add", result, bias if beta == 1 else n("multiply", bias, n.constant(beta, bias)))


@aten("einsum")
def einsum(n: TorchNode, equation: str, operands: list[Expr], path: object = None) -> Expr:
    """`einsum`."""
    equation = equation.replace(" ", "")
    if "->" not in equation:  # the result has the letters that occur once, in alphabetical order
        letters = sorted({c for c in equation if c.isalpha() and equation.count(c) == 1})
        equation += "->" + ("..." if "..." in equation else "") + "".join(letters)
    return n("einsum", n.builder.tuple(operands), equation=equation)


@aten("outer")
def outer(n: TorchNode, a: Expr, b: Expr) -> Expr:
    """`multiply` of a column and a row."""
    return n("multiply", n("expand_dims", a, axis=1), n("expand_dims", b, axis=0))


@torch_operator("aten._grouped_mm", "transformers.grouped_mm_fallback")
def grouped_product(
    n: TorchNode,
    rows: Expr,
    matrices: Expr,
    offs: Expr | None = None,
    bias: Expr | None = None,
    out_dtype: object = None,
) -> Expr:
    """A product with each matrix, of which `where` takes the rows of its group: those before `offs[group]`."""
    if offs is None or bias is not None or (n.rank(rows), n.rank(matrices)) != (2, 3):
        n.refuse("is supported for groups of rows, each with a matrix of its own and without a bias")
    groups, *_ = n.static_shape(matrices, [0])
    length = size_of(n, rows, 0)
    if isinstance(length, int):
        place = n.array(np.arange(length, dtype="int32").reshape(-1, 1))
    else:
        bounds = n.constant(0, "int32"), n.cast(n.scalar(length), "int32"), n.constant(1, "int32")
        place = n("reshape", n("arange", *bounds, dtype="int32"), newshape=[-1, 1])
    result: Expr | None = None
    for group in reversed(range(groups)):  # the first group whose end is beyond a row is the row's
        matrix = n("take", matrices, n.constant(group, "int64"), axis=0)
        end = n("take", offs, n.constant(group, "int64"), axis=0)
        product_ = matrix_product(n, rows, matrix, "")
        rest = result if result is not None else n("zeros_like", product_)  # rows beyond the last group
        result = n("where", n("less", place, n("cast", end, dtype="int32")), product_, rest)
    return rows if result is None else result
