"""Activation functions."""

from __future__ import annotations

from passlab.frontend.formulas import expm1_of, gelu_of, softplus_of
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Number, TorchNode
from passlab.ir.expr import Expr


@aten("gelu")
def gelu(n: TorchNode, x: Expr, approximate: str = "none") -> Expr:
    """`x / 2 * (1 + erf(x / sqrt(2)))`, or its approximation by `tanh`."""
    return gelu_of(n, x, approximate == "tanh")


@aten("silu")
def silu(n: TorchNode, x: Expr) -> Expr:
    """`x * sigmoid(x)`."""
    return n("multiply", x, n("sigmoid", x))


@aten("mish")
def mish(n: TorchNode, x: Expr) -> Expr:
    """`x * tanh(softplus(x))`."""
    return n("multiply", x, n("tanh", softplus_of(n, x)))


@aten("softplus")
def softplus(n: TorchNode, x: Expr, beta: Number = 1, threshold: Number = 20) -> Expr:
    """`log(1 + exp(beta * x)) / beta`; `x` itself above the threshold."""
    inner = x if beta == 1 else n("multiply", x, beta)
    result = softplus_of(n, inner)
    result = result if beta == 1 else n("divide", result, n.constant(beta, x))
    return n("where", n("greater", inner, n.constant(threshold, x)), x, result)


@aten("log_sigmoid")
def log_sigmoid(n: TorchNode, x: Expr) -> Expr:
    """`-softplus(-x)`."""
    return n("negative", softplus_of(n, n("negative", x)))


@aten("hardtanh")
def hardtanh(n: TorchNode, x: Expr, low: Number = -1.0, high: Number = 1.0) -> Expr:
    """`clip`."""
    return n("clip", x, a_min=float(low), a_max=float(high))


@aten("relu6")
def relu6(n: TorchNode, x: Expr) -> Expr:
    """`clip` to 0 and 6."""
    return hardtanh(n, x, 0.0, 6.0)


@aten("hardswish")
def hardswish(n: TorchNode, x: Expr) -> Expr:
    """`x * clip(x + 3, 0, 6) / 6`."""
    return n("divide", n("multiply", x, hardtanh(n, n("add", x, 3), 0.0, 6.0)), n.constant(6, x))


@aten("hardsigmoid")
def hardsigmoid(n: TorchNode, x: Expr) -> Expr:
    """`clip(x + 3, 0, 6) / 6`."""
    return n("divide", hardtanh(n, n("add", x, 3), 0.0, 6.0), n.constant(6, x))


@aten("leaky_relu")
def leaky_relu(n: TorchNode, x: Expr, negative_slope: Number = 0.01) -> Expr:
    """`nn.leaky_relu`."""
    return n("nn.leaky_relu", x, alpha=float(negative_slope))


@aten("elu")
def elu(n: TorchNode, x: Expr, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Expr:
    """`scale * x` above 0, `scale * alpha * (exp(x * input_scale) - 1)` below, without overflow."""
    below = n("minimum", x, n.constant(0, x))  # `where` computes both sides: exp of a large x would overflow
    inner = below if input_scale == 1 else n("multiply", below, input_scale)
    expm1 = expm1_of(n, inner)
    result = n("where", n("greater", x, n.constant(0, x)), x, expm1 if alpha == 1 else n("multiply", expm1, alpha))
    return result if scale == 1 else n("multiply", result, scale)


@aten("selu")
def selu(n: TorchNode, x: Expr) -> Expr:
    """As `elu`, with fixed constants."""
    return elu(n, x, 1.6732632423543772, 1.0507009873554805)


@aten("celu")
def celu(n: TorchNode, x: Expr, alpha: Number = 1.0) -> Expr:
    """As `elu`, of `x / alpha`."""
    return elu(n, x, alpha, 1, 1 / alpha)


@aten("prelu", "_prelu_kernel")
def prelu(n: TorchNode, x: Expr, weight: Expr) -> Expr:
    """`nn.prelu`; with one slope for all channels, `where`."""
    if n.rank(x) > 1 and n.rank(weight) == 1 and n.shape(weight) == (n.shape(x)[1],):
        return n("nn.prelu", x, weight, axis=1)
    return n("where", n("greater", x, n.constant(0, x)), x, n("multiply", x, weight))


@aten("threshold")
def threshold(n: TorchNode, x: Expr, bound: Number, value: Number) -> Expr:
    """`where`."""
    return n("where", n("greater", x, n.constant(bound, x)), x, n.constant(value, x))


@aten("glu")
def glu(n: TorchNode, x: Expr, dim: int = -1) -> Expr:
    """The first half times the `sigmoid` of the second."""
    parts = n.fields(n("split", x, indices_or_sections=2, axis=n.axis(dim, n.rank(x))), 2)
    return n("multiply", parts[0], n("sigmoid", parts[1]))


@aten("softmax", "_softmax", "_safe_softmax")
def softmax(n: TorchNode, x: Expr, dim: int, half_to_float: bool | str | None = None, dtype: str | None = None) -> Expr:
    """`nn.softmax`."""
    # The dtype of the result says what `dtype` or `half_to_float` asks for.
    return n("nn.softmax", n.cast(x, n.out_dtype) if n.result else x, axis=n.axis(dim, n.rank(x)))


@aten("log_softmax", "_log_softmax")
def log_softmax(
    n: TorchNode, x: Expr, dim: int, half_to_float: bool | str | None = None, dtype: str | None = None
) -> Expr:
    """`nn.log_softmax`."""
    return n("nn.log_softmax", n.cast(x, n.out_dtype) if n.result else x, axis=n.axis(dim, n.rank(x)))


@aten("dropout", "dropout_", "feature_dropout", "alpha_dropout")
def dropout(n: TorchNode, x: Expr, p: float = 0.5, train: bool = False) -> Expr:
    """Its input: nothing is dropped in inference."""
    if train and p > 0:
        n.refuse("drops elements by chance", hint="export the model for inference: model.eval()")
    return x


@aten("native_dropout")
def native_dropout(n: TorchNode, x: Expr, p: float, train: bool | None = False) -> list[Expr]:
    """Its input, and a mask of ones."""
    return [dropout(n, x, p, bool(train)), n("ones_like", n.cast(x, "bool"))]  # the mask keeps every element
