"""The activation that evaluates each node of a function, and the nodes evaluated before a branch is entered.

A node that is used in several scopes belongs to the innermost one around all its uses, as ToANormalForm binds it. Its
turn is at its first use. If that is inside a branch, an arm, a closure or the body of a `let`, a node with effects is
evaluated before that scope is entered. A pure node is evaluated when it is needed.
"""

from __future__ import annotations

from passlab.analysis.purity import LocalPurity
from passlab.analysis.scopes import Scope, Scopes, scoped_children
from passlab.ir.expr import Call, Expr, Function, If, Let, Match
from passlab.ir.walk import CHILDREN, LEAVES


class Schedule:
    """The `owners` of a function's nodes, the innermost function around all uses of each, and its `early` nodes.

    `owners` is None for a function without nested functions. `early` maps a node that opens scopes to the nodes that
    are evaluated before these are entered.
    """

    __slots__ = ("early", "owners")

    def __init__(self, root: Function) -> None:
        scopes = Scopes(root)
        nested = sum(isinstance(n, Function) for n in scopes.order) > 1
        self.owners = _owners(root, scopes) if nested else None
        self.early = _early(root, scopes)


def _owners(root: Function, scopes: Scopes) -> dict[Expr, Function]:
    of_scope: dict[Scope, Function] = {scopes.top: root}

    def function_of(scope: Scope) -> Function:
        path = []
        while scope not in of_scope:
            path.append(scope)
            if isinstance(scope.owner, Function):
                of_scope[scope] = scope.owner
                break
            scope = scope.parent  # type: ignore[assignment]
        result = of_scope[scope]
        for inner in path:  # all scopes on the way have the same function
            of_scope.setdefault(inner, result)
        return result

    return {node: function_of(scope) for node, scope in scopes.of.items()}


def _early(root: Function, scopes: Scopes) -> dict[Expr, list[Expr]]:
    """Return the nodes to evaluate before a node's scopes are entered, in the order of their first uses."""
    if len(scopes.inner) < 2:  # the body of the function
        return {}
    shared = {node for node in _share(scopes) if type(node) not in LEAVES}
    purity = LocalPurity()
    shared = {node for node in shared if not purity.of(node)}
    early: dict[Expr, list[Expr]] = {}
    if not shared:
        return early
    order, users = _evaluation_order(root)
    for node in order:
        if node not in shared:
            continue
        user, part = users[node], node
        # Climb from the first use to the node in whose scope the shared node belongs.
        while scopes.of[user] is not scopes.of[node]:
            user, part = users[user], user
        if part in _entered_later(user):
            early.setdefault(user, []).append(node)
    return early


def _entered_later(node: Expr) -> tuple[Expr, ...]:
    """Return the parts of a node that have a scope of their own."""
    if isinstance(node, (Function, Let)):
        return (node.body,)
    if isinstance(node, If):
        return (node.true_branch, node.false_branch)
    return tuple(clause.rhs for clause in node.clauses) if isinstance(node, Match) else ()


def _share(scopes: Scopes) -> set[Expr]:
    """Return the nodes that are used in several scopes."""
    used: dict[Expr, Scope] = {}
    shared: set[Expr] = set()
    for node in scopes.order:
        for child, where in scoped_children(node, scopes.of[node], lambda owner, part: scopes.inner[(owner, part)]):
            if used.setdefault(child, where) is not where:
                shared.add(child)
    return shared


def _evaluation_order(root: Function) -> tuple[list[Expr], dict[Expr, Expr]]:
    """Return the nodes in the order of evaluation, if all were evaluated, and the first user of each."""
    order: list[Expr] = []
    users: dict[Expr, Expr] = {}
    stack: list[tuple[Expr, Expr | None]] = [(root, root)]  # a node and its user; None: its parts are done
    while stack:
        node, user = stack.pop()
        if user is None:
            order.append(node)
        elif node not in users:
            users[node] = user
            stack.append((node, None))
            # As the evaluator does: arguments before the callee.
            parts = (*node.args, node.op) if type(node) is Call else CHILDREN[type(node)](node)
            stack.extend((part, node) for part in parts[::-1])
    return order, users
