"""Combining parallel branches: several calls of one operator on the same input become one call.

A branch is such a call and the chain of elementwise and broadcasting operators after it. A `Combiner` says how the
calls are combined; this module finds branches, checks that they are independent, and inserts the results. It does not
depend on passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.analysis.scopes import Scopes
from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function, Tuple
from passlab.ir.module import IRModule
from passlab.ir.op import OpCall, OpPattern, is_call_of, is_op_call
from passlab.ir.types import TensorType
from passlab.ir.walk import CHILDREN, may_rewrite, note_rewrite, post_order, rebuild, result_of
from passlab.op import layout_rules, make
from passlab.op.autodiff import shape_of

Branch = list[OpCall]


class Combiner:
    """Combines calls of `op_name` and the operators after them. All branches of a group have the same first input."""

    op_name = ""

    def supports(self, call: OpCall) -> bool:
        """Return whether a call can be combined at all."""
        raise NotImplementedError

    def compatible(self, a: OpCall, b: OpCall) -> bool:
        """Return whether two calls may be in one group."""
        raise NotImplementedError

    def combine(self, calls: Sequence[OpCall]) -> Expr:
        """Return the call that replaces all of `calls`."""
        raise NotImplementedError

    def fits(self, calls: Sequence[OpCall], parent: int, index: int) -> bool:
        """Return True if argument `index` of the following calls can be joined; argument `parent` is the branch."""
        raise NotImplementedError

    def join_argument(self, calls: Sequence[OpCall], parent: int, index: int) -> Expr:
        """Return argument `index` of the following calls, joined."""
        raise NotImplementedError

    def may_reshape(self, call: OpCall) -> bool:
        """Return whether a following operator of one operand that changes its shape can be combined."""
        return False

    def follow(self, call: OpCall, args: Sequence[Expr]) -> Expr:
        """Return a following operator applied to the joined operands."""
        return Call(call.op, args, call.attrs)

    def parts(self, whole: Expr, calls: Sequence[OpCall]) -> Iterable[Expr]:
        """Return the part of the combined result that belongs to each branch; `calls` are the last calls combined."""
        raise NotImplementedError


def is_static(expr: Expr) -> bool:
    """Return whether the type of an expression is a tensor of known shape."""
    ty = expr.checked_type_
    return type(ty) is TensorType and not ty.dynamic


def joined_along(values: Sequence[Expr], axis: int) -> Expr:
    """Return tensors joined along an axis."""
    return make("concatenate", Tuple(list(values)), axis=axis)


def slices(whole: Expr, rank: int, axis: int, sizes: Iterable[int]) -> list[Expr]:
    """Return consecutive slices of a tensor along `axis`; the slicing attributes list `rank` axes."""
    result: list[Expr] = []
    start = 0
    for size in sizes:
        begin, end = [0] * rank, [-1] * rank
        begin[axis], end[axis] = start, size
        result.append(make("strided_slice", whole, begin=begin, end=end, strides=[1] * rank, slice_mode="size"))
        start += size
    return result


def combine_parallel(func: Function, mod: IRModule, combiner: Combiner, min_branches: int) -> Function:
    """Return the function with groups of at least `min_branches` branches combined, or the same function.

    The inputs of all branches are then evaluated before the first branch, so they may neither read nor change state;
    `mod` decides the purity of calls.
    """
    order = post_order(func)
    is_movable = Movability(mod)
    candidates = [
        node
        for node in order
        if is_call_of(node, combiner.op_name) and combiner.supports(node) and all(map(is_movable, node.args[1:]))
    ]
    if len(candidates) < max(min_branches, 2):
        return func
    program = _UseIndex(func, order, is_movable)
    large = [g for g in program.groups(candidates, combiner) if len(g) >= max(min_branches, 2)]
    name = f"parallel {combiner.op_name}"
    steps = [_combine(g, combiner, program) for g in large if _independent(g, 1) and may_rewrite(name)]
    if not steps:
        return func
    everything: dict[Expr, Expr] = {}
    for step in steps:
        everything.update(step)
    result = _substitute_parts(func, everything, name)
    return result if result is not None else _one_by_one(func, steps, name)


class _UseIndex:
    """The users and the position of each node of a function."""

    def __init__(self, func: Function, order: list[Expr], is_movable: Movability) -> None:
        self.users: dict[Expr, list[Expr]] = {}
        for node in order:
            for kid in CHILDREN[type(node)](node):
                self.users.setdefault(kid, []).append(node)
        self.scopes = Scopes(func).of
        self.is_movable = is_movable

    def groups(self, candidates: list[OpCall], combiner: Combiner) -> list[list[Branch]]:
        """Return groups of branches, as their first calls. The branches of a group are in one scope."""
        by_input: dict[tuple[Expr, Any], list[list[Branch]]] = {}
        for call in candidates:
            groups = by_input.setdefault((call.args[0], self.scopes[call]), [])
            home = next((g for g in groups if combiner.compatible(call, g[0][0])), None)
            if home is None:
                groups.append([[call]])
            else:
                home.append([call])
        return [g for groups in by_input.values() for g in groups]

    def after(self, branch: Branch) -> Call | None:
        """Return the call that is the only user of a branch and that can also follow joined branches, or None.

        It is computed on demand, while all branches of a group continue alike: many branches may end in one long tail.
        """
        call = branch[-1]
        if len(self.users.get(call, ())) != 1:
            return None
        user = self.users[call][0]
        if not is_op_call(user) or not _may_follow(user):
            return None
        if not is_static(user) or self.scopes[user] is not self.scopes[branch[0]]:
            return None
        return user if all(arg is call or self.is_movable(arg) for arg in user.args) else None


_WITH_AXES = frozenset(("expand_dims", "nn.bias_add"))  # combiners know what becomes of their axes


def _may_follow(call: OpCall) -> bool:
    """Return whether a call on joined branches is its calls on each: all operands broadcast, no attribute has a shape.

    Others that are elementwise in the data, such as `nn.prelu`, also take a scalar or a vector along an axis.
    """
    spec = call.op.spec
    if spec.pattern > OpPattern.BROADCAST:
        return False
    rule = layout_rules.elementwise if len(call.args) == 1 else layout_rules.broadcast
    return spec.layout is rule or call.op.name in _WITH_AXES


def _independent(group: list[Branch], steps: int) -> bool:
    """Return whether no branch depends on the first call of another, except through its own chain."""
    group = [branch[:steps] for branch in group]
    members = {call for branch in group for call in branch}
    stack = [a for branch in group for i, c in enumerate(branch) for a in c.args if not i or a is not branch[i - 1]]
    if all(not CHILDREN[type(a)](a) or a is group[0][0].args[0] for a in stack):
        return True
    seen: set[Expr] = {group[0][0].args[0]}  # the shared input cannot depend on a branch
    while stack:
        node = stack.pop()
        if node in members:
            return False
        if node not in seen:
            seen.add(node)
            stack += CHILDREN[type(node)](node)
    return True


def _combine(group: list[Branch], combiner: Combiner, program: _UseIndex) -> dict[Expr, Expr]:
    """Return the replacement of the last combined call of each branch."""
    whole = combiner.combine([branch[0] for branch in group])
    last = 0
    while all(following := [program.after(branch) for branch in group]):
        level = last + 1
        for branch, call in zip(group, following, strict=True):
            branch.append(call)  # type: ignore[arg-type]
        calls = [branch[level] for branch in group]
        parent = calls[0].args.index(group[0][last])
        if not (_same_step(group, level, parent, combiner) and _independent(group, level + 1)):
            break
        args = [whole if i == parent else combiner.join_argument(calls, parent, i) for i in range(len(calls[0].args))]
        whole = combiner.follow(calls[0], args)
        last = level
    ends = [branch[last] for branch in group]
    return dict(zip(ends, combiner.parts(whole, ends), strict=True))


def _same_step(group: list[Branch], level: int, parent: int, combiner: Combiner) -> bool:
    calls = [branch[level] for branch in group]
    first = calls[0]
    for branch, call in zip(group, calls, strict=True):
        if call.op is not first.op or call.attrs != first.attrs or len(call.args) != len(first.args):
            return False
        if call.args[parent] is not branch[level - 1]:
            return False
    others = [i for i in range(len(first.args)) if i != parent]
    if not others and _reshapes(first) and not combiner.may_reshape(first):
        return False
    if others and any(_reshapes(call) for call in group[0][1:level]):
        return False  # the operands would no longer have the axes of the branch
    return all(is_static(c.args[i]) for c in calls for i in others) and all(
        combiner.fits(calls, parent, i) for i in others
    )


def _reshapes(call: OpCall) -> bool:
    return len(call.args) == 1 and shape_of(call) != shape_of(call.args[0])


def _substitute_parts(root: Function, mapping: dict[Expr, Expr], name: str) -> Function | None:
    """Return the program with nodes replaced, inside the replacements too; None if that would create a cycle."""
    result: dict[Expr, Expr] = {}
    begun: set[Expr] = set()

    def new(node: Expr) -> Expr:
        return result[mapping.get(node, node)]

    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            result[node] = rebuild(node, new)
            if result[node] is not node:
                note_rewrite(node, result[node])
            continue
        if node in result:
            continue
        if node in begun:
            return None
        begun.add(node)
        stack.append((node, True))
        kids = [mapping.get(k, k) for k in CHILDREN[type(node)](node)[::-1]]
        stack += [(k, False) for k in kids if k not in result]
    for old in mapping:
        if mapping[old] in result:
            note_rewrite(old, result[mapping[old]], name)
    return result_of(root, result)


def _one_by_one(root: Function, steps: list[dict[Expr, Expr]], name: str) -> Function:
    """Combine the groups one by one, skipping those that depend on each other's results."""
    taken: dict[Expr, Expr] = {}
    best = root
    for step in steps:
        result = _substitute_parts(root, {**taken, **step}, name)
        if result is not None:
            best = result
            taken.update(step)
    return best
