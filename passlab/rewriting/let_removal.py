"""Removing lets: dropping the binding, or replacing the variable by the value.

All uses share the value as one node, so nothing is evaluated twice.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from passlab.ir.expr import Expr, ExprT, Let, Var
from passlab.ir.walk import CHILDREN, SpanTransfer, may_rewrite, note_rewrite, post_order, rebuild, result_of


class LetAction(Enum):
    """The action for a let: keep it, drop it with its value, or replace its variable by the value."""

    KEEP = "keep"
    DROP = "drop"
    INLINE = "inline"


def remove_lets(
    root: ExprT,
    choose: Callable[[Let, Expr], LetAction],
    rule: Callable[[Expr, Expr], Expr] | None = None,
    enter: Callable[[Expr], bool] | None = None,
    name: str = "",
    order: list[Expr] | None = None,
    let_name: Callable[[Let], str] | None = None,
) -> ExprT:
    """Return `root` with lets removed as `choose(let, new value)` decides; the same object if nothing changes.

    `choose` is called after the value has been rewritten and before the uses are. `rule(pre, post)` may replace any
    other node, under `name`, as in `walk.rewrite`. A value that uses its own variable, as a recursive function does, is
    replaced by `let f = value; f`. Values of dropped lets are rewritten as well. `let_name(let)` is the name under
    which the removal of a let is recorded. `order` is the post-order of `root` under `enter`, if the caller has it
    already.
    """
    changed: dict[Expr, Expr] = {}
    order = post_order(root, enter=enter) if order is None else order
    lets: dict[Expr, list[Let]] = {}
    for node in order:
        if type(node) is Let:  # the variable precedes the body in the order, a value that is a variable need not
            lets.setdefault(node.var if type(node.value) is Var else node.value, []).append(node)
    pending = {let.var for group in lets.values() for let in group}
    removed: dict[Let, LetAction] = {}
    recursive: set[Expr] = set()
    get, replaced, spans = changed.get, changed.keys(), SpanTransfer(order)

    def new(node: Expr) -> Expr:
        return get(node, node)

    for pre in order:
        kind = type(pre)
        post = pre
        by = ""
        kids: Any = CHILDREN[kind](pre)
        if type(pre) is Let:
            kids = kids[1:]
        if type(pre) is not Var and kids and (enter is None or enter(pre)):
            if pending and not pending.isdisjoint(kids):
                recursive.update(kid for kid in kids if kid in pending)
            if type(pre) is Let and pre in removed:
                post = new(pre.body)
                by = "" if let_name is None else let_name(pre)
            elif not replaced.isdisjoint(kids):
                if type(pre) is Let:  # its variable stays
                    post = pre.with_fields(value=new(pre.value), body=new(pre.body))
                else:
                    post = rebuild(pre, new)
        if rule is not None and type(pre) is not Let:
            result = rule(pre, post)
            if result is not post and (not name or may_rewrite(name)):
                post, by = result, name
        if post is not pre:
            spans.give(post, pre.span)
            changed[pre] = post
            note_rewrite(pre, post, by)
        for let in lets.get(pre, ()):
            pending.discard(let.var)
            value = new(let.value)
            action = choose(let, value)
            # Inlining `let f = recursive; f` would give the same let again, and `let x: Tensor[(?)] = value; x` forgets
            # sizes on purpose: the branches of an `if` have one type.
            forgets = (
                let.var.type_annotation not in (None, let.value.checked_type_) and let.value.checked_type_ is not None
            )
            keeps = action is LetAction.INLINE and let.body is let.var and (let.var in recursive or forgets)
            if action is LetAction.KEEP or keeps:
                continue
            removed[let] = action
            if action is LetAction.INLINE:
                changed[let.var] = Let(let.var, value, let.var, let.span) if let.var in recursive else value
    return result_of(root, changed)
