"""The dataflow pattern language: patterns are values, composed like the programs that they match.

    x, w = wildcard(), wildcard()
    conv = is_op("nn.conv2d")(x, w).has_attr({"strides": [1, 1]})
    biased = conv.optional(lambda c: is_op("nn.bias_add")(c, is_constant()))
    pattern = is_op("nn.relu")(biased) | is_op("clip")(biased)

A pattern object that occurs twice must match the same expression; use a `wildcard()` for each independent input.
Patterns are compared by identity. `matcher` implements the matching.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passlab.arguments import checked
from passlab.errors import PassTypeError
from passlab.ir.attrs import as_value
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import Type


class DFPattern:
    """Base class of all patterns. Operators build patterns: `p | q`, `p + q`, `-`, `*`, `/`, and the call `p(args)`."""

    __slots__ = ()

    def __call__(self, *args: DFPattern | None) -> CallPattern:
        """Match a call whose callee matches this and whose arguments match `args`; `p(None)` accepts any arguments."""
        return CallPattern(self, None if len(args) == 1 and args[0] is None else [check_pattern(a) for a in args])

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, check_pattern(other))

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    @checked
    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """Match this pattern on an operator, call or function with these attributes."""
        return has_attr(attrs, self)

    def has_type(self, ttype: Type) -> TypePattern:
        """Match this pattern on an expression of a type."""
        return has_type(ttype, self)

    def has_dtype(self, dtype: Any) -> DataTypePattern:
        """Match this pattern on a tensor of a dtype."""
        return has_dtype(dtype, self)

    @checked
    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """Match this pattern on a tensor of a shape."""
        return has_shape(shape, self)

    @checked
    def optional(self, option: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Match `option(self)` or, where that fails, this pattern alone."""
        return AltPattern(option(self), self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Match this pattern as the child of `parent`, with `path` in between (by default anything)."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    @checked
    def match(self, expr: Expr) -> bool:
        """Whether an expression matches."""
        from passlab.pattern.matcher import match

        return match(self, expr)

    def partition(
        self, expr: Expr, attrs: Mapping[str, Any] | None = None, check: Callable[[Expr], bool] = lambda expr: True
    ) -> Expr:
        """Return `expr` with each match that `check` accepts moved into a function of its own."""
        from passlab.pattern.partitioner import partition

        return partition(self, expr, attrs, check)

    def explain(self, expr: Expr, mod: IRModule | None = None) -> Any:
        """Return why an expression does not match: the nearest partial match and the condition that failed."""
        from passlab.pattern.explanation import explain

        return explain(self, expr, mod)

    def parts(self) -> tuple[DFPattern, ...]:
        """The sub-patterns of this pattern, in the order they are matched."""
        return ()

    def __repr__(self) -> str:
        from passlab.pattern.pattern_printer import pattern_text

        return pattern_text(self)


def check_pattern(value: Any) -> DFPattern:
    """Return `value` if it is a pattern. Raises `PassTypeError` otherwise."""
    if not isinstance(value, DFPattern):
        raise PassTypeError(f"a pattern is needed, not {type(value).__name__}; `is_expr` turns an expression into one")
    return value


class ExprPattern(DFPattern):
    """One expression, up to structural equality; an operator only matches itself."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr


class VarPattern(DFPattern):
    """A variable, with that name if one is given."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name


class ConstantPattern(DFPattern):
    """A constant."""

    __slots__ = ()


class WildcardPattern(DFPattern):
    """Any expression; after `redirect_to`, one that matches the other pattern."""

    __slots__ = ("target",)
    target: DFPattern | None

    def __init__(self) -> None:
        self.target = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Match `pat` from now on, which may contain this wildcard itself: for repeating patterns."""
        self.target = check_pattern(pat)

    def parts(self) -> tuple[DFPattern, ...]:
        return () if self.target is None else (self.target,)


class CallPattern(DFPattern):
    """A call: its callee and arguments; `args=None` accepts any arguments."""

    __slots__ = ("args", "op")

    @checked
    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None) -> None:
        self.op = check_pattern(op)
        self.args = None if args is None else tuple(check_pattern(a) for a in args)

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.op, *(self.args or ()))


class FunctionPattern(DFPattern):
    """A function literal: its parameters and body; `params=None` accepts any parameters."""

    __slots__ = ("body", "params")

    @checked
    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params = None if params is None else tuple(check_pattern(p) for p in params)
        self.body = check_pattern(body)

    def parts(self) -> tuple[DFPattern, ...]:
        return (*(self.params or ()), self.body)


class IfPattern(DFPattern):
    """An `if`."""

    __slots__ = ("cond", "false_branch", "true_branch")

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> None:
        self.cond, self.true_branch, self.false_branch = (
            check_pattern(cond),
            check_pattern(true_branch),
            check_pattern(false_branch),
        )

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.cond, self.true_branch, self.false_branch)


class LetPattern(DFPattern):
    """A `let`."""

    __slots__ = ("body", "value", "var")

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern) -> None:
        self.var, self.value, self.body = check_pattern(var), check_pattern(value), check_pattern(body)

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.var, self.value, self.body)


class TuplePattern(DFPattern):
    """A tuple; `fields=None` accepts any number of any fields."""

    __slots__ = ("fields",)

    @checked
    def __init__(self, fields: Sequence[DFPattern] | None) -> None:
        self.fields = None if fields is None else tuple(check_pattern(f) for f in fields)

    def parts(self) -> tuple[DFPattern, ...]:
        return self.fields or ()


class TupleGetItemPattern(DFPattern):
    """Element `index` of a tuple; -1 is any element."""

    __slots__ = ("index", "tuple")

    def __init__(self, tuple: DFPattern, index: int | None = None) -> None:
        self.tuple = check_pattern(tuple)
        self.index = -1 if index is None else index

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.tuple,)


class AltPattern(DFPattern):
    """An expression that `left` matches, or else `right`."""

    __slots__ = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = check_pattern(left), check_pattern(right)

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.left, self.right)


class NarrowedPattern(DFPattern):
    """A pattern with one more condition."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: DFPattern) -> None:
        self.pattern = check_pattern(pattern)

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.pattern,)


