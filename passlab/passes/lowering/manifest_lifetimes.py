"""Mark the end of each value's lifetime.

before:
    def @main(%x: Tensor[(2), float32], %c: bool) {
      let %y = exp(%x);
      let %z = %y;
      let %w = if (%c) {
        let %a = negative(%z);
        %a
      } else {
        %x
      };
      %w
    }
after:
    def @main(%x: Tensor[(2), float32], %c: bool) {
      let %y = exp(%x);
      let %w = if (%c) {
        let %a = negative(%y);
        let %killed = memory.kill(%y);
        %a
      } else {
        %x
      };
      let %killed1 = memory.kill(%c);
      %w
    }

keep:
    def @main(%x: Tensor[(2), float32]) { negative(exp(%x)) }
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Tuple, Var
from passlab.ir.kept_types import set_type
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of
from passlab.ir.span import Span
from passlab.ir.types import TupleType
from passlab.ir.walk import CHILDREN, LEAVES, let_chain, outside_kernels, post_order, rewrite
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

KILL = "memory.kill"
Names = dict[Var, Var]  # variables that are aliases, and the variables they are bound to


@standard_pass(opt_level=0, promise=EXACT)
class ManifestLifetimes(FunctionPass):
    """Insert `memory.kill(%v)` after the binding that uses a variable for the last time.

    The input is in A-normal form. Bindings of one variable to another are removed first. A variable last used in a
    branch or arm is killed there, and in no other branch. The result of a chain of bindings is never killed, nor is an
    unused variable. Functions that already contain kills, or share an expression, are not changed.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if func.is_primitive:
            return func
        nodes = post_order(func, enter=outside_kernels)
        if Op.get(KILL) in nodes:
            return func
        inner = [node for node in nodes if type(node) not in _ATOMS]
        names = _aliases(inner)
        kills = _LastUses(func, names, inner).kills
        name = partial(_rule_name, names)
        replace = dict[Expr, Expr](names.items())
        return rewrite(func, _kill_rule(kills, names), replace=replace, only=(Let,), order=nodes, name=name)


def _rule_name(names: Names, let: Expr) -> str:
    """Return the name of the rewrite of a binding: instruments may limit the kills, not the removal of aliases."""
    return "" if isinstance(let, Let) and let.var in names else "last use"


def _kill_rule(kills: dict[Let, list[Var]], names: Names) -> Callable[[Let, Let], Expr]:
    kill, unit = Op.get(KILL), TupleType(())

    def rule(pre: Let, post: Let) -> Expr:
        if pre.var in names:
            return post.body
        if pre not in kills:
            return post
        body = post.body
        for var in reversed(kills[pre]):
            killed, call = Var("killed", unit), Call(kill, (var,))
            set_type(killed, unit)
            set_type(call, unit, (var,))
            body = _typed_let(killed, call, body)
        return _typed_let(post.var, post.value, body, post.span)

    return rule


def _typed_let(var: Var, value: Expr, body: Expr, span: Span | None = None) -> Let:
    """Return a let with the type of its body, if all parts are typed."""
    let = Let(var, value, body, span)
    if body._checked_type is not None:
        set_type(let, body._checked_type, (var, value, body))
    return let


def without_kills(function: Function) -> Function:
    """Return a function without kills; the same object if it has none.

    A rewrite may lengthen a lifetime, so that a value is used after its kill: passes that rewrite the program remove
    the kills first and compute the last uses again.
    """
    if not any(type(n) is Op and n.name == KILL for n in post_order(function, enter=outside_kernels)):
        return function
    return rewrite(function, _remove_kill, only=(Let,))


def _remove_kill(pre: Let, post: Let) -> Expr:
    return post.body if is_call_of(post.value, KILL) else post


def _aliases(nodes: list[Expr]) -> Names:
    """Return the variable that each alias stands for; `nodes` are in post-order."""
    names: Names = {}
    for let in reversed(nodes):  # outer bindings first
        if type(let) is Let and type(let.value) is Var:
            names[let.var] = names.get(let.value, let.value)
    return names


