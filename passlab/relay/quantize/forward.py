"""The walk that quantization is made of: each operator's rule sees what became of its arguments, inputs first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rebuild

Rule = Callable[[Call, list[Any]], Any]


class Pending:
    """What a rule leaves in place of an expression, for the rules of its users to take apart."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self._written: Expr | None = None

    def write(self) -> Expr:
        """Return the expression for users that have no rule, the same one for all of them."""
        if self._written is None:
            self._written = self._write()
        return self._written

    def _write(self) -> Expr:
        return self.expr


def _written(value: Any) -> Expr:
    return value.write() if isinstance(value, Pending) else value


def write(value: Any) -> Expr:
    """Return the expression of what became of a node: itself, what is pending, or a tuple of them."""
    return Tuple([_written(field) for field in value]) if isinstance(value, list) else _written(value)


def rewrite_forward(function: Function, rules: Mapping[str, Rule]) -> Function:
    """Return a function whose calls were given to the rules of their operators, arguments first.

    A rule gets the call and what became of its arguments: an expression, a `Pending`, or a list for a tuple of them.
    It returns what becomes of the call, None to leave it as it is.
    """
    values: dict[Expr, Any] = {}
    for node in post_order(function):
        values[node] = _forward(node, values, rules)
    result = write(values[function])
    assert isinstance(result, Function)
    return result


def _forward(node: Expr, values: Mapping[Expr, Any], rules: Mapping[str, Rule]) -> Any:
    """Return what becomes of a node."""
    if isinstance(node, Tuple) and any(isinstance(values[field], (Pending, list)) for field in node.fields):
        fields = [values[field] for field in node.fields]
        return [write(field) if isinstance(field, list) else field for field in fields]
    if isinstance(node, TupleGetItem) and isinstance(values[node.tuple_value], list):
        return values[node.tuple_value][node.index]
    if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in rules:
        result = rules[node.op.name](node, [values[arg] for arg in node.args])
        if result is not None:
            return result
    return rebuild(node, lambda child: write(values.get(child, child)))
