"""Functions without a Relay operator, in terms of operators that exist; several formats share them."""

from __future__ import annotations

import math

from passlab.frontend.model_node import ModelNode
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr


def to_even(n: ModelNode, x: Expr) -> Expr:
    """Return the nearest integers, halves to even; Relay's `round` rounds halves away from zero."""
    between = n("equal", n("abs", n("subtract", x, n("trunc", x))), 0.5)
    return n("where", between, n("multiply", n("round", n("multiply", x, 0.5)), 2), n("round", x))


def softplus_of(n: ModelNode, x: Expr) -> Expr:
    """Return log(1 + exp(x)), without overflow for large x."""
    rest = n("log", n("add", n("exp", n("negative", n("abs", x))), 1))
    return n("add", n("nn.relu", x), rest)


def gelu_of(n: ModelNode, x: Expr, by_tanh: bool) -> Expr:
    """Return `x / 2 * (1 + erf(x / sqrt(2)))`, or its approximation by `tanh`."""
    if by_tanh:
        cube = n("multiply", n("multiply", n("multiply", x, x), x), 0.044715)
        bend = n("tanh", n("multiply", n("add", x, cube), math.sqrt(2 / math.pi)))
    else:
        bend = n("erf", n("multiply", x, math.sqrt(0.5)))
    return n("multiply", n("multiply", x, 0.5), n("add", bend, 1))


def from_zero(n: ModelNode, indices: Expr, x: Expr, axis: int) -> Expr:
    """Return indices along an axis of `x` counted from 0; constants that are correct already stay as they are."""
    value = n.value(indices)
    if value is not None and (value >= 0).all():
        return indices
    size = size_of(n, x, axis)
    length = n.constant(size, indices) if isinstance(size, int) else n.cast(size, n.dtype(indices))
    return n("where", n("less", indices, 0), n("add", indices, length), indices)
