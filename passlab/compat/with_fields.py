"""`CallWithFields(call, op, args, ...)` and similar: nodes with some fields changed, under TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.ir import expr
from passlab.ir.expr import Expr


def _changes(cls: type[expr.Expr], *fields: str) -> Callable[..., Any]:
    """Return the function of a class whose parameters are a node, `fields`, a virtual device and a span."""
    parameters = (*fields, "virtual_device", "span")

    def with_fields(node: Any, *values: Any, **named: Any) -> Expr:
        everything = {**dict(zip(parameters, values, strict=False)), **named}
        changes = {name: value for name, value in everything.items() if value is not None}
        identity = changes.pop("vid", None)
        if identity is not None:
            changes["name_hint"] = getattr(identity, "name_hint", identity)
        if "virtual_device" not in cls.field_names:  # only variables and functions have a device annotation
            changes.pop("virtual_device", None)
        result: Expr = node.with_fields(**changes)
        return result

    name = f"{cls.__name__}WithFields"
    with_fields.__name__ = with_fields.__qualname__ = name
    with_fields.__doc__ = f"Return a {cls.__name__} with {', '.join(parameters)} changed; None keeps a field."
    return with_fields


CallWithFields = _changes(expr.Call, "op", "args", "attrs", "type_args")
ConstantWithFields = _changes(expr.Constant, "data")
FunctionWithFields = _changes(expr.Function, "params", "body", "ret_type", "type_params", "attrs")
IfWithFields = _changes(expr.If, "cond", "true_branch", "false_branch")
LetWithFields = _changes(expr.Let, "var", "value", "body")
RefCreateWithFields = _changes(expr.RefCreate, "value")
RefReadWithFields = _changes(expr.RefRead, "ref")
RefWriteWithFields = _changes(expr.RefWrite, "ref", "value")
TupleGetItemWithFields = _changes(expr.TupleGetItem, "tuple_value", "index")
TupleWithFields = _changes(expr.Tuple, "fields")
VarWithFields = _changes(expr.Var, "vid", "type_annotation")
