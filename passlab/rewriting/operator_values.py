"""Operators that are used as values become calls, or functions of the type that is wanted, for executors without them.

let %f = add; %f(%a, %b)      becomes  add(%a, %b)
@apply(tanh, %x)              becomes  @apply(fn (%data: float32) -> float32 { tanh(%data) }, %x)
"""

from __future__ import annotations

from collections.abc import Iterator

from passlab.analysis.contents import contents_of
from passlab.infer import infer_module
from passlab.ir.expr import Call, Expr, Function, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, Type, map_type
from passlab.ir.walk import post_order, rebuild, rewrite


def operators_called(mod: IRModule) -> IRModule:
    """Return a module without operators as values, but for those whose type their place does not tell.

    The module itself where it has none. Raises the errors of type inference.
    """
    if not any(contents_of(function).has_operator_values for _, function in mod.items()):
        return mod
    mod = mod.with_functions({name: _direct_calls(function) for name, function in mod.items()})
    mod = infer_module(mod)
    return mod.with_functions({name: _with_literals(function) for name, function in mod.items()})


def _direct_calls(function: Function) -> Function:
    """Return a function in which variables that are bound to operators are replaced by these."""
    bound: dict[Expr, Expr] = {}
    for node in reversed(post_order(function)):  # outer bindings first
        if type(node) is Let and type(value := bound.get(node.value, node.value)) is Op:
            bound[node.var] = value

    def called(part: Expr) -> Expr:
        return bound.get(part, part)

    def rule(old: Expr, new: Expr) -> Expr:
        if isinstance(new, Let):
            if new.var in bound:
                return called(new.body)
            return new.with_fields(value=called(new.value), body=called(new.body))
        return new if isinstance(new, Var) else rebuild(new, called)

    return rewrite(function, rule) if bound else function


def _with_literals(function: Function) -> Function:
    """Return a typed function in which operators with a known function type are literals of this type."""
    if not contents_of(function).has_operator_values:
        return function

    def rule(old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call) and isinstance(new, Call):
            wanted = dict(enumerate(_wanted_types(old)))
            args = tuple([_function_literal(arg, wanted.get(number)) for number, arg in enumerate(new.args)])
            return new if args == new.args else new.with_fields(args=args)
        if isinstance(old, Function) and isinstance(new, Function):
            body = _function_literal(new.body, old.ret_type)
            return new if body is new.body else new.with_fields(body=body)
        return new

    return rewrite(function, rule, only=(Call, Function))


def _wanted_types(call: Call) -> Iterator[Type]:
    """Yield the types that the callee of a typed call takes, with its type parameters replaced."""
    callee = call.op.checked_type_
    if type(call.op) is Op or not isinstance(callee, FuncType):
        return
    given: dict[Type, Type] = dict(zip(callee.type_params, call.type_args, strict=False))
    for ty in callee.arg_types:
        yield map_type(ty, given.get)


def _function_literal(value: Expr, ty: Type | None) -> Expr:
    """Return the function literal of an operator where `ty` is the type of a function; else the value."""
    if type(value) is not Op or not isinstance(ty, FuncType) or ty.type_params:
        return value
    params = [Var(f"p{number}", arg) for number, arg in enumerate(ty.arg_types)]
    return Function(params, Call(value, params), ty.ret_type)
