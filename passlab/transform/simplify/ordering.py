"""Rules about where the largest or smallest element is: scaling by a positive number does not move it."""

from __future__ import annotations

import numpy as np

from passlab.ir.expr import Constant, Expr
from passlab.transform.rules import Match, Rule


def _positive_scale(match: Match) -> bool:
    """One positive scale and one zero point for all elements: then order, and ties, are those of the quantized data."""
    scale, zero = match["scale"], match["zero"]
    known = type(scale) is Constant and type(zero) is Constant and scale.data.size == 1 and zero.data.size == 1
    return bool(known and scale.data.ndim == 0 and np.isfinite(scale.data) and scale.data > 0)


def _of_data(match: Match) -> Expr:
    return match["root"].with_fields(args=(match["x"],))  # type: ignore[no-any-return]


ORDERING = (
    Rule("order of quantized data", "argmax|argmin|argsort(qnn.dequantize(x, scale, zero))", _of_data, _positive_scale),
)
