"""`InferTypeLocal`, which in TVM stores the type on the expression itself, even if its parts have none.

A node of passlab has a type only if all its parts have one. While `tvm` is importable, the types found here stand
beside the nodes, and `checked_type` returns them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from passlab.ir.expr import Expr
from passlab.ir.types import Type

_types: WeakKeyDictionary[Expr, Type] = WeakKeyDictionary()


def remembering(type_of: Callable[..., Type]) -> Callable[..., Type]:
    """Return `InferTypeLocal` that remembers the type of each expression."""

    @wraps(type_of)
    def infer_type_local(expr: Expr, *args: Any, **kwargs: Any) -> Type:
        result = type_of(expr, *args, **kwargs)
        _types[expr] = result
        return result

    return infer_type_local


def with_remembered(member: Any) -> property:
    """Return the property over the type of an expression that falls back on the remembered type."""

    def checked_type(self: Expr) -> Type:
        remembered = _types.get(self) if self.checked_type_ is None else None
        result: Type = member.__get__(self) if remembered is None else remembered
        return result

    return property(checked_type)
