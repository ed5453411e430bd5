"""Products of matrices."""

from __future__ import annotations

from passlab.frontend.products import matrix_product
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Node, Number
from passlab.ir.expr import Expr


@aten("linear")
def linear(n: Node, x: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """`nn.dense` and `nn.bias_add`."""
    if n.rank(weight) == 1:
        made = matrix_product(n, x, weight, "")
        return made if bias is None else n("add", made, bias)
    if n.rank(x) == 1:
        made = n("squeeze", n("nn.dense", n("expand_dims", x, axis=0), weight), axis=[0])
    else:
        made = n("nn.dense", x, weight)
    return made if bias is None else n("nn.bias_add", made, bias, axis=-1)


@aten("mm", "bmm", "matmul", "mv", "dot")
def product(n: Node, a: Expr, b: Expr) -> Expr:
    """`nn.dense` by a matrix, `nn.batch_matmul` by more of them."""
    return matrix_product(n, a, b, "")


def _mixed(n: Node, bias: Expr, made: Expr, beta: Number, alpha: Number) -> Expr:
    made = made if alpha == 1 else n("multiply", made, n.constant(alpha, made))
    if beta == 0:
        return made
    return n("add", made, bias if beta == 1 else n("multiply", bias, n.constant(beta, bias)))


@aten("addmm", "baddbmm", "addmv", "addbmm")
def addmm(n: Node, bias: Expr, a: Expr, b: Expr, beta: Number = 1, alpha: Number = 1) -> Expr:
    """A product of matrices, scaled, and `add`."""
    made = matrix_product(n, a, b, "")
    if n.op_type.startswith("aten.addbmm"):
        made = n("sum", made, axis=[0], keepdims=False)
    plain = beta == alpha == 1 and n.rank(bias) == 1 and n.rank(made) == 2
    if plain and isinstance(n.shape(bias)[0], int) and n.shape(bias)[0] == n.shape(made)[1] != 1:
        return n("nn.bias_add", made, bias, axis=1)
    return _mixed(n, bias, made, beta, alpha)


@aten("einsum")
def einsum(n: Node, equation: str, operands: list[Expr], path: object = None) -> Expr:
    """`einsum`."""
    equation = equation.replace(" ", "")
    if "->" not in equation:
        letters = sorted({c for c in equation if c.isalpha() and equation.count(c) == 1})
        equation += "->" + ("..." if "..." in equation else "") + "".join(letters)
    return n("einsum", n.builder.tuple(operands), equation=equation)


@aten("outer")
def outer(n: Node, a: Expr, b: Expr) -> Expr:
    """`multiply` of a column and a row."""
    return n("multiply", n("expand_dims", a, axis=1), n("expand_dims", b, axis=0))
