"""Rules about casts, and about clips, which bound the range of a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import Op, Trait, has_trait, is_op_call
from passlab.op import make
from passlab.op.dtypes import array_dtype, integer_info, is_float_name
from passlab.rewriting.rules import Rule, RuleMatch
from passlab.transform.numeric_contract import FINITE


def widens(source: str, target: str) -> bool:
    """Return True if each value of dtype `source` is one of `target`, of the same kind or floating; never for bfloat.

    Relay also counts signed to unsigned and int32 to float32 as widening, which lose values. Neither counts unsigned to
    signed.
    """
    if source == target or "bfloat" in source + target or "float8" in source + target or "bool" in (source, target):
        return False
    a, b = array_dtype(source), array_dtype(target)
    if b.kind == "f":
        digits = np.finfo(b).nmant + 1
        return b.itemsize > a.itemsize if a.kind == "f" else a.itemsize * 8 - (a.kind == "i") <= digits
    return a.kind == b.kind and b.itemsize > a.itemsize


def _own_type(match: RuleMatch) -> bool:
    ty = match.tensor("x")
    return ty is not None and ty.dtype == match.attrs("root").dtype


def _through_wider(match: RuleMatch) -> Expr | None:
    ty = match.tensor("x")
    if ty is None or not widens(ty.dtype, match.attrs("inner").dtype):
        return None
    return make("cast", match["x"], dtype=match.attrs("root").dtype)


def _holds(dtype: str, low: float, high: float) -> bool:
    """Return whether an integer dtype holds all whole numbers from low to high."""
    if dtype == "bool" or is_float_name(dtype):
        return False
    info = integer_info(array_dtype(dtype))
    return bool(info.min <= low and high <= info.max)


def is_whole(expr: Expr, match: RuleMatch) -> bool:
    """Return whether all elements are whole numbers (or not finite), as far as the last few operators show."""
    stack, steps = [expr], 0
    while stack:
        node = stack.pop()
        steps += 1
        if steps > 32:
            return False
        ty = match.types.tensor(node)
        if ty is not None and not is_float_name(ty.dtype):
            continue
        if type(node) is Constant:
            if not np.array_equal(np.trunc(node.data), node.data):
                return False
            continue
        if has_trait(node, Trait.MAKES_WHOLE):
            continue
        if type(node) is not Call or not has_trait(node, Trait.KEEPS_WHOLE | Trait.MOVES):
            return False
        if node.op is Op.get("clip") and not _whole_bounds(node.attrs):
            return False
        stack += node.args
    return True


def _clip_keeps(match: RuleMatch) -> Expr | None:
    """Drop the cast of a clipped value to an integer type that holds the range, when a second cast follows.

    If the second cast is to integers, the value need not be whole: both forms truncate the fraction.
    """
    attrs, back = match.attrs("clip"), match.attrs("root").dtype
    ty = match.tensor("clip")
    if ty is None or not _holds(match.attrs("inner").dtype, attrs.a_min, attrs.a_max):
        return None
    whole = not is_float_name(ty.dtype) or (_whole_bounds(attrs) and is_whole(match["x"], match))
    if not whole and not _holds(back, attrs.a_min, attrs.a_max):
        return None
    return match["clip"] if back == ty.dtype else make("cast", match["clip"], dtype=back)


def _whole_bounds(attrs: Any) -> bool:
    return float(attrs.a_min).is_integer() and float(attrs.a_max).is_integer()


def _clip_covers(match: RuleMatch) -> bool:
    """Return True if a clip covers the whole range of its type. Quantized operators saturate by such a clip, and keep
    it.
    """
    ty, x = match.tensor("x"), match["x"]
    if ty is None or is_float_name(ty.dtype) or ty.dtype == "bool":
        return False
    if is_op_call(x) and x.op.name in ("qnn.requantize", "qnn.add"):
        return False
    info = integer_info(array_dtype(ty.dtype))
    attrs = match.attrs("root")
    return bool(attrs.a_min <= info.min and info.max <= attrs.a_max)


CASTS = (
    Rule("cast to its own type", "cast(x)", "x", _own_type),
    Rule("cast through a wider type", "cast(inner:cast(x))", _through_wider),
    Rule("cast of a clipped value", "cast(inner:cast(clip:clip(x)))", _clip_keeps, contract=FINITE),
    Rule("clip to the whole range", "clip(x)", "x", _clip_covers),
)
