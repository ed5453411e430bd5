"""Losses: cross entropy and negative log likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision
from passlab.ir.types import TensorType, Type
from passlab.op.along_axis import number
from passlab.op.attr_fields import attrs, integer, text
from passlab.op.autodiff import Gradient, by_definition, dtype_of, sizes_of
from passlab.op.declare import Python, call, operator
from passlab.op.dtypes import Array, is_float_name
from passlab.op.nn.accumulation import cast_result, in_float_dtype
from passlab.op.relations import on_tensors, refuse, same_dtype


@on_tensors
def _entropy_type(attrs: Attrs, x: TensorType, y: TensorType) -> Type:
    for i, ty in enumerate((x, y)):
        if len(ty.shape) != 2:
            refuse("cross entropy takes a batch of distributions", i, expected="two dimensions", found=ty)
    if any(a != b for a, b in zip(x.shape, y.shape, strict=True) if isinstance(a, int) and isinstance(b, int)):
        refuse("cross entropy compares tensors of one shape", 1, expected=x, found=y)
    same_dtype(x, y)
    _check_float("cross entropy", x)
    return TensorType((), x.dtype)


def _check_float(what: str, ty: TensorType) -> None:
    if not is_float_name(ty.dtype):
        refuse(f"{what} is a real number", 0, expected="a floating-point dtype", found=ty)


def _entropy_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    x, y = orig.args
    sample_grad = _per_sample(grad, x)
    return [-sample_grad * y / x, -sample_grad * call("log", x)]


def _entropy_logits_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    x, y = orig.args
    sample_grad = _per_sample(grad, x)
    return [-sample_grad * y, -sample_grad * x]


def _per_sample(grad: Expr, x: Expr) -> Expr:
    ty = x.checked_type
    assert isinstance(ty, TensorType)
    batch_size = call("take", call("shape_of", x, dtype="int32"), Constant(np.int32(0)), axis=0)  # known at run time
    return grad / call("cast", batch_size, dtype=ty.dtype)


def _mean_product(a: Array, b: Array, out: Array | None) -> Array:
    total = np.multiply(a, b).sum(dtype=a.dtype)
    return cast_result(np.asarray(-total / a.dtype.type(len(a)), a.dtype), a.dtype, out)


def _cross_entropy_operator(name: str, gradient: Gradient) -> Callable[[Callable[..., Any]], Op]:
    """Return the decorator that declares a cross entropy."""
    return operator(
        name,
        ("x", "y"),
        relation=_entropy_type,
        precision=Precision.NEVER,
        silenced=True,
        python=Python("predictions, targets", names={"predictions": "x", "targets": "y"}),
        gradient=gradient,
        shapes="x, y (batch, classes) -> ()",
        source="Shannon's cross entropy",
        edge_cases=(f"{name}(%x: (2, 3), %y: (2, 3))", f"{name}(%x: (1, 1), %y: (1, 1))"),
    )


@_cross_entropy_operator("nn.cross_entropy", _entropy_grad)
@in_float_dtype
def cross_entropy(attrs: Attrs, x: Array, y: Array, *, out: Array | None = None) -> Array:
    """The mean over the batch of -sum(y * log(x)), for predicted probabilities `x` and target probabilities `y`."""
    return _mean_product(np.log(x), y, out)


@_cross_entropy_operator("nn.cross_entropy_with_logits", _entropy_logits_grad)
@in_float_dtype
def cross_entropy_with_logits(attrs: Attrs, x: Array, y: Array, *, out: Array | None = None) -> Array:
    """The mean over the batch of -sum(y * x), for logarithms of probabilities `x` and target probabilities `y`."""
    return _mean_product(x, y, out)


@on_tensors
def _nll_type(attrs: Attrs, predictions: TensorType, targets: TensorType, weights: TensorType) -> Type:
    if len(predictions.shape) != len(targets.shape) + 1 or len(predictions.shape) < 2:
        refuse(
            "nn.nll_loss: targets must have one dimension less than predictions", 1, expected=predictions, found=targets
        )
    if "int" not in targets.dtype:
        refuse("nn.nll_loss: targets are class numbers", 1, expected="integers", found=targets)
    rest = (predictions.shape[0], *predictions.shape[2:])
    if any(a != b for a, b in zip(rest, targets.shape, strict=True) if isinstance(a, int) and isinstance(b, int)):
        refuse(
            "nn.nll_loss: targets do not have the shape of predictions without classes", 1, expected=rest, found=targets
        )
    classes, count = predictions.shape[1], weights.shape[0] if len(weights.shape) == 1 else None
    if count is None or (isinstance(count, int) and isinstance(classes, int) and count != classes):
        refuse("nn.nll_loss: weights must have one number for each class", 2, expected=f"({classes},)", found=weights)
    same_dtype(predictions, weights, 2)
    _check_float("nn.nll_loss", predictions)
    return TensorType(targets.shape if attrs.reduction == "none" else (), predictions.dtype)


def _select_targets(data: Array, targets: Any) -> Array:
    """Return the element of the class axis (1) of `data` at each target; targets are legal class numbers."""
    return np.take_along_axis(data, np.expand_dims(targets, 1), axis=1).squeeze(1)


def _define_nll_loss(attrs: Attrs, predictions: Expr, targets: Expr, weights: Expr) -> Expr:
    """Define `nn.nll_loss`: a one-hot row selects the prediction and the weight of each target."""
    shape, dtype = sizes_of(predictions, "nn.nll_loss"), dtype_of(predictions)
    classes = shape[1]
    ignored = number(attrs.ignore_index, dtype_of(targets))
    counted = call("cast", call("not_equal", targets, ignored), dtype=dtype)
    clipped = call("clip", targets, a_min=0.0, a_max=classes - 1.0)
    one_hot = call("one_hot", clipped, number(1, dtype), number(0, dtype), depth=classes, axis=1, dtype=dtype)
    column = call("reshape", weights, newshape=(1, classes, *[1] * (len(shape) - 2)))
    weight = call("sum", one_hot * column, axis=[1]) * counted
    losses = call("negative", weight * call("sum", one_hot * predictions, axis=[1]))
    if attrs.reduction == "none":
        return losses
    return call("sum", losses) if attrs.reduction == "sum" else call("sum", losses) / call("sum", weight)


@operator(
    "nn.nll_loss",
    ("predictions", "targets", "weights"),
    attrs=attrs(
        "NLLLossAttrs",
        text("reduction", "mean", "mean (by weight), sum, or none", choices=("mean", "sum", "none")),
        integer("ignore_index", doc="targets of this class do not count"),
    ),
    relation=_nll_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    silenced=True,
    python=Python("predictions, targets, weights, reduction='mean', ignore_index=-100"),
    gradient=by_definition(_define_nll_loss),
    shapes="predictions (N, C, ...), targets (N, ...), weights (C) -> (), or (N, ...) unreduced",
    source="PyTorch's nll_loss",
    edge_cases=(
        "nn.nll_loss(%logp: (3, 2), %t: (3) int32 = [0, 1, -100], %w: (2), ignore_index=-100)",
        (
            'nn.nll_loss(%x: (2, 2, 3), %t: (2, 3) int32 = [[0, 1, 1], [1, 0, 1]], %w: (2), reduction="sum", '
            "ignore_index=-1)"
        ),
        'nn.nll_loss(%x: (2, 2), %t: (2) int32 = [0, 1], %w: (2), reduction="none", ignore_index=1)',
    ),
)
def nll_loss(attrs: Attrs, predictions: Array, targets: Array, weights: Array, *, out: Array | None = None) -> Array:
    """Minus the weighted logarithm of the probability of each target: their mean by weight, their sum, or each."""
    counted = targets != attrs.ignore_index
    classes = np.where(counted, targets, 0)
    weight = np.where(counted, weights.take(classes, mode="clip"), weights.dtype.type(0))
    losses = -weight * _select_targets(predictions, np.clip(classes, 0, predictions.shape[1] - 1))
    losses = np.where(counted, losses, losses.dtype.type(0))  # an ignored prediction may be NaN or infinite
    if attrs.reduction == "none":
        return cast_result(losses, predictions.dtype, out)
    total = losses.sum(dtype=predictions.dtype)
    if attrs.reduction == "mean":
        total = total / weight.sum(dtype=predictions.dtype)
    return cast_result(np.asarray(total), predictions.dtype, out)
