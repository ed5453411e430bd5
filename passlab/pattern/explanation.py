"""Explains why a pattern does not match: the furthest partial match, and the condition that failed there."""

from __future__ import annotations

from dataclasses import dataclass

from passlab.errors import type_in_words
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.pattern.groups import pattern_parts
from passlab.pattern.language import (
    AttrPattern,
    CallPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    check_pattern,
)
from passlab.pattern.matcher import Matcher, attribute_matches
from passlab.pattern.pattern_printer import pattern_text
from passlab.pattern.program import Program, root_keys


@dataclass(frozen=True)
class Explanation:
    """The result of `explain`; it is true as a condition if the pattern matches.

    `root` is the expression that matches or comes nearest, None if no node can be the root of a match. `matched` of
    `total` parts of the pattern had matched when `pattern` failed on `expr`, because of `reason`.
    """

    root: Expr | None
    matched: int
    total: int
    pattern: DFPattern | None = None
    expr: Expr | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.pattern is None and self.root is not None

    def __str__(self) -> str:
        if self:
            return f"matches at {_description(self.root)}{_location(self.root)}"
        if self.root is None or self.pattern is None:
            return f"no match: {self.reason}"
        return "\n".join(
            [
                (
                    f"no match; nearest at {_description(self.root)}{_location(self.root)}, "
                    f"{self.matched} of {self.total} parts matched"
                ),
                f"  pattern:  {pattern_text(self.pattern)}",
                f"  against:  {_description(self.expr)}{_location(self.expr)}",
                f"  failed:   {self.reason}",
            ]
        )

    __repr__ = __str__


class _FurthestFailure:
    """A tracer that keeps the failure with the most matched parts."""

    def __init__(self) -> None:
        self.best = -1
        self.pattern: DFPattern | None = None
        self.expr: Expr | None = None

    def note_failure(self, pattern: DFPattern, expr: Expr, matched: int) -> None:
        if matched > self.best:
            self.best, self.pattern, self.expr = matched, pattern, expr


def explain(pattern: DFPattern, expr: Expr, mod: IRModule | None = None) -> Explanation:
    """Return where in `expr` a pattern matches, or the nearest partial match and why it failed.

    The result of the program is tried first, then every node inwards, each once.
    """
    total = len(pattern_parts(check_pattern(pattern)))
    program = Program(expr)
    best: Explanation | None = None
    for root in [expr, *(node for node in program.candidates(root_keys(pattern)) if node is not expr)]:
        furthest = _FurthestFailure()
        matcher = Matcher(program, mod, furthest)
        if matcher.match(pattern, root):
            return Explanation(root, total, total)
        if furthest.pattern is None or furthest.expr is None or (best is not None and furthest.best <= best.matched):
            continue
        reason = _failure_reason(matcher, furthest.pattern, furthest.expr)
        best = Explanation(root, furthest.best, total, furthest.pattern, furthest.expr, reason)
    if best is None or (best.matched == 0 and not isinstance(best.root, Call)):
        names = ", ".join(sorted(_key_text(key) for key in root_keys(pattern) or ()))
        return Explanation(None, 0, total, reason=f"there is no {names or 'expression'} in the program")
    return best


def _key_text(key: object) -> str:
    return f"call of `{key.name}`" if isinstance(key, Op) else getattr(key, "__name__", str(key)).lower()


def _failure_reason(matcher: Matcher, p: DFPattern, e: Expr) -> str:
    """Return the condition of one pattern that an expression does not satisfy."""
    if p in matcher.matches or any(p is q for q in matcher.matches):
        return "the pattern occurs twice and has already matched another expression"
    if isinstance(p, ExprPattern):
        return f"expected {_description(p.expr)}, found {_description(e)}"
    if isinstance(p, VarPattern) and isinstance(e, Var):
        return f"expected a variable named `{p.name}`, found `{e.name_hint}`"
    if isinstance(p, CallPattern) and isinstance(e, Call) and p.args is not None and len(p.args) != len(e.args):
        return f"expected {len(p.args)} arguments, found {len(e.args)}"
    if isinstance(p, TuplePattern) and isinstance(e, Tuple) and p.fields is not None:
        return f"expected {len(p.fields)} fields, found {len(e.fields)}"
    if isinstance(p, TupleGetItemPattern) and isinstance(e, TupleGetItem):
        return f"expected element {p.index}, found {e.index}"
    if isinstance(p, FunctionPattern) and isinstance(e, Function) and p.params is not None:
        return f"expected {len(p.params)} parameters, found {len(e.params)}"
    if isinstance(p, AttrPattern):
        return _attribute_reason(p, e)
    if isinstance(p, (TypePattern, DataTypePattern, ShapePattern)):
        return _type_reason(matcher, p, e)
    if isinstance(p, DominatorPattern):
        return "not every way up from the child leads through `path` to one parent without other users"
    return f"expected {pattern_text(p)}, found {_description(e)}"


def _attribute_reason(p: AttrPattern, e: Expr) -> str:
    for name, expected in p.attrs.items():
        if attribute_matches(e, name, expected):
            continue
        if isinstance(e, Op):
            return f"expected {name} = {expected!r}, found {e.get_attr(name)!r}"
        attrs = e.attrs if isinstance(e, (Call, Function)) else None
        if attrs is not None and name in attrs:
            return f"expected {name} = {expected!r}, found {attrs[name]!r}"
        return f"expected {name} = {expected!r}, and there is no such attribute"
    return f"expected {pattern_text(p.pattern)}, found {_description(e)}"


def _type_reason(matcher: Matcher, p: TypePattern | DataTypePattern | ShapePattern, e: Expr) -> str:
    ty = matcher.type_of(e)
    if ty is None:
        return "its type is not known: infer types first"
    if isinstance(p, TypePattern):
        return f"expected the type {p.type}, found {ty}"
    if not isinstance(ty, TensorType):
        return f"expected a tensor, found {ty}"
    if isinstance(p, DataTypePattern):
        return f"expected {p.dtype}, found {ty.dtype}"
    return f"expected the shape {p.shape}, found {ty.shape}"


def _description(e: Expr | None) -> str:
    """Return a noun phrase for an expression."""
    match e:
        case Call(op=Op(name=name)):
            return f"a call of `{name}`"
        case Call():
            return "a call"
        case Op(name=name):
            return f"the operator `{name}`"
        case Var(name_hint=name):
            return f"the variable %{name}"
        case GlobalVar(name_hint=name) | Constructor(name_hint=name):
            return f"`{name}`"
        case Constant(tensor_type=ty):
            return f"a constant {ty}"
        case _:
            names = {Tuple: "a tuple", TupleGetItem: "a projection", Let: "a let", If: "an if", Function: "a function"}
            return names.get(type(e), type_in_words(e))


def _location(e: Expr | None) -> str:
    return f" ({e.span})" if e is not None and e.span is not None else ""
