"""Rules that replace "like" operators by operators with an explicit shape, where shape and dtype are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr
from passlab.op import make
from passlab.rewriting.rules import Rule, RuleMatch


def _static(match: RuleMatch) -> bool:
    """Return whether the shape is known and the tensor that provided it may be dropped."""
    ty = match.tensor("root")
    return ty is not None and not ty.dynamic and match.pure("other")


def _call_with_shape(op: str, **names: str) -> Callable[[RuleMatch], Expr]:
    """Return a function that calls `op` on the nodes matched as `data`, with the shape (and dtype) of the whole."""

    def result(match: RuleMatch) -> Expr:
        ty = match.tensor("root")
        assert ty is not None
        args = [match[n] for n in ("value", "data") if n in match.nodes and n in names.get("args", "")]
        attrs: dict[str, Any] = {names.get("shape", "shape"): list(ty.shape)}
        if "dtype" in names:
            attrs["dtype"] = ty.dtype
        return make(op, *args, **attrs)

    return result


def _nonzero(match: RuleMatch) -> bool:
    """Return whether the shape is known and has no 0, which reshape reads as "copy this dimension"."""
    ty = match.tensor("root")
    return ty is not None and 0 not in ty.shape and _static(match)


def _collapse(match: RuleMatch) -> Expr:
    """Sum to a shape, which `collapse_sum_to` takes as an operand and as an attribute."""
    ty = match.tensor("root")
    assert ty is not None
    sizes = Constant(np.asarray(ty.concrete_shape, dtype="int32"))
    return make("collapse_sum_to", match["data"], sizes, shape=ty.concrete_shape)


def _cast(match: RuleMatch) -> Expr | None:
    ty = match.tensor("root")
    return None if ty is None or not match.pure("other") else make("cast", match["data"], dtype=ty.dtype)


CONCRETE = (
    Rule("zeros of a known shape", "zeros_like(other)", _call_with_shape("zeros", dtype=""), _static),
    Rule("ones of a known shape", "ones_like(other)", _call_with_shape("ones", dtype=""), _static),
    Rule("full of a known shape", "full_like(other, value)", _call_with_shape("full", args="value", dtype=""), _static),
    Rule(
        "reshape to a known shape",
        "reshape_like(data, other)",
        _call_with_shape("reshape", args="data", shape="newshape"),
        _nonzero,
    ),
    Rule("sum to a known shape", "collapse_sum_like(data, other)", _collapse, _static),
    Rule(
        "broadcast to a known shape",
        "broadcast_to_like(data, other)",
        _call_with_shape("broadcast_to", args="data"),
        _static,
    ),
    Rule("cast to a known dtype", "cast_like(data, other)", _cast),
)
