"""A forward walk: each operator's rule gets the results of the rules for its arguments, inputs first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, Trait, is_op_call
from passlab.ir.walk import post_order, rebuild

Rule = Callable[[Call, list[Any]], Any]
# The rectifiers (`nn.relu`). They commute with a positive factor, so they can be applied to the integers of a quantized
# tensor.
RECTIFIERS = tuple(n for n in Op.list_op_names() if Trait.HOMOGENEOUS | Trait.CLAMPS in Op.get(n).spec.traits)


class PendingResult:
    """The result of a rule that is not an expression yet; rules of its users may read its parts."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self._expr_for_users: Expr | None = None

    def write(self) -> Expr:
        """Return the expression for users without a rule; the same one for all of them."""
        if self._expr_for_users is None:
            self._expr_for_users = self._create()
        return self._expr_for_users

    def _create(self) -> Expr:
        return self.expr


def _as_expr(value: Any) -> Expr:
    return value.write() if isinstance(value, PendingResult) else value


def write(value: Any) -> Expr:
    """Return the result for a node as an expression: itself, a pending one, or a tuple of them."""
    return Tuple([_as_expr(field) for field in value]) if isinstance(value, list) else _as_expr(value)


def rewrite_forward(function: Function, rules: Mapping[str, Rule]) -> Function:
    """Return a function rewritten by the rules of its operators, arguments first.

    A rule gets the call and the results for its arguments: an expression, a `PendingResult`, or a list for a tuple of
    them. It returns the result for the call, or None to leave the call as it is.
    """
    values: dict[Expr, Any] = {}
    for node in post_order(function):
        values[node] = _forward(node, values, rules)
    result = write(values[function])
    assert isinstance(result, Function)
    return result


def _forward(node: Expr, values: Mapping[Expr, Any], rules: Mapping[str, Rule]) -> object:
    """Return the result for a node."""
    if isinstance(node, Tuple) and any(isinstance(values[field], (PendingResult, list)) for field in node.fields):
        fields = [values[field] for field in node.fields]
        return [write(field) if isinstance(field, list) else field for field in fields]
    if isinstance(node, TupleGetItem) and isinstance(values[node.tuple_value], list):
        return values[node.tuple_value][node.index]
    if is_op_call(node) and node.op.name in rules:
        result = rules[node.op.name](node, [values[arg] for arg in node.args])
        if result is not None:
            return result
    return rebuild(node, lambda child: write(values.get(child, child)))
