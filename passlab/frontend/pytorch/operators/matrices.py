"""Products of matrices."""

from __future__ import annotations

from passlab.frontend.products import matrix_product
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Number, TorchNode
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


def _add_scaled(n: TorchNode, bias: Expr, result: Expr, beta: Number, alpha: Number) -> Expr:
    result = result if alpha == 1 else n("multiply", result, n.constant(alpha, result))
    if beta == 0:
        return result
    return n("add", result, bias if beta == 1 else n("multiply", bias, n.constant(beta, bias)))


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
    return _add_scaled(n, bias, result, beta, alpha)


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
