"""Small random programs that share nodes, and copies of them: material for the laws of equality and traversal."""

from __future__ import annotations

import random

import numpy as np

from passlab.ir import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
)  # fmt: skip
from passlab.ir.walk import post_order, rebuild

LIST = GlobalTypeVar("L")
CONS = Constructor("Cons", (TensorType((), "float32"), LIST()), LIST)
NIL = Constructor("Nil", (), LIST)
ANNOTATIONS: tuple[Type | None, ...] = (None, TensorType((), "float32"), TensorType((3,), "float32"))
GLOBALS = (GlobalVar("f"), GlobalVar("g"))


class Generator:
    """Draws programs from a pool of nodes, so that nodes are often shared."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def var(self) -> Var:
        self.names += 1
        return Var(f"v{self.names}", self.random.choice(ANNOTATIONS))

    def program(self, size: int, scope: tuple[Var, ...] = ()) -> Expr:
        """Return a program of about `size` nodes over the variables in scope."""
        pool: list[Expr] = [*scope, Constant(np.float32(self.random.randrange(3))), Tuple(())]
        while size > 0:
            size -= 1
            result, used = self.node(pool, scope, size)
            size -= used
            pool.append(result)
        return pool[-1]

    def node(self, pool: list[Expr], scope: tuple[Var, ...], size: int) -> tuple[Expr, int]:
        r = self.random
        pick = lambda: r.choice(pool[-6:]) if r.random() < 0.7 else r.choice(pool)  # noqa: E731
        inner = r.randrange(max(1, size // 2 + 1))
        kind = r.randrange(13)
        if kind <= 2:
            return Call(Op.get(r.choice(("add", "multiply"))), (pick(), pick())), 0
        if kind == 3:
            return Tuple([pick() for _ in range(r.randrange(3))]), 0
        if kind == 4:
            return TupleGetItem(pick(), r.randrange(2)), 0
        if kind == 5:
            var = self.var()
            return Let(var, pick(), self.program(inner, (*scope, var))), inner
        if kind == 6:
            params = tuple(self.var() for _ in range(r.randrange(3)))
            return Function(params, self.program(inner, (*scope, *params)), r.choice(ANNOTATIONS)), inner
        if kind == 7:
            return If(pick(), pick(), pick()), 0
        if kind == 8:
            return self.match(pick(), inner, scope), inner
        if kind == 9:
            return r.choice((RefCreate(pick()), RefRead(pick()), RefWrite(pick(), pick()))), 0
        if kind == 10:
            return Constant(r.choice((np.float32(0.0), np.float32(-0.0), np.float32(np.nan), np.int32(0)))), 0
        if kind == 11:
            return Call(r.choice((*GLOBALS, CONS, *pool)), [pick() for _ in range(r.randrange(3))]), 0
        return Call(Op.get("nn.dense"), (pick(), pick()), Op.get("nn.dense").spec.attrs(units=r.randrange(2))), 0

    def match(self, data: Expr, size: int, scope: tuple[Var, ...]) -> Match:
        head, tail = self.var(), self.var()
        lhs = PatternConstructor(CONS, (PatternVar(head), PatternTuple((PatternVar(tail), PatternWildcard()))))
        clauses = [Clause(lhs, self.program(size, (*scope, head, tail)))]
        if self.random.random() < 0.5:
            clauses.append(Clause(PatternConstructor(NIL, ()), self.program(1, scope)))
        return Match(data, clauses, self.random.random() < 0.5)


def renamed(root: Expr, keep: tuple[Var, ...] = ()) -> Expr:
    """Return a copy of a program that shares no node with it but leaves and the variables in `keep`."""
    new: dict[Expr, Expr] = {}
    for node in post_order(root):
        if isinstance(node, Var):
            new[node] = node if node in keep else Var(f"{node.name_hint}_copy", node.type_annotation)
        elif isinstance(node, (Op, Constructor, GlobalVar)):
            new[node] = node
        elif isinstance(node, Constant):
            new[node] = Constant(node.data.copy())
        elif isinstance(node, Tuple) and not node.fields:
            new[node] = Tuple(())
        else:
            new[node] = copied(rebuild(node, new.__getitem__), node)
    return new[root]


def copied(node: Expr, old: Expr) -> Expr:
    """Return `node`, or a copy of it when it is `old` itself."""
    if node is not old:
        return node
    return type(node)(**{name: getattr(node, name) for name in node.field_names})


def mutated(root: Expr, seed: int) -> Expr:
    """Return a copy of a program with one random change somewhere: an operand, a constant, a field, or the sharing."""
    r = random.Random(seed)
    nodes = [n for n in post_order(root) if not isinstance(n, (Op, Constructor, GlobalVar))]
    target = r.choice(nodes)
    new: dict[Expr, Expr] = {}
    for node in post_order(root):
        result = rebuild(node, lambda n: new.get(n, n))
        if node is target:
            result = _changed(result, r, nodes)
        new[node] = result
    return new[root]


def _changed(node: Expr, r: random.Random, nodes: list[Expr]) -> Expr:
    if isinstance(node, Call) and len(node.args) == 2:
        swapped = node.with_fields(args=node.args[::-1])
        unshared = node.with_fields(args=(node.args[0], copied(node.args[0], node.args[0])))
        return r.choice((swapped, unshared if not isinstance(node.args[0], (Op, Constructor, Var)) else swapped))
    if isinstance(node, Constant):
        return Constant(node.data + 1)
    if isinstance(node, TupleGetItem):
        return node.with_fields(index=1 - node.index)
    if isinstance(node, If):
        return If(node.cond, node.false_branch, node.true_branch)
    if isinstance(node, Match):
        return node.with_fields(complete=not node.complete)
    if isinstance(node, (Tuple, RefCreate)):
        return copied(node, node)
    return node
