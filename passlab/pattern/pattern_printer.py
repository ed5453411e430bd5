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
    match p:
        case WildcardPattern():
            return ["*"]
        case ExprPattern(expr=Op(name=name)):
            return [f'is_op("{name}")']
        case ExprPattern(expr=expr):
            return [f"is_expr({_expr_text(expr)})"]
        case VarPattern(name=name):
            return [f'is_var("{name}")' if name else "is_var()"]
        case ConstantPattern():
            return ["is_constant()"]
        case CallPattern(op=op, args=args):
            return [op, "(", *_comma_separated(args), ")"]
        case TuplePattern(fields=fields):
            return ["is_tuple(", *_listed(fields), ")"]
        case TupleGetItemPattern(tuple=inner, index=index):
            return ["is_tuple_get_item(", inner, f", {index})" if index >= 0 else ")"]
        case AltPattern(left=left, right=right):
            return ["(", left, " | ", right, ")"]
        case AttrPattern(pattern=inner):
            attrs = ", ".join(f"{name!r}: {value!r}" for name, value in p.attrs.items())
            return [inner, f".has_attr({{{attrs}}})"]
        case TypePattern(pattern=inner, type=ty):
            return [inner, f".has_type({ty})"]
        case DataTypePattern(pattern=inner, dtype=dtype):
            return [inner, f'.has_dtype("{dtype}")']
        case ShapePattern(pattern=inner, shape=shape):
            return [inner, f".has_shape({shape})"]
        case FunctionPattern(params=params, body=body):
            return ["FunctionPattern(", *_listed(params), ", ", body, ")"]
        case _:
            names = {IfPattern: "is_if", LetPattern: "is_let", DominatorPattern: "dominates"}
            return [f"{names.get(type(p), type(p).__name__)}(", *_comma_separated(p.parts()), ")"]


def _listed(patterns: tuple[DFPattern, ...] | None) -> list[_Part]:
    """Return patterns as a list in the text; None, which stands for any number, as itself."""
    return ["None"] if patterns is None else ["[", *_comma_separated(patterns), "]"]


def _expr_text(expr: object) -> str:
    text = " ".join(str(expr).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
