"""Rules about operators that only move elements: reshape, transpose, layout_transform."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr
from passlab.ir.op import OpCall
from passlab.op import make
from passlab.op.layout_names import parse_layout
from passlab.rewriting.rules import Rule, RuleMatch

_RESHAPES = "reshape|contrib_reverse_reshape"
_MOVES = "transpose|layout_transform"
Letters = list[str]


def _reshape_again(match: RuleMatch) -> Expr | None:
    ty = match.tensor("root")
    if ty is None or ty.dynamic or 0 in ty.shape:  # reshape would read a 0 as "copy this dimension"
        return None
    return make("reshape", match["x"], newshape=list(ty.shape))


def _letters(layout: str) -> Letters | None:
    """Return the axes of a layout in order, as texts."""
    parsed = parse_layout(layout)
    return None if parsed is None else [f"{f}{letter.lower()}" if f else letter for letter, f in parsed.parts]


def _permutation(call: OpCall, rank: int) -> list[int] | None:
    """Return the axes of a transpose, or of a layout_transform that only permutes; None for other calls."""
    attrs: Any = call.attrs
    if call.op.name == "transpose":
        return [a % rank for a in attrs.axes] if attrs.axes else list(range(rank))[::-1]
    source, target = _letters(attrs.src_layout), _letters(attrs.dst_layout)
    if source is None or target is None or sorted(source) != sorted(target) or len(source) != rank:
        return None
    return [source.index(part) for part in target]


def _moves_composed(match: RuleMatch) -> Expr | None:
    """Merge two moves; where one splits or joins axes, the other is expressed in the name of its layout."""
    x, inner, outer = match["x"], match["inner"], match["root"]
    first, middle = match.tensor("x"), match.tensor("inner")
    if first is None or middle is None:
        return None
    one, two = _permutation(inner, len(first.shape)), _permutation(outer, len(middle.shape))
    if one is not None and two is not None:
        axes = [one[a] for a in two]
        return x if list(axes) == list(range(len(axes))) else make("transpose", x, axes=list(axes))
    if two is None and one is not None:
        source = _letters(outer.attrs.src_layout)
        if source is None or len(source) != len(one):
            return None
        before = [""] * len(one)
        for place, part in zip(one, source, strict=True):
            before[place] = part
        return _layout(x, "".join(before), outer.attrs.dst_layout)
    if one is None and two is not None:
        target = _letters(inner.attrs.dst_layout)
        if target is None or len(target) != len(two):
            return None
        return _layout(x, inner.attrs.src_layout, "".join(target[a] for a in two))
    if inner.attrs.dst_layout != outer.attrs.src_layout:
        return None
    return _layout(x, inner.attrs.src_layout, outer.attrs.dst_layout)


def _layout(x: Expr, source: str, target: str) -> Expr | None:
    if source == target:
        return x
    if parse_layout(source) is None or parse_layout(target) is None:
        return None
    return make("layout_transform", x, src_layout=source, dst_layout=target)


def _moves_nothing(match: RuleMatch) -> bool:
    ty = match.tensor("x")
    axes = None if ty is None else _permutation(match["root"], len(ty.shape))
    return axes is not None and axes == list(range(len(axes)))


MOVEMENT = (
    Rule("reshape of a reshape", f"{_RESHAPES}({_RESHAPES}(x))", _reshape_again),
    Rule("two moves in one", f"{_MOVES}(inner:{_MOVES}(x))", _moves_composed),
    Rule("a move that moves nothing", f"{_MOVES}(x)", "x", _moves_nothing),
)
