"""Specialize generic functions passed as arguments to the types at which they are used.

    @twice(@same, %x)   becomes   @twice(fn (%x: T) -> T { @same(%x) }, %x)

where `@twice` takes a function from T to T; a generic function literal, or a variable bound to one, is copied for the
types of each use.
"""

from __future__ import annotations

from typing import Any

from passlab.infer import infer_expr
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, Type, map_type
from passlab.ir.variables import free_vars
from passlab.ir.walk import post_order, rewrite
from passlab.rewriting.fresh_copy import fresh_copy


def at_types(function: Function, mod: IRModule) -> Function:
    """Return a typed function without type parameters, typed, with no generic functions among its arguments.

    Generic functions elsewhere (returned, in tuples, in data) stay.
    """
    while any(_is_generic(e) for call in post_order(function) if type(call) is Call for e in (call.op, *call.args)):
        wrapped = _wrap_generics(function, _bound_generics(function))
        result = _copy_called_generics(wrapped if wrapped is function else infer_expr(wrapped, mod))
        if result is function:  # only global and recursive functions are left
            return function
        function = infer_expr(result, mod)  # type: ignore[assignment]
    return function


def _is_generic(expr: Expr) -> bool:
    if type(expr) is Function and expr.is_primitive:
        return False
    ty = expr.checked_type_
    return type(expr) in (Function, GlobalVar, Var) and type(ty) is FuncType and bool(ty.type_params)


def _bound_generics(function: Function) -> dict[Expr, Expr]:
    """Return the non-recursive generic functions bound to variables."""
    result: dict[Expr, Expr] = {}
    for node in post_order(function):
        if type(node) is Let and _is_generic(node.value) and node.var not in free_vars(node.value):
            result[node.var] = node.value
    for var, value in result.items():
        while value in result:
            value = result[var] = result[value]
    return result


def _wrap_generics(function: Function, bound: dict[Expr, Expr]) -> Expr:
    """Wrap each generic argument %f in `fn (%x: T) { %f(%x) }`, and inline the functions bound to variables."""

    def expected_types(call: Call) -> tuple[Type, ...]:
        ty: Any = call.op.checked_type_
        if type(ty) is not FuncType or len(ty.type_params) != len(call.type_args):
            return ()
        substitution: dict[Type, Type] = dict(zip(ty.type_params, call.type_args, strict=True))
        return tuple(map_type(t, substitution.get) for t in ty.arg_types)

    def visit(pre: Expr, post: Expr) -> Expr:
        if type(post) is Let:
            return post.body if pre.var in bound and post.var not in free_vars(post.body) else post  # type: ignore[attr-defined]
        assert isinstance(pre, Call)
        assert isinstance(post, Call)
        args = list(post.args)
        for i, (arg, ty) in enumerate(zip(pre.args, expected_types(pre), strict=False)):
            if _is_generic(arg) and type(ty) is FuncType and not ty.type_params:
                params = [Var(f"a{k}", t) for k, t in enumerate(ty.arg_types)]
                args[i] = Function(params, Call(bound.get(args[i], args[i]), params), ty.ret_type)
        callee = bound.get(post.op, post.op)
        same = callee is post.op and all(a is b for a, b in zip(args, post.args, strict=True))
        return post if same else post.with_fields(op=callee, args=tuple(args))

    return rewrite(function, visit, only=(Call, Let))


def _copy_called_generics(function: Expr) -> Expr:
    """Replace each called generic function literal by a copy for the types of the call."""

    def visit(pre: Call, post: Call) -> Expr:
        if type(post.op) is not Function or not _is_generic(pre.op):
            return post
        types = dict(zip(post.op.type_params, pre.type_args, strict=True))
        result: Expr = post.with_fields(op=fresh_copy(post.op.with_fields(type_params=()), types=types), type_args=())
        return result

    return rewrite(function, visit, only=(Call,))
