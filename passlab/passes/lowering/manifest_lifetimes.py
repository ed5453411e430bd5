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
from typing import Any

from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Tuple, Var, set_span
from passlab.ir.kept_types import keep_type, let_of_typed
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call, new_tuple, new_var
from passlab.ir.op import Op, is_call_of
from passlab.ir.types import TupleType
from passlab.ir.walk import (
    CHILDREN,
    LEAVES,
    WITH_CHILDREN,
    let_chain,
    may_rewrite,
    note_rewrite,
    outside_kernels,
    post_order,
    result_of,
    rewrite,
    rewrite_observer,
)
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

KILL = "memory.kill"
LAST_USE = "last use"  # the name of the rewrite: instruments may limit the kills, not the removal of aliases
Names = dict[Var, Var]  # variables that are aliases, and the variables they are bound to


@standard_pass(opt_level=0, contract=EXACT)
class ManifestLifetimes(FunctionPass):
    """Insert `memory.kill(%v)` after the binding that uses a variable for the last time.

    The input is in A-normal form. Bindings of one variable to another are removed first. A variable last used in a
    branch or arm is killed there, and in no other branch. The result of a chain of bindings is never killed, nor is an
    unused variable. Functions that already contain kills, or share an expression, are not changed.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if func.is_primitive:
            return func
        facts = _Facts(func)
        if facts.has_kills:
            return func
        if facts.is_tree:
            return _Lifetimes(facts).manifest(func)
        # Where nodes are shared, the order of evaluation is not explicit.
        names = facts.names
        replace = dict[Expr, Expr](names.items())
        return rewrite(func, lambda pre, post: post.body if pre.var in names else post, replace=replace, only=(Let,))


def without_kills(function: Function) -> Function:
    """Return a function without kills; the same object if it has none.

    A rewrite may lengthen a lifetime, so that a value is used after its kill: passes that rewrite the program remove
    the kills first and compute the last uses again.
    """
    nodes = set[Expr]()
    post_order(function, enter=outside_kernels, seen=nodes)
    if Op.get(KILL) not in nodes:
        return function
    return rewrite(function, _remove_kill, only=(Let,))


def _remove_kill(pre: Let, post: Let) -> Expr:
    return post.body if is_call_of(post.value, KILL) else post


_ATOMS = frozenset(LEAVES)
_OPENING = (If, Match, Let, Function)  # nodes with bindings of their own, or with alternatives


class _LiveSet:
    """The live variables of one function body, while the walk goes from its end to its start."""

    __slots__ = ("live", "dying")

    def __init__(self) -> None:
        self.live: dict[Var, None] = {}  # in the order in which they became live
        self.dying: list[Var] | None = None  # what the current binding uses last, None at the end of a chain

    def forget(self, mark: int) -> list[Var]:
        """Restore the state when `mark` variables were live, and return those that are no longer live."""
        return [self.live.popitem()[0] for _ in range(len(self.live) - mark)]


class _Facts:
    """What one walk forwards over a function finds.

    `names` are the aliases, `used` the variables that are read, numbered by first use. `live` has the live set of the
    innermost function around each variable and each node with alternatives, and the live set of each function. `bounds`
    has the number of nodes before each alternative, and behind the last. `nodes` are all nodes with children.
    """

    def __init__(self, function: Function) -> None:
        self.names: Names = {}
        self.used: dict[Var, int] = {}
        self.live: dict[Expr, _LiveSet] = {}
        self.bounds: defaultdict[Expr, list[int]] = defaultdict(list)
        self.is_tree = True  # no node with children is shared
        self.has_kills = False
        self.nodes: set[Expr] = set()
        self._around: list[_LiveSet] = []
        self._kill = Op.get(KILL)
        self._walk(function)

    def _walk(self, function: Function) -> None:
        name, used, seen = self.names.get, self.used, self.nodes
        stack: list[Any] = [function]  # nodes, and in tuples nodes of which a part is done
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is Let:
                self._bind(node, stack)
            elif kind is Var:
                used.setdefault(name(node, node), len(used))
            elif kind is tuple:
                self._leave(*node)
            elif kind in _ATOMS:
                continue
            elif node in seen:
                self.is_tree = self.is_tree and kind is Tuple and not node.fields
            else:
                seen.add(node)
                if kind in _OPENING:
                    self._open(node, stack)
                else:
                    self._use(node, stack)

    def _bind(self, expr: Expr, stack: list[Any]) -> None:
        """Record what lets bind, up to one with other parts in its value than atoms; an alias is not a use of a
        variable.

        Push what is left.
        """
        names, live, live_of, seen = self.names, self._around[-1], self.live, self.nodes
        while type(expr) is Let:
            if expr in seen:
                self.is_tree = False
                return
            seen.add(expr)
            live_of[expr.var] = live
            value, body = expr.value, expr.body
            if type(value) is Var:
                names[expr.var] = names.get(value, value)
            elif type(value) is not Call or value in seen:
                stack += (body, value)
                return
            else:
                seen.add(value)
                height = len(stack)
                stack.append(body)
                self._use(value, stack)
                if len(stack) > height + 1:
                    return
                stack.pop()
            expr = body
        stack.append(expr)

    def _use(self, node: Expr, stack: list[Any]) -> None:
        """Read the variables that a node and tuples in it use, and push its parts from the first with other parts."""
        if type(node) is Call and type(node.op) is Op:
            parts = node.args
            self.has_kills = self.has_kills or node.op is self._kill
        else:
            parts = CHILDREN[type(node)](node)
        seen = self.nodes
        for number, part in enumerate(parts):
            if type(part) is Var:
                self._read((part,))
            elif type(part) is Tuple and part not in seen and _ATOMS.issuperset(map(type, part.fields)):
                seen.add(part)
                self._read(part.fields)
            elif type(part) not in _ATOMS:
                stack += parts[number:][::-1]
                return

    def _read(self, parts: tuple[Expr, ...]) -> None:
        """Number the variables among the parts that are read for the first time."""
        names, used = self.names, self.used
        for part in parts:
            if type(part) is Var:
                var = names.get(part, part)
                if var not in used:
                    used[var] = len(used)

    def _open(self, node: Expr, stack: list[Any]) -> None:
        """Record what a node with alternatives or parameters binds, and push its parts."""
        if type(node) is Function:
            if not node.is_primitive:
                live = self.live[node] = _LiveSet()
                self.live.update(dict.fromkeys(node.params, live))
                self._around.append(live)
                stack += ((node,), node.body)
        else:
            live = self.live[node] = self._around[-1]
            alternatives, condition = _alternatives(node)
            for number in reversed(range(len(alternatives))):
                stack += ((node,), alternatives[number])
                if type(node) is Match:
                    bound = pattern_vars(node.clauses[number].lhs)
                    self.live.update(dict.fromkeys(bound, live))
                    stack += bound[::-1]
            if type(condition) is Var:
                self._read((condition,))
                self._leave(node)
            else:
                stack += ((node,), condition)

    def _leave(self, node: Expr) -> None:
        if type(node) is Function:
            self._around.pop()
        else:
            self.bounds[node].append(len(self.nodes))


class _Lifetimes:
    """Rebuilds a function with kills, in one walk backwards.

    A variable that is not live yet when a binding reads it dies there. Control flow splits at branches and arms: each
    alternative is walked from the variables live after all of them, the largest last, so that no variable moves more
    than a logarithmic number of times. A variable captured by a nested function is used where that function is created.
    """

    def __init__(self, facts: _Facts) -> None:
        self._facts = facts
        self._live = facts.live
        self._names = facts.names
        self._new: dict[Expr, Expr] = dict(facts.names.items())  # what replaces aliases and changed nodes
        self._steps: list[Any] = []  # methods and their arguments, the next one last
        self._kill, self._unit = Op.get(KILL), TupleType(())
        self._observer = rewrite_observer()

    def manifest(self, function: Function) -> Function:
        """Return the function with kills, and without aliases."""
        self._visit(function)
        while self._steps:
            step, *arguments = self._steps.pop()
            step(*arguments)
        return result_of(function, self._new)

    def _visit(self, node: Expr) -> None:
        """Walk a node with bindings of its own or with alternatives."""
        if type(node) is Let:
            live = self._live[node.var]
            self._steps += ((self._join, live, live.dying, [], None), (self._chain, node, live))
        elif type(node) is not Function:
            self._walk_alternatives(node)
        elif not node.is_primitive:
            self._steps += ((self._rebuild, node), (self._chain, node.body, self._live[node]))

    # ------------------------------------------------------------ bindings
    def _chain(self, expr: Expr, live: _LiveSet) -> None:
        """Walk a chain of bindings: its result first, then the values from the last to the first."""
        lets, end = let_chain(expr)
        live.dying = None
        if type(end) is Var:
            self._read(end)
        elif before := self._walk(end):
            self._steps.append((self._after_end, expr, lets, end, live))
            self._steps += before
            return
        self._after_end(expr, lets, end, live)

    def _after_end(self, expr: Expr, lets: list[Let], end: Expr, live: _LiveSet) -> None:
        self._bindings(expr, lets, self._new.get(end, end), live)

    def _bindings(self, expr: Expr, lets: list[Let], body: Expr, live: _LiveSet) -> None:
        """Rebuild bindings around a body, up to one with others in its value, which are walked before."""
        names = self._names
        while lets:
            let = lets.pop()
            if let.var in names and may_rewrite(""):
                if body not in self._facts.nodes and type(body) not in _ATOMS:
                    set_span(body, let.span)
                note_rewrite(let, body)
                continue
            live.dying = dying = list[Var]()
            value = let.value
            if type(value) is Call and type(value.op) in _ATOMS and type(value.op) is not Var:
                call = self._call(value)
                if call is not None:
                    body = self._binding(let, call, dying, body)
                    continue
            if type(value) is If:
                self._steps.append((self._after_value, expr, lets, let, dying, body, live))
                self._walk_alternatives(value)
                return
            before = self._walk(value)
            if before:
                self._steps.append((self._after_value, expr, lets, let, dying, body, live))
                self._steps += before
                return
            body = self._binding(let, self._new.get(value, value), dying, body)
        if body is not expr:
            self._new[expr] = body

    def _after_value(self, expr: Expr, lets: list[Let], let: Let, dying: list[Var], body: Expr, live: _LiveSet) -> None:
        self._bindings(expr, lets, self._binding(let, self._new.get(let.value, let.value), dying, body), live)

    def _binding(self, let: Let, value: Expr, dying: list[Var], body: Expr) -> Let:
        """Return a binding of a value around a body, with kills of what dies there in the order of first use."""
        name, after = "", body
        if dying and may_rewrite(LAST_USE):
            name = LAST_USE
            if len(dying) > 1:
                dying.sort(key=self._facts.used.__getitem__)
            for var in reversed(dying):
                unit = None if var._checked_type is None else self._unit
                call = new_call(self._kill, (var,), None, (), None, unit, var._type_dependency)
                after = let_of_typed(new_var("killed", self._unit, ty=self._unit), call, after)
        elif body is let.body and value is let.value:
            return let
        result = let_of_typed(let.var, value, after, let.span, let._type_dependency)
        if self._observer is not None:
            self._observer(let, result, name)
        return result

    # ------------------------------------------------------------ values
    def _call(self, call: Call) -> Call | None:
        """Read and rebuild a call of atoms and of tuples of atoms, as most values are; return None for any other."""
        parts = self._atoms(call.args)
        if parts is None:
            parts = self._atoms_in_tuples(call.args)
        if parts is None:
            return None
        if parts is call.args:
            return call
        result = new_call(call.op, parts, call.attrs, call._type_args, call.span)
        keep_type(call, result, call.args, parts)
        if self._observer is not None:
            for pre, post in (*zip(call.args, result.args, strict=True), (call, result)):
                if type(pre) is not Var and post is not pre:
                    self._observer(pre, post, "")
        return result

    def _atoms(self, parts: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        """Read the variables among parts; return the parts without aliases, None from the first that is not an atom."""
        names, live_of, changed = self._names, self._live, False
        for part in parts:
            if type(part) is Var:
                var = names.get(part, part)
                changed = changed or var is not part
                live = live_of.get(var)
                if live is not None and var not in live.live:
                    live.live[var] = None
                    if live.dying is not None:
                        live.dying.append(var)
            elif type(part) not in _ATOMS:
                return None
        return tuple([names.get(p, p) if type(p) is Var else p for p in parts]) if changed else parts

    def _atoms_in_tuples(self, parts: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        """Do the same where some of the parts are tuples of atoms."""
        results = list[Expr]()
        for part in parts:
            fields = self._atoms(part.fields if type(part) is Tuple else (part,))
            if fields is None:
                return None
            if type(part) is not Tuple:
                results += fields
            elif fields is part.fields:
                results.append(part)
            else:
                now = new_tuple(fields, part.span)
                keep_type(part, now, part.fields, fields)
                results.append(now)
        rebuilt = tuple(results)
        return parts if rebuilt == parts else rebuilt

    def _read(self, part: Var) -> Var:
        """Read a variable, which dies here if it is not live; return it, or the variable that it is an alias of."""
        var = self._names.get(part, part)
        live = self._live.get(var)
        if live is not None and var not in live.live:
            live.live[var] = None
            if live.dying is not None:
                live.dying.append(var)
        return var

    def _walk(self, value: Expr) -> list[Any]:
        """Read and rebuild a value; return the steps for it, the last first, where it contains nodes to walk before."""
        inner: list[Expr] = []  # the nodes with children, users first
        others: list[Any] = []
        changes = False
        parts = [value]
        for part in parts:
            kind = type(part)
            if type(part) is Var:
                changes |= self._read(part) is not part
            elif kind in _OPENING:
                others.append((self._visit, part))
            elif kind not in _ATOMS:
                inner.append(part)
                parts += CHILDREN[kind](part)
        if others:
            return [*((self._rebuild, node) for node in inner), *others]
        if changes:
            for node in reversed(inner):
                self._rebuild(node)
        return others

    def _rebuild(self, node: Expr) -> None:
        """Replace a node if one of its children was replaced."""
        new, parts = self._new.get, CHILDREN[type(node)](node)
        results = tuple(map(new, parts, parts))
        if results != parts:
            changed = self._new[node] = WITH_CHILDREN[type(node)](node, results)
            keep_type(node, changed, parts, results)
            note_rewrite(node, changed)

    # ------------------------------------------------------------ alternatives
    def _walk_alternatives(self, node: Expr) -> None:
        """Walk the alternatives of a node, then the condition that selects one."""
        live, bounds = self._live[node], self._facts.bounds[node]
        alternatives, condition = _alternatives(node)
        order = sorted(range(len(alternatives)), key=lambda i: bounds[i + 1] - bounds[i])
        mark, others = len(live.live), list[Var]()  # variables that are live in other alternatives than the last
        self._steps += ((self._rebuild, node), (self._join, live, live.dying, others, condition))
        for i in reversed(order):
            if i != order[-1]:
                self._steps.append((self._leave, live, mark, others))
            self._steps.append((self._chain, alternatives[i], live))

    def _leave(self, live: _LiveSet, mark: int, others: list[Var]) -> None:
        """Return from the start of an alternative to the state at its end, and collect what it made live."""
        others += live.forget(mark)

    def _join(self, live: _LiveSet, dying: list[Var] | None, others: list[Var], condition: Expr | None) -> None:
        """Go on before a node with alternatives, inside the binding where variables die."""
        live.live.update(dict.fromkeys(others))
        live.dying = dying
        if type(condition) is Var:
            self._read(condition)
        elif condition is not None:
            self._steps += self._walk(condition)


def _alternatives(node: Expr) -> tuple[list[Expr], Expr]:
    """Return the alternatives of a branch or match, and what selects one."""
    if type(node) is If:
        return [node.true_branch, node.false_branch], node.cond
    assert isinstance(node, Match)
    return [clause.rhs for clause in node.clauses], node.data
