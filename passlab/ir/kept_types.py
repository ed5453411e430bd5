"""Types of nodes that a rewrite creates, if they are known without inference.

The type of a node follows from its own fields and the types of its children. A rebuilt node therefore has the type of
the original if each of its children has the type of the child that it replaces. So after a pass, inference visits only
nodes below which a type changed or is missing.

A type that depends on signatures of global functions or definitions of data types is valid only where these are the
same. `Dependency` is the part of such a record that is needed here; inference creates it (`infer.type_env`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Var, set_checked_type, set_type_dependency
from passlab.ir.new_nodes import new_call, new_if, new_let, new_var
from passlab.ir.span import Span
from passlab.ir.types import FuncType, GlobalTypeVar, TensorType, Type, holds

_NAMES = (GlobalVar, Constructor)  # whose type is that of a function or data type of the module


class Dependency(Protocol):
    """The signatures and definitions that the type of a node depends on."""

    def covers(self, other: Any) -> bool:
        """Whether it has all that `other` has."""


def kept_type(old: Expr, parts: tuple[Expr, ...], results: tuple[Expr, ...]) -> Type | None:
    """Return the type that `keep_type` would set, or None if the node has no type or its type depends on the module."""
    ty = old._checked_type
    if ty is None or old._type_dependency is not None:
        return None
    for i, now in enumerate(results):
        if now is not parts[i]:
            if now._checked_type is not parts[i]._checked_type or now._type_dependency is not None:
                return None
            if type(now) in _NAMES:
                return None
    return ty


def keep_type(old: Expr, new: Expr, parts: Iterable[Expr], results: Iterable[Expr | None]) -> None:
    """Give a node rebuilt from `old` the type of `old`, where no child changed its type.

    `parts` are the children of `old`; `results` are the children that replace them, None for an unchanged child.
    """
    ty = old._checked_type
    if ty is None or new._checked_type is not None:
        return
    dependency: Dependency | None = old._type_dependency
    for part, now in zip(parts, results, strict=True):
        if now is None or now is part:
            continue
        if now._checked_type is not part._checked_type or type(now) in _NAMES:
            return
        other: Dependency | None = now._type_dependency
        if other is not None and other is not dependency:
            dependency = _wider(dependency, other)
            if dependency is None:
                return
    set_checked_type(new, ty)
    if dependency is not None:
        set_type_dependency(new, dependency)


def set_type(node: Expr, ty: Type, parts: Iterable[Expr] = (), dependency: Dependency | None = None) -> None:
    """Give a new node the type that inference would find, unless one of its parts has none.

    It depends on `dependency` and on what the parts depend on; `dependency` has to cover names of functions and data
    types among the parts. Where there are several dependencies and none covers the others, the node stays untyped.
    """
    for part in parts:
        if part._checked_type is None:
            return
        other: Dependency | None = part._type_dependency
        if other is not None and other is not dependency:
            dependency = _wider(dependency, other)
            if dependency is None:
                return
    set_checked_type(node, ty)
    if dependency is not None:
        set_type_dependency(node, dependency)


def typed_var(name: str, ty: Type, span: Span | None = None, virtual_device: Any = None) -> Var:
    """Return a new variable annotated with a type; it stays untyped if its type depends on the definition of a data
    type.
    """
    is_final = type(ty) is TensorType or not holds(ty, GlobalTypeVar)
    return new_var(name, ty, span, virtual_device, ty if is_final else None)


def set_function_type(function: Function) -> None:
    """Give a new function that states its result type its type, unless its body or a parameter has another or none."""
    types = [ty for param in function.params if (ty := param._checked_type) is not None]
    ret = function.ret_type
    if ret is not None and function.body._checked_type is ret and len(types) == len(function.params):
        set_type(function, FuncType(types, ret, function.type_params), (*function.params, function.body))


def typed_let(var: Var, value: Expr, body: Expr, span: Span | None = None) -> Let:
    """Return a let, with the type of its body if its parts are typed."""
    ty = body._checked_type
    if ty is None or var._checked_type is None or var._checked_type is not value._checked_type:
        return new_let(var, value, body, span)
    if var._type_dependency is value._type_dependency is body._type_dependency is None:
        return new_let(var, value, body, span, ty)
    let = new_let(var, value, body, span)
    set_type(let, ty, (var, value, body))
    return let


def let_with(let: Let, value: Expr, body: Expr) -> Let:
    """Return a let with another value and body, with its type where neither changed its type; itself if neither
    changed.
    """
    old_value, old_body = let.value, let.body
    if value is old_value and body is old_body:
        return let
    result = new_let(let.var, value, body, let.span)
    keep_type(let, result, (old_value, old_body), (value, body))
    return result


def if_with(node: If, cond: Expr, true_branch: Expr, false_branch: Expr, typed: bool = True) -> If:
    """Return an `if` with other children; itself if none changed.

    It has the type of the old one if it is to be `typed` and no child changed its type.
    """
    parts, results = (node.cond, node.true_branch, node.false_branch), (cond, true_branch, false_branch)
    if results == parts:
        return node
    result = new_if(cond, true_branch, false_branch, node.span)
    if typed:
        keep_type(node, result, parts, results)
    return result


def call_of_typed(
    callee: Expr, args: tuple[Expr, ...], ty: Type, span: Span | None = None, dependency: Dependency | None = None
) -> Call:
    """Return a call of a function, without attributes, with the type that `set_type` gives it."""
    for part in (callee, *args):
        if part._checked_type is None:
            return new_call(callee, args, None, (), span)
        other: Dependency | None = part._type_dependency
        if other is not None and other is not dependency:
            dependency = _wider(dependency, other)
            if dependency is None:
                return new_call(callee, args, None, (), span)
    return new_call(callee, args, None, (), span, ty, dependency)


def let_of_typed(
    var: Var, value: Expr, body: Expr, span: Span | None = None, dependency: Dependency | None = None
) -> Let:
    """Return a let with the type that `set_type` gives it: the type of its body, if all parts are typed."""
    ty = body._checked_type
    if ty is None or var._checked_type is None or value._checked_type is None:
        return new_let(var, value, body, span)
    for other in (body._type_dependency, value._type_dependency, var._type_dependency):
        if other is not None and other is not dependency:
            dependency = _wider(dependency, other)
            if dependency is None:
                return new_let(var, value, body, span)
    return new_let(var, value, body, span, ty, dependency)


def _wider(a: Dependency | None, b: Dependency) -> Dependency | None:
    """Return the dependency that covers the other, None if neither does."""
    if a is None or b.covers(a):
        return b
    return a if a.covers(b) else None
