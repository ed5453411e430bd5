"""`first_wrong`: the first operator, operands first, whose value differs between two programs.

Both programs run on the same arguments, and each new node is compared with the node it came from: by the noted
rewrites, else by a diff. A `let`, a tuple or a branch only passes a value on, so the answer is an operator; where an
operator that was removed explains the wrong value, it is that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.diffing.diff import Change, Diff, diff, node_name
from passlab.errors import PasslabError
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.values import Closure
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Match, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import children, post_order
from passlab.oracle.coverage_evaluator import SHORTENING, CoverageEvaluator, noisy_values
from passlab.oracle.no_contract import lengthen
from passlab.oracle.tolerance import FEW_RUNS, RUNS, STEPS, beyond
from passlab.transform.numeric_contract import NumericContract

GROSS = 0.01  # of the largest element: no rounding explains such an error
Values = dict[Expr, Any]
Sources = dict[Expr, tuple[Expr, str]]
_CARRIERS = (Var, Let, Tuple, TupleGetItem, If, Match, Function, Op, GlobalVar, Constructor)


@dataclass(frozen=True)
class WrongNode:
    """The first node with a wrong value, the node `old` it came from, by which rule, and how the values differ.

    `added` are operands that the pass added, so that no older node corresponds to them; `removed` says that the pass
    removed `old`.
    """

    node: Expr
    old: Expr
    finding: Disagreement
    rule: str = ""
    added: tuple[Expr, ...] = ()
    removed: bool = False

    @property
    def changed(self) -> bool:
        """Whether the pass made or removed the node; if not, the node only uses a wrong value."""
        old, new = ((node_name(node), getattr(node, "attrs", None)) for node in (self.old, self.node))
        return self.removed or bool(self.rule) or bool(self.added) or old != new

    def __str__(self) -> str:
        rule = f", by the rule `{self.rule}`" if self.rule else ""
        if self.removed:
            return f"`{node_name(self.old)}` is gone{rule}: {self.finding}"
        added = f"; it uses {', '.join(f'`{node_name(n)}`' for n in self.added)}, new here" if self.added else ""
        was = "" if node_name(self.old) == node_name(self.node) else f", which was `{node_name(self.old)}`"
        return f"the first node that went wrong is `{node_name(self.node)}`{was}{rule}{added}: {self.finding}"


def first_wrong(
    before: IRModule,
    after: IRModule,
    contract: NumericContract,
    entry: str,
    arguments: Sequence[Any],
    rewrites: Iterable[tuple[Expr, Expr, str]] = (),
    noise: float = 0.0,
) -> WrongNode | None:
    """Return the first operator, operands first, whose value differs from the value of the node it came from.

    None when the difference arises in nodes that correspond to no older node of the same function.
    """
    try:
        old_values = CoverageEvaluator(before).values(entry, arguments)
        new_values = CoverageEvaluator(after).values(entry, arguments)
    except PasslabError:
        return None
    changes = diff(before, after)
    sources = _sources(changes, rewrites)
    comparison = _NodeComparison(before, entry, arguments, contract, noise, old_values, new_values, sources)
    order = post_order(after[entry])
    for carriers in (False, True):  # nodes that only pass a value on count where no operator is wrong
        for node in order:
            # Operators first: where one is wrong, the nodes that pass its value on are wrong as well.
            if isinstance(node, _CARRIERS) is carriers and (wrong := comparison.wrong(node)) is not None:
                return comparison.removed_operator(changes, wrong) if carriers or wrong.node is wrong.old else wrong
    return None


class _NodeComparison:
    """Compares the nodes of two programs by their values."""

    def __init__(
        self,
        before: IRModule,
        entry: str,
        arguments: Sequence[Any],
        contract: NumericContract,
        noise: float,
        old_values: Values,
        new_values: Values,
        sources: Sources,
    ) -> None:
        self.contract = contract
        self.old, self.new, self.sources = old_values, new_values, sources
        self._noise = (before, entry, arguments, noise)
        self._noisy: list[Values] = []

    def wrong(self, node: Expr) -> WrongNode | None:
        """Return how a new node is wrong; None if it is right or corresponds to no older node with a value."""
        if isinstance(node, (Var, Op, GlobalVar, Constructor, Function)) or node not in self.new:
            return None
        old, rule = (node, "") if node in self.old else _trace_back(node, self.sources, self.old)
        if old is None or isinstance(self.old[old], Closure):  # closures are compared by the results of their calls
            return None
        difference = self._disagreement(old, node)
        if difference is None:
            return None
        added = tuple(n for n in _computed_operands(node) if n not in self.sources and n not in self.old)
        return WrongNode(node, old, difference, rule, added)

    def _disagreement(self, old: Expr, node: Expr) -> Disagreement | None:
        before, after = self.old[old], self.new[node]
        if self._noise[3] > SHORTENING:
            after = lengthen(after, before)
        difference = disagreement(before, after, self.contract.ulps, self.contract.finite_only)
        if difference is None or not self._noise[3]:
            return difference
        if self._is_gross(old, node, before, after):
            return difference
        rest: Disagreement | None = difference
        steps = STEPS * (self._noise[3] > SHORTENING)
        for count in FEW_RUNS:
            noisy = [values[old] for values in self._noisy_values(count) if old in values]
            far = beyond(difference, before, after, noisy, self.contract, overall=count < RUNS, steps=steps)
            if far is not None:
                return far
            rest = beyond(difference, before, after, noisy, self.contract, steps=steps)
            if rest is None:
                return None
        return rest

    def _is_gross(self, old: Expr, node: Expr, before: Any, after: Any) -> bool:
        """Whether an operator is far off on the operands of the old one: no rounding explains that."""
        if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray) or before.shape != after.shape:
            return False
        new_operands, old_operands = _operand_values(node, self.new), _operand_values(old, self.old)
        # Other operands may explain it.
        if len(new_operands) != len(old_operands) or not all(map(_is_identical, new_operands, old_operands)):
            return False
        with np.errstate(all="ignore"):
            a, b = before.astype(np.float64), after.astype(np.float64)
            size = float(np.max(np.abs(a), initial=0.0))
            return bool(np.isfinite(size)) and bool(np.max(np.abs(a - b), initial=0.0) > GROSS * size)

    def _noisy_values(self, count: int) -> list[Values]:
        if len(self._noisy) < count:
            mod, entry, arguments, noise = self._noise
            self._noisy += noisy_values(mod, entry, arguments, noise, count, len(self._noisy))
        return self._noisy[:count]

    def removed_operator(self, changes: Diff, wrong: WrongNode) -> WrongNode:
        """Return the removed operator whose value the old node had or used, or `wrong` itself."""
        removed = [c.before for c in changes.nodes(Change.REMOVED) if isinstance(c.before, Call)]
        inputs = [self.old[child] for child in children(wrong.old) if child in self.old]
        parts = _parts_of_value((self.old[wrong.old], *inputs))
        for node in removed:
            if node in self.old and any(part is self.old[node] for part in parts):
                return WrongNode(wrong.node, node, wrong.finding, wrong.rule, removed=True)
        return wrong


def _parts_of_value(value: Any) -> list[Any]:
    """Return a value and the fields of tuples in it: the same objects as the values of nodes."""
    parts, stack = [], [value]
    while stack:
        part = stack.pop()
        parts.append(part)
        if isinstance(part, tuple):
            stack.extend(part)
    return parts


def _sources(changes: Diff, rewrites: Iterable[tuple[Expr, Expr, str]]) -> Sources:
    """Return for each new node the node it came from, and the rule."""
    # A recorded rewrite is surer than a match of the diff, so it is added last and wins.
    rewritten = {new: (old, rule) for old, new, rule in rewrites if new is not old}
    replaced = {old for old, _ in rewritten.values()}
    sources: Sources = {}
    for change in changes.nodes():
        if change.before is not None and change.after is not None and change.before not in replaced:
            sources[change.after] = (change.before, "")
    sources.update(rewritten)
    return sources


def _operand_values(node: Expr, values: Values) -> list[Any]:
    return [values[child] for child in children(node) if child in values and not isinstance(child, Op)]


def _is_identical(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b, equal_nan=True))


def _computed_operands(node: Expr) -> list[Expr]:
    return [child for child in children(node) if not isinstance(child, (Op, GlobalVar, Constructor, Var, Constant))]


def _trace_back(node: Expr, sources: Sources, values: Values) -> tuple[Expr | None, str]:
    """Follow rewrites back from a node to one of the old program; return it with the rule of the latest rewrite."""
    rule = sources[node][1] if node in sources else ""
    seen: set[Expr] = set()  # a pass may put an old node back: a cycle
    while node in sources and node not in seen:
        seen.add(node)
        node = sources[node][0]
        if node in values:
            return node, rule
    return None, rule
