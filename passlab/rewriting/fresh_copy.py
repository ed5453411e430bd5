"""Copies of expressions with fresh binders, so that one program may contain several of them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from passlab.analysis.stated_types import states_type
from passlab.ir.adt import Constructor, pattern_vars
from passlab.ir.expr import Call, Expr, ExprT, Function, Let, Match, RefCreate, RefRead, RefWrite, Var
from passlab.ir.op import Op
from passlab.ir.types import IncompleteType, Type, TypeVar, map_type
from passlab.ir.walk import CHILDREN, make_lets, post_order, rebuild, result_of

Types = dict[Type, Type]


def fresh_copy(
    expr: ExprT,
    replace: Mapping[Var, Expr] | None = None,
    types: Mapping[TypeVar, Type] | None = None,
    shared: Container[Expr] | None = None,
) -> ExprT:
    """Return `expr` with new objects for all variables and type parameters that it binds.

    `replace` and `types` map free variables and type variables to their replacements. An expression without binders and
    replacements stays the same object. With `shared`, a node that may have effects is not copied if it is in `shared`:
    a copy that is evaluated in addition to the original repeats its effects.
    """
    order = post_order(expr)
    swap: Types = dict((types or {}).items())
    for node in order:
        if type(node) is Function:
            swap.update({t: TypeVar(t.name_hint, t.kind) for t in node.type_params})
    result: dict[Expr, Expr] = dict((replace or {}).items())
    memo: Types = {}

    def infer_types(ty: Type | None) -> Type | None:
        if ty is None or not swap:
            return ty
        if ty not in memo:
            memo[ty] = map_type(ty, swap.get)
        return memo[ty]

    for node in order:
        for var in binders(node):
            if var not in result:
                result[var] = Var(var.name_hint, infer_types(var.type_annotation), var.span, var.virtual_device)

    def new(node: Expr) -> Expr:
        return result.get(node, node)

    for node in order:
        if node in result or not CHILDREN[type(node)](node):
            continue
        copy = rebuild(node, new)
        if copy is node and shared is not None and node not in shared and _may_have_effects(node):
            copy = shallow_copy(node)
        if swap and type(copy) is Call and not copy.op.is_operator and copy.type_args:
            copy = copy.with_fields(type_args=_same(copy.type_args, [infer_types(t) for t in copy.type_args]))
        elif swap and type(copy) is Function:
            params = tuple(swap.get(t, t) for t in copy.type_params)
            copy = copy.with_fields(ret_type=infer_types(copy.ret_type), type_params=_same(copy.type_params, params))
        if copy is not node:
            result[node] = copy
    return result_of(expr, result)


def shallow_copy(node: ExprT) -> ExprT:
    """Return a new node with the same children."""
    kind: Any = type(node)
    return kind(**{name: getattr(node, name) for name in node.field_names}, span=node.span)  # type: ignore[no-any-return]


def _may_have_effects(node: Expr) -> bool:
    """Return True if evaluating the node itself may read, change or create state."""
    if type(node) is Call:
        return not isinstance(node.op, (Op, Constructor)) or (isinstance(node.op, Op) and node.op.spec.stateful)
    return type(node) in (RefCreate, RefRead, RefWrite)


def _same(old: tuple[Any, ...], new: Sequence[Any]) -> tuple[Any, ...]:
    return old if all(a is b for a, b in zip(old, new, strict=True)) else tuple(new)


def binders(node: Expr) -> Sequence[Var]:
    """Return the variables that a node itself binds."""
    if type(node) is Let:
        return (node.var,)
    if type(node) is Function:
        return node.params
    if type(node) is Match:
        return [v for c in node.clauses for v in pattern_vars(c.lhs)]
    return ()


def apply(
    function: Function,
    args: Sequence[Expr],
    type_args: Sequence[Type] = (),
    movable: Sequence[bool] | None = None,
    shared: Container[Expr] = (),
) -> Expr:
    """Return the body of a function with its parameters replaced, copied with fresh binders and its own effects.

    `movable` marks the arguments that may be evaluated where the parameter is used; the others are bound by lets.
    `shared` are nodes of the body that are also used, and so evaluated, outside the function.
    """
    are_known = len(type_args) == len(function.type_params)
    if not are_known:  # the call was of a variable bound to the function, so it has no type arguments: infer them
        type_args = [IncompleteType(t.kind) for t in function.type_params]
    types = dict(zip(function.type_params, type_args, strict=True))
    swap: Types = dict(types.items())

    def instance(ty: Type | None) -> Type | None:
        return map_type(ty, swap.get) if ty is not None and are_known else None

    replace = dict(zip(function.params, args, strict=True))
    bound: list[tuple[Var, Expr]] = []
    for param, arg, moves in zip(function.params, args, movable or (), strict=False):
        if not moves:
            var = Var(param.name_hint, instance(param.type_annotation), param.span, param.virtual_device)
            replace[param] = var
            bound.append((var, arg))
    body = fresh_copy(function.body, replace, types, shared)
    return make_lets(bound, with_type(body, instance(function.ret_type)))


def with_type(expr: Expr, ty: Type | None) -> Expr:
    """Return an expression whose type inference finds: bound by a let annotated with `ty` if inference needs that."""
    if ty is None or states_type(expr):
        return expr
    var = Var("never", ty)
    return Let(var, expr, var)
