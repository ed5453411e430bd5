"""Functions of unknown shapes made into functions of the shapes they are called with.

A graph plans its memory before it runs, so it needs every shape; the arguments of a call have one. Knows nothing of
graphs. What depends on the *values* of arguments stays dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.evaluate.arguments import check_argument
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.types import TensorType, TupleType, Type, is_dynamic
from passlab.ir.walk import substitute


def specialize(function: Function, args: Sequence[Any]) -> tuple[Function, tuple[Type | None, ...]]:
    """Return the function for arguments of these shapes, and the types of its parameters.

    The function itself is returned when its parameters are of known shapes. Raises `RunError` when an argument does not
    fit the parameter's type.
    """
    types = tuple([_type_of(p, a) for p, a in zip(function.params, args, strict=False)])
    fresh: dict[Expr, Expr] = {
        p: Var(p.name_hint, ty, span=p.span) for p, ty in zip(function.params, types, strict=False) if _open(p)
    }
    if not fresh:
        return function, types
    params = tuple([fresh.get(p, p) for p in function.params])
    body = substitute(function.body, fresh)
    return Function(params, body, None, function.type_params, function.attrs, function.span), types  # type: ignore[arg-type]


def _open(param: Var) -> bool:
    return param.type_annotation is not None and is_dynamic(param.type_annotation)


def _type_of(param: Var, argument: Any) -> Type | None:
    """Return a parameter's type with its unknown dimensions filled in from an argument."""
    if not _open(param):
        return param.type_annotation
    value = check_argument(param, argument)
    assert param.type_annotation is not None
    result: list[Type] = []
    work: list[tuple[Type, Any] | int] = [(param.type_annotation, value)]
    while work:
        item = work.pop()
        if isinstance(item, int):
            start = len(result) - item
            result[start:] = [TupleType(result[start:])]
            continue
        ty, at = item
        if isinstance(ty, TupleType):
            work.append(len(ty.fields))
            work.extend(reversed(list(zip(ty.fields, at, strict=True))))
        else:
            result.append(TensorType(at.shape, ty.dtype) if isinstance(ty, TensorType) else ty)
    return result[0]
