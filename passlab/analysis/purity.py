"""The purity of expressions: one that neither reads nor changes state may be dropped, moved or evaluated repeatedly.

A function is a value: creating one is pure, calling it may not be. So there are two questions, `evaluation` (is
computing this pure?) and `call` (if it is a function: is calling it pure?). The answers are conservative: functions
that come out of tuples, references, data or parameters count as impure to call, and so do external functions. Needs
types: an expression not known to be first order counts as a function. Knows nothing of passes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from passlab.infer.order import strongly_connected
from passlab.ir.adt import Constructor
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType
from passlab.ir.walk import CHILDREN, LEAVES, post_order


class Purity(NamedTuple):
    """Whether evaluating is pure, and whether calling the result is."""

    evaluation: bool
    call: bool


PURE = Purity(True, True)
IMPURE_TO_CALL = Purity(True, False)


@dataclass(frozen=True)
class ModulePurity:
    """The purity of the nodes and global functions of a module."""

    nodes: dict[Expr, Purity]
    functions: dict[str, Purity]

    def pure(self, expr: Expr) -> bool:
        """Whether evaluating a node of the module is known to be pure."""
        purity = self.nodes.get(expr)
        return purity is not None and purity.evaluation


def module_purity(mod: IRModule) -> ModulePurity:
    """Return the purity of every node of a typed module.

    Recursion is assumed to be pure until something in the cycle is not: a greatest fixed point, reached by visiting a
    function again when one of its callees turns out to be impure.
    """
    functions: dict[str, Purity] = {}
    nodes: dict[Expr, Purity] = {}
    orders: dict[str, list[Expr]] = {}
    callers: dict[str, list[str]] = {}
    callees: dict[str, list[str]] = {}
    for name, function in mod.items():
        functions[name] = PURE if not function.attrs.get("Extern") else IMPURE_TO_CALL
        orders[name] = post_order(function)
        callees[name] = list(dict.fromkeys(n.name_hint for n in orders[name] if type(n) is GlobalVar))
        for callee in callees[name]:
            callers.setdefault(callee, []).append(name)
    # callees first, so that only cycles are visited again
    waiting = deque(name for group in strongly_connected(callees) for name in group)
    queued = set(functions)
    while waiting:
        name = waiting.popleft()
        queued.discard(name)
        _visit(orders[name], functions, nodes)
        purity = nodes[mod[name]]
        if functions[name].call and not purity.call:
            functions[name] = IMPURE_TO_CALL
            again = [c for c in callers.get(name, ()) if c not in queued]
            waiting.extend(again)
            queued.update(again)
    return ModulePurity(nodes, functions)


def _visit(order: list[Expr], functions: dict[str, Purity], nodes: dict[Expr, Purity]) -> None:
    """Fill `nodes` for one function.

    A recursive local function is first assumed to be pure. If that was wrong the function is visited again with its
    real purity; if another assumption then proves wrong, all recursive functions are assumed to be impure, so three
    rounds are enough.
    """
    values = {n.var: n.value for n in order if type(n) is Let}
    binders: dict[Expr, list[Var]] = {}
    for var, value in values.items():
        binders.setdefault(var if type(value) is Var else value, []).append(var)
    recursive = _recursive(order, values) if values else set()
    assumed: set[Var] = set()  # recursive local functions that are impure to call
    for rounds in range(3):
        for node in order:
            if type(node) is Var:
                nodes[node] = Purity(True, node not in assumed if node in values else _first_order(node))
        wrong = _round(order, values, binders, functions, nodes) & recursive - assumed
        if not wrong:
            return
        assumed |= wrong if rounds == 0 else recursive


def _recursive(order: list[Expr], values: dict[Var, Expr]) -> set[Var]:
    """Return the let variables that are used before their value is complete: those of recursive functions."""
    place = {node: i for i, node in enumerate(order)}
    result = set()
    for i, node in enumerate(order):
        for child in CHILDREN[type(node)](node)[type(node) is Let :]:
            if type(child) is Var and child in values and i <= place[values[child]]:
                result.add(child)
    return result


def _round(
    order: list[Expr],
    values: dict[Var, Expr],
    binders: dict[Expr, list[Var]],
    functions: dict[str, Purity],
    nodes: dict[Expr, Purity],
) -> set[Var]:
    """Compute the purity of all nodes once; return the let variables whose value is impure to call."""
    impure = set()
    for node in order:
        if type(node) is not Var:
            nodes[node] = purity = _RULES[type(node)](node, nodes, functions)
        elif node in binders:  # bound to another variable, whose purity is known here
            purity = nodes[values[node]]
        if node in binders:
            for var in binders[node]:
                nodes[var] = Purity(True, purity.call)
                if not purity.call:
                    impure.add(var)
    return impure


def _first_order(expr: Expr) -> bool:
    return expr._checked_type is not None and type(expr._checked_type) is not FuncType


Nodes = dict[Expr, Purity]
Functions = dict[str, Purity]


def _pure(node: Expr, nodes: Nodes, functions: Functions) -> Purity:
    return PURE


def _operator(node: Op, nodes: Nodes, functions: Functions) -> Purity:
    return IMPURE_TO_CALL if node.spec.stateful else PURE


def _global(node: GlobalVar, nodes: Nodes, functions: Functions) -> Purity:
    return Purity(True, functions.get(node.name_hint, IMPURE_TO_CALL).call)


def _function(node: Function, nodes: Nodes, functions: Functions) -> Purity:
    body = nodes[node.body]
    return Purity(True, body.evaluation and body.call)


def _call(node: Call, nodes: Nodes, functions: Functions) -> Purity:
    callee = nodes[node.op]
    pure = callee.evaluation and callee.call and all(nodes[a].evaluation for a in node.args)
    return Purity(pure, callee.call or _first_order(node))


def _let(node: Let, nodes: Nodes, functions: Functions) -> Purity:
    body = nodes[node.body]
    return Purity(nodes[node.value].evaluation and body.evaluation, body.call)


def _if(node: If, nodes: Nodes, functions: Functions) -> Purity:
    yes, no = nodes[node.true_branch], nodes[node.false_branch]
    return Purity(nodes[node.cond].evaluation and yes.evaluation and no.evaluation, yes.call and no.call)


def _match(node: Match, nodes: Nodes, functions: Functions) -> Purity:
    arms = [nodes[c.rhs] for c in node.clauses]
    pure = nodes[node.data].evaluation and all(a.evaluation for a in arms)
    return Purity(pure, all(a.call for a in arms))


def _tuple(node: Tuple, nodes: Nodes, functions: Functions) -> Purity:
    return Purity(all(nodes[f].evaluation for f in node.fields), True)


def _projection(node: TupleGetItem, nodes: Nodes, functions: Functions) -> Purity:
    return Purity(nodes[node.tuple_value].evaluation, _first_order(node))


def _ref_create(node: RefCreate, nodes: Nodes, functions: Functions) -> Purity:
    """Creating a cell is invisible; only reads and writes of it are impure."""
    return Purity(nodes[node.value].evaluation, True)


def _ref_read(node: RefRead, nodes: Nodes, functions: Functions) -> Purity:
    return Purity(False, _first_order(node))


def _ref_write(node: RefWrite, nodes: Nodes, functions: Functions) -> Purity:
    return Purity(False, True)


_RULES: dict[type, Callable[[Any, Nodes, Functions], Purity]] = {
    Constant: _pure,
    Constructor: _pure,
    Op: _operator,
    GlobalVar: _global,
    Function: _function,
    Call: _call,
    Let: _let,
    If: _if,
    Match: _match,
    Tuple: _tuple,
    TupleGetItem: _projection,
    RefCreate: _ref_create,
    RefRead: _ref_read,
    RefWrite: _ref_write,
}


class LocalPurity:
    """The purity of single expressions, conservatively, for rewriting.

    Needs no types and no module, and therefore knows less: calls of global and local functions count as impure, those
    of primitive functions as pure. Each node is visited once. Kinds of nodes in `also` count as impure too.
    """

    def __init__(self, also: tuple[type, ...] = ()) -> None:
        self._known: dict[Expr, bool] = {}
        self._impure = (RefRead, RefWrite, *also)

    def of(self, expr: Expr) -> bool:
        """Whether `expr` certainly neither reads nor changes state."""
        if type(expr) in LEAVES:
            return True
        table = self._known
        if expr not in table:
            stack: list[Expr] = [expr]
            while stack:
                node = stack[-1]
                parts = _evaluate_node(node)
                missing = [k for k in parts if k not in table]
                if missing and node not in table:
                    stack += missing
                    continue
                table[node] = self._acts_purely(node) and all(map(table.__getitem__, parts))
                stack.pop()
        return table[expr]

    def _acts_purely(self, node: Expr) -> bool:
        if type(node) is Call:
            op = node.op
            if type(op) is Op:
                return not op.spec.stateful
            return type(op) is Constructor or (type(op) is Function and op.is_primitive)
        return type(node) not in self._impure


def _evaluate_node(node: Expr) -> tuple[Expr, ...]:
    if type(node) is Function:
        return ()
    if type(node) is Call:
        return node.args
    return CHILDREN[type(node)](node)
