"""Normalisations: batch, layer, group, instance, L2, and local response normalisation.

Each kernel computes in the order of the expansion by SimplifyInference, so that the pass changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Relation, Reporter
from passlab.ir.types import TensorType, TupleType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, integer, integers, number
from passlab.op.declare import Python, deliver, operator
from passlab.op.dtypes import Array
from passlab.op.nn import gradients
from passlab.op.nn.accumulation import cast_result, in_float_dtype
from passlab.op.nn.activation import along, channel_vector, check_vectors
from passlab.op.relations import normal_axes, normal_axis, on_tensors, refuse, tensor


def _norm_attrs(name: str, axis: int, *, groups: bool = False) -> type[Attrs]:
    return attrs(
        name,
        *([integer("num_groups", 0, "number of groups of channels")] if groups else []),
        integer("axis", axis, "the channel axis"),
        number("epsilon", 1e-5, "added to the variance"),
        boolean("center", True, "whether beta is added"),
        boolean("scale", True, "whether gamma multiplies"),
    )


def _batch_norm_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    axis = normal_axis(attrs.axis, len(data.shape), "nn.batch_norm: axis")
    vector = check_vectors(types, data, axis, ("gamma", "beta", "moving_mean", "moving_var"), reporter)
    return TupleType((data, vector, vector))


@operator(
    "nn.batch_norm",
    ("data", "gamma", "beta", "moving_mean", "moving_var"),
    attrs=_norm_attrs("BatchNormAttrs", 1),
    relation=_batch_norm_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=1,
    silenced=True,
    results=3,
    gradient=gradients.batch_norm,
    shapes="data S, four vectors (S[axis]) -> S, and the two moving vectors",
    source="Ioffe and Szegedy (2015), at inference",
    edge_cases=(
        "nn.batch_norm(%x: (2, 3, 2), %gamma: (3), %beta: (3), %mean: (3), %var: (3) T = [0.5, 1, 2])",
        "nn.batch_norm(%x: (2, 3), %g: (3), %b: (3), %m: (3), %v: (3) T = [1, 1, 1], axis=-1, scale=False)",
        "nn.batch_norm(%x: (0, 2), %g: (2), %b: (2), %m: (2), %v: (2) T = [1, 1], center=False)",
    ),
    layout=layout_rules.along(results=3),
    precision=Precision.FOLLOW,
)
@in_float_dtype
def batch_norm(
    attrs: Attrs,
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_var: Array,
    *,
    out: tuple[Array, ...] | None = None,
) -> tuple[Array, ...]:
    """Normalise each channel with the moving mean and variance; these are returned, unchanged, with the result."""
    one = data.dtype.type(1)
    scale = one / np.sqrt(moving_var + data.dtype.type(attrs.epsilon))
    if attrs.scale:
        scale = scale * gamma
    shift = -moving_mean * scale
    if attrs.center:
        shift = shift + beta
    result = np.multiply(data, along(scale, attrs.axis, data.ndim), out=out[0] if out else None)
    np.add(result, along(shift, attrs.axis, data.ndim), out=result)
    if out is None:
        return result, moving_mean.copy(), moving_var.copy()
    deliver((result, moving_mean, moving_var), out)
    return out


def _standardize(data: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Return data minus its mean, divided by its standard deviation, along `axes`."""
    if not data.size:
        return data.copy()
    mean = data.mean(axis=axes, keepdims=True, dtype=data.dtype)
    centred: Array = data - mean
    variance = np.square(centred).mean(axis=axes, keepdims=True, dtype=data.dtype)
    centred /= np.sqrt(variance + data.dtype.type(epsilon))
    return centred


def _scale_and_shift(result: Array, attrs: Attrs, gamma: Any, beta: Any, out: Array | None) -> Array:
    if attrs.scale:
        result *= along(gamma, attrs.axis, result.ndim)
    if attrs.center:
        result += along(beta, attrs.axis, result.ndim)
    return cast_result(result, result.dtype, out)


