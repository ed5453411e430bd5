"""Constructors of nodes for passes, which create millions of them from parts that are nodes already.

They check nothing, and set the type of the node at once if it is known: a node costs half of what its class takes,
which checks its parts because any caller may be wrong. Parts that a user's function returned go through the class.
`dependency` is what the type depends on (see `kept_types`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import Call, Expr, Function, If, Let, Tuple, Var
from passlab.ir.op import OpCall
from passlab.ir.span import Span
from passlab.ir.types import Type

_new = object.__new__
_call: Any = Call._draft
_function: Any = Function._draft
_if: Any = If._draft
_let: Any = Let._draft
_tuple: Any = Tuple._draft
_var: Any = Var._draft


def new_call(
    op: Expr,
    args: tuple[Expr, ...],
    attrs: Attrs | None = None,
    type_args: tuple[Type, ...] = (),
    span: Span | None = None,
    ty: Type | None = None,
    dependency: Any = None,
) -> Call:
    """Return a call, with a type if it is given."""
    node: Call = _new(_call)
    node.op = op
    node.args = args
    node.attrs = attrs
    node._type_args = type_args
    node.span, node._checked_type, node._type_dependency = span, ty, dependency
    node.__class__ = Call
    return node


new_op_call: Callable[..., OpCall] = new_call  # type: ignore[assignment]  # for calls of operators


def new_tuple(fields: tuple[Expr, ...], span: Span | None = None) -> Tuple:
    """Return a tuple without a type."""
    node: Tuple = _new(_tuple)
    node.fields = fields
    node.span, node._checked_type, node._type_dependency = span, None, None
    node.__class__ = Tuple
    return node


def new_let(
    var: Var, value: Expr, body: Expr, span: Span | None = None, ty: Type | None = None, dependency: Any = None
) -> Let:
    """Return a let, with a type if it is given."""
    node: Let = _new(_let)
    node.var = var
    node.value = value
    node.body = body
    node.span, node._checked_type, node._type_dependency = span, ty, dependency
    node.__class__ = Let
    return node


def new_if(cond: Expr, true_branch: Expr, false_branch: Expr, span: Span | None, ty: Type | None = None) -> If:
    """Return a branch, with a type if it is given."""
    node: If = _new(_if)
    node.cond = cond
    node.true_branch = true_branch
    node.false_branch = false_branch
    node.span, node._checked_type, node._type_dependency = span, ty, None
    node.__class__ = If
    return node


def new_function(
    params: tuple[Var, ...], body: Expr, ret_type: Type | None, attrs: DictAttrs, ty: Type | None
) -> Function:
    """Return a function without type parameters and location, with a type if it is given."""
    node: Function = _new(_function)
    node.params = params
    node.body = body
    node.ret_type = ret_type
    node.type_params = ()
    node.attrs = attrs
    node.virtual_device = None
    node.span, node._checked_type, node._type_dependency = None, ty, None
    node.__class__ = Function
    return node


def new_var(
    name_hint: str,
    type_annotation: Type | None = None,
    span: Span | None = None,
    virtual_device: Any = None,
    ty: Type | None = None,
    dependency: Any = None,
) -> Var:
    """Return a variable, with a type if it is given next to the annotation."""
    node: Var = _new(_var)
    node.name_hint = name_hint
    node.type_annotation = type_annotation
    node.virtual_device = virtual_device
    node.span, node._checked_type, node._type_dependency = span, ty, dependency
    node.__class__ = Var
    return node
