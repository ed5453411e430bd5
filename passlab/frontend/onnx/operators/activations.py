"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable

from passlab.frontend.formulas import gelu_of, softplus_of
from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.sizes import two_dimensions
from passlab.ir.expr import Expr


@onnx_operator("LeakyRelu", 1, 6, 16)
def leaky_relu(n: OnnxNode, x: Expr) -> Expr:
    """`nn.leaky_relu`."""
    return n("nn.leaky_relu", x, alpha=n.number("alpha", 0.01))


@onnx_operator("PRelu", 1, 6, 7, 9, 16)
def prelu(n: OnnxNode, x: Expr, slope: Expr) -> Expr:
    """`where` of the input and its product with the slope; before opset 7 the slope runs along the channels."""
    if n.version < 7 and n.rank(slope) == 1 and n.rank(x) > 2:  # slopes along axis 1
        slope = n("expand_dims", slope, axis=1, num_newaxis=n.rank(x) - 2)
    return n("where", n("less", x, 0), n("multiply", x, slope), x)


def exponential(n: OnnxNode, x: Expr, alpha: float, gamma: float) -> Expr:
    """Return gamma * x where x is positive, and gamma * alpha * (exp(x) - 1) elsewhere."""
    below = n("multiply", n("subtract", n("exp", n("minimum", x, 0)), 1), alpha)
    result = n("where", n("greater", x, 0), x, below)
    return result if gamma == 1 else n("multiply", result, gamma)


@onnx_operator("Elu", 1, 6, 22)
def elu(n: OnnxNode, x: Expr) -> Expr:
    """`alpha * (exp(x) - 1)` where x is negative."""
    return exponential(n, x, n.number("alpha", 1.0), 1.0)


@onnx_operator("Selu", 1, 6, 22)
def selu(n: OnnxNode, x: Expr) -> Expr:
    """A scaled Elu; before opset 6 with rounded constants."""
    alpha, gamma = (1.6732, 1.0507) if n.version < 6 else (1.67326319217681884765625, 1.05070102214813232421875)
    return exponential(n, x, n.number("alpha", alpha), n.number("gamma", gamma))


@onnx_operator("Celu", 12, 28)
def celu(n: OnnxNode, x: Expr) -> Expr:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`."""
    alpha = n.number("alpha", 1.0)
    below = n("multiply", n("subtract", n("exp", n("divide", n("minimum", x, 0), alpha)), 1), alpha)
    return n("where", n("greater", x, 0), x, below)


@onnx_operator("ThresholdedRelu", 10, 22)
def thresholded_relu(n: OnnxNode, x: Expr) -> Expr:
    """`where` x is above the threshold, zero elsewhere."""
    return n("where", n("greater", x, n.number("alpha", 1.0)), x, n.constant(0, x))


@onnx_operator("HardSigmoid", 1, 6, 22)
def hard_sigmoid(n: OnnxNode, x: Expr) -> Expr:
    """`clip` of alpha * x + beta to 0 and 1."""
    line = n("add", n("multiply", x, n.number("alpha", 0.2)), n.number("beta", 0.5))
    return n("clip", line, a_min=0.0, a_max=1.0)


@onnx_operator("HardSwish", 14, 22)
def hard_swish(n: OnnxNode, x: Expr) -> Expr:
    """`x * clip(x / 6 + 1 / 2, 0, 1)`."""
    return n("multiply", x, n("clip", n("add", n("divide", x, 6), 0.5), a_min=0.0, a_max=1.0))


@onnx_operator("Softplus", 1, 22)
def softplus(n: OnnxNode, x: Expr) -> Expr:
    """`max(x, 0) + log(1 + exp(-|x|))`."""
    return softplus_of(n, x)


@onnx_operator("Softsign", 1, 22)
def softsign(n: OnnxNode, x: Expr) -> Expr:
    """`x / (1 + |x|)`."""
    return n("divide", x, n("add", n("abs", x), 1))


@onnx_operator("Mish", 18, 22)
def mish(n: OnnxNode, x: Expr) -> Expr:
    """`x * tanh(softplus(x))`."""
    return n("multiply", x, n("tanh", softplus_of(n, x)))


@onnx_operator("Gelu", 20)
def gelu(n: OnnxNode, x: Expr) -> Expr:
    """`x / 2 * (1 + erf(x / sqrt(2)))`, or its approximation by `tanh`."""
    return gelu_of(n, x, n.choice("approximate", "none", ("none", "tanh")) == "tanh")


@onnx_operator("Swish", 24)
def swish(n: OnnxNode, x: Expr) -> Expr:
    """`x * sigmoid(alpha * x)`."""
    alpha = n.number("alpha", 1.0)
    return n("multiply", x, n("sigmoid", x if alpha == 1 else n("multiply", x, alpha)))


@onnx_operator("Shrink", 9)
def shrink(n: OnnxNode, x: Expr) -> Expr:
    """`x` moved towards zero by the bias where |x| is above the threshold, zero elsewhere."""
    bias, threshold = n.number("bias", 0.0), n.number("lambd", 0.5)
    wide = "float32" if not n.is_float(x) else n.dtype(x)
    y = n.cast(x, wide)
    high = n("where", n("greater", y, threshold), n("subtract", y, bias), n.constant(0, wide))
    return n.cast(n("where", n("less", y, -threshold), n("add", y, bias), high), n.dtype(x))


@onnx_operator("Softmax", 1, 11, 13)
def softmax(n: OnnxNode, x: Expr) -> Expr:
    """`nn.softmax`; before opset 13 over all axes from `axis` on."""
    return on_axis(n, x, lambda data, axis: n("nn.softmax", data, axis=axis))


@onnx_operator("LogSoftmax", 1, 11, 13)
def log_softmax(n: OnnxNode, x: Expr) -> Expr:
    """`nn.log_softmax`; before opset 13 over all axes from `axis` on."""
    return on_axis(n, x, lambda data, axis: n("nn.log_softmax", data, axis=axis))


@onnx_operator("Hardmax", 1, 11, 13)
def hardmax(n: OnnxNode, x: Expr) -> Expr:
    """`one_hot` of `argmax`; before opset 13 over all axes from `axis` on."""

    def highest(data: Expr, axis: int) -> Expr:
        on, off = n.constant(1, data), n.constant(0, data)
        axis = n.axis(axis, n.rank(data))
        depth = n.shape(data)[axis]
        if isinstance(depth, int):
            positions = n("argmax", data, axis=axis)
            return n("one_hot", positions, on, off, depth=depth, axis=axis, dtype=n.dtype(data))
        place = n("cumsum", n("ones_like", n.cast(data, "int32")), axis=axis, exclusive=True)
        largest = n.cast(n("argmax", data, axis=axis, keepdims=True), "int32")
        return n("where", n("equal", place, largest), on, off)

    return on_axis(n, x, highest)


def on_axis(n: OnnxNode, x: Expr, function: Callable[[Expr, int], Expr]) -> Expr:
    """Return `function(data, axis)` for the attribute `axis` of a node.

    Before opset 13 the function applies to all axes from that one on: unless it is the last, data is flattened to two
    dimensions, and the result is reshaped back.
    """
    rank = n.rank(x)
    if n.version >= 13:
        return function(x, n.axis(n.integer("axis", -1), rank))
    axis = n.axis(n.integer("axis", 1), rank)
    if axis == rank - 1:
        return function(x, axis)
    flat = n("reshape", x, newshape=two_dimensions(n, x, axis))
    return n("reshape_like", function(flat, 1), x)
