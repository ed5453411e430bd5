"""Functions that Relay has no operator for, in terms of its operators; shared by the importers."""

from __future__ import annotations

import math

from passlab.frontend.model_node import ModelNode
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr


def round_half_to_even(n: ModelNode, x: Expr) -> Expr:
    """Return floats rounded to the nearest integers, halves to even; Relay's `round` rounds halves away from zero."""
    # x / 2 is not a tie where x is one, and twice an integer is even.
    is_half = n("equal", n("abs", n("subtract", x, n("trunc", x))), 0.5)
    return n("where", is_half, n("multiply", n("round", n("multiply", x, 0.5)), 2), n("round", x))


def softplus_of(n: ModelNode, x: Expr) -> Expr:
    """Return log(1 + exp(x)), without overflow for large x."""
    # log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), and -|x| never overflows.
    correction = n("log", n("add", n("exp", n("negative", n("abs", x))), 1))
    return n("add", n("nn.relu", x), correction)


def expm1_of(n: ModelNode, x: Expr) -> Expr:
    """Return exp(x) - 1 as tanh(x / 2) * (exp(x) + 1), which does not cancel near 0."""
    return n("multiply", n("tanh", n("multiply", x, 0.5)), n("add", n("exp", x), 1))


def gelu_of(n: ModelNode, x: Expr, approximate: bool) -> Expr:
    """Return `x / 2 * (1 + erf(x / sqrt(2)))`, or its approximation by `tanh` (Hendrycks and Gimpel, 2016)."""
    if approximate:
        cube = n("multiply", n("multiply", n("multiply", x, x), x), 0.044715)
        sigmoid = n("tanh", n("multiply", n("add", x, cube), math.sqrt(2 / math.pi)))
    else:
        sigmoid = n("erf", n("multiply", x, math.sqrt(0.5)))
    return n("multiply", n("multiply", x, 0.5), n("add", sigmoid, 1))


def nonnegative_indices(n: ModelNode, indices: Expr, x: Expr, axis: int) -> Expr:
    """Return indices along an axis of `x` counted from 0; nonnegative constants are returned unchanged."""
    value = n.value(indices)
    if value is not None and (value >= 0).all():
        return indices
    size = size_of(n, x, axis)
    length = n.constant(size, indices) if isinstance(size, int) else n.cast(n.scalar(size), n.dtype(indices))
    return n("where", n("less", indices, 0), n("add", indices, length), indices)