class AttrPattern(NarrowedPattern):
    """A match of `pattern` with these attributes: attributes of an operator, or of a call or function."""

    __slots__ = ("attrs",)

    @checked
    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        super().__init__(pattern)
        self.attrs = {str(name): as_value(value) for name, value in attrs.items()}


class TypePattern(NarrowedPattern):
    """A match of `pattern` with a type. Raises `PassTypeError` if `type` is not a type."""

    __slots__ = ("type",)

    def __init__(self, pattern: DFPattern, type: Type) -> None:
        super().__init__(pattern)
        if not isinstance(type, Type):
            raise PassTypeError(f"a type is needed, not {type!r}")
        self.type = type


class DataTypePattern(NarrowedPattern):
    """A match of `pattern` that is a tensor of a dtype."""

    __slots__ = ("dtype",)

    def __init__(self, pattern: DFPattern, dtype: Any) -> None:
        super().__init__(pattern)
        self.dtype = dtype_name(dtype)


class ShapePattern(NarrowedPattern):
    """A match of `pattern` that is a tensor of a shape."""

    __slots__ = ("shape",)

    @checked
    def __init__(self, pattern: DFPattern, shape: Sequence[Any]) -> None:
        super().__init__(pattern)
        self.shape = tuple(shape)


class DominatorPattern(DFPattern):
    """A match of `child` whose inputs all come, through any number of matches of `path`, from one match of `parent`.

    Expressions between `parent` and `child` must not be used elsewhere.
    """

    __slots__ = ("child", "parent", "path")

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern) -> None:
        self.parent, self.path, self.child = check_pattern(parent), check_pattern(path), check_pattern(child)

    def parts(self) -> tuple[DFPattern, ...]:
        return (self.parent, self.path, self.child)


# ---------------------------------------------------------------- constructors, under Relay's names
def wildcard() -> WildcardPattern:
    """Match anything.

    >>> from passlab.relay.dataflow_pattern import is_op, wildcard
    >>> is_op("add")(wildcard(), wildcard()).match(passlab.parse_expr("1f + 2f"))
    True
    """
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Match a variable, with that name if one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Match a constant.

    >>> from passlab.relay.dataflow_pattern import is_constant, is_op
    >>> is_op("exp")(is_constant()).match(passlab.parse_expr("exp(1f)"))
    True
    """
    return ConstantPattern()


def is_expr(expr: Expr) -> ExprPattern:
    """Match one expression, up to structural equality. Raises `PassTypeError` for anything else."""
    if not isinstance(expr, Expr):
        raise PassTypeError(f"an expression is needed, not {type(expr).__name__}")
    return ExprPattern(expr)


@checked
def is_op(op_name: str) -> ExprPattern:
    """Match an operator: `is_op("add")(x, y)` matches a call. Raises `OpNotFoundError` with the nearest names.

    >>> from passlab.relay.dataflow_pattern import is_op, wildcard
    >>> is_op("exp")(wildcard()).match(passlab.parse_expr("exp(1f)"))
    True
    """
    return ExprPattern(Op.get(op_name))


@checked
def is_tuple(fields: Sequence[DFPattern] | None = None) -> TuplePattern:
    """Match a tuple of these fields, or any tuple."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Match element `index` of a tuple, or any element."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Match an `if`."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Match a `let`."""
    return LetPattern(var, value, body)


@checked
def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """Match `pattern` (by default anything) on an expression of a type."""
    return TypePattern(pattern or wildcard(), ttype)


@checked
def has_dtype(dtype: Any, pattern: DFPattern | None = None) -> DataTypePattern:
    """Match `pattern` (by default anything) on a tensor of a dtype."""
    return DataTypePattern(pattern or wildcard(), dtype)


@checked
def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """Match `pattern` (by default anything) on a tensor of a shape."""
    return ShapePattern(pattern or wildcard(), shape)


@checked
def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Match `pattern` (by default anything) with these attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Match `child` whose inputs all come through `path` from one match of `parent`."""
    return DominatorPattern(parent, path, child)


__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DataTypePattern", "DominatorPattern",
    "ExprPattern", "FunctionPattern", "IfPattern", "LetPattern", "ShapePattern", "TupleGetItemPattern",
    "TuplePattern", "TypePattern", "VarPattern", "WildcardPattern", "dominates", "has_attr", "has_dtype", "has_shape",
    "has_type", "is_constant", "is_expr", "is_if", "is_let", "is_op", "is_tuple", "is_tuple_get_item", "is_var",
    "wildcard",
]  # fmt: skip
