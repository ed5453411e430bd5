"""Losses of classifications."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr

_REDUCTIONS = ("mean", "none", "sum")
_NO_CLASS = -(2**31) + 1  # the default of `ignore_index`: a class that no target has


@onnx_operator("NegativeLogLikelihoodLoss", 12, 13, 22)
def likelihood_loss(n: OnnxNode, x: Expr, target: Expr, weight: Expr | None = None) -> Expr:
    """`nn.nll_loss`."""
    return _loss(n, x, target, weight)


@onnx_operator("SoftmaxCrossEntropyLoss", 12, 13)
def cross_entropy_loss(n: OnnxNode, scores: Expr, labels: Expr, weight: Expr | None = None) -> list[Expr]:
    """`nn.nll_loss` of `nn.log_softmax`."""
    likelihood = n("nn.log_softmax", scores, axis=1)
    return [_loss(n, likelihood, labels, weight), likelihood]


def _loss(n: OnnxNode, x: Expr, target: Expr, weight: Expr | None) -> Expr:
    if weight is None:
        classes = size_of(n, x, 1)
        shape = [classes] if isinstance(classes, int) else classes
        weight = n("ones", shape=shape, dtype=n.dtype(x))
    reduction = n.choice("reduction", "mean", _REDUCTIONS)
    ignored = n.integer("ignore_index", _NO_CLASS)
    return n("nn.nll_loss", x, target, weight, reduction=reduction, ignore_index=ignored)
