"""The purity of expressions: one that neither reads nor changes state may be dropped, moved or evaluated repeatedly.

A function is a value: creating one is pure, calling it may not be. So a purity has two parts: `evaluation` (computing
the value is pure) and `call` (if the value is a function, calling it is pure). Both are conservative: functions that
come from tuples, references, data or parameters count as impure to call, and so do external functions. The analysis
needs types: an expression that is not known to be first-order counts as a function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from passlab.arguments import checked
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
    """Whether evaluating an expression is pure, and whether calling its value is."""

    evaluation: bool
    call: bool


PURE = Purity(True, True)
IMPURE_TO_CALL = Purity(True, False)


@checked
@dataclass(frozen=True)
class ModulePurity:
    """The purity of the nodes and global functions of a module."""

    nodes: dict[Expr, Purity]
    functions: dict[str, Purity]

    def pure(self, expr: Expr) -> bool:
        """Return True if evaluating a node of the module is known to be pure."""
        purity = self.nodes.get(expr)
        return purity is not None and purity.evaluation


@checked
def module_purity(mod: IRModule) -> ModulePurity:
    """Return the purity of every node of a typed module.

    Recursive functions are assumed to be pure until one in the cycle is not: a greatest fixpoint, computed with a
    worklist of the callers of functions that turn out to be impure.

    >>> mod = passlab.parse("def @main(%x: float32) { let %r = ref(%x); ref_read(%r) }")
    >>> purity = relay.analysis.module_purity(mod)
    >>> purity.nodes[mod["main"].body.value].evaluation
    True
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
    # Callees first, so that only cycles are repeated.
    worklist = deque(name for group in strongly_connected(callees) for name in group)
    queued = set(functions)
    while worklist:
        name = worklist.popleft()
        queued.discard(name)
        _visit(orders[name], functions, nodes)
        purity = nodes[mod[name]]
        if functions[name].call and not purity.call:
            functions[name] = IMPURE_TO_CALL
            dependents = [c for c in callers.get(name, ()) if c not in queued]
            worklist.extend(dependents)
            queued.update(dependents)
    return ModulePurity(nodes, functions)


def _visit(order: list[Expr], functions: dict[str, Purity], nodes: dict[Expr, Purity]) -> None:
    """Compute the purity of the nodes of one function.

    Recursive local functions are first assumed to be pure. If that was wrong for some, a second round assumes these to
    be impure; if that was wrong for others, a third round assumes all to be impure.
    """
    values = {n.var: n.value for n in order if type(n) is Let}
    binders: dict[Expr, list[Var]] = {}
    for var, value in values.items():
        binders.setdefault(var if type(value) is Var else value, []).append(var)
    recursive = _recursive_vars(order, values) if values else set()
    impure: set[Var] = set()  # recursive local functions that are assumed to be impure to call
    for rounds in range(3):
        for node in order:
            if type(node) is Var:
                nodes[node] = Purity(True, node not in impure if node in values else _first_order(node))
        wrong = _compute_once(order, values, binders, functions, nodes) & recursive - impure
        if not wrong:
            return
        impure |= wrong if rounds == 0 else recursive


def _recursive_vars(order: list[Expr], values: dict[Var, Expr]) -> set[Var]:
    """Return the let variables that their own value uses, as recursive functions do."""
    position = {node: i for i, node in enumerate(order)}
    result = set()
    for i, node in enumerate(order):
        for child in CHILDREN[type(node)](node)[type(node) is Let :]:
            if type(child) is Var and child in values and i <= position[values[child]]:
                result.add(child)
    return result


def _compute_once(
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
        elif node in binders:  # its value is another variable, whose purity has been computed
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
    """Creating a reference is pure; reading and writing it are not."""
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

    It needs no types and no module, so it is less precise: calls of global and local functions count as impure, and
    calls of primitive functions as pure. Each node is visited once. Kinds of nodes in `also` count as impure too.
    """

    def __init__(self, also: tuple[type, ...] = ()) -> None:
        self._table: dict[Expr, bool] = {}
        self._impure = (RefRead, RefWrite, *also)

    def of(self, expr: Expr) -> bool:
        """Return True if `expr` certainly neither reads nor changes state."""
        if type(expr) in LEAVES:
            return True
        table = self._table
        if expr not in table:
            stack: list[Expr] = [expr]
            while stack:
                node = stack[-1]
                operands = _evaluated_operands(node)
                pending = [k for k in operands if k not in table]
                if pending and node not in table:
                    stack += pending
                    continue
                table[node] = self._is_pure_alone(node) and all(map(table.__getitem__, operands))
                stack.pop()
        return table[expr]

    def _is_pure_alone(self, node: Expr) -> bool:
        """Return True if a node with pure operands is pure."""
        if type(node) is Call:
            op = node.op
            if type(op) is Op:
                return not op.spec.stateful
            return type(op) is Constructor or (type(op) is Function and op.is_primitive)
        return type(node) not in self._impure


def _evaluated_operands(node: Expr) -> tuple[Expr, ...]:
    """Return the children that evaluating a node evaluates: not the body of a function."""
    if type(node) is Function:
        return ()
    if type(node) is Call:
        return node.args
    return CHILDREN[type(node)](node)
