"""Normalizations and losses. Each uses the definition of passlab's operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import relay
from passlab.compat.topi.testing.meaning import meaning
from passlab.op.dtypes import Array, as_array
from passlab.relay import nn


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Return the softmax on one axis."""
    return meaning(lambda x: nn.softmax(x, axis), a_np)


def log_softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Return the logarithm of softmax."""
    return meaning(lambda x: nn.log_softmax(x, axis), a_np)


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """Return data divided by a power of the sum of squares of neighbours on one axis."""
    return meaning(lambda x: nn.lrn(x, size, axis, bias, alpha, beta), a_np)


def l2_normalize_python(a_np: Array, eps: float, axis: Any = None) -> Array:
    """Return data divided by its Euclidean norm on some axes, by default on all of them."""
    axes = tuple(range(a_np.ndim)) if axis is None else axis
    return meaning(lambda x: nn.l2_normalize(x, eps, axes), a_np)


def _normalize(data: Array, axes: Any, epsilon: float) -> Array:
    wide = data.astype("float64")
    mean, variance = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    return as_array((wide - mean) / np.sqrt(variance + epsilon))


def layer_norm_python(data: Array, gamma: Array, beta: Array | None, axis: Any, epsilon: float = 1e-5) -> Array:
    """Return data with mean 0 and variance 1 on some axes, scaled and shifted."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape = [size if at in {a % data.ndim for a in axes} else 1 for at, size in enumerate(data.shape)]
    moved = 0 if beta is None else beta.reshape(shape)
    return (_normalize(data, axes, epsilon) * gamma.reshape(shape) + moved).astype(data.dtype)


def instance_norm_python(
    data: Array, gamma: Array, beta: Array | None, channel_axis: int, axis: Any, epsilon: float = 1e-5
) -> Array:
    """Return data with mean 0 and variance 1 on some axes of each channel, scaled and shifted by channel."""
    shape = [size if at == channel_axis else 1 for at, size in enumerate(data.shape)]
    scaled = _normalize(data, tuple(axis), epsilon) * gamma.reshape(shape)
    return (scaled + (0 if beta is None else beta.reshape(shape))).astype(data.dtype)


def group_norm_python(
    data: Array,
    gamma: Array | None,
    beta: Array | None,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> Array:
    """Return data with mean 0 and variance 1 in each group of channels, scaled and shifted by channel."""
    parts = np.split(data, num_groups, channel_axis)
    whole = (channel_axis, *(axis for axis in axes if axis != channel_axis))
    result = np.concatenate([_normalize(part, whole, epsilon) for part in parts], channel_axis)
    shape = [size if at == channel_axis else 1 for at, size in enumerate(data.shape)]
    scaled = result if gamma is None else result * gamma.reshape(shape)
    return (scaled if beta is None else scaled + beta.reshape(shape)).astype(data.dtype)


def rms_norm_python(data: Array, weight: Array, axis: Any, epsilon: float = 1e-5) -> Array:
    """Return data divided by the root of its mean square on some axes, scaled."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape = [size if at in {a % data.ndim for a in axes} else 1 for at, size in enumerate(data.shape)]
    wide = data.astype("float64")
    root = np.sqrt((wide * wide).mean(axes, keepdims=True) + epsilon)
    return as_array(wide / root * weight.reshape(shape)).astype(data.dtype)


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Any,
    moving_var: Any,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    training: bool = False,
    momentum: float = 0.1,
) -> list[Any]:
    """Return data normalized by channel, and the updated mean and variance."""
    others = tuple(at for at in range(x.ndim) if at != axis % x.ndim)
    shape = [1 if at in others else size for at, size in enumerate(x.shape)]
    mean, variance = (x.mean(others), x.var(others)) if training else (moving_mean, moving_var)
    out = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    out = out * gamma.reshape(shape) if scale else out
    out = out + beta.reshape(shape) if center else out
    if training:
        moving_mean = (1 - momentum) * moving_mean + momentum * mean
        moving_var = (1 - momentum) * moving_var + momentum * variance
    return [out, moving_mean, moving_var]


def nll_loss(predictions: Any, targets: Any, weights: Any, reduction: str = "mean", ignore_index: int = -100) -> Array:
    """Return the negative log likelihood of targets."""
    return meaning(lambda p, t, w: relay.nn.nll_loss(p, t, w, reduction, ignore_index), predictions, targets, weights)
