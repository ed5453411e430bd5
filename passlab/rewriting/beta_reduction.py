"""Beta reduction: calls of function literals are replaced by the bodies of the functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from passlab.analysis.scopes import Scopes
from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.walk import CHILDREN, make_lets, note_rewrite, post_order, rebuild, result_of
from passlab.rewriting.fresh_copy import apply, with_type
from passlab.rewriting.let_binding import bind_shared_effects


def beta_reduced(function: Function, mod: IRModule | None = None) -> Function:
    """Return the function with every call of a function literal replaced by the body, or the same function.

    A literal with one call and no other use is moved; each other call gets a copy of its body. Arguments that may read
    or change state are bound by lets, which keep the names of the parameters. `mod` is the module whose functions are
    checked for state.
    """
    if not _literal_calls(function):
        return function
    function = bind_shared_effects(function, mod or IRModule())
    return _beta_reduce(function, _literal_calls(function), Movability(mod))


def _literal_calls(function: Function) -> list[tuple[Call, Function]]:
    order = post_order(function)
    return [(n, n.op) for n in order if _is_literal_call(n) and type(n) is Call and type(n.op) is Function]


def _is_literal_call(node: Expr) -> bool:
    return type(node) is Call and type(node.op) is Function and len(node.op.params) == len(node.args)


def _beta_reduce(func: Function, calls: list[tuple[Call, Function]], is_movable: Movability) -> Function:
    """Rewrite the program in post-order, but the arguments of a call before the body of its literal."""
    uses: dict[Expr, int] = {}
    for node in post_order(func):
        for kid in CHILDREN[type(node)](node):
            if type(kid) is Function:
                uses[kid] = uses.get(kid, 0) + 1
    once: dict[Expr, Call] = {f: call for call, f in calls if uses[f] == 1 and not f.type_params}
    origins = _Origins(func)
    result: dict[Expr, Expr] = {}

    def new(node: Expr) -> Expr:
        return result.get(node, node)

    seen: set[Expr] = set()
    stack: list[tuple[Expr, str]] = [(func, "visit")]
    while stack:
        node, step = stack.pop()
        if step == "bind" and type(node) is Function:  # the arguments are rewritten: they replace the parameters
            call = once[node]
            args = zip(node.params, call.args, strict=True)
            result.update({param: new(arg) for param, arg in args if is_movable(arg)})
        elif step == "visit":
            if node in seen:
                continue
            seen.add(node)
            stack.append((node, "make"))
            if type(node) is Call and type(node.op) is Function and node.op in once:
                stack += [(node.op.body, "visit"), (node.op, "bind")]
                stack += [(arg, "visit") for arg in reversed(node.args)]
            else:
                stack += [(kid, "visit") for kid in CHILDREN[type(node)](node)[::-1]]
        else:
            output = _reduce_node(origins, node, once, is_movable, new)
            origins.of.setdefault(output, node)
            if output is not node:
                result[node] = output
                note_rewrite(node, output)
    return result_of(func, result)


def _reduce_node(
    origins: _Origins, node: Expr, once: dict[Expr, Call], is_movable: Movability, new: Callable[[Expr], Expr]
) -> Expr:
    if type(node) is Call and type(node.op) is Function and node.op in once:
        args = zip(node.op.params, node.args, strict=True)
        body = with_type(new(node.op.body), node.op.ret_type)
        return make_lets([(param, new(arg)) for param, arg in args if not is_movable(arg)], body)
    result = rebuild(node, new)
    if not _is_literal_call(result):
        return result
    assert isinstance(node, Call)
    assert isinstance(result, Call)
    assert isinstance(result.op, Function)
    shared = () if is_movable(result.op.body) else origins.outside(result.op)
    return apply(result.op, result.args, result.type_args, [is_movable(arg) for arg in node.args], shared)


class _Origins:
    """The node of the original function that each rewritten node comes from, and the scopes of these nodes."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.of: dict[Expr, Expr] = {}

    @cached_property
    def scopes(self) -> Scopes:
        """The scopes of the original function."""
        return Scopes(self.function)

    def outside(self, literal: Function) -> set[Expr]:
        """Return the nodes in a literal that are evaluated outside of it as well. Nodes of copies have no origin.

        A function inside of the literal is copied with it, with all that its body evaluates, even if it is called
        outside.
        """
        nodes = {node: origin for node in post_order(literal) if (origin := self.of.get(node)) is not None}
        bodies = [self.scopes.inner[origin, 0] for origin in nodes.values() if type(origin) is Function]
        copied = [self.scopes.inner[origin, 0]] if type(origin := nodes.get(literal)) is Function else []
        copied += [body for body in bodies if not copied or not copied[0].encloses(body)]
        return {n for n, origin in nodes.items() if not any(c.encloses(self.scopes.of[origin]) for c in copied)}
