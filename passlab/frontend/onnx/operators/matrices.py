"""Products of matrices."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.products import matrix_product
from passlab.ir.expr import Expr


@onnx_operator("MatMul", 1, 9, 13)
def matmul(n: OnnxNode, a: Expr, b: Expr) -> Expr:
    """`nn.dense` with one matrix, `nn.batch_matmul` with a batch."""
    return matrix_product(n, a, b, "")


@onnx_operator("Gemm", 1, 6, 7, 9, 11, 13)
def gemm(n: OnnxNode, a: Expr, b: Expr, c: Expr | None = None) -> Expr:
    """`nn.dense`, scaled, and `nn.bias_add` or `add`."""
    alpha, beta = n.number("alpha", 1.0), n.number("beta", 1.0)
    a = n("transpose", a, axes=[1, 0]) if n.flag("transA") else a
    b = b if n.flag("transB") else n("transpose", b, axes=[1, 0])  # `nn.dense` multiplies by the transposed weight
    result = n("nn.dense", a, b)
    result = result if alpha == 1 else n("multiply", result, n.constant(alpha, result))
    if c is None or beta == 0:
        return result
    c = c if beta == 1 else n("multiply", c, n.constant(beta, c))
    if n.rank(c) == 1 and n.shape(c)[0] == n.shape(result)[1] and n.shape(c)[0] != 1:
        return n("nn.bias_add", result, c, axis=1)
    return n("add", result, c)


@onnx_operator("Einsum", 12, 28)
def einsum(n: OnnxNode, first: Expr, *others: Expr) -> Expr:
    """`einsum`."""
    return n("einsum", n.builder.tuple([first, *others]), equation=n.text("equation").replace(" ", ""))


@onnx_operator("Det", 11, 22)
def determinant(n: OnnxNode, x: Expr) -> Expr:
    """The sum over permutations, for matrices of up to three rows."""
    size = n.static_shape(x, [-1])[0]
    if size != n.static_shape(x, [-2])[0] or not 1 <= size <= 3:
        n.refuse("is supported for square matrices of up to three rows", found=str(n.shape(x)))
    return _cofactors(n, x, size)


def _cofactors(n: OnnxNode, x: Expr, size: int) -> Expr:
    def entry(row: int, column: int) -> Expr:
        line = n("take", x, n.constant(row, "int64"), axis=n.rank(x) - 2)
        return n("take", line, n.constant(column, "int64"), axis=n.rank(x) - 2)  # the axis of rows is gone

    def minor(rows: tuple[int, int], columns: tuple[int, int]) -> Expr:
        down = n("multiply", entry(rows[0], columns[0]), entry(rows[1], columns[1]))
        return n("subtract", down, n("multiply", entry(rows[0], columns[1]), entry(rows[1], columns[0])))

    if size == 1:
        return entry(0, 0)
    if size == 2:
        return minor((0, 1), (0, 1))
    # Cyclic columns give each cofactor its sign.
    parts = [n("multiply", entry(0, c), minor((1, 2), ((c + 1) % 3, (c + 2) % 3))) for c in range(3)]
    return n("add", n("add", parts[0], parts[1]), parts[2])
