"""Changing the shapes of the parameters of a function. The types inside that follow from them are dropped."""

from __future__ import annotations

from collections.abc import Mapping

from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Call, Expr, Function, Let, Var
from passlab.ir.type_text import type_text
from passlab.ir.types import Any, TensorType, Type
from passlab.ir.walk import post_order, rewrite


def with_param_types(func: Function, types: Mapping[Var, Type]) -> Function:
    """Return the function with other types for some of its parameters; itself if all types are equal.

    Types that follow from the old ones are dropped: result types, also of inner functions, type arguments of calls and
    annotations of variables bound by `let`. Parameters of inner functions keep theirs.
    """
    changed = {p: types[p] for p in func.params if p in types and types[p] != p.type_annotation}
    if not changed:
        return func
    bound = [node.var for node in post_order(func.body) if type(node) is Let and type(node.value) is not Function]
    fresh: dict[Expr, Expr] = {
        var: Var(var.name_hint, changed.get(var), var.span, var.virtual_device)
        for var in (*changed, *bound)
        if var in changed or var.type_annotation is not None
    }
    result = rewrite(func, _without_types, replace=fresh, only=(Call, Function))
    assert isinstance(result, Function)
    return result


def _without_types(pre: Expr, post: Expr) -> Expr:
    if type(post) is Call:
        return post.with_fields(type_args=()) if not post.op.is_operator and post.type_args else post
    assert isinstance(post, Function)
    return post.with_fields(ret_type=None) if post.ret_type is not None else post


def resize(ty: Type | None, axis: int, length: int | Any, what: str) -> TensorType:
    """Return a tensor type with another length along an axis; `what` names the value in errors.

    Raises `PassValueError` if `ty` is not a tensor type or does not have the axis.
    """
    if not isinstance(ty, TensorType):
        actual = "no type" if ty is None else type_text(ty)
        raise PassValueError(Diagnostic(f"{what} is not a tensor", expected="a tensor type", found=actual))
    rank = len(ty.shape)
    if not -rank <= axis < rank:
        raise PassValueError(Diagnostic(f"{what} has no axis {axis}", expected=f"an axis of {rank}", found=str(axis)))
    shape = list(ty.shape)
    shape[axis] = length
    return TensorType(shape, ty.dtype)
