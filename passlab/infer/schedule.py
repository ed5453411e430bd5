"""The order in which the nodes of a program are typed.

A schedule lists each untyped node once, after its children, with marks in between. `BindLet` stands after the value of
a `let` and before its body, where the variable gets its type. `EnterFunction` stands before a value that is a function,
and `EnterClause` before an arm, where the variables of its pattern get their types. A typed subgraph is not entered.
Variables are listed at their first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.ir.adt import Clause
from passlab.ir.expr import Call, Expr, Function, Let, Match
from passlab.ir.walk import CHILDREN


class BindLet:
    """The value of `let` is typed: type its variable."""

    __slots__ = ("let",)

    def __init__(self, let: Let) -> None:
        self.let = let


class EnterFunction:
    """The value of a `let` is a function that may call itself: give the variable a provisional type."""

    __slots__ = ("let",)

    def __init__(self, let: Let) -> None:
        self.let = let


class EnterClause:
    """The data of `match` is typed: check the pattern of `clause` and type its variables."""

    __slots__ = ("match", "clause")

    def __init__(self, match: Match, clause: Clause) -> None:
        self.match = match
        self.clause = clause


Step = Expr | BindLet | EnterFunction | EnterClause


def _let(node: Let) -> list[Step]:
    if type(node.value) is Function:
        return [EnterFunction(node), node.value, BindLet(node), node.body]
    return [node.value, BindLet(node), node.body]


def _match(node: Match) -> list[Step]:
    steps: list[Step] = [node.data]
    for clause in node.clauses:
        steps += (EnterClause(node, clause), clause.rhs)
    return steps


# The children of a node, but for the nodes that bring variables into scope on the way.
_STEPS: dict[type, Callable[[Any], tuple[Any, ...] | list[Any]]] = {**CHILDREN, Let: _let, Match: _match}
_MARKS = frozenset((BindLet, EnterFunction, EnterClause))


def schedule(root: Expr, has_type: Callable[[Expr], bool], seen: set[Expr]) -> list[Step]:
    """Return the steps that type `root`, `root` last.

    `has_type(node)` is called for each node with a type and returns whether that type is valid; if so the node is not
    listed or entered. Nodes in `seen` are skipped, and listed ones are added to it.
    """
    order: list[Step] = []
    emit = order.append
    stack: list[Any] = [root]
    push, pop = stack.append, stack.pop
    table = _STEPS
    while stack:
        node = pop()
        if node is None:  # all children of the step below this mark have been listed
            emit(pop())
            continue
        kind = type(node)
        if kind in _MARKS:
            emit(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        if node._checked_type is not None and has_type(node):
            continue
        if kind is Call:  # most nodes are calls, and most of their operands were listed before
            push(node)
            push(None)
            for arg in node.args[::-1]:
                if arg not in seen:
                    push(arg)
            if node.op not in seen:
                push(node.op)
            continue
        children = table[kind](node)
        if children:
            push(node)
            push(None)
            stack.extend(children[::-1])
        else:
            emit(node)
    return order