@operator(
    "nn.layer_norm",
    ("data", "gamma", "beta"),
    attrs=_norm_attrs("LayerNormAttrs", -1),
    relation=channel_vector("nn.layer_norm", ("gamma", "beta")),
    precision=Precision.NEVER,
    level=1,
    silenced=True,
    gradient=gradients.layer_norm,
    shapes="data S, gamma, beta (S[axis]) -> S",
    source="Ba et al. (2016)",
    edge_cases=(
        "nn.layer_norm(%x: (2, 3), %gamma: (3), %beta: (3))",
        "nn.layer_norm(%x: (3, 2), %g: (3), %b: (3), axis=0, scale=False)",
        "nn.layer_norm(%x: (0, 3), %g: (3), %b: (3), center=False)",
    ),
    layout=layout_rules.along(),
)
@in_float_dtype
def layer_norm(attrs: Attrs, data: Array, gamma: Array, beta: Array, *, out: Array | None = None) -> Array:
    """Normalise along `axis` with the data's own mean and variance (Ba et al., 2016)."""
    return _scale_and_shift(_standardize(data, (attrs.axis,), attrs.epsilon), attrs, gamma, beta, out)


def _instance_norm_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is not None and len(data.shape) < 3:
        raise RelationError(
            Diagnostic("nn.instance_norm needs a batch, a channel and a spatial axis", found=str(data)), 0
        )
    relation: Relation = channel_vector("nn.instance_norm", ("gamma", "beta"))
    return relation(types, attrs, reporter)


@operator(
    "nn.instance_norm",
    ("data", "gamma", "beta"),
    attrs=_norm_attrs("InstanceNormAttrs", 1),
    relation=_instance_norm_type,
    level=1,
    silenced=True,
    gradient=gradients.instance_norm,
    shapes="data (N, C, ...), gamma, beta (C) -> the same",
    source="Ulyanov et al. (2016)",
    edge_cases=(
        "nn.instance_norm(%x: (2, 3, 4), %gamma: (3), %beta: (3))",
        "nn.instance_norm(%x: (2, 4, 3), %g: (3), %b: (3), axis=-1, center=False)",
        "nn.instance_norm(%x: (0, 3, 2), %g: (3), %b: (3))",
    ),
    layout=layout_rules.batch_first,
)
@in_float_dtype
def instance_norm(attrs: Attrs, data: Array, gamma: Array, beta: Array, *, out: Array | None = None) -> Array:
    """Normalise each channel of each sample with its own mean and variance (Ulyanov et al., 2016)."""
    axes = tuple(i for i in range(1, data.ndim) if i != attrs.axis % data.ndim)
    return _scale_and_shift(_standardize(data, axes, attrs.epsilon), attrs, gamma, beta, out)


def _group_norm_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    result = channel_vector("nn.group_norm", ("gamma", "beta"))(types, attrs, reporter)
    if not isinstance(result, TensorType):
        return None
    channels = result.shape[attrs.axis]
    if attrs.num_groups < 1 or (isinstance(channels, int) and channels % attrs.num_groups):
        raise RelationError(
            Diagnostic(f"nn.group_norm cannot divide {channels} channels into {attrs.num_groups} groups"), 0
        )
    return result


@operator(
    "nn.group_norm",
    ("data", "gamma", "beta"),
    attrs=_norm_attrs("GroupNormAttrs", 1, groups=True),
    relation=_group_norm_type,
    level=1,
    silenced=True,
    python=Python("data, gamma, beta, num_groups, axis=1, epsilon=1e-05, center=True, scale=True"),
    gradient=gradients.group_norm,
    shapes="data (N, C, ...), gamma, beta (C) -> the same",
    source="Wu and He (2018)",
    edge_cases=(
        "nn.group_norm(%x: (2, 4, 3), %gamma: (4), %beta: (4), num_groups=2)",
        "nn.group_norm(%x: (2, 4), %g: (4), %b: (4), num_groups=1, scale=False)",
        "nn.group_norm(%x: (0, 4, 3), %g: (4), %b: (4), num_groups=2)",
    ),
    layout=layout_rules.normalize_after_axis,
)
@in_float_dtype
def group_norm(attrs: Attrs, data: Array, gamma: Array, beta: Array, *, out: Array | None = None) -> Array:
    """Normalise each group of channels, and the axes after them, of each sample (Wu and He, 2018)."""
    axis, shape = attrs.axis % data.ndim, data.shape
    grouped = data.reshape(*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :])
    result = _standardize(grouped, tuple(range(axis + 1, grouped.ndim)), attrs.epsilon)
    return _scale_and_shift(result.reshape(shape), attrs, gamma, beta, out)


