"""The families of operators, by which the boxes of a graph are coloured, in pictures and in widgets alike."""

from __future__ import annotations

from functools import cache

from passlab.display.graphs.dataflow import Box
from passlab.ir.expr import Call
from passlab.ir.op import Op

# The family follows from the words in an operator's name, so that new operators have one as well.
# The heaviest first, after `other`; the scripts name and colour them in the same order.
FAMILIES = ("other", "heavy", "pooling", "normalisation", "activation", "arithmetic", "movement", "reduction")
LAYERS = (1, 2)  # by these operators a layer is named
HUE_OF = ("muted", "blue", "rust", "olive", "green", "amber", "violet", "red")
# Movement comes before activation: `expand_dims` has the word `exp` in it.
_WORDS = (
    ("heavy", ("conv", "dense", "matmul", "einsum", "attention", "recurrent", "lstm", "sparse_dense")),
    ("pooling", ("pool", "upsampling", "resize")),
    ("normalisation", ("norm", "softmax", "dropout", "lrn")),
    ("movement", ("reshape", "transpose", "squeeze", "expand_dims", "concatenate", "split", "slice", "flatten", "take",
                  "gather", "pad", "layout", "tile", "repeat", "broadcast", "cast", "stack", "strided", "copy")),
    ("activation", ("relu", "sigmoid", "tanh", "gelu", "elu", "clip", "prelu", "silu", "erf", "exp")),
    ("reduction", ("sum", "mean", "max", "min", "argmax", "argmin", "prod", "variance", "all", "any")),
)  # fmt: skip
_ARITHMETIC = frozenset(
    ("add", "subtract", "multiply", "divide", "power", "sqrt", "rsqrt", "negative", "bias_add", "abs")
)


def family(box: Box) -> int:
    """Return the number of the family of a box; a fused function has the family of its heaviest operator."""
    if box.kind == "op" and isinstance(box.expr, Call) and isinstance(box.expr.op, Op):
        return FAMILIES.index(family_of(box.expr.op.name))
    return heaviest(box.name) if box.kind == "fused" else 0


def heaviest(name: str) -> int:
    """Return the number of the heaviest family among the operators in the name of a box, 0 if none has a family."""
    numbers = [FAMILIES.index(family_of(operator.strip())) for operator in name.split("·")]
    return min((number for number in numbers if number), default=0)


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
