"""Unary natural numbers (the data type `nat` of nat.rly), to and from Python, for tests of recursion and matching."""

from __future__ import annotations

from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PasslabError
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr
from passlab.ir.module import IRModule
from passlab.ir.node_errors import not_a_node_error


def _module(prelude: Any) -> IRModule:
    """Return the module of a prelude, or the module itself."""
    module = getattr(prelude, "mod", prelude)
    if not isinstance(module, IRModule):
        raise not_a_node_error(prelude, "a prelude or a module")
    return module


def _constructors(prelude: Any) -> tuple[Constructor, Constructor]:
    """Return zero and successor of the module of `prelude` (or of `prelude`, when it is a module)."""
    _, zero, successor = _module(prelude).get_type("nat")
    return zero, successor


@checked
def add_nat_definitions(prelude: Any) -> None:
    """Add `nat.rly` to the module of a prelude (or to a module): `nat` and the functions that count with it."""
    _module(prelude).import_from_std("nat.rly")


def _natural(n: int) -> int:
    if n < 0:
        raise PasslabError(Diagnostic("a natural number is not negative", found=str(n)))
    return n


@checked
def count(prelude: Any, n: ADTValue) -> int:
    """Return the value of `n` as a Python number.

    >>> from passlab import testing
    >>> prelude = relay.Prelude()
    >>> testing.add_nat_definitions(prelude)
    >>> testing.count(prelude, testing.make_nat_value(prelude, 3))
    3
    """
    _, successor = _constructors(prelude)
    total = 0
    while n.tag == successor.tag:
        n = n.fields[0]
        total += 1
    return total


@checked
def make_nat_value(prelude: Any, n: int) -> ADTValue:
    """Return a Python number as a value of type `nat`. Raises `PasslabError` for a negative one."""
    zero, successor = _constructors(prelude)
    result = ADTValue(zero, ())
    for _ in range(_natural(n)):
        result = ADTValue(successor, (result,))
    return result


@checked
def make_nat_expr(prelude: Any, n: int) -> Expr:
    """Return a Python number as an expression of type `nat`. Raises `PasslabError` for a negative one."""
    zero, successor = _constructors(prelude)
    call: Expr = Call(zero, ())
    for _ in range(_natural(n)):
        call = Call(successor, (call,))
    return call
