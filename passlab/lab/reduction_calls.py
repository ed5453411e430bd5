"""What `reduce` may cut from functions that call each other: calls, parameters that nothing needs, and clauses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from passlab.ir.expr import Call, Expr, Function, GlobalVar, Match
from passlab.ir.module import IRModule
from passlab.ir.variables import free_vars
from passlab.ir.walk import post_order, rewrite
from passlab.rewriting.fresh_copy import applied

if TYPE_CHECKING:
    from passlab.lab.reduction import Changes, Search

LARGE = 400  # nodes of a function, up to which its body is put in the place of its calls


def inline_calls(search: Search) -> None:
    """Put the body of a function in the place of its calls, where it does not call itself, and drop it."""
    for name in [name for name, _ in search.best.items()]:
        if name not in search.best:
            continue
        function = search.best[name]
        if function.is_primitive or _calls(function, name) or function.type_params:
            continue
        callers = {n: f for n, f in search.best.items() if n != name and _calls(f, name)}
        if not callers or sum(1 for _ in post_order(function)) > LARGE:
            continue
        changes: Changes = {caller: _inlined(f, name, function) for caller, f in callers.items()}
        changes[name] = None
        search.attempt(changes, f"the calls of @{name}")


def drop_called_parameters(search: Search) -> None:
    """Take parameters away that a function does not use, with the arguments of its calls, one at a time."""
    for name in [name for name, _ in search.best.items()]:
        place = 0
        while name in search.best and place < len(search.best[name].params):
            changes = _without_parameter(search.best, name, place)
            if changes is None or not search.attempt(changes, f"a parameter of @{name}"):
                place += 1


def fewer_clauses(match: Match) -> Iterator[Expr]:
    """Return a match without each of its clauses."""
    for place in range(len(match.clauses) if len(match.clauses) > 1 else 0):
        rest = [c for n, c in enumerate(match.clauses) if n != place]
        yield Match(match.data, rest, False, match.span)


def _calls(function: Function, name: str) -> bool:
    return any(isinstance(n, GlobalVar) and n.name_hint == name for n in post_order(function))


def _inlined(caller: Function, name: str, function: Function) -> Function:
    def rule(pre: Expr, post: Expr) -> Expr:
        if not isinstance(post, Call) or not isinstance(post.op, GlobalVar) or post.op.name_hint != name:
            return post
        return applied(function, post.args) if len(post.args) == len(function.params) else post

    result: Function = rewrite(caller, rule, only=(Call,))
    return result


def _without_parameter(mod: IRModule, name: str, place: int) -> Changes | None:
    """Return the functions without one parameter of a called one; None where it is used, or named as a value."""
    function = mod[name]
    callers = [(n, f) for n, f in mod.items() if _calls(f, name)]
    gone = function.params[place]
    inner = _shorter_calls(function, name, place)
    if not callers or gone in free_vars(inner.body):
        return None
    changes: Changes = {n: _shorter_calls(f, name, place) for n, f in callers}
    changes[name] = inner.with_fields(params=(*function.params[:place], *function.params[place + 1 :]))
    return changes


def _shorter_calls(caller: Function, name: str, place: int) -> Function:
    def rule(pre: Expr, post: Expr) -> Expr:
        if not isinstance(post, Call) or not isinstance(post.op, GlobalVar) or post.op.name_hint != name:
            return post
        return post.with_fields(args=(*post.args[:place], *post.args[place + 1 :]))

    result: Function = rewrite(caller, rule, only=(Call,))
    return result


__all__ = ["drop_called_parameters", "fewer_clauses", "inline_calls"]
