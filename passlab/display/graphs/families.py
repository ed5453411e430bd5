"""Families of operators, for colour: heavy work, normalisation, data movement, and so on.

The family follows from the words in an operator's name, so that new operators have one, too.
"""

from __future__ import annotations

from functools import cache

from passlab.display.graphs.dataflow import Box
from passlab.ir.expr import Call
from passlab.ir.op import Op

# The heaviest first, after `other`.
FAMILIES = ("other", "heavy", "pooling", "normalisation", "activation", "arithmetic", "movement", "reduction")
_WORDS = (
    ("heavy", ("conv", "dense", "matmul", "einsum", "attention", "lstm", "sparse_dense")),
    ("pooling", ("pool", "upsampling", "resize")),
    ("normalisation", ("norm", "softmax", "dropout", "lrn")),
    ("activation", ("relu", "sigmoid", "tanh", "gelu", "elu", "clip", "prelu", "silu", "erf", "exp")),
    ("movement", ("reshape", "transpose", "squeeze", "expand_dims", "concatenate", "split", "slice", "flatten", "take",
                  "gather", "pad", "layout", "tile", "repeat", "broadcast", "cast", "stack", "strided", "copy")),
    ("reduction", ("sum", "mean", "max", "min", "argmax", "argmin", "prod", "variance", "all", "any")),
)  # fmt: skip
_ARITHMETIC = frozenset(
    ("add", "subtract", "multiply", "divide", "power", "sqrt", "rsqrt", "negative", "bias_add", "abs")
)


def family(box: Box) -> int:
    """Return the number of the family of a box; that of a fused function is its heaviest operator's."""
    if box.kind == "op" and isinstance(box.expr, Call) and isinstance(box.expr.op, Op):
        return FAMILIES.index(family_of(box.expr.op.name))
    if box.kind == "fused":
        numbers = [FAMILIES.index(family_of(name.strip())) for name in box.name.split("·")]
        return min((number for number in numbers if number), default=0)
    return 0


@cache
def family_of(name: str) -> str:
    """Return the family of an operator by its name."""
    last = name.rpartition(".")[2]
    if last in _ARITHMETIC:
        return "arithmetic"
    for kind, words in _WORDS:
        if kind == "reduction":
            if last in words:
                return kind
        elif any(word in last for word in words):
            return kind
    return "arithmetic" if last in ("maximum", "minimum", "floor", "ceil", "round", "log", "sin", "cos") else "other"