@on_tensors
def _l2_type(attrs: Attrs, data: TensorType) -> Type:
    if attrs.axis is not None:
        normal_axes(attrs.axis, len(data.shape), "nn.l2_normalize: axis")
    return data


@operator(
    "nn.l2_normalize",
    ("data",),
    attrs=attrs(
        "L2NormalizeAttrs",
        number("eps", doc="the least sum of squares"),
        integers("axis", doc="axes to sum over, None for all", optional=True, scalar_ok=True),
    ),
    relation=_l2_type,
    precision=Precision.NEVER,
    level=2,
    silenced=True,
    gradient=gradients.l2_normalize,
    shapes="S -> S",
    source="x over its Euclidean norm",
    edge_cases=(
        "nn.l2_normalize(%x: (2, 3), eps=0.001f, axis=[-1])",
        "nn.l2_normalize(%x: (2, 3), eps=0.001f, axis=None)",
        "nn.l2_normalize(%x: (2, 3), eps=0.001f, axis=[])",
        "nn.l2_normalize(%x: (0, 3), eps=0.001f, axis=[1])",
    ),
    layout=layout_rules.normalize,
)
@in_float_dtype
def l2_normalize(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """`x / sqrt(max(sum(x * x), eps))` along `axis`."""
    total = np.square(data).sum(axis=attrs.axis, keepdims=True, dtype=data.dtype)
    result: Array = np.divide(data, np.sqrt(np.maximum(total, data.dtype.type(attrs.eps))), out=out)
    return result


@on_tensors
def _lrn_type(attrs: Attrs, data: TensorType) -> Type:
    normal_axis(attrs.axis, len(data.shape), "nn.lrn: axis")
    if attrs.size < 1:
        refuse("nn.lrn: size must be positive", found=attrs.size)
    return data


@operator(
    "nn.lrn",
    ("data",),
    attrs=attrs(
        "LRNAttrs",
        integer("size", 5, "number of neighbours to sum"),
        integer("axis", 1, "the axis of the neighbours"),
        number("bias", 2.0),
        number("alpha", 0.0001),
        number("beta", 0.75),
    ),
    relation=_lrn_type,
    level=2,
    silenced=True,
    python=Python("data, size=5, axis=1, bias=2, alpha=1e-05, beta=0.75"),
    gradient=gradients.lrn,
    shapes="S -> S",
    source="Krizhevsky et al. (2012)",
    edge_cases=(
        "nn.lrn(%x: (1, 5, 2, 2), size=3)",
        "nn.lrn(%x: (1, 2, 2, 5), size=5, axis=3, alpha=0.1f)",
        "nn.lrn(%x: (0, 3, 2, 2), size=3)",
    ),
    layout=layout_rules.along(),
)
@in_float_dtype
def lrn(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Local response normalisation: x / (bias + alpha / size * (sum of squares of `size` neighbours)) ** beta.

    See Krizhevsky et al., "ImageNet classification with deep convolutional neural networks" (2012).
    """
    squares = np.square(data)
    total = np.zeros_like(squares)
    length, half = data.shape[attrs.axis], attrs.size // 2
    head = (slice(None),) * (attrs.axis % data.ndim)
    for shift in range(max(-half, -length), min(attrs.size - half, length)):
        target = slice(max(0, -shift), max(0, length - max(0, shift)))
        source = slice(max(0, shift), max(0, length + min(0, shift)))
        total[(*head, target)] += squares[(*head, source)]
    cast = data.dtype.type
    scale = (cast(attrs.bias) + cast(attrs.alpha) * total / cast(attrs.size)) ** cast(attrs.beta)
    result: Array = np.divide(data, scale, out=out)
    return result
