"""Comparisons, and the logic of booleans."""

from __future__ import annotations

from functools import partial

from passlab.frontend.onnx.entries import enter
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.operators.arithmetic import align_ranks
from passlab.ir.expr import Expr

COMPARISONS: dict[str, tuple[str, tuple[int, ...]]] = {
    "And": ("logical_and", (1, 7)),
    "Equal": ("equal", (1, 7, 11, 13, 19)),
    "Greater": ("greater", (1, 7, 9, 13)),
    "GreaterOrEqual": ("greater_equal", (12, 16)),
    "Less": ("less", (1, 7, 9, 13)),
    "LessOrEqual": ("less_equal", (12, 16)),
    "Or": ("logical_or", (1, 7)),
    "Xor": ("logical_xor", (1, 7)),
}


def _compare(relay_name: str, n: OnnxNode, a: Expr, b: Expr) -> Expr:
    return n(relay_name, a, align_ranks(n, a, b))


for _name, (_relay_name, _versions) in COMPARISONS.items():
    enter(_name, _versions, partial(_compare, _relay_name), f"`{_relay_name}`.")
