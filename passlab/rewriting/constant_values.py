"""Conversion between constant expressions and values, for constant folding and other passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate.shared_results import shared_result
from passlab.ir.expr import Call, Constant, Expr, Tuple
from passlab.ir.op import Op, is_call_of

UNKNOWN: Any = object()
NOT_FOLDED = frozenset(
    {"device_copy", "on_device", "shape_of", "vm.shape_of", "ndarray_size", "annotation.stop_fusion"}
)


def without_on_device(expr: Expr) -> Expr:
    """Return the expression inside `on_device` calls; any other expression unchanged."""
    while is_call_of(expr, "on_device"):
        expr = expr.args[0]
    return expr


def known_value(expr: Expr) -> Any:
    """Return the array of a constant, or the tuple of values of a tuple of constants; otherwise `UNKNOWN`.

    `on_device` calls around constants are ignored. Each distinct node is visited once.
    """
    expr = without_on_device(expr)
    if type(expr) is Constant:
        return expr.data
    if type(expr) is not Tuple:
        return UNKNOWN
    values: dict[Expr, Any] = {}
    stack: list[Expr] = [expr]
    while stack:
        node = stack[-1]
        inside = without_on_device(node)
        if inside is not node:
            if inside not in values:
                stack.append(inside)
                continue
            values[node] = values[inside]
        elif type(node) is Constant:
            values[node] = node.data
        elif type(node) is not Tuple:
            return UNKNOWN
        else:
            pending = [f for f in node.fields if f not in values]
            if pending:
                stack += pending
                continue
            values[node] = tuple(values[f] for f in node.fields)
        stack.pop()
    return values[expr]


# recurses: over the result of one kernel, an array or a tuple of arrays
def as_constant(value: Any) -> Expr | None:
    """Return a value as a constant or a tuple of constants, or None if it is another kind of value."""
    if isinstance(value, np.ndarray):
        return Constant(value)
    if isinstance(value, tuple):
        fields = [as_constant(v) for v in value]
        return None if any(f is None for f in fields) else Tuple([f for f in fields if f is not None])
    return None


def folded_call(call: Call, fold_qnn: bool = False) -> Expr | None:
    """Return the value of an operator call on constants, or None if it must not be folded."""
    if type(call.op) is not Op or not call.args:
        return None
    value = operator_value(call.op, call.attrs, [known_value(arg) for arg in call.args], fold_qnn)
    return None if value is UNKNOWN else as_constant(value)


def operator_value(op: Op, attrs: Any, values: Sequence[Any], fold_qnn: bool = False) -> Any:
    """Return the result of an operator on known values, or `UNKNOWN` if it must not be folded.

    Not folded are stateful operators, operators without arguments (`zeros` is shorter than its value), compiler
    annotations, and operators whose kernel rejects its arguments, which then fail at run time.
    """
    spec = op.spec
    if not values or spec.stateful or spec.kernel is None or op.name in NOT_FOLDED:
        return UNKNOWN
    if spec.non_computational and not (fold_qnn and op.name.startswith("qnn.")):
        return UNKNOWN
    if any(v is UNKNOWN for v in values):
        return UNKNOWN
    try:
        return shared_result(op, attrs, values)
    except PasslabError:
        return UNKNOWN
