"""Indexes of a program for matching: its nodes in order, by operator or kind, their users and post-dominators.

Each index is computed on first use, in linear time, so that a pattern costs in proportion to the possible roots, not to
the whole program.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from passlab.analysis.dominators import NONE, PostDominators
from passlab.arguments import checked
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import CHILDREN, post_order
from passlab.pattern.language import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    NarrowedPattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
)

PARTITIONED = "PartitionedFromPattern"
_NODE_CLASSES: dict[type, type] = {
    VarPattern: Var,
    ConstantPattern: Constant,
    TuplePattern: Tuple,
    TupleGetItemPattern: TupleGetItem,
    IfPattern: If,
    LetPattern: Let,
    FunctionPattern: Function,
}


@checked
class Program:
    """The nodes under `root`, children before parents.

    >>> from passlab.relay import dataflow_pattern as dp
    >>> len(dp.Program(passlab.parse_expr("tanh(exp(1f))")).order)  # two operators, two calls and the constant
    5
    """

    def __init__(self, root: Expr) -> None:
        self.root = root

    @cached_property
    def order(self) -> list[Expr]:
        """All nodes, children first."""
        return post_order(self.root)

    @cached_property
    def index(self) -> dict[Expr, int]:
        """The index of every node in `order`."""
        return {node: i for i, node in enumerate(self.order)}

    @cached_property
    def _indices_by_key(self) -> dict[Any, list[int]]:
        """The indices of nodes by class, and of calls by operator."""
        result: dict[Any, list[int]] = {}
        for i, node in enumerate(self.order):
            kind = type(node)
            result.setdefault(kind, []).append(i)
            if is_op_call(node):
                result.setdefault(node.op, []).append(i)
        return result

    def candidates(self, keys: frozenset[Any] | None) -> list[Expr]:
        """Return the nodes with one of the keys of `root_keys` (all for None), parents before children."""
        if keys is None:
            return self.order[::-1]
        positions = {i for key in keys for i in self._indices_by_key.get(key, ())}
        return [self.order[i] for i in sorted(positions, reverse=True)]

    @cached_property
    def users(self) -> dict[Expr, list[Expr]]:
        """The parents of each node."""
        result: dict[Expr, list[Expr]] = {}
        for node in self.order:
            for child in CHILDREN[type(node)](node):
                result.setdefault(child, []).append(node)
        return result

    @cached_property
    def partitioned_nodes(self) -> set[Expr]:
        """Functions created by an earlier partition, and everything inside them."""
        results = [n for n in self.order if isinstance(n, Function) and PARTITIONED in n.attrs]
        return set(post_order(*results))

    @cached_property
    def _intervals(self) -> tuple[list[int], list[int]]:
        """The times at which a depth-first walk of the post-dominator tree enters and leaves each node.

        The interval of a node encloses the intervals of all nodes that it dominates.
        """
        index, size = self.index, len(self.order)
        edges = [[(index[user], 0) for user in self.users.get(node, ())] for node in self.order]
        parent = PostDominators(edges, [False] * size, 0).parent
        first, last, clock = [0] * size, [0] * size, 0
        children: list[list[int]] = [[] for _ in range(size)]
        for node, dominator in enumerate(parent):
            if dominator != NONE:
                children[dominator].append(node)
        stack = [(node, False) for node in range(size) if parent[node] == NONE]
        while stack:
            node, done = stack.pop()
            clock += 1
            if done:
                last[node] = clock
                continue
            first[node] = clock
            stack.append((node, True))
            stack.extend((child, False) for child in children[node])
        return first, last

    def is_dominated(self, node: Expr, by: Expr) -> bool:
        """Whether every path from `node` to the result of the program leads through `by`."""
        first, last = self._intervals
        i, j = self.index.get(node), self.index.get(by)
        return i is not None and j is not None and first[j] <= first[i] and last[i] <= last[j]


def root_keys(pattern: DFPattern) -> frozenset[Any] | None:
    """Return the possible roots of a match: node classes, and operators for calls of them; None for any node."""
    keys: set[Any] = set()
    stack, seen = [pattern], {pattern}
    while stack:
        p = stack.pop()
        if isinstance(p, WildcardPattern) and p.target is None:
            return None
        if isinstance(p, CallPattern):
            operators = _operators(p.op)
            keys |= {Call} if operators is None else operators | _rearranged_operators(p)
        elif isinstance(p, ExprPattern):
            keys.add(p.expr.op if isinstance(p.expr, Call) and isinstance(p.expr.op, Op) else type(p.expr))
        elif isinstance(p, (AltPattern, WildcardPattern, NarrowedPattern, DominatorPattern)):
            inner = (p.child,) if isinstance(p, DominatorPattern) else p.parts()
            stack += [q for q in inner if q not in seen]
            seen.update(inner)
        else:
            keys.add(_NODE_CLASSES[type(p)])
    return frozenset(keys)


def _operators(callee: DFPattern) -> set[Any] | None:
    """Return the operators that a callee pattern may match, None for any callee."""
    result: set[Any] = set()
    stack, seen = [callee], {callee}
    while stack:
        p = stack.pop()
        if isinstance(p, ExprPattern) and isinstance(p.expr, Op):
            result.add(p.expr)
        elif isinstance(p, (AltPattern, NarrowedPattern)) or (isinstance(p, WildcardPattern) and p.target is not None):
            stack += [q for q in p.parts() if q not in seen]
            seen.update(p.parts())
        else:
            return None
    return result


def pattern_operator(pattern: DFPattern) -> str:
    """Return the name of the operator that a call pattern names directly, or ""."""
    if isinstance(pattern, CallPattern) and isinstance(pattern.op, ExprPattern) and isinstance(pattern.op.expr, Op):
        return pattern.op.expr.name
    return ""


def _rearranged_operators(p: CallPattern) -> set[Any]:
    """Return the operator at the root of an algebraically equal form that also matches (`_match_rearranged`)."""
    name, args = pattern_operator(p), p.args or ()
    if name == "divide" and args and pattern_operator(args[0]) == "multiply":
        return {Op.get("multiply")}
    if name == "multiply" and any(pattern_operator(arg) == "divide" for arg in args):
        return {Op.get("divide")}
    return set()
