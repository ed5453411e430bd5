"""Checks that every variable is bound once and used in its scope, and locates violations.

A shared node belongs to the innermost scope common to all its uses. A variable is used in its scope if that is the
scope its binder opens. The value of a `let` is inside that scope too, for recursive functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from passlab.errors import Diagnostic, VerifyError, WellFormedError
from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Expr, Function, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.variables import free_vars
from passlab.ir.walk import CHILDREN, Scope, post_order, scoped_children


@dataclass(frozen=True)
class WellFormedness:
    """The result of `well_formed`: true as a condition if nothing was found; `diagnostics` holds the findings."""

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


def well_formed(program: Expr | IRModule) -> WellFormedness:
    """Check that each variable is bound at most once, not also free, and used in its scope only.

    Free variables are allowed in an expression, not in the functions of a module. Types and operators are not checked.
    """
    return WellFormedness(tuple(findings(program)))


def check_well_formed(program: Expr | IRModule) -> None:
    """Raise `WellFormedError` with all findings."""
    well_formed(program).check()


def outside_scope(var: Var) -> VerifyError:
    """Return the error of a compiler that meets a variable where it has no value."""
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


class _Scoping:
    """The scope of every node and the scope and node that bind each variable."""

    def __init__(self, root: Expr) -> None:
        top = Scope(None, None)
        self.order = post_order(root)
        self.of: dict[Expr, Scope] = {root: top}
        self.binders: dict[Var, list[tuple[Expr, Scope]]] = {}
        for node in reversed(self.order):  # parents first, so that the scope of a node is final when it is reached
            self._enter(node, self.of[node])

    def _enter(self, node: Expr, scope: Scope) -> None:
        opened: list[Scope] = []

        def open_scope(owner: Expr, part: int) -> Scope:
            opened.append(Scope(owner, scope))
            return opened[-1]

        children = list(scoped_children(node, scope, open_scope))
        if isinstance(node, Let):
            children = [(child, opened[0]) for child, _ in children]
            self._bind(node.var, node, opened[0])
        elif isinstance(node, Function):
            for param in node.params:
                self._bind(param, node, opened[0])
        elif isinstance(node, Match):
            for clause, inner in zip(node.clauses, opened, strict=True):
                for var in pattern_vars(clause.lhs):
                    self._bind(var, node, inner)
        for child, where in children:
            parent = self.of.get(child)
            self.of[child] = where if parent is None else parent.common(where)

    def _bind(self, var: Var, node: Expr, scope: Scope) -> None:
        self.binders.setdefault(var, []).append((node, scope))


def _findings(root: Expr, where: str) -> list[Diagnostic]:
    scoping = _Scoping(root)
    result = []
    for var, binders in scoping.binders.items():
        (first, scope), *others = binders
        if others:
            notes = [(f"bound first by this {_kind(first)}", first.span)]
            notes += [(f"bound again by this {_kind(node)}", node.span) for node, _ in others]
            result.append(
                Diagnostic(
                    f"the variable `%{var.name_hint}` is bound {_times(len(binders))}{where}",
                    others[0][0].span or var.span,
                    notes=tuple(note for note in notes if note[1] is not None),
                    hint="give each binding a variable of its own",
                )
            )
        elif scoping.of[var] is not scope:
            result.append(_escape(var, first, scope, scoping, where))
    return result


def _escape(var: Var, binder: Expr, scope: Scope, scoping: _Scoping, where: str) -> Diagnostic:
    """Explain a use outside the scope, at the first node in evaluation order that reads the variable there."""
    place = None
    for node in scoping.order:
        if node is binder or scope.encloses(scoping.of[node]):
            continue
        if any(child is var for child in CHILDREN[type(node)](node)):
            place = node.span
            break
    notes = ((f"bound by this {_kind(binder)}", binder.span),) if binder.span is not None else ()
    return Diagnostic(
        f"the variable `%{var.name_hint}` is used outside its scope{where}",
        place or var.span,
        notes=notes,
        hint="a node that is used in several places is computed where all of them see it; bind it inside the scope",
    )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _kind(node: Expr) -> str:
    return type(node).__name__.lower()
