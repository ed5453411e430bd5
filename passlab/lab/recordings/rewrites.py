"""`rewrites_of`: the rewrites of a pass one by one; `why_not`: why no rule of a pass changed a node.

    for step in lab.rewrites_of(rec["SimplifyExpr"]):
        print(step.rule, step.before, step.after, step.why)

A step shows the matched part of the program and its replacement, as functions of the values that they share. Rewrites
that only rebuild a node whose children changed are left out. Everything is computed on demand, from the pairs that the
recorder noted: a pass that is not inspected costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from passlab.analysis.purity import LocalPurity
from passlab.arguments import checked
from passlab.diffing.diff import node_name
from passlab.errors import counted
from passlab.instrument.events import Event
from passlab.ir.expr import Call, Constant, Expr, Function, Let, Var
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, rebuild
from passlab.lab.recordings.provenance import same_but_children
from passlab.rewriting.node_types import NodeTypes
from passlab.rewriting.rules import NearMiss, Rule
from passlab.transform.numeric_contract import NumericContract

DEPTH = 12  # levels below its root up to which a matched part is shown
MOST = 60  # nodes of a matched part that are shown


@dataclass(frozen=True, eq=False)
class RewriteStep:
    """One rewrite of a pass. `removed` are the nodes that only the matched part has, `added` the nodes that only its
    replacement has.

    `before` and `after` are the two parts as functions of their inputs.
    """

    event: Event
    number: int
    rule: str
    old: Expr
    new: Expr
    removed: tuple[Expr, ...]
    added: tuple[Expr, ...]
    names: dict[Expr, Var]

    @cached_property
    def before(self) -> Function:
        """The matched part, as a function of `inputs`."""
        return Function(self.inputs, self._cut[0])

    @cached_property
    def after(self) -> Function:
        """The replacement, as a function of `inputs`."""
        return Function(self.inputs, self._cut[1])

    @cached_property
    def inputs(self) -> tuple[Var, ...]:
        """The values that the parts use."""
        return tuple(dict.fromkeys([*free_vars(self._cut[0]), *free_vars(self._cut[1])]))

    @cached_property
    def _cut(self) -> tuple[Expr, Expr]:
        return _cut_out(self.old, self.removed, self.names), _cut_out(self.new, self.added, self.names)

    @property
    def declared_rule(self) -> Rule | None:
        """The rule, where the pass declares its rules as data."""
        return next((rule for rule in rules_of(self.event) if rule.name == self.rule), None)

    @property
    def why(self) -> str:
        """The reason for the rewrite: the rule as declared, else its name, else the pass."""
        rule = self.declared_rule
        if rule is not None:
            result = f"`{rule.result}`" if isinstance(rule.result, str) else "what it computes"
            return f"the rule replaces `{rule.pattern}` by {result}; {_promise(rule.contract)} ({rule.contract})"
        if self.rule:
            return f"the rule `{self.rule}` of {self.event.name}"
        return f"{self.event.name} built it anew; the pass names no rule"

    def __repr__(self) -> str:
        rule = f" [{self.rule}]" if self.rule else ""
        return f"<rewrite {self.number}{rule}: {node_name(self.old)} -> {node_name(self.new)}>"


def _promise(contract: NumericContract) -> str:
    """A numeric contract in words."""
    if contract.exact:
        return "results keep every bit"
    within = (
        f"stay within {counted(round(contract.ulps), 'unit')} in the last place" if contract.ulps else "keep every bit"
    )
    return f"results {within}{' where all values are finite and none is -0' if contract.finite_only else ''}"


@checked
def rewrites_of(event: Event) -> list[RewriteStep]:
    """Return the rewrites of a pass and of the passes inside it, in order. Linear in their number.

    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x + 0f }"), "SimplifyExpr")
    >>> [rewrite.rule for rewrite in lab.rewrites_of(rec["SimplifyExpr"])]
    ['adding zero']
    """
    steps: list[RewriteStep] = []
    for inner in event.walk():
        successors: dict[Expr, Expr] = {}
        for old, new, rule in inner.rewrites.with_rules():
            successors[old] = new
            if is_rewrite(old, new, rule):
                removed, added, names = _changed_parts(old, new, successors)
                steps.append(RewriteStep(inner, len(steps) + 1, rule, old, new, removed, added, names))
    return steps


def count_rewrites(event: Event) -> int:
    """Return the length of `rewrites_of`, which costs less than the rewrites themselves."""
    inside = list(event.walk())
    noted = sum(len(inner.rewrites) for inner in inside)  # a pass that still runs notes more
    if event not in _COUNTED or _COUNTED[event][0] != noted:
        count = sum(is_rewrite(*pair) for inner in inside for pair in inner.rewrites.with_rules())
        _COUNTED[event] = (noted, count)
    return _COUNTED[event][1]


_COUNTED: WeakKeyDictionary[Event, tuple[int, int]] = WeakKeyDictionary()  # the pairs of an event, and its rewrites


def is_rewrite(old: Expr, new: Expr, rule: str) -> bool:
    """Whether a noted pair is more than a node that was rebuilt with other children.

    Functions and lets change with everything inside them, so they say nothing about the rule.
    """
    return old is not new and not isinstance(old, (Function, Let)) and (bool(rule) or not same_but_children(old, new))


@checked
def why_not(event: Event, node: Expr) -> list[NearMiss]:
    """Return why each rule of a pass did not match a call, the nearest miss first; empty for passes without rules.

    >>> event = passlab.record(passlab.parse("def @main(%x: float32) { %x + 2f }"), "SimplifyExpr")[1]
    >>> [miss.rule.name for miss in lab.why_not(event, event.before["main"].body)][:2]
    ['adding zero', 'one value throughout']
    """
    if not isinstance(node, Call):
        return []
    types, purity = NodeTypes(), LocalPurity()
    misses = [rule.miss(node, types, purity) for rule in rules_of(event)]
    return sorted((miss for miss in misses if miss is not None and miss.matched), key=lambda miss: -miss.share)


def rules_of(event: Event) -> Sequence[Rule]:
    """Return the rules that a pass declares as data; none for most."""
    return getattr(event.pass_, "rules", ())


def _changed_parts(
    old: Expr, new: Expr, successors: dict[Expr, Expr]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], dict[Expr, Var]]:
    """Return the removed nodes, the added nodes, and variables for the values that both sides use."""
    left, right = _nodes_to_depth(old), _nodes_to_depth(new)
    there = set(right)
    # A value that an earlier rewrite replaced is shared in its new form.
    shared = {node: successors.get(node, node) for node in left if node is not old}
    shared = {node: other for node, other in shared.items() if other in there and other is not new}
    names: dict[Expr, Var] = {}
    removed = _nodes_to_border(old, set(shared), names)
    added = _nodes_to_border(new, set(shared.values()), names)
    for node, other in shared.items():
        if node in names or other in names:
            name = names.get(node) or names[other]
            names[node] = names[other] = name
    return removed, added, names


def _nodes_to_depth(root: Expr) -> list[Expr]:
    """Return the nodes of an expression down to `DEPTH`, in breadth-first order."""
    parents, level = {root: None}, [root]
    for _ in range(DEPTH):
        level = [kid for node in level for kid in children(node) if not isinstance(node, Function)]
        level = [kid for kid in dict.fromkeys(level) if kid not in parents][:MOST]
        parents.update(dict.fromkeys(level))
    return list(parents)


def _nodes_to_border(root: Expr, border: set[Expr], names: dict[Expr, Var]) -> tuple[Expr, ...]:
    """Return the nodes from a root to a border; nodes of the border, or too deep, get variables in `names`."""
    inside, stack = {root: None}, [(root, 0)]
    while stack:
        node, depth = stack.pop()
        for kid in children(node):
            if kid in inside or _is_shown_whole(kid):
                continue
            if kid in border or depth >= DEPTH or len(inside) >= MOST:
                number = len(names)
                word = node_name(kid).rpartition(".")[2]
                names.setdefault(kid, Var(f"{word if word.isidentifier() else 'value'}_{number}", kid.checked_type_))
            else:
                inside[kid] = None
                stack.append((kid, depth + 1))
    return tuple(inside)


def _is_shown_whole(node: Expr) -> bool:
    """Whether a node is shown as it is: an operator, variable, constant or function."""
    return isinstance(node, (Var, Constant, Function)) or not children(node)


def _cut_out(root: Expr, inside: Sequence[Expr], names: dict[Expr, Var]) -> Expr:
    """Return an expression in which variables replace the nodes outside of a part."""
    final: dict[Expr, Expr] = {node: name for node, name in names.items() if node is not root}
    members = set(inside)
    stack = [(root, False)]
    while stack:
        # A node is met twice: its parts go on the stack at first, and it is rebuilt after them.
        node, ready = stack.pop()
        if node in final:
            continue
        kids = [kid for kid in children(node) if kid in members and kid not in final]
        if ready or not kids:
            final[node] = rebuild(node, lambda kid: final.get(kid, kid))
        else:
            stack += [(node, True), *((kid, False) for kid in kids)]
    return final[root]
