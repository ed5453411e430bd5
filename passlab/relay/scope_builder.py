"""`ScopeBuilder`: write `let` chains and `if`s in the order they are executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.expr import Expr, If, Var
from passlab.ir.types import Type
from passlab.ir.walk import make_lets
from passlab.op.declare import as_expr
from passlab.relay.var_const import type_of, var


class _Scope:
    """The bindings and the result of one scope. `branch` is the condition and branch of an `if` without its else."""

    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Expr]] = []
        self.result: Expr | None = None
        self.branch: tuple[Expr, Expr] | None = None

    def close(self) -> Expr:
        if self.branch is not None:
            raise DiagnosticError(Diagnostic("the if has no else", hint="write `with sb.else_scope():` after it"))
        if self.result is None:
            raise DiagnosticError(Diagnostic("a scope ends without a value", hint="call `sb.ret(value)` in it"))
        return make_lets(self.bindings, self.result)


@checked
class ScopeBuilder:
    """Builds an expression step by step:

    sb = relay.ScopeBuilder()
    x = sb.let("x", relay.add(a, b))
    with sb.if_scope(relay.less(x, one)):
        sb.ret(x)
    with sb.else_scope():
        sb.ret(relay.exp(x))
    f = relay.Function([a, b], sb.get())

    >>> builder = relay.ScopeBuilder()
    >>> y = builder.let("y", relay.exp(relay.const(1.0)))
    >>> builder.ret(y + y)
    >>> print(builder.get())
    let %y = exp(1f);
    add(%y, %y)
    """

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def let(self, var_or_name: Var | str | Sequence[Any], value: Any) -> Var:
        """Bind a value and return its variable: given as a variable, as a name, or as (name, type)."""
        if isinstance(var_or_name, Var):
            bound = var_or_name
        elif isinstance(var_or_name, str):
            bound = var(var_or_name)
        elif 1 <= len(var_or_name) <= 2:
            bound = var(*var_or_name)
        else:
            raise ValueError(f"a variable, a name or (name, type) is needed, not {len(var_or_name)} things")
        self._scopes[-1].bindings.append((bound, as_expr(value)))
        return bound

    @contextmanager
    def if_scope(self, cond: Expr) -> Iterator[None]:
        """Build the branch taken when `cond` (a scalar bool) holds; it ends with `ret`."""
        outer = self._scopes[-1]
        self._check_open(outer)
        self._scopes.append(_Scope())
        try:
            yield
        finally:
            inner = self._scopes.pop()
        outer.branch = (cond, inner.close())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Build the other branch of the `if_scope` just before; the `if` becomes the value of the outer scope.

        Raises `DiagnosticError` without an `if_scope` before it.
        """
        outer = self._scopes[-1]
        if outer.branch is None:
            raise DiagnosticError(Diagnostic("an else scope must follow an if scope"))
        self._scopes.append(_Scope())
        try:
            yield
        finally:
            inner = self._scopes.pop()
        cond, true_branch = outer.branch
        outer.branch, outer.result = None, If(cond, true_branch, inner.close())

    def ret(self, value: Any) -> None:
        """Set the value of the current scope."""
        self._check_open(self._scopes[-1])
        self._scopes[-1].result = as_expr(value)

    def get(self) -> Expr:
        """Return the expression built. Raises `DiagnosticError` if there is no value yet."""
        return self._scopes[-1].close()

    def type_of(self, expr: Expr) -> Type:
        """Return the type of an expression: inferred, annotated, or else a new unknown type."""
        return type_of(expr)

    def _check_open(self, scope: _Scope) -> None:
        if scope.result is not None or scope.branch is not None:
            raise DiagnosticError(
                Diagnostic("the scope has its value already", hint="`ret` and `if_scope` end a scope")
            )
