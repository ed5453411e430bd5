"""Stages of `reduce` for functions that call each other: they cut calls, unused parameters, and clauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Match, RefWrite, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, Type
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, let_chain, post_order, rewrite
from passlab.lab.reducer.search import Changes, ReductionSearch
from passlab.rewriting.fresh_copy import apply

LARGE = 400  # nodes up to which a function is inlined


def inline_calls(search: ReductionSearch) -> None:
    """Inline the calls of functions that are not recursive, and drop these functions."""
    for name in [name for name, _ in search.best.items()]:  # a list, since cuts remove functions
        if name not in search.best:
            continue
        function = search.best[name]
        if function.is_primitive or _refers_to(function, name) or function.type_params:
            continue
        callers = {n: f for n, f in search.best.items() if n != name and _refers_to(f, name)}
        if not callers or sum(1 for _ in post_order(function)) > LARGE:
            continue
        changes: Changes = {caller: _inline(f, name, function) for caller, f in callers.items()}
        changes[name] = None
        search.attempt(changes, f"the calls of @{name}")


def drop_called_parameters(search: ReductionSearch) -> None:
    """Drop unused parameters of called functions, with the arguments of their calls, one at a time."""
    for name in [name for name, _ in search.best.items()]:
        index = 0
        while name in search.best and index < len(search.best[name].params):
            changes = _without_parameter(search.best, name, index)
            if changes is None or not search.attempt(changes, f"a parameter of @{name}"):
                index += 1  # after a cut the next parameter has this index


def merge_called_parameters(search: ReductionSearch) -> None:
    """Replace a parameter of a called function by another of its type, and drop its arguments."""
    for name in [name for name, _ in search.best.items()]:
        index = 0
        while search.sharing and name in search.best and index < len(search.best[name].params):
            changes = _without_parameter(search.best, name, index, merged=True)
            if changes is None or not search.attempt(changes, f"a parameter of @{name}"):
                index += 1


def replace_caller(search: ReductionSearch) -> None:
    """Replace a function that only calls another one by that other function, under its own name."""
    for name in [name for name, _ in search.best.items()]:
        body = search.best[name].body if name in search.best else None
        if not isinstance(body, Call) or not isinstance(body.op, GlobalVar) or body.op.name_hint == name:
            continue
        inner = body.op.name_hint
        function = search.best[inner]
        others = [n for n, f in search.best.items() if n not in (name, inner) and _refers_to(f, inner)]
        if others or _refers_to(search.best[inner], name) or function.is_primitive or function.type_params:
            continue
        here = search.best.get_global_var(name)
        renamed = rewrite(function, replace={search.best.get_global_var(inner): here})
        search.attempt({name: renamed, inner: None}, f"@{name} around @{inner}")


def condition_as_parameter(search: ReductionSearch) -> None:
    """Replace a parameter that only serves a condition by that condition, in a function that only calls itself.

    Its recursive calls get a constant.
    """
    for name in [name for name, _ in search.best.items()]:
        function = search.best[name]
        if any(n != name and _refers_to(f, name) for n, f in search.best.items()):
            continue
        cuts: list[tuple[Changes, str]] = [
            ({name: shorter}, f"a condition in @{name}")
            for same in (function, *_other_results(function))
            for index in range(len(function.params))
            for value in (True, False)
            if (shorter := _with_condition_parameter(same, name, index, value)) is not None
        ]
        search.first(cuts)


def _other_results(function: Function) -> Iterator[Function]:
    """Yield variants of a function in which a branch that returns a parameter returns another one of its type."""
    choice = function.body
    if not isinstance(choice, If):
        return
    for branch in (choice.true_branch, choice.false_branch):
        for param in function.params:
            if isinstance(branch, Var) and param is not branch and param.checked_type_ is branch.checked_type_:
                yes, no = (param if end is branch else end for end in (choice.true_branch, choice.false_branch))
                yield function.with_fields(body=If(choice.cond, yes, no))


def _with_condition_parameter(function: Function, name: str, index: int, value: bool) -> Function | None:
    """Return a function that takes a condition instead of the number it is computed from; None where it cannot."""
    number = function.params[index]
    condition = next((n.cond for n in post_order(function.body) if isinstance(n, If)), None)
    if condition is None or isinstance(condition, Var) or set(free_vars(condition)) != {number}:
        return None
    condition_var = Var(number.name_hint, TensorType((), "bool"))

    def rule(pre: Expr, post: Expr) -> Expr:
        if not isinstance(post, Call) or not isinstance(post.op, GlobalVar) or post.op.name_hint != name:
            return post
        own = Constant(np.asarray(value))
        return post.with_fields(args=(*post.args[:index], own, *post.args[index + 1 :]))

    params = (*function.params[:index], condition_var, *function.params[index + 1 :])
    body = rewrite(function.body, rule, replace={condition: condition_var}, only=(Call,))
    changed: Function = function.with_fields(params=params, body=body)
    return changed


def simpler_branches(node: If) -> Iterator[Expr]:
    """Yield variants of an `if`: with equal branches, or with only a write of one branch."""
    for branch in (node.true_branch, node.false_branch):
        if isinstance(branch, Function):
            yield If(node.cond, branch, branch)
    writes = [let_chain(branch)[0][0].value for branch in (node.true_branch, node.false_branch) if type(branch) is Let]
    nothing: Expr = Tuple(())
    for write in (w for w in writes if isinstance(w, RefWrite)):
        yield If(node.cond, write, nothing)
        yield If(node.cond, nothing, write)


def drop_closure_parameters(search: ReductionSearch) -> None:
    """Drop a parameter of all function literals of one type, with the arguments of the calls of such values."""
    for name in [name for name, _ in search.best.items()]:
        again = True
        while again and name in search.best:
            function = search.best[name]
            literals = [n for n in post_order(function.body) if type(n) is Function and not n.is_primitive]
            types = {n.checked_type_: len(n.params) for n in literals if n.checked_type_ is not None}
            again = search.first(
                ({name: _without_closure_parameter(function, ty, index)}, f"a parameter of functions in @{name}")
                for ty, count in types.items()
                for index in range(count)
            )


def _without_closure_parameter(function: Function, ty: Type, index: int) -> Function:
    def shorter(values: Sequence[Any]) -> tuple[Any, ...]:
        return (*values[:index], *values[index + 1 :])

    def rule(pre: Expr, post: Expr) -> Expr:
        if isinstance(pre, Call) and isinstance(post, Call):
            # Only nodes before the change have types.
            called = pre.op.checked_type_ is ty and not isinstance(pre.op, GlobalVar)
            return post.with_fields(args=shorter(post.args)) if called else post
        assert isinstance(post, Function)
        return post.with_fields(params=shorter(post.params)) if pre.checked_type_ is ty else post

    bound = {n.var for n in post_order(function.body) if type(n) is Let and n.var.checked_type_ is ty}
    # Without annotations, which the cut makes wrong.
    plain: dict[Expr, Expr] = {var: Var(var.name_hint) for var in bound}
    result: Function = function.with_fields(
        body=rewrite(function.body, rule, replace=plain, only=(Call, Function)), ret_type=None
    )
    return result


def retype_arguments(search: ReductionSearch) -> None:
    """Replace the argument of a function that is called once by a child of it; the parameter gets its type."""
    for name in [name for name, _ in search.best.items()]:
        if name not in search.best:
            continue
        calls = [
            (caller, n)
            for caller, f in search.best.items()
            for n in post_order(f)
            if type(n) is Call and isinstance(n.op, GlobalVar) and n.op.name_hint == name
        ]
        if len(calls) != 1 or calls[0][0] == name or search.best[name].type_params:
            continue
        (caller, call), function = calls[0], search.best[name]
        search.first(
            (_with_argument(search.best, caller, call, name, index, part), f"an argument of @{name}")
            for index in range(len(function.params))
            for part in children(call.args[index])
        )


def _with_argument(mod: IRModule, caller: str, call: Call, name: str, index: int, part: Expr) -> Changes:
    function, old = mod[name], mod[name].params[index]
    new = Var(old.name_hint, part.checked_type_)
    params = (*function.params[:index], new, *function.params[index + 1 :])
    body = rewrite(function.body, replace={old: new})
    now = call.with_fields(args=(*call.args[:index], part, *call.args[index + 1 :]))
    return {
        name: function.with_fields(params=params, body=body, ret_type=None),
        caller: mod[caller].with_fields(body=rewrite(mod[caller].body, replace={call: now}), ret_type=None),
    }


def fewer_clauses(match: Match) -> Iterator[Expr]:
    """Yield a match without each one of its clauses."""
    for index in range(len(match.clauses) if len(match.clauses) > 1 else 0):
        rest = [c for n, c in enumerate(match.clauses) if n != index]
        yield Match(match.data, rest, False, match.span)  # `False`: without the clause it is not complete


def _refers_to(function: Function, name: str) -> bool:
    return any(isinstance(n, GlobalVar) and n.name_hint == name for n in post_order(function))


def _inline(caller: Function, name: str, function: Function) -> Function:
    def rule(pre: Expr, post: Expr) -> Expr:
        if not isinstance(post, Call) or not isinstance(post.op, GlobalVar) or post.op.name_hint != name:
            return post
        return apply(function, post.args) if len(post.args) == len(function.params) else post

    result: Function = rewrite(caller, rule, only=(Call,))
    return result


def _without_parameter(mod: IRModule, name: str, index: int, merged: bool = False) -> Changes | None:
    """Return the changes that drop one parameter of a called function; None where its body uses the parameter.

    With `merged` another parameter of its type replaces it in the body.
    """
    function = mod[name]
    callers = [(n, f) for n, f in mod.items() if _refers_to(f, name)]
    dropped = function.params[index]
    if merged:
        substitutes = [p for p in function.params if p is not dropped and p.checked_type_ is dropped.checked_type_]
        if not substitutes:
            return None
        function = function.with_fields(body=rewrite(function.body, replace={dropped: substitutes[0]}))
    # The calls of itself are shortened first: a parameter that is only passed on is unused.
    inner = _shorter_calls(function, name, index)
    if not callers or dropped in free_vars(inner.body):
        return None
    changes: Changes = {n: _shorter_calls(f, name, index) for n, f in callers}
    changes[name] = inner.with_fields(params=(*function.params[:index], *function.params[index + 1 :]))
    return changes


def _shorter_calls(caller: Function, name: str, index: int) -> Function:
    def rule(pre: Expr, post: Expr) -> Expr:
        if not isinstance(post, Call) or not isinstance(post.op, GlobalVar) or post.op.name_hint != name:
            return post
        return post.with_fields(args=(*post.args[:index], *post.args[index + 1 :]))

    result: Function = rewrite(caller, rule, only=(Call,))
    return result
