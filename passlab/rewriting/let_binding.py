"""Binding expressions to variables in the right scope: the engine of A-normal and basic-block normal form.

A program is a graph; an expression with several uses is evaluated once. These forms express that with `let`: each
selected expression is bound in the innermost scope that encloses all its uses, in the order of first evaluation (the
arguments of a call, then its callee). Linear in nodes, times log(depth) for the search of common scopes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from passlab.analysis.purity import LocalPurity
from passlab.analysis.scopes import Scope
from passlab.analysis.state import Movability, stateless
from passlab.infer import infer_expr
from passlab.ir.adt import Clause, Constructor, pattern_vars
from passlab.ir.expr import Call, Constant, Expr, ExprT, Function, GlobalVar, If, Let, Match, RefCreate, Var
from passlab.ir.kept_types import if_with, keep_type, typed_let, typed_var
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_var
from passlab.ir.op import Op, find_op
from passlab.ir.types import TensorType
from passlab.ir.walk import CHILDREN, WITH_CHILDREN, post_order, rewrite_observer, with_children

ATOMS = (Var, GlobalVar, Op, Constructor)
_ATOMS = frozenset(ATOMS)
_OPEN_SCOPES = frozenset((Let, Function, If, Match))
Bindings = list[Any]  # (variable, value) pairs, and nested lists of them: the bindings of spliced scopes
_NUMBERED = re.compile(r"x_(\d{1,9})\Z")


def is_atom(expr: Expr) -> bool:
    """Return True for expressions that need no binding: variables, global names, operators, constructors."""
    return type(expr) in ATOMS


def bind_in_scopes(
    function: Function,
    is_bound: Callable[[Expr, BindingPlan], bool],
    *,
    flatten: bool,
    on_devices: bool = False,
    annotate: bool = False,
    plan: BindingPlan | None = None,
) -> Function:
    """Return `function` with each node for which `is_bound(node, plan)` holds bound by a `let`; itself if none is.

    Values of existing lets keep their variable; new variables are called `x_N`, counted from the first unused N. With
    `flatten`, lets inside values are spliced into the enclosing lets: all bindings of a block are in the order of
    evaluation, including expressions used both inside and outside of such a let. With `on_devices`, each bound value is
    annotated by `on_device` with the device of an `on_device` around it, else with the device of its function. With
    `annotate`, new variables have the types of their values, so that the result is typed where the program was.
    """
    binder = _Binder(plan or BindingPlan(function), is_bound, flatten, on_devices, annotate)
    result = function.with_fields(body=binder.bind(function.body))
    return binder.with_type(function, result)


def bind_beside_effects(
    function: Function, mod: IRModule, is_bound: Callable[[Expr], bool], plan: BindingPlan | None = None
) -> Function:
    """Return `function` with each node for which `is_bound(node)` holds bound by a `let`, and effects in order.

    A let evaluates its value before its body. So all nodes with effects are bound if one of those nodes has effects, or
    if a value with effects is used outside of its let. Lets inside values are then spliced into the enclosing lets.
    """
    is_movable, order, plan = Movability(mod), post_order(function.body), plan or BindingPlan(function)
    moved = (*filter(is_bound, order), *plan.values_used_outside())
    if all(is_atom(node) or is_movable(node) for node in moved):
        return bind_in_scopes(function, lambda node, plan: is_bound(node), flatten=False, plan=plan)
    bodies = {function.body, *(node.body for node in order if type(node) in (Let, Function))}  # type: ignore[attr-defined]
    for node in order:
        if type(node) is If:
            bodies |= {node.true_branch, node.false_branch}
        elif type(node) is Match:
            bodies |= {clause.rhs for clause in node.clauses}

    def needs_let(node: Expr, plan: BindingPlan) -> bool:
        return is_bound(node) or not (is_atom(node) or is_movable(node) or (type(node) is Let and node in bodies))

    return bind_in_scopes(function, needs_let, flatten=True, plan=plan)


def bind_shared_effects(function: Function, mod: IRModule) -> Function:
    """Return a typed function in which nodes with effects that several blocks use are bound; itself if none exist.

    For passes that move, copy or drop the body of a function literal: it then shares no effects with code outside. In a
    module without state nothing has effects, also no calls of functions.
    """
    purity = LocalPurity(also=(RefCreate,))
    if all(purity.of(node) for node in post_order(function.body)):
        return function
    shared = {node for node in BindingPlan(function).crossing if not purity.of(node)}
    if not shared or (mod.functions and stateless(mod)):
        return function
    typed = infer_expr(bind_beside_effects(function, mod, shared.__contains__), mod)
    assert isinstance(typed, Function)
    return typed


def evaluation_children(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of a node in the order of their evaluation: the arguments of a call, then its callee.

    Binders are left out, and primitive functions are opaque.
    """
    kind = type(expr)
    if type(expr) is Call:
        return (*expr.args, expr.op)
    if type(expr) is Let:
        return (expr.value, expr.body)
    if type(expr) is Function:
        return () if expr.is_primitive else (expr.body,)
    if type(expr) is Match:
        return (expr.data, *(c.rhs for c in expr.clauses))
    return CHILDREN[kind](expr)


