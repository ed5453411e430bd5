"""Expanding a vector so that it broadcasts along one axis of a tensor."""

from __future__ import annotations

from passlab.ir.expr import Expr
from passlab.op import make


def expand_to_axis(vector: Expr, rank: int, axis: int) -> Expr:
    """Return a vector of length shape[axis], with dimensions of size 1 added to broadcast against `rank` axes."""
    after = rank - 1 - axis
    return make("expand_dims", vector, axis=1, num_newaxis=after) if after else vector