class _LiveSet:
    """The live variables of one function body, while the walk goes from its end to its start."""

    __slots__ = ("live", "log", "at")

    def __init__(self) -> None:
        self.live: set[Var] = set()
        self.log: list[Var] = []  # the variables of `live` in the order in which they became live
        self.at: Let | None = None  # the current binding, None at the end of a chain

    def enter(self, var: Var) -> bool:
        """Mark a variable as live; return whether it was not live before."""
        if var in self.live:
            return False
        self.live.add(var)
        self.log.append(var)
        return True

    def forget(self, mark: int) -> list[Var]:
        """Restore the state when the log was `mark` long, and return the variables that are no longer live."""
        dead = self.log[mark:]
        del self.log[mark:]
        self.live.difference_update(dead)
        return dead


class _LastUses:
    """Finds the bindings after which each variable is dead, in one backward walk over a function.

    `kills[binding]` are the variables that are dead from the binding on. Control flow splits at branches and arms: each
    alternative is walked from the variables live after all of them, the largest last, so that no variable moves more
    than a logarithmic number of times. A variable captured by a nested function is used where that function is created.
    Aliases are skipped.
    """

    def __init__(self, function: Function, names: Names, order: list[Expr]) -> None:
        self.kills: defaultdict[Let, list[Var]] = defaultdict(list)
        if not _is_tree(order):  # the order of evaluation is not explicit
            return
        self._owner = _owners(function, order)
        self._order = order
        self._names = names
        self._bodies = {function: _LiveSet()}
        self._stack: list[Any] = []
        self._chain(function.body, self._bodies[function])
        while self._stack:
            item = self._stack.pop()
            if type(item) is tuple:
                item[0](*item[1:])
            else:
                self._visit(item)
        several = [dead for dead in self.kills.values() if len(dead) > 1]
        used = _uses(function, names) if several else {}
        for dead in several:
            dead.sort(key=used.__getitem__)

    @cached_property
    def _sizes(self) -> dict[Expr, int]:
        """The number of nodes of each expression but leaves; lazy, as it is needed only at branches."""
        return _sizes(self._order)

    def _visit(self, node: Expr) -> None:
        if isinstance(node, Var):
            self._read(node)
        elif isinstance(node, (If, Match, Let)):
            self._walk_alternatives(node)
        elif isinstance(node, Function):
            if not node.is_primitive:
                self._chain(node.body, self._bodies.setdefault(node, _LiveSet()))
        else:
            self._stack += CHILDREN[type(node)](node)[::-1]

    def _read(self, alias: Var) -> None:
        var = self._names.get(alias, alias)
        body = self._bodies.get(self._owner[var]) if var in self._owner else None
        if body is not None and body.enter(var) and body.at is not None:
            self.kills[body.at].append(var)

    def _chain(self, expr: Expr, body: _LiveSet) -> None:
        """Walk a chain of bindings: its result first, then the values from the last to the first."""
        chain, end = let_chain(expr)
        names = self._names
        lets = [let for let in chain if let.var not in names] if names else chain
        body.at = None
        if lets:
            self._stack.append((self._values, lets, body))
        self._stack.append(end)

    def _values(self, lets: list[Let], body: _LiveSet) -> None:
        """Pop bindings and walk their values, up to one that contains others to walk before."""
        others: list[Expr] = []
        while lets and not others:
            body.at = lets.pop()
            parts = [body.at.value]
            for part in parts:
                kind = type(part)
                if type(part) is Var:
                    self._read(part)
                elif kind in _OPENING:
                    others.append(part)
                elif kind not in LEAVES:
                    parts += CHILDREN[kind](part)
        if lets:
            self._stack.append((self._values, lets, body))
        self._stack += others

    def _walk_alternatives(self, node: If | Match | Let) -> None:
        """Walk the alternatives of a node, then the condition that selects one."""
        body = self._bodies[self._owner[node]]
        alternatives, condition = _alternatives(node)
        if len(alternatives) > 1:
            alternatives = sorted(alternatives, key=lambda expr: self._sizes.get(expr, 1))
        mark, others = len(body.log), list[Var]()  # variables that are live in other alternatives than the last
        self._stack += condition
        self._stack.append((self._join, body, body.at, others))
        for i in range(len(alternatives) - 1, -1, -1):
            if i < len(alternatives) - 1:
                self._stack.append((self._leave, body, mark, others))
            self._stack.append((self._chain, alternatives[i], body))

    def _leave(self, body: _LiveSet, mark: int, others: list[Var]) -> None:
        """Return from the start of an alternative to the state at its end, and collect what it made live."""
        others += body.forget(mark)

    def _join(self, body: _LiveSet, at: Let | None, others: list[Var]) -> None:
        """Go on before a node with alternatives, bound by `at`."""
        for var in others:
            body.enter(var)
        body.at = at