def on_device_body(expr: Expr) -> Expr | None:
    """Return the body of an `on_device` call that fixes both its body and its result, or None for anything else."""
    if type(expr) is not Call or expr.op is not find_op("on_device") or len(expr.args) != 1:
        return None
    fixed = expr.attrs is not None and expr.attrs.get("constrain_result") and expr.attrs.get("constrain_body", True)
    return expr.args[0] if fixed else None


def flat_lets(bindings: Bindings, body: Expr) -> Expr:
    """Return `body` under bindings that may hold lists of bindings, the first outermost; typed if all of them are."""
    stack: list[Any] = [*bindings]
    while stack:  # from the last binding to the first
        item = stack.pop()
        if type(item) is list:
            stack += item
        else:
            body = typed_let(item[0], item[1], body, item[1].span)
    return body


def first_free_number(nodes: Iterable[Expr]) -> int:
    """Return the least N such that no variable among the nodes of a function is called `x_M` for any M >= N."""
    numbers = (_NUMBERED.match(n.name_hint) for n in nodes if type(n) is Var)
    return 1 + max((int(m.group(1)) for m in numbers if m), default=-1)


class _Rebinding:
    """A step of a plan that binds the variable of a let whose value was evaluated earlier.

    `renames`: the value is a variable without a binding so far; from here on the variable of the let replaces it.
    """

    __slots__ = ("let", "renames")

    def __init__(self, let: Let, renames: bool) -> None:
        self.let = let
        self.renames = renames


