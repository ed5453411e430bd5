"""Moving each match of a pattern into a function, and calling the function instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from passlab.arguments import checked
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.walk import rewrite, substitute
from passlab.pattern.groups import Group, find_groups
from passlab.pattern.language import DFPattern, FunctionPattern, check_pattern
from passlab.pattern.program import PARTITIONED, Program


@checked
def partition(
    pattern: DFPattern,
    expr: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Expr], bool] = lambda expr: True,
) -> Expr:
    """Return `expr` with each match that `check` accepts replaced by a call of a new function.

    The function has the match's inputs as parameters, named `FunctionVar_<match>_<input>`, the attribute
    `PartitionedFromPattern` that lists the names of its operators, and `attrs`. Returns the same object if nothing
    matched.
    """
    if isinstance(check_pattern(pattern), FunctionPattern):
        warnings.warn("a function that is not called is not partitioned: match its call", stacklevel=2)
        return expr
    groups = {group.root: group for group in find_groups(pattern, Program(expr))}
    if not groups:
        return expr
    changed: dict[Expr, Expr] = {}

    def rule(pre: Expr, post: Expr) -> Expr:
        group = groups.get(pre)
        if group is None or not check(pre):
            return post
        return Call(_partition_function(group, attrs or {}), [changed.get(e, e) for e in group.inputs], span=pre.span)

    return rewrite(expr, rule, replace=changed, only=tuple({type(root) for root in groups}))


def _partition_function(group: Group, attrs: Mapping[str, Any]) -> Function:
    params = [Var(f"FunctionVar_{group.number}_{i}") for i in range(len(group.inputs))]
    body = substitute(group.root, dict(zip(group.inputs, params, strict=True)))
    return Function(params, body, attrs={PARTITIONED: partition_name(group), **attrs}, span=group.root.span)


def partition_name(group: Group) -> str:
    """Return the names of the operators and other nodes in a group, inputs first, each followed by `_`."""
    return "".join(filter(None, map(_node_name, group.inside)))


def _node_name(node: Expr) -> str:
    if isinstance(node, Call):
        return f"{node.op.name}_" if isinstance(node.op, Op) else "Call_"
    if isinstance(node, TupleGetItem):
        return f"TupleGetItem{node.index}_"
    if isinstance(node, Function):
        return "Function"
    return {Tuple: "Tuple_", Let: "Let_", If: "If_", Match: "Match_"}.get(type(node), "")