_ATOMS = frozenset(LEAVES)
_OPENING = (If, Match, Let, Function)  # nodes with bindings of their own, or with alternatives


def _alternatives(node: If | Match | Let) -> tuple[list[Expr], list[Expr]]:
    """Return the alternatives of a branch and its condition; a chain inside a value is the only alternative."""
    if isinstance(node, If):
        return [node.true_branch, node.false_branch], [node.cond]
    return ([c.rhs for c in node.clauses], [node.data]) if isinstance(node, Match) else ([node], [])


def _is_tree(order: list[Expr]) -> bool:
    """Whether each node with children is the child of one node only; `order` are those nodes of a function."""
    difference = -1  # between the number of nodes and that of uses; the function itself is used by none
    for node in order:
        parts: tuple[Expr, ...]
        if type(node) is Let:
            parts = (node.value, node.body)
        else:
            parts = () if type(node) is Function and node.is_primitive else CHILDREN[type(node)](node)
            if type(node) is Tuple and not parts:
                continue
        difference += 1
        for part in parts:
            if type(part) not in _ATOMS and not (type(part) is Tuple and not part.fields):
                difference -= 1
    return difference == 0


def _owners(function: Function, order: list[Expr]) -> dict[Expr, Function]:
    """Return the innermost function around each bound variable and each branching node; `order` are the nodes."""
    owner: dict[Expr, Function] = {}
    if not any(type(node) is Function and node is not function and not node.is_primitive for node in order):
        _own(order, function, owner)
        return owner
    stack: list[tuple[Expr, Function]] = [(function, function)]
    while stack:
        node, around = stack.pop()
        if type(node) is Function:
            if node.is_primitive:
                continue
            around = node
        _own((node,), around, owner)
        children = (node.value, node.body) if type(node) is Let else CHILDREN[type(node)](node)
        stack += [(child, around) for child in children if type(child) not in _ATOMS]
    return owner


def _own(nodes: Iterable[Expr], around: Function, owner: dict[Expr, Function]) -> None:
    """Record what nodes of the innermost function `around` bind, and which of them branch."""
    for node in nodes:
        kind = type(node)
        if type(node) is Let:
            owner[node] = owner[node.var] = around
        elif kind is If or kind is Match:
            owner[node] = around
            if type(node) is Match:
                owner.update((var, around) for clause in node.clauses for var in pattern_vars(clause.lhs))
        elif type(node) is Function and node is around:
            owner.update(dict.fromkeys(node.params, around))


def _uses(function: Function, names: Names) -> dict[Var, int]:
    """Number the variables that a function reads in the order of first use."""
    used: dict[Var, int] = {}
    stack: list[Expr] = [function.body]
    while stack:
        node = stack.pop()
        if type(node) is Var:
            used.setdefault(names.get(node, node), len(used))
        elif type(node) is Let:
            stack += (node.body,) if node.var in names else (node.body, node.value)
        elif type(node) is Function:
            stack += () if node.is_primitive else (node.body,)
        else:
            for part in CHILDREN[type(node)](node)[::-1]:
                if type(part) is Var or type(part) not in _ATOMS:
                    stack.append(part)
    return used


def _sizes(order: list[Expr]) -> dict[Expr, int]:
    """Return the number of nodes of each expression in `order`: those with children of a function, none shared."""
    sizes: dict[Expr, int] = {}
    for node in order:
        size = 1
        for part in CHILDREN[type(node)](node):
            size += sizes.get(part, 1)  # leaves and the nodes inside kernels are not in the order
        sizes[node] = size
    return sizes
