"""Specialises functions with parameters of unknown shape to the shapes of their arguments.

The graph executor plans memory before it runs, so it needs every shape. Shapes that depend on the *values* of arguments
stay dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.evaluate.arguments import check_argument
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.types import TensorType, TupleType, Type, is_dynamic
from passlab.ir.walk import substitute


def specialize(function: Function, args: Sequence[Any]) -> tuple[Function, tuple[Type | None, ...]]:
    """Return the function for the shapes of these arguments, and the types of its parameters.

    Returns the function itself if all its parameters have known shapes. Raises `RunError` if an argument does not fit
    the type of its parameter.
    """
    types = tuple([_specialized_type(p, a) for p, a in zip(function.params, args, strict=False)])
    fresh: dict[Expr, Expr] = {
        p: Var(p.name_hint, ty, span=p.span)
        for p, ty in zip(function.params, types, strict=False)
        if _has_unknown_shape(p)
    }
    if not fresh:
        return function, types
    params = tuple([fresh.get(p, p) for p in function.params])
    body = substitute(function.body, fresh)
    # No result type: it follows from the new shapes.
    return Function(params, body, None, function.type_params, function.attrs, function.span), types  # type: ignore[arg-type]


def _has_unknown_shape(param: Var) -> bool:
    return param.type_annotation is not None and is_dynamic(param.type_annotation)


def _specialized_type(param: Var, argument: Any) -> Type | None:
    """Return the type of a parameter with its unknown dimensions taken from an argument."""
    if not _has_unknown_shape(param):
        return param.type_annotation
    value = check_argument(param, argument)
    assert param.type_annotation is not None
    result: list[Type] = []
    work: list[tuple[Type, Any] | int] = [(param.type_annotation, value)]  # a number: so many fields are done
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
