"""Checkpoints: values that the backward run of a derivative computes again instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from passlab.ir.attrs import DictAttrs
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.op import Op, OpCall, is_call_of
from passlab.ir.types import TensorType
from passlab.ir.variables import bind, free_vars
from passlab.ir.walk import post_order, rebuild, result_of

_NAME = "annotation.checkpoint"
REPEATED = "Checkpoint"  # the attribute of a function that the backward run calls again


def mark_checkpoints(function: Function) -> Function:
    """Return a typed function in which each `annotation.checkpoint` of operators alone calls a function for its value.

    Checkpoints of other values (of references, branches, calls, and of variables, which are there anyway) stay as they
    are: to compute them again would repeat what they do. Of nested ones the outermost counts.
    """
    results: dict[Expr, Expr] = {}

    def new(node: Expr) -> Expr:
        return results.get(node, node)

    for node in post_order(function, enter=lambda node: not _repeats(node)):
        results[node] = _call(node, new) if _repeats(node) else rebuild(node, new)
    return result_of(function, results)


def has_checkpoints(function: Function) -> bool:
    """Return whether a function holds an `annotation.checkpoint`."""
    return any(is_call_of(node, _NAME) for node in post_order(function))


def _repeats(node: Expr) -> TypeGuard[OpCall]:
    """Whether a node is a checkpoint of operators alone, on tensors."""
    if not is_call_of(node, _NAME):
        return False
    parts = post_order(node.args[0])
    return any(type(part) is Call for part in parts) and all(map(_is_plain, parts))


def _is_plain(part: Expr) -> bool:
    if type(part) is Call:
        return type(part.op) is Op
    if type(part) is Var:
        return type(part.checked_type) is TensorType
    return type(part) in (Constant, Op, Tuple, TupleGetItem)


def _call(node: OpCall, new: Callable[[Expr], Expr]) -> Expr:
    """Return the call of a function that computes the value of a checkpoint from its variables."""
    used = free_vars(node.args[0])
    params = [Var(v.name_hint, v.checked_type, v.span) for v in used]
    binds: dict[Var, Expr] = dict(zip(used, params, strict=True))
    function = Function(params, bind(node.args[0], binds), attrs=DictAttrs({REPEATED: 1}), span=node.span)
    return Call(function, [new(v) for v in used], span=node.span)
