"""Say where each value is last needed.

before:
    def @main(%x: Tensor[(2), float32]) {
      let %y = vm.shape_of(%x, dtype="int64");
      let %z = %y;
      let %w = @fused_negative(%z);
      %w
    }
    def @fused_negative(%p0: Tensor[(1), int64], Primitive=1) -> Tensor[(1), int64] { negative(%p0) }
after:
    def @main(%x: Tensor[(2), float32]) {
      let %y = vm.shape_of(%x, dtype="int64");
      let %killed: () = memory.kill(%x);
      let %w = @fused_negative(%y);
      let %killed1: () = memory.kill(%y);
      %w
    }
    def @fused_negative(%p0: Tensor[(1), int64], Primitive=1) -> Tensor[(1), int64] { negative(%p0) }

keep:
    def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); let %z = exp(%y); %z }
"""

from __future__ import annotations

from collections import defaultdict

from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Expr, Function, If, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TupleType
from passlab.ir.walk import CHILDREN, let_chain, make_lets, post_order, rewrite
from passlab.op import make
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, promise=EXACT)
class ManifestLifetimes(ModulePass):
    """Put `memory.kill(%v)` after the binding in which a variable is used for the last time.

    The input is in A-normal form. Bindings of one variable to another disappear first. A variable is only killed in the
    chain of bindings that defines it, so not inside a branch; what a chain ends in is never killed. Functions are left
    as they are when they use no operator of the machine, say lifetimes already, or share an expression. The result is
    untyped: run InferType.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_functions({name: _with_kills(f) for name, f in mod.items() if not f.is_primitive})


def _with_kills(function: Function) -> Function:
    operators = {n.name for n in post_order(function, enter=_enter) if isinstance(n, Op)}
    if "memory.kill" in operators or not any(n.startswith(("memory.", "vm.")) for n in operators):
        return function
    plain = without_aliases(function)
    last = _last_uses(plain)
    if not last:
        return plain
    kills: defaultdict[Let, list[Var]] = defaultdict(list)
    for var, let in last.items():
        if let is not None:
            kills[let].append(var)

    def rule(pre: Expr, post: Expr) -> Expr:
        if not isinstance(pre, Let) or pre not in kills:
            return post
        assert isinstance(post, Let)
        dead = [(Var("killed", TupleType(())), make("memory.kill", v)) for v in kills[pre]]
        return Let(post.var, post.value, make_lets(dead, post.body), post.span)

    return rewrite(plain, rule, only=(Let,)) if kills else plain  # type: ignore[return-value]


def without_aliases(function: Function) -> Function:
    """Return a function without bindings of one variable to another."""
    names: dict[Expr, Expr] = {}
    lets = [n for n in post_order(function, enter=_enter) if isinstance(n, Let) and isinstance(n.value, Var)]
    for let in reversed(lets):  # outer bindings first
        assert isinstance(let.value, Var)
        names[let.var] = names.get(let.value, let.value)
    if not names:
        return function
    gone = set(lets)

    def rule(pre: Expr, post: Expr) -> Expr:
        return post.body if pre in gone and isinstance(post, Let) else post

    return rewrite(function, rule, replace=names, only=(Let,))  # type: ignore[return-value]


def _enter(node: Expr) -> bool:
    return not (isinstance(node, Function) and node.is_primitive)


class _Chain:
    """A chain of bindings: which one the walk is in, None behind the last."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: Let | None = None


def _last_uses(function: Function) -> dict[Var, Let | None]:
    """Return for each used variable the binding of its chain in which it is used last; None: in the chain's end.

    Nothing for a function with shared expressions, where the order of evaluation does not say it.
    """
    chain_of: dict[Var, _Chain] = {}
    last: dict[Var, Let | None] = {}
    seen: set[Expr] = set()
    stack: list[Expr | tuple[_Chain, Let | None]] = []

    def region(body: Expr, bound: tuple[Var, ...]) -> None:
        """Push the work for a chain, its first binding on top."""
        chain = _Chain()
        lets, end = let_chain(body)
        chain_of.update(dict.fromkeys((*bound, *(let.var for let in lets)), chain))
        stack.append(end)
        stack.append((chain, None))
        for let in reversed(lets):
            stack.append(let.value)
            stack.append((chain, let))

    region(function.body, function.params)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            node[0].at = node[1]
            continue
        if isinstance(node, Var):
            if node in chain_of:
                last[node] = chain_of[node].at
            continue
        if CHILDREN[type(node)](node):
            if node in seen:
                return {}
            seen.add(node)
        if isinstance(node, If):
            region(node.false_branch, ())
            region(node.true_branch, ())
            stack.append(node.cond)
        elif isinstance(node, Match):
            for clause in node.clauses[::-1]:
                region(clause.rhs, tuple(pattern_vars(clause.lhs)))
            stack.append(node.data)
        elif isinstance(node, Function):
            if not node.is_primitive:
                region(node.body, node.params)
        elif isinstance(node, Let):
            region(node, ())
        else:
            stack += CHILDREN[type(node)](node)[::-1]
    return last