class BindingPlan:
    """The order and scopes in which the nodes of a function body are bound.

    `order` lists the nodes, children first; `let_var` maps a node to the variable of the let that binds it.
    `scope[node]` is the innermost scope around all uses, and `inner[node]` the scopes that the node opens. `crossing`
    holds the nodes that several blocks use (a let opens a scope, but belongs to its block). A constant, which costs
    nothing, is in it only if its first use is in an inner block. Atoms are in neither, except variables that a let
    renames.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.order: list[Any] = []
        self.let_var: dict[Expr, Var] = {}
        self._first_user: dict[Expr, Expr] = {}  # of constants
        self._renamed: set[Expr] = set()  # variables without a binding that a let gives another name
        self._visit(function.body)
        self.top = Scope(None, None)
        self.scope: dict[Expr, Scope] = {function.body: self.top}
        self.inner: dict[Expr, list[Scope]] = {}
        self.crossing: set[Expr] = set()
        self.block: dict[Scope, Scope] = {self.top: self.top}
        self._compute_scopes()
        for node in [n for n in self.crossing if type(n) is Constant and n in self._first_user]:
            user = self._first_user[node]
            first = next(scope for child, scope in self._scopes_of_children(user, self.scope[user]) if child is node)
            if self.block[first] is self.block[self.scope[node]]:
                self.crossing.discard(node)

    def values_used_outside(self) -> Iterator[Expr]:
        """Yield the values of lets that are used outside of their let: their binding moves to a scope around it."""
        for let in (node for node in self.order if type(node) is Let):
            value = _without_on_device(let.value)
            if self.let_var.get(value) is let.var and self.scope[value] is not self.inner[let][0]:
                yield value

    def _visit(self, body: Expr) -> None:
        seen: set[Expr] = set()
        stack: list[Any] = [body]
        while stack:
            item = stack.pop()
            kind = type(item)
            if kind is tuple:
                node, user = item
                if user is not None:
                    if node not in seen:
                        seen.add(node)
                        self.order.append(node)
                        self._first_user[node] = user
                else:  # all its children are done
                    self.order.append(node)
            elif kind is _Rebinding:
                self.order.append(item)
            elif item not in seen:
                seen.add(item)
                if kind in _ATOMS:
                    self.order.append(item)
                    continue
                stack.append((item, None))
                if kind is not Let:
                    for part in evaluation_children(item)[::-1]:
                        if part not in seen:
                            stack.append((part, item) if type(part) is Constant else part)
                    continue
                stack.append(item.body)
                value = _without_on_device(item.value)
                if value in seen or is_atom(value):
                    renames = type(item.value) is Var and value not in seen
                    stack.append(_Rebinding(item, renames))
                    if renames:
                        self._renamed.add(item.value)
                else:
                    self.let_var[value] = item.var
                stack.append(item.value)

    def _compute_scopes(self) -> None:
        """Set `scope`, `inner`, `block` and `crossing`, users before operands."""
        scope, renamed = self.scope, self._renamed
        for node in reversed(self.order):
            kind = type(node)
            if kind in _ATOMS or kind is _Rebinding:
                continue
            own = scope[node]
            if kind in _OPEN_SCOPES:
                for child, inner in self._scopes_of_children(node, own):
                    self._use(child, inner)
                continue
            for child in evaluation_children(node):
                if type(child) in _ATOMS and child not in renamed:
                    continue
                if scope.setdefault(child, own) is not own:
                    self._use(child, own)

    def _use(self, node: Expr, scope: Scope) -> None:
        """Record that a node is evaluated in a scope."""
        if type(node) in _ATOMS and node not in self._renamed:
            return
        previous = self.scope.setdefault(node, scope)
        if previous is not scope:
            self.scope[node] = previous.common(scope)
            if self.block[previous] is not self.block[scope]:
                self.crossing.add(node)

    def _scopes_of_children(self, node: Expr, scope: Scope) -> Iterable[tuple[Expr, Scope]]:
        """Return the children of a node in `scope` with the scopes in which it evaluates them."""
        kind = type(node)
        if kind not in _OPEN_SCOPES:
            return [(child, scope) for child in evaluation_children(node)]
        parts = evaluation_children(node)
        inner = self.inner.get(node)
        if kind is Let or kind is Function:
            if inner is None:
                inner = self.inner[node] = [Scope(node, scope)]
                self.block[inner[0]] = self.block[scope] if kind is Let else inner[0]
            return [(part, inner[0]) for part in parts]
        if inner is None:
            inner = self.inner[node] = [Scope(node, scope) for _ in parts[1:]]
            for opened in inner:
                self.block[opened] = opened
        return [(parts[0], scope), *zip(parts[1:], inner, strict=True)]

    def devices(self) -> dict[Expr, Any]:
        """Return the device of each node that has one, set by an `on_device` around it or by its function.

        The device of an `on_device` applies to the children of its operand as well. A node with several users has the
        device of the first.
        """
        nodes = [n for n in reversed(self.order) if type(n) is not _Rebinding]
        own: dict[Expr, Any] = {
            n: n.virtual_device if type(n) is Function else n.attrs["virtual_device"]
            for n in nodes
            if (type(n) is Function and n.virtual_device is not None) or on_device_body(n) is not None
        }
        if self.function.virtual_device is None and not own:
            return {}
        inherited: dict[Expr, Any] = {self.function.body: self.function.virtual_device}
        for node in nodes:  # users before their operands, the first user last, so that its device is kept
            device = own.get(node, inherited.get(node))
            for part in (node.body,) if type(node) is Function else evaluation_children(node):
                inherited[part] = device
        devices = {node: own.get(node, device) for node, device in inherited.items()}
        return {node: device for node, device in devices.items() if device is not None}


def _without_on_device(expr: Expr) -> Expr:
    """Return the expression inside any device annotation."""
    while (inner := on_device_body(expr)) is not None:
        expr = inner
    return expr


class _Binder:
    """Executes a plan: collects the bindings of each scope, and rebuilds the nodes around them."""

    def __init__(
        self,
        plan: BindingPlan,
        is_bound: Callable[[Expr, BindingPlan], bool],
        flatten: bool,
        on_devices: bool,
        annotate: bool,
    ) -> None:
        self.plan = plan
        self.is_bound = is_bound
        self.flatten = flatten
        self.annotate = annotate
        self.devices = plan.devices() if on_devices else {}
        self.result: dict[Expr, Expr] = {}
        self.bindings: dict[Scope, Bindings] = {}
        self.count = -1
        self.observer = rewrite_observer()

    def bind(self, body: Expr) -> Expr:
        """Return the body with its bindings."""
        for item in self.plan.order:
            kind = type(item)
            if kind in _ATOMS:  # they stay as they are
                continue
            if kind is _Rebinding:
                let = item.let
                scope = self.plan.scope[let.value] if item.renames else self.plan.inner[let][0]
                self._push(scope, let.var, self._new(let.value))
                if item.renames:
                    self.result[let.value] = let.var
            else:
                result = self._bind_node(item)
                if result is not item:
                    self.result[item] = result
        return self._close(self.plan.top, body)

    def _new(self, expr: Expr) -> Expr:
        return self.result.get(expr, expr)

    def _fresh_var(self, value: Expr) -> Var:
        if self.count < 0:
            self.count = first_free_number(self._variables())
        self.count += 1
        name, ty = f"x_{self.count - 1}", value._checked_type
        if ty is None or not self.annotate:
            return new_var(name)
        return new_var(name, ty, None, None, ty) if type(ty) is TensorType else typed_var(name, ty)

    def _variables(self) -> Iterator[Expr]:
        """Yield all variables of the function, and other nodes: the plan lists all but binders and variables of
        kernels.
        """
        yield from self.plan.function.params
        yield from self.plan.order
        for node in self.plan.order:
            kind = type(node)
            if kind is Let:
                yield node.var
            elif kind is Function:
                yield from post_order(node) if node.is_primitive else node.params
            elif kind is Match:
                yield from (var for clause in node.clauses for var in pattern_vars(clause.lhs))

    def _push(self, scope: Scope, var: Var, value: Expr) -> None:
        target = self.plan.block[scope] if self.flatten else scope
        bindings = self.bindings.get(target)
        if bindings is None:
            bindings = self.bindings[target] = []
        bindings.append((var, value))

    def _close(self, scope: Scope, body: Expr) -> Expr:
        bindings = self.bindings.pop(scope, None)
        return self._new(body) if bindings is None else flat_lets(bindings, self._new(body))

    def _bind_node(self, node: Expr) -> Expr:
        """Return what replaces a node, which is not an atom, in its users: its variable, or the rebuilt node."""
        body = on_device_body(node) if self.devices else None
        if body is not None:
            return self._new(body)
        plan = self.plan
        var = plan.let_var.get(node)
        if var is None and not self.is_bound(node, plan):
            return self._rebuild(node)
        if type(node) is Let and self.flatten:
            value = self._new(node.body)
        else:
            value = self._rebuild(node)
            if self.devices:
                value = self._on_device(value, self.devices.get(node))
        var = var or self._fresh_var(value)
        self._push(plan.scope[node], var, value)
        if self.observer is not None:
            self.observer(node, var, "")
        return var

    def _rebuild_let(self, let: Let) -> Expr:
        if self.flatten:
            return self._new(let.body)
        bindings = self.bindings.pop(self.plan.inner[let][0], [])
        body = self._new(let.body)
        if len(bindings) == 1 and bindings[0][0] is let.var:
            return let.with_fields(value=bindings[0][1], body=body)
        return flat_lets(bindings, body)

    def _rebuild(self, node: Expr) -> Expr:
        if type(node) is Let:
            return self._rebuild_let(node)
        inner = self.plan.inner.get(node)
        if inner is None:
            parts, get = CHILDREN[type(node)](node), self.result.get
            results = tuple(map(get, parts, parts))
            if self.annotate or results == parts:
                return with_children(node, parts, results)
            return WITH_CHILDREN[type(node)](node, results)
        return self.with_type(node, self._rebuild_block(node, inner))

    def with_type(self, node: Expr, result: ExprT) -> ExprT:
        """Return a rebuilt node, with its type if that is known and variables are annotated."""
        if self.annotate and result._checked_type is None:
            keep_type(node, result, CHILDREN[type(node)](node), CHILDREN[type(result)](result))
        return result

    def _rebuild_block(self, node: Expr, inner: list[Scope]) -> Expr:
        """Return a function, branch or match with the bindings of its scopes."""
        if type(node) is Function:
            return node if node.is_primitive else node.with_fields(body=self._close(inner[0], node.body))
        if type(node) is If:
            cond = self._new(node.cond)
            yes, no = self._close(inner[0], node.true_branch), self._close(inner[1], node.false_branch)
            return if_with(node, cond, yes, no, self.annotate)
        assert isinstance(node, Match)
        arms = [self._close(s, c.rhs) for s, c in zip(inner, node.clauses, strict=True)]
        data = self._new(node.data)
        if data is node.data and all(a is c.rhs for a, c in zip(arms, node.clauses, strict=True)):
            return node
        clauses = [Clause(c.lhs, arm, c.span) for c, arm in zip(node.clauses, arms, strict=True)]
        return Match(data, clauses, node.complete, node.span)

    @staticmethod
    def _on_device(value: Expr, device: Any) -> Expr:
        if device is None or type(value) is Function or is_atom(value) or on_device_body(value) is not None:
            return value
        on_device = Op.get("on_device")
        attrs = on_device.spec.attrs(virtual_device=device, constrain_result=True)  # type: ignore[misc]
        return Call(on_device, (value,), attrs, None, value.span)


def in_normal_form(function: Function) -> bool:
    """Return True for a body in A-normal form: lets of operations on atoms, ending in an atom, in every scope."""
    seen: set[Expr] = set()
    tails: list[Expr] = [function.body]
    while tails:
        expr = tails.pop()
        while type(expr) is Let:
            value = expr.value
            if value in seen or type(value) is Let:
                return False
            if not is_atom(value):
                seen.add(value)
                if not _operates_on_atoms(value, tails):
                    return False
            expr = expr.body
        if not is_atom(expr):
            return False
    return True


def _operates_on_atoms(value: Expr, tails: list[Expr]) -> bool:
    """Return True if the operands of a bound value are atoms; add the bodies that it opens to `tails`."""
    if type(value) is Constant:
        return True
    if type(value) is Function:
        tails += evaluation_children(value)
        return True
    if type(value) is If or type(value) is Match:
        cond, *arms = evaluation_children(value)
        tails += arms
        return is_atom(cond)
    while (inner := on_device_body(value)) is not None:
        if type(inner) in (Let, If, Match, Function):
            return False
        value = inner
    return all(is_atom(part) for part in evaluation_children(value))
