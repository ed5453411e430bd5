"""Rules about argmax, argmin and argsort: scaling by a positive number does not change the order of elements."""

from __future__ import annotations

import numpy as np

from passlab.ir.expr import Constant, Expr
from passlab.rewriting.rules import Rule, RuleMatch


def _positive_scale(match: RuleMatch) -> bool:
    """Return True if all elements have one positive scale and one zero point: the quantized data has the same order and
    ties.

    Requires that neighbours stay distinct: 8 bits fit any float, 16 fit float32, and no product over- or underflows.
    """
    scale, zero, data = match["scale"], match["zero"], match.tensor("x")
    constant = type(scale) is Constant and type(zero) is Constant and scale.data.size == 1 and zero.data.size == 1
    if not constant or scale.data.ndim or data is None or data.dtype not in ("int8", "uint8", "int16", "uint16"):
        return False
    short = match.attrs("dequantized").out_dtype == "float16"
    limits, bits = np.finfo("float16" if short else "float32"), 8 if data.dtype in ("int8", "uint8") else 16
    furthest = 2.0**bits + abs(float(zero.data))
    if furthest > 2.0**limits.nmant:
        return False
    return bool(float(limits.tiny) <= float(scale.data) and float(scale.data) * furthest < float(limits.max))


def _of_data(match: RuleMatch) -> Expr:
    return match["root"].with_fields(args=(match["x"],))  # type: ignore[no-any-return]


ORDERING = (
    Rule(
        "order of quantized data",
        "argmax|argmin|argsort(dequantized:qnn.dequantize(x, scale, zero))",
        _of_data,
        _positive_scale,
    ),
)
