"""Errors for invalid operands of IR nodes: a number, a string, an array or a list where an expression is needed.

This module looks at the value alone and imports no node classes, so that the node classes can use it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from passlab.errors import Diagnostic, NodeTypeError


def not_a_node_error(value: Any, expected: str = "an expression", hint: str | None = None) -> NodeTypeError:
    """Return the error for `value` where `expected` is needed, with a hint on what to write instead."""
    kind = type(value).__name__
    message = f"{expected} is needed, not {kind}"
    return NodeTypeError(Diagnostic(message, found=_short_text(value), hint=hint or _hint(value, kind, expected)))


class NodeTable(dict[type, Any]):
    """A table by the classes of nodes. Raises `NodeTypeError` for any other class."""

    def __missing__(self, kind: type) -> Any:
        raise NodeTypeError(Diagnostic(f"an expression is needed, not {kind.__name__}"))


def check_all(values: Iterable[Any], kind: type, expected: str) -> tuple[Any, ...]:
    """Return several parts of a node as a tuple. Raises `NodeTypeError` if one does not have the class `kind`."""
    try:
        parts = tuple(values)
    except TypeError:
        raise not_a_node_error(values, f"a list, each entry {expected},") from None
    for part in parts:
        check_kind(part, kind, expected)
    return parts


def check_index(value: Any) -> int:
    """Return the index of a field. Raises `NodeTypeError` if it is not a whole number."""
    try:
        index: int | None = int(value)
    except (TypeError, ValueError):
        index = None
    if index is None or isinstance(value, (str, float)):
        raise NodeTypeError(Diagnostic("the index of a field is a whole number", found=reprlib.repr(value)))
    return index


N = TypeVar("N")


def check_kind(value: object, kind: type[N], expected: str) -> N:
    """Return a part of a node. Raises `NodeTypeError` if it does not have the class `kind`."""
    if not isinstance(value, kind):
        raise not_a_node_error(value, expected)
    return value


def _short_text(value: Any) -> str | None:
    """Return a short description of a value, None if the name of its class says enough."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    plain = isinstance(value, (bool, int, float, str, list, tuple, np.generic))
    return reprlib.repr(value) if plain else None


def _hint(value: Any, kind: str, expected: str) -> str | None:
    if value is None:
        return "does a function end without `return`?"
    if isinstance(value, str) and "variable" in expected:
        return f'a variable is `relay.var("{value}")`'
    if kind == "IRModule":
        return 'a function of a module is `mod["main"]`'
    if "expression" not in expected:  # what follows says how to write an expression
        return None
    if isinstance(value, (bool, int, float, np.generic)):
        return f"a number in a program is `relay.const({value!r})`"
    if isinstance(value, np.ndarray):
        return "an array in a program is `relay.const(array)`"
    if isinstance(value, str):
        return f'a variable is `relay.var("{value}")`, an operator `relay.op.get("{value}")`'
    if isinstance(value, (list, tuple)):
        return "several expressions as one are `relay.Tuple([...])`"
    if callable(value) and hasattr(value, "__name__"):
        return f"call it, `{value.__name__}(...)`; the operator itself is `relay.op.get(...)`"
    return None
