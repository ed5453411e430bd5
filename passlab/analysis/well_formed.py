"""Checks that every variable is bound once and used in its scope, and locates violations.

A shared node belongs to the innermost scope around all its uses. For a variable that must be the scope that its binder
opens. The value of a `let` is inside that scope too, for recursive functions.

The file ends with the check of basic-block normal form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passlab.analysis.scopes import Scope, scoped_children
from passlab.arguments import checked
from passlab.errors import Diagnostic, VerifyError, WellFormedError
from passlab.ir.adt import Constructor, pattern_vars
from passlab.ir.expr import Constant, Expr, Function, GlobalVar, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.variables import free_vars
from passlab.ir.walk import CHILDREN, LEAVES, post_order

_LEAVES = frozenset(LEAVES)


@dataclass(frozen=True)
class WellFormedness:
    """The result of `well_formed`: true as a condition if there are no findings, which are in `diagnostics`."""

    diagnostics: tuple[Diagnostic, ...]

    def __bool__(self) -> bool:
        return not self.diagnostics

    def __str__(self) -> str:
        return "\n".join(d.render() for d in self.diagnostics) or "well formed"

    __repr__ = __str__

    def check(self) -> None:
        """Raise `WellFormedError` with the findings, if there are any."""
        if self.diagnostics:
            raise WellFormedError(*self.diagnostics)


@checked
def well_formed(program: Expr | IRModule) -> WellFormedness:
    """Check that each variable is bound at most once, not also free, and used in its scope only.

    Free variables are allowed in an expression, not in the functions of a module. Types and operators are not checked.

    >>> x = relay.var("x", "float32")
    >>> bool(relay.analysis.well_formed(relay.Let(x, relay.const(1.0), relay.Let(x, relay.const(2.0), x))))
    False
    """
    return WellFormedness(tuple(findings(program)))


def check_well_formed(program: Expr | IRModule) -> None:
    """Raise `WellFormedError` with all findings."""
    well_formed(program).check()


def outside_scope(var: Var) -> VerifyError:
    """Return the error for a variable that a compiler visits outside its scope."""
    return VerifyError(Diagnostic(f"the variable `%{var.name_hint}` is used outside its scope", var.span))


def findings(program: Expr | IRModule) -> list[Diagnostic]:
    """Return the violations in an expression or module. Linear in its nodes, up to a logarithm."""
    if not isinstance(program, IRModule):
        return _findings(program, "")
    result: list[Diagnostic] = []
    for name, function in program.items():
        result += _findings(function, f" in @{name}")
        result += [
            Diagnostic(f"the variable `%{var.name_hint}` is not bound in @{name}", var.span)
            for var in free_vars(function)
        ]
    return result


def is_closed_tree(function: Function) -> bool:
    """Whether a function is a well-formed tree without free variables. False says nothing: nodes may be shared."""
    return _free_in_tree(function) == set()


def _free_in_tree(root: Expr) -> set[Var] | None:
    """Return the free variables of a well-formed tree: no node with children is shared, and each variable is bound once
    and read in its scope. Return None for any other program.

    Nested lets and branches are such trees, and this walk takes a tenth of the time of the table of their scopes.
    """
    seen: set[Expr] = set()
    bound: set[Var] = set()
    visible: set[Var] = set()
    free: set[Var] = set()
    stack: list[Any] = [root]  # nodes, and lists of variables where their scope begins (in a tuple) or ends
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Var:
            if node not in visible:
                free.add(node)
        elif kind is tuple:
            before = len(bound)
            bound.update(node)
            if len(bound) < before + len(node):
                return None
            visible.update(node)
        elif kind is list:
            visible.difference_update(node)
        elif kind not in _LEAVES:
            if node in seen:
                return None
            seen.add(node)
            _push_scopes(node, stack)
    return free if free.isdisjoint(bound) else None


def _push_scopes(node: Expr, stack: list[Any]) -> None:
    """Push the children of a node, the first one last, between the begins and ends of the scopes of what it binds."""
    if type(node) is Let:
        stack += ([node.var], node.body, node.value, (node.var,))
    elif type(node) is Function:
        stack += ([*node.params], node.body, node.params)
    elif type(node) is Match:
        for clause in node.clauses:
            variables = pattern_vars(clause.lhs)
            stack += (variables, clause.rhs, tuple(variables))
        stack.append(node.data)
    else:
        stack += CHILDREN[type(node)](node)


class _ScopeTable:
    """The scope of every node, and the node and scope that bind each variable."""

    def __init__(self, root: Expr) -> None:
        top = Scope(None, None)
        self.order = post_order(root)
        self.of: dict[Expr, Scope] = {root: top}
        self.binders: dict[Var, list[tuple[Expr, Scope]]] = {}
        for node in reversed(self.order):  # parents first, so that the scope of a node is final when it is reached
            self._enter(node, self.of[node])

    def _enter(self, node: Expr, scope: Scope) -> None:
        inner: list[Scope] = []

        def open_scope(owner: Expr, part: int) -> Scope:
            inner.append(Scope(owner, scope))
            return inner[-1]

        children = list(scoped_children(node, scope, open_scope))
        if isinstance(node, Let):
            children = [(child, inner[0]) for child, _ in children]
            self._bind(node.var, node, inner[0])
        elif isinstance(node, Function):
            for param in node.params:
                self._bind(param, node, inner[0])
        elif isinstance(node, Match):
            for clause, arm_scope in zip(node.clauses, inner, strict=True):
                for var in pattern_vars(clause.lhs):
                    self._bind(var, node, arm_scope)
        for child, child_scope in children:
            previous = self.of.get(child)
            self.of[child] = child_scope if previous is None else previous.common(child_scope)

    def _bind(self, var: Var, node: Expr, scope: Scope) -> None:
        self.binders.setdefault(var, []).append((node, scope))


def _findings(root: Expr, suffix: str) -> list[Diagnostic]:
    """Return the violations in one expression. `suffix` names its function in messages."""
    if _free_in_tree(root) is not None:
        return []
    scopes = _ScopeTable(root)
    result = []
    for var, binders in scopes.binders.items():
        (first, scope), *others = binders
        if others:
            notes = [(f"bound first by this {_kind(first)}", first.span)]
            notes += [(f"bound again by this {_kind(node)}", node.span) for node, _ in others]
            result.append(
                Diagnostic(
                    f"the variable `%{var.name_hint}` is bound {_times(len(binders))}{suffix}",
                    others[0][0].span or var.span,
                    notes=tuple(note for note in notes if note[1] is not None),
                    hint="give each binding a variable of its own",
                )
            )
        elif scopes.of[var] is not scope:
            result.append(_escape_finding(var, first, scope, scopes, suffix))
    return result


def _escape_finding(var: Var, binder: Expr, scope: Scope, scopes: _ScopeTable, suffix: str) -> Diagnostic:
    """Return the finding for a use outside the scope, at the first node in evaluation order that reads the variable."""
    span = None
    for node in scopes.order:
        if node is binder or scope.encloses(scopes.of[node]):
            continue
        if any(child is var for child in CHILDREN[type(node)](node)):
            span = node.span
            break
    notes = ((f"bound by this {_kind(binder)}", binder.span),) if binder.span is not None else ()
    return Diagnostic(
        f"the variable `%{var.name_hint}` is used outside its scope{suffix}",
        span or var.span,
        notes=notes,
        hint="a node that is used in several places is computed where all of them see it; bind it inside the scope",
    )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _kind(node: Expr) -> str:
    return type(node).__name__.lower()


# ---------------------------------------------------------------- basic-block normal form
# Basic-block normal form: each computation is used in one basic block only. A basic block is the body of a function, a
# branch of an `if` or an arm of a `match`; a chain of lets is part of one block. Constants do not count as
# computations.
_ATOMS = (Var, GlobalVar, Op, Constructor, Constant)


def check_basic_block_normal_form(root: Expr) -> bool:
    """Return True if no computation is used in two blocks without a `let` around both.

    A free variable has no binding in the program, so it must not be used in two blocks either.
    """
    free = set(free_vars(root))
    block: dict[Expr, Scope] = {root: Scope(None, None)}
    for node in reversed(post_order(root)):
        scope = block[node]

        def open_block(owner: Expr, part: int, outer: Scope = scope) -> Scope:
            return outer if isinstance(owner, Let) else Scope(owner, outer)

        for child, where in scoped_children(node, scope, open_block):
            first = block.setdefault(child, where)
            if first is not where and (child in free or not isinstance(child, _ATOMS)):
                return False
    return True
