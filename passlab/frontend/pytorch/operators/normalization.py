"""Normalizations."""

from __future__ import annotations

from typing import Any

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.frontend.sizes import reshape_to, size_of, sizes_of
from passlab.ir.expr import Expr


def _or_constant(n: TorchNode, part: Expr | None, value: float, count: int, like: Expr) -> Expr:
    """Return a scale or a bias, or a neutral one if the node has none."""
    if part is not None:
        return part
    return n("full", n.constant(value, like), shape=[count], dtype=n.dtype(like))


def _batch_norm(
    n: TorchNode, x: Expr, weight: Expr | None, bias: Expr | None, mean: Expr, variance: Expr, eps: float
) -> Expr:
    (channels,) = n.static_shape(x, [1])
    scale, shift = _or_constant(n, weight, 1, channels, mean), _or_constant(n, bias, 0, channels, mean)
    # Networks in half precision keep their statistics in float32.
    parts = [n.cast(part, n.dtype(x)) for part in (scale, shift, mean, variance)]
    return n.fields(n("nn.batch_norm", x, *parts, axis=1, epsilon=eps), 3)[0]


def _norm_by_batch(n: TorchNode, x: Expr, weight: Expr | None, bias: Expr | None, eps: float) -> Expr:
    axes = [axis for axis in range(n.rank(x)) if axis != 1]
    mean, variance = n("mean", x, axis=axes, keepdims=False), n("variance", x, axis=axes, keepdims=False)
    return _batch_norm(n, x, weight, bias, mean, variance, eps)


@aten("batch_norm", "cudnn_batch_norm")
def batch_norm(
    n: TorchNode,
    x: Expr,
    weight: Expr | None,
    bias: Expr | None,
    mean: Expr | None,
    variance: Expr | None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *_: Any,
) -> Expr:
    """`nn.batch_norm`."""
    if training and mean is not None:
        n.refuse("is in training mode", hint="export the model for inference: model.eval()")
    if mean is None or variance is None:
        return _norm_by_batch(n, x, weight, bias, eps)
    return _batch_norm(n, x, weight, bias, mean, variance, eps)


@aten("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    n: TorchNode,
    x: Expr,
    weight: Expr | None,
    bias: Expr | None,
    mean: Expr,
    variance: Expr,
    momentum: float,
    eps: float,
) -> list[Any]:
    """`nn.batch_norm`."""
    return [_batch_norm(n, x, weight, bias, mean, variance, eps), None, None]


@aten("_native_batch_norm_legit")
def batch_norm_batch(n: TorchNode, x: Expr, weight: Expr | None, bias: Expr | None, *rest: Any) -> list[Any]:
    """`nn.batch_norm` by the mean and the variance of the batch."""
    if n.overload != "no_stats":
        n.refuse("is in training mode", hint="export the model for inference: model.eval()")
    return [_norm_by_batch(n, x, weight, bias, rest[-1]), None, None]


@aten("layer_norm")
def layer_norm(
    n: TorchNode,
    x: Expr,
    normalized_shape: list[int],
    weight: Expr | None = None,
    bias: Expr | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Expr:
    """`nn.layer_norm` along the last axis, its formula along several."""
    result: Expr = native_layer_norm(n, x, normalized_shape, weight, bias, eps)[0]
    return result


@aten("native_layer_norm")
def native_layer_norm(
    n: TorchNode, x: Expr, normalized_shape: list[int], weight: Expr | None, bias: Expr | None, eps: float
) -> list[Any]:
    """`nn.layer_norm` along the last axis, its formula along several."""
    shape = n.static_ints(normalized_shape)
    if len(shape) == 1:
        scale, shift = _or_constant(n, weight, 1, shape[0], x), _or_constant(n, bias, 0, shape[0], x)
        return [n("nn.layer_norm", x, scale, shift, axis=-1, epsilon=eps), None, None]
    # Relay's operator normalizes along one axis.
    axes = list(range(n.rank(x) - len(shape), n.rank(x)))
    centred = n("subtract", x, n("mean", x, axis=axes, keepdims=True))
    variance = n("mean", n("multiply", centred, centred), axis=axes, keepdims=True)
    result = n("multiply", centred, n("rsqrt", n("add", variance, eps)))
    result = result if weight is None else n("multiply", result, weight)
    return [result if bias is None else n("add", result, bias), None, None]


@aten("rms_norm", "_fused_rms_norm")
def rms_norm(
    n: TorchNode, x: Expr, normalized_shape: list[int], weight: Expr | None = None, eps: float | None = None
) -> Expr | list[Expr | None]:
    """Division by the root of the mean of squares, times the scale."""
    axes = list(range(n.rank(x) - len(normalized_shape), n.rank(x)))
    square = n("mean", n("multiply", x, x), axis=axes, keepdims=True)
    # PyTorch's default is the machine epsilon of the dtype.
    least = {"float64": 2.220446049250313e-16, "float16": 0.0009765625}.get(n.dtype(x), 1.1920928955078125e-07)
    result = n("multiply", x, n("rsqrt", n("add", square, least if eps is None else eps)))
    result = result if weight is None else n("multiply", result, weight)
    return [result, None] if n.op_type.startswith("aten._fused") else result


@aten("group_norm")
def group_norm(
    n: TorchNode,
    x: Expr,
    num_groups: int,
    weight: Expr | None = None,
    bias: Expr | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Expr:
    """`nn.group_norm`."""
    (channels,) = n.static_shape(x, [1])
    scale, shift = _or_constant(n, weight, 1, channels, x), _or_constant(n, bias, 0, channels, x)
    return n("nn.group_norm", x, scale, shift, num_groups=num_groups, axis=1, epsilon=eps)


@aten("native_group_norm")
def native_group_norm(
    n: TorchNode,
    x: Expr,
    weight: Expr | None,
    bias: Expr | None,
    batch: Any,
    channels: Any,
    size: Any,
    groups: int,
    eps: float,
) -> list[Any]:
    """`nn.group_norm`."""
    return [group_norm(n, x, groups, weight, bias, eps), None, None]


@aten("instance_norm")
def instance_norm(
    n: TorchNode,
    x: Expr,
    weight: Expr | None,
    bias: Expr | None,
    mean: Expr | None,
    variance: Expr | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Expr:
    """`nn.instance_norm`."""
    # With running statistics it is a batch normalization at inference.
    if not use_input_stats and mean is not None and variance is not None:
        return _batch_norm(n, x, weight, bias, mean, variance, eps)
    (channels,) = n.static_shape(x, [1])
    scale, shift = _or_constant(n, weight, 1, channels, x), _or_constant(n, bias, 0, channels, x)
    return n("nn.instance_norm", x, scale, shift, axis=1, epsilon=eps)


@aten("channel_shuffle")
def channel_shuffle(n: TorchNode, x: Expr, groups: int) -> Expr:
    """A `transpose` between two reshapes."""
    (channels,) = n.static_shape(x, [1])
    sizes, rest = sizes_of(n, x), range(3, n.rank(x) + 1)
    parts = reshape_to(n, x, [size_of(n, x, 0), groups, channels // groups, *sizes[2:]])
    return reshape_to(n, n("transpose", parts, axes=[0, 2, 1, *rest]), sizes)
