"""Nested tuples as lists of their parts, from left to right: types, and expressions of such types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from passlab.ir.expr import Expr, Tuple, TupleGetItem
from passlab.ir.types import TupleType, Type, fold_tuple


def flatten_tuple_type(ty: Type) -> list[Type]:
    """Return the types in a type of nested tuples."""
    types: list[Type] = []
    fold_tuple(ty, types.append, lambda parts: None)
    return types


def from_tuple_type(ty: Type, expr: Expr) -> list[Expr]:
    """Return the parts of an expression whose type consists of nested tuples."""
    parts: list[Expr] = []
    stack: list[tuple[Type, Expr]] = [(ty, expr)]
    while stack:
        of_type, part = stack.pop()
        if isinstance(of_type, TupleType):
            fields = [(field, TupleGetItem(part, at)) for at, field in enumerate(of_type.fields)]
            stack.extend(reversed(fields))
        else:
            parts.append(part)
    return parts


def to_tuple_type(ty: Type, exprs: Iterable[Expr]) -> Any:
    """Return the expression of a type of nested tuples, built of its parts."""
    rest = iter(exprs)
    return fold_tuple(ty, lambda _: next(rest), Tuple)
