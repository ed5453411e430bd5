"""Matching a pattern against an expression: finds the expression of each pattern object.

A pattern object that occurs again must match the same expression. A failure backtracks: it undoes the bindings made by
the failed attempt. Between parent and child of a dominator pattern, the path pattern may match many expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from passlab.errors import PasslabError
from passlab.infer import infer_expr
from passlab.ir.deep_recursion import call_on_fresh_stack, stack_nearly_full
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of
from passlab.ir.types import TensorType, Type
from passlab.ir.walk import CHILDREN
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
    check_pattern,
)
from passlab.pattern.program import Program, pattern_operator

Matches = dict[DFPattern, list[Expr]]


class Tracer(Protocol):
    """Receives the failed attempts of a matcher."""

    def note_failure(self, pattern: DFPattern, expr: Expr, matched: int) -> None:
        """Record that `pattern` failed on `expr` after `matched` patterns had matched."""


class Matcher:
    """Matches patterns in one program. After `match`, `matches` maps each pattern object to its expression."""

    def __init__(self, program: Program, mod: IRModule | None = None, tracer: Tracer | None = None) -> None:
        self.program = program
        self.mod = mod
        self.matches: Matches = {}
        self._trail: list[DFPattern] = []
        self._bind_once = True
        self._level = 0
        self._tracer = tracer
        self._types: dict[Expr, Type | None] = {}

    def match(self, pattern: DFPattern, expr: Expr) -> bool:
        """Whether an expression of the program matches."""
        self.matches = {}
        self._trail = []
        self._bind_once = True
        return self.visit(pattern, expr)

    def visit(self, pattern: DFPattern, expr: Expr) -> bool:
        """Match a sub-pattern and record its expression."""
        if self._bind_once and pattern in self.matches:
            if self.matches[pattern][0] is expr:
                return True
            if self._tracer is not None:
                self._tracer.note_failure(pattern, expr, len(self._trail))
            return False
        mark = len(self._trail)
        rule = _RULES[type(pattern)]
        self._level += 1
        if self._level % 16 == 0 and stack_nearly_full():  # measuring the stack at every level would cost too much
            matched = call_on_fresh_stack(rule, self, pattern, expr)
        else:
            matched = rule(self, pattern, expr)
        self._level -= 1
        if matched:
            self.matches.setdefault(pattern, []).append(expr)
            self._trail.append(pattern)
            return True
        if self._tracer is not None:
            self._tracer.note_failure(pattern, expr, len(self._trail))
        self.backtrack(mark)
        return False

    def match_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Expr]) -> bool:
        """Match patterns one by one against as many expressions."""
        mark = len(self._trail)
        if len(patterns) == len(exprs) and all(map(self.visit, patterns, exprs)):
            return True
        self.backtrack(mark)
        return False

    def backtrack(self, mark: int) -> None:
        """Undo the bindings made after the first `mark`."""
        trail, matches = self._trail, self.matches
        while len(trail) > mark:
            pattern = trail.pop()
            exprs = matches[pattern]
            exprs.pop()
            if not exprs:
                del matches[pattern]

    def type_of(self, expr: Expr) -> Type | None:
        """Return the type of an expression, inferred if necessary; None if it has none."""
        if expr.checked_type_ is not None:
            return expr.checked_type_
        if isinstance(expr, Constant):
            return expr.tensor_type
        if expr not in self._types:
            try:
                self._types[expr] = infer_expr(expr, self.mod).checked_type_
            except PasslabError:
                self._types[expr] = None
        return self._types[expr]

    # ------------------------------------------------------------ dominators
    def dominates(self, p: DominatorPattern, expr: Expr) -> bool:
        """Match the child at `expr`, then the paths up to the parent, then check that the parent has no other users."""
        if not self.visit(p.child, expr):
            return False
        reached = self._paths(p, expr)
        self._bind_once = True
        return reached and self.program.is_dominated(self.matches[p.parent][0], expr)

    def _paths(self, p: DominatorPattern, child: Expr) -> bool:
        """Whether all inputs lead up to the parent; of an expression with the parent as direct input, only that one.

        No path from a second parent may lead to the child.
        """
        stack, seen = [child], {child}
        while stack:
            node = stack.pop()
            inputs = _inputs(node)
            self._bind_once = True
            if any(self.visit(p.parent, e) for e in inputs):
                if node is child and self._second_parent(p, inputs):
                    return False
                continue
            self._bind_once = False
            if not inputs or not all(e in seen or self.visit(p.path, e) for e in inputs):
                return False
            stack += [e for e in inputs if e not in seen]
            seen.update(inputs)
        return p.parent in self.matches

    def _second_parent(self, p: DominatorPattern, exprs: list[Expr]) -> bool:
        """Whether a path leads to one of these expressions from a second match of the parent."""
        (parent, *_), other = self.matches[p.parent], Matcher(self.program, self.mod)
        stack, seen = [e for e in exprs if e is not parent and other.match(p.path, e)], set[Expr]()
        while stack:
            inputs = [e for e in _inputs(stack.pop()) if e not in seen and e is not parent]
            if any(other.match(p.parent, e) for e in inputs):
                return True
            seen.update(inputs)
            stack += [e for e in inputs if other.match(p.path, e)]
        return False


def _inputs(node: Expr) -> list[Expr]:
    return [e for e in CHILDREN[type(node)](node) if not (isinstance(node, Call) and e is node.op)]


# ---------------------------------------------------------------- pattern by pattern
def _expr(m: Matcher, p: ExprPattern, e: Expr) -> bool:
    return e is p.expr if type(p.expr) is Op else structural_equal(p.expr, e)


def _var(m: Matcher, p: VarPattern, e: Expr) -> bool:
    return isinstance(e, Var) and (not p.name or p.name == e.name_hint)


def _constant(m: Matcher, p: ConstantPattern, e: Expr) -> bool:
    return type(e) is Constant


def _wildcard(m: Matcher, p: WildcardPattern, e: Expr) -> bool:
    return p.target is None or m.visit(p.target, e)


def _alt(m: Matcher, p: AltPattern, e: Expr) -> bool:
    return m.visit(p.left, e) or m.visit(p.right, e)


def _call(m: Matcher, p: CallPattern, e: Expr) -> bool:
    if type(e) is not Call:
        return False
    if not m.visit(p.op, e.op):
        return _match_rearranged(m, p, e)
    if p.args is None or m.match_all(p.args, e.args):
        return True
    # commutative operators, in Relay only these two, also match with their arguments exchanged
    return pattern_operator(p) in ("add", "multiply") and m.match_all(p.args[::-1], e.args)


def _match_rearranged(m: Matcher, p: CallPattern, e: Call) -> bool:
    """Match the pattern (a * b) / c as a * (b / c), and the pattern (a / b) * c as (a * c) / b, as Relay does."""
    name, args = pattern_operator(p), p.args or ()
    if name == "divide" and len(args) == 2 and is_call_of(e, "multiply"):
        product = args[0]
        if pattern_operator(product) != "multiply" or not any(is_call_of(a, "divide") for a in e.args):
            return False
        assert isinstance(product, CallPattern)
        pairs = product.args or ()
        return len(pairs) == 2 and any(
            m.visit(CallPattern(product.op, (other, CallPattern(p.op, (first, args[1])))), e)
            for first, other in (pairs, pairs[::-1])
        )
    if name == "multiply" and len(args) == 2 and is_call_of(e, "divide"):
        for quotient, factor in (args, args[::-1]):
            if pattern_operator(quotient) == "divide" and any(is_call_of(a, "multiply") for a in e.args):
                assert isinstance(quotient, CallPattern)
                numerator, denominator = quotient.args or (None, None)
                if numerator is None or denominator is None:
                    return False
                return m.visit(CallPattern(quotient.op, (CallPattern(p.op, (numerator, factor)), denominator)), e)
    return False


def _tuple(m: Matcher, p: TuplePattern, e: Expr) -> bool:
    return isinstance(e, Tuple) and (p.fields is None or m.match_all(p.fields, e.fields))


def _tuple_get_item(m: Matcher, p: TupleGetItemPattern, e: Expr) -> bool:
    return isinstance(e, TupleGetItem) and p.index in (-1, e.index) and m.visit(p.tuple, e.tuple_value)


def _function(m: Matcher, p: FunctionPattern, e: Expr) -> bool:
    return isinstance(e, Function) and (p.params is None or m.match_all(p.params, e.params)) and m.visit(p.body, e.body)


def _if(m: Matcher, p: IfPattern, e: Expr) -> bool:
    return isinstance(e, If) and m.match_all(p.parts(), (e.cond, e.true_branch, e.false_branch))


def _let(m: Matcher, p: LetPattern, e: Expr) -> bool:
    return isinstance(e, Let) and m.match_all(p.parts(), (e.var, e.value, e.body))


def _attr(m: Matcher, p: AttrPattern, e: Expr) -> bool:
    return m.visit(p.pattern, e) and all(attribute_matches(e, name, value) for name, value in p.attrs.items())


def attribute_matches(expr: Expr, name: str, expected: Any) -> bool:
    """Whether an operator, call or function has an attribute with a value; numbers compare by value."""
    if isinstance(expr, Op):
        actual = expr.get_attr(name)
        return actual is not None and _equal_values(actual, expected)
    if isinstance(expr, (Call, Function)) and expr.attrs is not None and name in expr.attrs:
        return _equal_values(expr.attrs[name], expected)
    return False


def _equal_values(actual: Any, expected: Any) -> bool:
    pairs = [(actual, expected)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif isinstance(a, (bool, int, float, str)) or a is None:
            if a != b:
                return False
        elif not structural_equal(a, b, map_free_vars=True):
            return False
    return True


def _type(m: Matcher, p: TypePattern, e: Expr) -> bool:
    ty = m.type_of(e)
    return ty is not None and (ty is p.type or structural_equal(p.type, ty)) and m.visit(p.pattern, e)


def _dtype(m: Matcher, p: DataTypePattern, e: Expr) -> bool:
    ty = m.type_of(e)
    return isinstance(ty, TensorType) and ty.dtype == p.dtype and m.visit(p.pattern, e)


def _shape(m: Matcher, p: ShapePattern, e: Expr) -> bool:
    ty = m.type_of(e)
    return isinstance(ty, TensorType) and ty is TensorType(p.shape, ty.dtype) and m.visit(p.pattern, e)


_RULES: dict[type, Callable[[Matcher, Any, Expr], bool]] = {
    ExprPattern: _expr, VarPattern: _var, ConstantPattern: _constant, WildcardPattern: _wildcard, AltPattern: _alt,
    CallPattern: _call, TuplePattern: _tuple, TupleGetItemPattern: _tuple_get_item, FunctionPattern: _function,
    IfPattern: _if, LetPattern: _let, AttrPattern: _attr, TypePattern: _type, DataTypePattern: _dtype,
    ShapePattern: _shape, DominatorPattern: Matcher.dominates,
}  # fmt: skip


def match(pattern: DFPattern, expr: Expr, mod: IRModule | None = None) -> bool:
    """Whether an expression matches a pattern.

    >>> from passlab.relay import dataflow_pattern as dp
    >>> dp.match(dp.is_op("exp")(dp.wildcard()), passlab.parse_expr("tanh(1f)"))
    False
    """
    return Matcher(Program(expr), mod).match(check_pattern(pattern), expr)


def find_match(pattern: DFPattern, expr: Expr, mod: IRModule | None = None) -> Matches | None:
    """Return the expression of each pattern object if an expression matches, else None."""
    matcher = Matcher(Program(expr), mod)
    return matcher.matches if matcher.match(check_pattern(pattern), expr) else None
