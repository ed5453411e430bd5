"""All matches of a pattern in a program, as groups of nodes that do not overlap.

Roots are tried from the result of the program inwards, so the outermost match wins. A group is rejected if an inner
node belongs to another group, or has a user outside the group that does not flow into the group's root: the node would
have to be evaluated twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from passlab.arguments import checked
from passlab.ir.expr import Call, Constant, Expr, Function, Let, Tuple
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.pattern.language import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    LetPattern,
    TuplePattern,
)
from passlab.pattern.matcher import Matcher, Matches
from passlab.pattern.program import Program, root_keys


@dataclass(frozen=True)
class Group:
    """One match: its `root`, the expressions of each pattern object, its `inputs` in order, and the nodes `inside`.

    `number` is the number of matches before it, rejected ones included.
    """

    root: Expr
    matches: Matches
    inputs: tuple[Expr, ...]
    inside: tuple[Expr, ...]
    number: int


@checked
def find_groups(pattern: DFPattern, program: Program, mod: IRModule | None = None) -> list[Group]:
    """Return the groups of a pattern, outermost first."""
    candidates = program.candidates(root_keys(pattern))
    if not candidates:
        return []
    matcher = Matcher(program, mod)
    parts = pattern_parts(pattern)
    groups: list[Group] = []
    grouped: set[Expr] = set()
    number = 0
    for root in candidates:
        if root in grouped or not matcher.match(pattern, root) or root in program.partitioned_nodes:
            continue
        inputs = _inputs(parts, matcher.matches)
        reached = post_order(root, enter=lambda node, cut=inputs: node not in cut)  # type: ignore[misc]
        inside = tuple(node for node in reached if node not in inputs)
        if _is_isolated(root, inside, grouped, program):
            groups.append(Group(root, matcher.matches, tuple(inputs), inside, number))
            grouped.update(inside)
        number += 1
    return groups


def pattern_parts(root: DFPattern) -> list[DFPattern]:
    """Return every pattern object inside `root` once, sub-patterns first."""
    order: list[DFPattern] = []
    seen: set[DFPattern] = set()
    stack: list[tuple[DFPattern, bool]] = [(root, False)]
    while stack:
        pattern, done = stack.pop()
        if done:
            order.append(pattern)
        elif pattern not in seen:
            seen.add(pattern)
            stack.append((pattern, True))
            stack.extend((part, False) for part in reversed(pattern.parts()))
    return order


def _inputs(parts: list[DFPattern], matches: Matches) -> dict[Expr, None]:
    """Return the inputs of a match: the expressions matched by the leaves of the pattern, in order.

    Operators, functions, constants that the pattern requires, and binders stay inside; so do the nodes between the ends
    of a dominator pattern and the body of a function pattern.
    """
    inner = _inner_nodes(parts, matches)
    inputs: dict[Expr, None] = {}
    for part in parts:
        if part not in matches:
            continue
        if isinstance(part, TuplePattern) and part.fields is None:
            leaves = [field for e in matches[part] if isinstance(e, Tuple) for field in e.fields]
        elif isinstance(part, CallPattern) and part.args is None:
            leaves = [arg for e in matches[part] if isinstance(e, Call) for arg in e.args]
        elif not part.parts():
            leaves = matches[part]
        else:
            continue
        for leaf in leaves:
            if leaf not in inner and not isinstance(leaf, (Op, Function)) and not _is_embedded_constant(leaf, part):
                inputs[leaf] = None
    return inputs


def _inner_nodes(parts: list[DFPattern], matches: Matches) -> set[Expr]:
    inner: set[Expr] = set()
    for part in parts:
        if isinstance(part, DominatorPattern):
            inner.update(matches.get(part.parent, ()), matches.get(part.path, ()))
        elif isinstance(part, FunctionPattern):
            inner.update(*(post_order(e) for e in matches.get(part, ())))
        elif isinstance(part, LetPattern):
            inner.update(e.var for e in matches.get(part, ()) if isinstance(e, Let))
    return inner


def _is_embedded_constant(leaf: Expr, pattern: DFPattern) -> bool:
    """Whether a leaf is a constant that the pattern requires, not one that any pattern would match."""
    if not isinstance(leaf, Constant):
        return False
    stack = [pattern]
    while stack:
        p = stack.pop()
        if isinstance(p, ConstantPattern) or (isinstance(p, ExprPattern) and isinstance(p.expr, Constant)):
            return True
        if isinstance(p, AltPattern):
            stack += p.parts()
    return False


def _is_isolated(root: Expr, inside: tuple[Expr, ...], grouped: set[Expr], program: Program) -> bool:
    """Whether no inner node belongs to another group or has a user that does not flow into the root."""
    members = set(inside)
    for node in inside:
        if isinstance(node, (Op, Function, Constant)):
            continue
        if node in grouped:
            return False
        if node is root:
            continue
        for user in program.users[node]:
            if user not in members and not program.is_dominated(user, root):
                return False
    return True
