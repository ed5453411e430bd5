"""The table of Relay operators that ONNX can express: one operator, one entry.

    @exports("nn.bias_add")
    def bias_add(e: GraphEmitter, call: Call, data: str, bias: str) -> str: ...

An entry gets the emitter, the call, and the names of its tensors (a list of names for a tuple). It emits nodes and
returns the name of the result, or a list of names for several results.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

FAMILIES = ("arithmetic", "creation", "images", "indexing", "neural", "quantized", "shapes")
Writer = Callable[..., Any]
# Operators that differ from a similar one in ONNX, with the reason.
REASONS = {
    "reinterpret": "ONNX has an operator for it, BitCast, from opset 26 on, and models are written up to opset 23",
    "vision.non_max_suppression": (
        "ONNX's NonMaxSuppression suppresses boxes of any score, Relay's operator those with a score above 0 "
        "and a class; `vision.all_class_non_max_suppression` is ONNX's"
    ),
}
_writers: dict[str, Writer] = {}


def exports(*names: str) -> Callable[[Writer], Writer]:
    """Register the decorated function as the writer of these operators."""

    def register(writer: Writer) -> Writer:
        for name in names:
            assert name not in _writers, f"{name} has two entries"
            _writers[name] = writer
        return writer

    return register


@cache
def writers() -> dict[str, Writer]:
    """Return the table, by name of the operator."""
    for family in FAMILIES:
        importlib.import_module(f"passlab.frontend.onnx.export.operators.{family}")
    return dict(sorted(_writers.items()))
