"""Normalizations."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr


@onnx_operator("BatchNormalization", 1, 6, 7, 9, 14, 15)
def batch_normalization(n: OnnxNode, x: Expr, scale: Expr, bias: Expr, mean: Expr, variance: Expr) -> list[Expr]:
    """`nn.batch_norm`; in training mode by the statistics of the batch, which also update the running ones."""
    if n.version < 9 and not n.flag("spatial", True):
        n.refuse("normalizes each position by itself", hint="only `spatial=1` is supported")
    epsilon = n.number("epsilon", 1e-5)
    if n.version >= 14 and n.flag("training_mode"):
        return _batch_statistics(n, x, scale, bias, mean, variance)
    if n.version < 7 and not n.flag("is_test") and n.uses_output(1):
        n.refuse("is in training mode", hint="export the model for inference")
    parts = [n.cast(part, n.dtype(x)) for part in (scale, bias, mean, variance)]
    return [n.fields(n("nn.batch_norm", x, *parts, axis=1, epsilon=epsilon), 3)[0]]


def _batch_statistics(n: OnnxNode, x: Expr, scale: Expr, bias: Expr, mean: Expr, variance: Expr) -> list[Expr]:
    axes = [axis for axis in range(n.rank(x)) if axis != 1]
    batch_mean = n("mean", x, axis=axes, keepdims=False)
    batch_variance = n("variance", x, axis=axes, keepdims=False)
    parts = [n.cast(part, n.dtype(x)) for part in (scale, bias, batch_mean, batch_variance)]
    result = n.fields(n("nn.batch_norm", x, *parts, axis=1, epsilon=n.number("epsilon", 1e-5)), 3)[0]
    momentum = n.number("momentum", 0.9)
    running = [
        n("add", n("multiply", old, momentum), n("multiply", n.cast(new, n.dtype(old)), 1 - momentum))
        for old, new in ((mean, batch_mean), (variance, batch_variance))
    ]
    return [result, *running]


@onnx_operator("InstanceNormalization", 1, 6, 22)
def instance_normalization(n: OnnxNode, x: Expr, scale: Expr, bias: Expr) -> Expr:
    """`nn.instance_norm`."""
    return n("nn.instance_norm", x, scale, bias, axis=1, epsilon=n.number("epsilon", 1e-5))


@onnx_operator("LayerNormalization", 17)
def layer_normalization(n: OnnxNode, x: Expr, scale: Expr, bias: Expr | None = None) -> list[Expr]:
    """`nn.layer_norm` along the last axis; by its formula along several, or where mean and deviation are outputs."""
    axis, rank, epsilon = n.axis(n.integer("axis", -1), n.rank(x)), n.rank(x), n.number("epsilon", 1e-5)
    stash = n.integer("stash_type", 1)  # 1: means and deviations are computed in float32
    is_last_axis = axis == rank - 1 and n.rank(scale) == 1 and n.shape(scale) == n.shape(x)[-1:]
    if is_last_axis and bias is not None and not n.uses_output(1) and not n.uses_output(2) and n.dtype(x) == "float32":
        return [n("nn.layer_norm", x, scale, bias, axis=-1, epsilon=epsilon)]
    axes, wide = list(range(axis, rank)), "float32" if stash == 1 else n.dtype(x)
    y = n.cast(x, wide)
    mean = n("mean", y, axis=axes, keepdims=True)
    centred = n("subtract", y, mean)
    variance = n("mean", n("multiply", centred, centred), axis=axes, keepdims=True)
    inverse = n("rsqrt", n("add", variance, epsilon))
    result = n("multiply", n.cast(n("multiply", centred, inverse), n.dtype(x)), scale)
    return [result if bias is None else n("add", result, bias), mean, inverse]


@onnx_operator("RMSNormalization", 23)
def rms_normalization(n: OnnxNode, x: Expr, scale: Expr) -> Expr:
    """Division by the root of the mean of squares, times the scale."""
    axis, rank = n.axis(n.integer("axis", -1), n.rank(x)), n.rank(x)
    wide = "float32" if n.integer("stash_type", 1) == 1 else n.dtype(x)
    y = n.cast(x, wide)
    square = n("mean", n("multiply", y, y), axis=list(range(axis, rank)), keepdims=True)
    result = n("multiply", y, n("rsqrt", n("add", square, n.number("epsilon", 1e-5))))
    return n("multiply", n.cast(result, n.dtype(x)), scale)


@onnx_operator("GroupNormalization", 18, 21)
def group_normalization(n: OnnxNode, x: Expr, scale: Expr, bias: Expr) -> Expr:
    """`nn.group_norm`; before opset 21 scale and bias belong to a group, and are repeated for its channels."""
    groups, (channels,) = n.integer("num_groups"), n.static_shape(x, [1])
    if groups < 1 or channels % groups:
        n.refuse("cannot divide its channels into groups", found=f"{channels} channels, {groups} groups")
    if n.version < 21 and channels != groups:
        scale, bias = (n("repeat", part, repeats=channels // groups, axis=0) for part in (scale, bias))
    wide = "float32" if n.version >= 21 and n.integer("stash_type", 1) == 1 else n.dtype(x)
    parts = [n.cast(part, wide) for part in (x, scale, bias)]
    result = n("nn.group_norm", *parts, num_groups=groups, axis=1, epsilon=n.number("epsilon", 1e-5))
    return n.cast(result, n.dtype(x))


@onnx_operator("LpNormalization", 1, 22)
def norm_normalization(n: OnnxNode, x: Expr) -> Expr:
    """Division by the `sum` of absolute values, or by the root of the `sum` of squares; zeros stay zeros."""
    axis, p = [n.axis(n.integer("axis", -1), n.rank(x))], n.integer("p", 2)
    if p not in (1, 2):
        n.refuse("has norms of order 1 and 2", found=str(p))
    parts = n("abs", x) if p == 1 else n("multiply", x, x)
    total = n("sum", parts, axis=axis, keepdims=True)
    norm = total if p == 1 else n("sqrt", total)
    return n("where", n("equal", norm, 0), n.constant(0, x), n("divide", x, norm))


@onnx_operator("LRN", 1, 13)
def local_response_normalization(n: OnnxNode, x: Expr) -> Expr:
    """`nn.lrn`."""
    alpha, beta, bias = n.number("alpha", 1e-4), n.number("beta", 0.75), n.number("bias", 1.0)
    return n("nn.lrn", x, size=n.integer("size"), axis=1, bias=bias, alpha=alpha, beta=beta)


@onnx_operator("MeanVarianceNormalization", 9, 13)
def mean_variance_normalization(n: OnnxNode, x: Expr) -> Expr:
    """The difference from the `mean`, divided by the standard deviation."""
    axes = n.integers("axes", [0, 2, 3])
    mean = n("mean", x, axis=axes, keepdims=True)
    square = n("mean", n("multiply", x, x), axis=axes, keepdims=True)
    deviation = n("sqrt", n("subtract", square, n("multiply", mean, mean)))
    return n("divide", n("subtract", x, mean), n("add", deviation, 1e-9))
