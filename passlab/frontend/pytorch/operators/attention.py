"""Attention."""

from __future__ import annotations

import math

import numpy as np

from passlab.frontend.products import matrix_product
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.frontend.sizes import broadcast_to, calculated, reshape_to, size_of, sizes_of
from passlab.ir.expr import Expr


@aten("scaled_dot_product_attention")
def scaled_dot_product_attention(
    n: TorchNode,
    query: Expr,
    key: Expr,
    value: Expr,
    attn_mask: Expr | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Expr:
    """`softmax(query @ key.T * scale + mask) @ value`."""
    if dropout_p > 0:
        n.refuse("drops elements by chance", hint="export the model for inference: model.eval()")
    if enable_gqa:
        key, value = (_repeat_heads(n, query, x) for x in (key, value))
    rank = n.rank(key)
    keys = n("transpose", key, axes=[*range(rank - 2), rank - 1, rank - 2])
    scores = n("multiply", matrix_product(n, query, keys, ""), _scale(n, query) if scale is None else scale)
    if is_causal:  # PyTorch allows no other mask with it
        attn_mask = _causal_mask(n, scores)
    if attn_mask is not None:
        scores = _apply_mask(n, scores, attn_mask)
    return matrix_product(n, n("nn.softmax", scores, axis=n.rank(scores) - 1), value, "")


def _repeat_heads(n: TorchNode, query: Expr, x: Expr) -> Expr:
    """Return keys or values with as many heads as the queries."""
    axis, own = n.rank(query) - 3, sizes_of(n, x)
    turns = calculated(n, "floor_divide", size_of(n, query, axis), own[axis])
    if isinstance(turns, int):
        return x if turns == 1 else n("repeat", x, repeats=turns, axis=axis)
    each = broadcast_to(n, n("expand_dims", x, axis=axis + 1), [*own[: axis + 1], turns, *own[axis + 1 :]])
    return reshape_to(n, each, [*own[:axis], size_of(n, query, axis), *own[axis + 1 :]])


def _scale(n: TorchNode, query: Expr) -> float | Expr:
    """Return one over the root of the width."""
    width = size_of(n, query, n.rank(query) - 1)
    if isinstance(width, int):
        return 1 / math.sqrt(width)
    return n.cast(n("rsqrt", n.cast(n.scalar(width), "float64")), n.dtype(query))


def _causal_mask(n: TorchNode, scores: Expr) -> Expr:
    rank = n.rank(scores)
    rows, columns = n.shape(scores)[rank - 2 :]
    # A constant where the sizes are known; else a mask that is computed from a tensor of the right shape.
    if isinstance(rows, int) and isinstance(columns, int):
        n.check_size(rows, columns)
        return n.array(np.tril(np.ones((rows, columns), np.bool_)))
    whole = n("ones_like", n.cast(scores, "int32"))
    return n.cast(n("trilu", whole, k=n.constant(0, "int64"), upper=False), "bool")


def _apply_mask(n: TorchNode, scores: Expr, mask: Expr) -> Expr:
    """Return masked scores: a mask of bools selects them, a mask of numbers is added."""
    if n.dtype(mask) != "bool":
        return n("add", scores, n.cast(mask, n.dtype(scores)))
    return n("where", mask, scores, n.constant(-math.inf, scores))
