"""Patterns as text, written as the calls that create them: `is_op("add")(*, is_constant())`."""

from __future__ import annotations

from passlab.ir.op import Op
from passlab.pattern.language import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)

_Part = DFPattern | str
_MAX_LENGTH = 2_000  # characters; longer texts are cut


def pattern_text(root: DFPattern) -> str:
    """Return a pattern as text; a wildcard redirected to an enclosing pattern is written `...`."""
    out: list[str] = []
    size = 0
    opened: set[DFPattern] = set()
    stack: list[_Part] = [root]
    while stack and size < _MAX_LENGTH:
        part = stack.pop()
        if isinstance(part, DFPattern):
            if isinstance(part, WildcardPattern) and part.target is not None:
                stack.append("..." if part in opened else part.target)
                opened.add(part)
            else:
                stack.extend(reversed(_pieces(part)))
        else:
            out.append(part)
            size += len(part)
    return "".join(out) + (" ..." if stack else "")


def _comma_separated(patterns: tuple[DFPattern, ...] | None) -> list[_Part]:
    if patterns is None:
        return ["None"]
    out: list[_Part] = []
    for pattern in patterns:
        out += [", ", pattern] if out else [pattern]
    return out


def _pieces(p: DFPattern) -> list[_Part]:
    """Return one pattern as a list of texts and the patterns inside it."""
    if isinstance(p, WildcardPattern):
        return ["*"]
    if isinstance(p, ExprPattern):
        return [f'is_op("{p.expr.name}")' if isinstance(p.expr, Op) else f"is_expr({_expr_text(p.expr)})"]
    if isinstance(p, VarPattern):
        return [f'is_var("{p.name}")' if p.name else "is_var()"]
    if isinstance(p, ConstantPattern):
        return ["is_constant()"]
    if isinstance(p, CallPattern):
        return [p.op, "(", *_comma_separated(p.args), ")"]
    if isinstance(p, TuplePattern):
        return ["is_tuple(", *(["None"] if p.fields is None else ["[", *_comma_separated(p.fields), "]"]), ")"]
    if isinstance(p, TupleGetItemPattern):
        return ["is_tuple_get_item(", p.tuple, *([f", {p.index}"] if p.index >= 0 else []), ")"]
    if isinstance(p, AltPattern):
        return ["(", p.left, " | ", p.right, ")"]
    return _other_pieces(p)


def _other_pieces(p: DFPattern) -> list[_Part]:
    if isinstance(p, AttrPattern):
        attrs = ", ".join(f"{name!r}: {value!r}" for name, value in p.attrs.items())
        return [p.pattern, f".has_attr({{{attrs}}})"]
    if isinstance(p, TypePattern):
        return [p.pattern, f".has_type({p.type})"]
    if isinstance(p, DataTypePattern):
        return [p.pattern, f'.has_dtype("{p.dtype}")']
    if isinstance(p, ShapePattern):
        return [p.pattern, f".has_shape({p.shape})"]
    if isinstance(p, FunctionPattern):
        head: list[_Part] = ["None"] if p.params is None else ["[", *_comma_separated(p.params), "]"]
        return ["FunctionPattern(", *head, ", ", p.body, ")"]
    names = {IfPattern: "is_if", LetPattern: "is_let", DominatorPattern: "dominates"}
    return [f"{names.get(type(p), type(p).__name__)}(", *_comma_separated(p.parts()), ")"]


def _expr_text(expr: object) -> str:
    text = " ".join(str(expr).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
