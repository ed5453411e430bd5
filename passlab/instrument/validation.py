"""Does a program still compute what it did? The work behind `Validate` and `lab.validate`.

A `Trial` runs programs on fixed inputs with the reference evaluator. `examine` holds the two sides of a pass to its
promise, and where it is broken leads to the first node whose value went wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from passlab.errors import Diagnostic, PasslabError, RunError, did_you_mean
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.samples import random_arguments
from passlab.ir.adt import Constructor
from passlab.ir.expr import Constant, Expr, Function, GlobalVar, Var
from passlab.ir.late import late
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import children, post_order
from passlab.transform.base import Pass
from passlab.transform.promise import Promise

Inputs = Sequence[Any] | Mapping[str, Any] | None
Outcome = Literal["kept", "unchanged", "not promised", "broken"]
UNDECLARED = Promise(4096, finite_only=True)  # what a pass that declares no promise is held to


@dataclass(frozen=True)
class WrongNode:
    """The first node whose value went wrong: it, the node it came from, by which rule, and how the values differ.

    `added` are operands that the pass put in and that have no older node to be compared with.
    """

    node: Expr
    old: Expr
    finding: Disagreement
    rule: str = ""
    added: tuple[Expr, ...] = ()

    def __str__(self) -> str:
        name = late("passlab.lab.diffing", "node_name")
        rule = f", by the rule `{self.rule}`" if self.rule else ""
        added = f"; it uses {', '.join(f'`{name(n)}`' for n in self.added)}, new here" if self.added else ""
        was = "" if name(self.old) == name(self.node) else f", which was `{name(self.old)}`"
        return f"the first node that went wrong is `{name(self.node)}`{was}{rule}{added}: {self.finding}"


@dataclass(frozen=True)
class Check:
    """What became of the promise of one pass. `finding` is how results differ, `error` why it no longer runs."""

    name: str
    promise: Promise | None
    outcome: Outcome
    finding: Disagreement | None = None
    node: WrongNode | None = None
    error: PasslabError | None = None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the broken promise as findings; none for a promise that was kept."""
        if self.outcome != "broken":
            return ()
        if self.error is not None:
            return Diagnostic(f"after the pass `{self.name}` the program no longer runs"), *self.error.diagnostics
        notes = () if self.node is None else ((str(self.node), self.node.old.span),)
        what = f"the pass `{self.name}` changed the result beyond its promise"
        return (Diagnostic(what, expected=str(self.promise), found=str(self.finding), notes=notes),)

    @property
    def why(self) -> str:
        """What is wrong, on one line; "" when nothing is."""
        if self.error is not None:
            return f"the program no longer runs: {self.error.diagnostics[0].message}"
        return "" if self.finding is None else str(self.node or self.finding)


class Trial:
    """Runs one function of programs on the same inputs. Inputs are a list, a table by parameter, or None: random ones.

    The results of the last two programs are remembered: what one pass leaves, the next one is given.
    """

    def __init__(self, inputs: Inputs = None, entry: str = "main", seed: int = 0) -> None:
        self.inputs = inputs
        self.entry = entry
        self.seed = seed
        self._arguments: list[Any] | None = None
        self._known: list[tuple[IRModule, Any]] = []

    def result(self, mod: IRModule) -> Any:
        """Return what the function gives. Raises `RunError` where inputs do not fit or the program fails."""
        for known, value in self._known:
            if known.same_contents(mod):
                return value
        value = Evaluator(mod).run(self.entry, self.arguments(mod))
        self._known = [*self._known[-1:], (mod, value)]
        return value

    def values(self, mod: IRModule) -> dict[Expr, Any]:
        """Return the values of the nodes of the function."""
        return Evaluator(mod).values(self.entry, self.arguments(mod))

    def arguments(self, mod: IRModule) -> list[Any]:
        """Return the arguments, which are those for the first program asked about."""
        if self._arguments is None:
            self._arguments = self._made(mod[self.entry])
        return self._arguments

    def _made(self, function: Function) -> list[Any]:
        if self.inputs is None:
            return random_arguments(function, self.seed, "give it: inputs=[...]")
        if not isinstance(self.inputs, Mapping):
            return list(self.inputs)
        names = [param.name_hint for param in function.params]
        for name in self.inputs:
            if name not in names:
                what = f"@{self.entry} has no parameter `{name}`"
                raise RunError(Diagnostic(what, hint=did_you_mean(name, names) or f"it has {', '.join(names)}"))
        missing = [name for name in names if name not in self.inputs]
        if missing:
            raise RunError(Diagnostic(f"there is no input for %{missing[0]} of @{self.entry}"))
        return [self.inputs[name] for name in names]


def promise_of(pass_: Pass | None, undeclared: Promise | None = UNDECLARED) -> Promise | None:
    """Return what a pass is held to: its promise; `undeclared` for a pass that is not a standard one and has none."""
    if pass_ is None:
        return undeclared
    return pass_.promise if pass_.promise is not None or pass_.trusted else undeclared


def examine(
    name: str, before: IRModule, after: IRModule, promise: Promise | None, trial: Trial,
    rewrites: Iterable[tuple[Expr, Expr, str]] = (),
) -> Check:  # fmt: skip
    """Hold the two sides of a pass to a promise. `rewrites` are (old, new, rule), as far as they are known.

    Raises `RunError` when the program does not even run before the pass.
    """
    if before.same_contents(after):
        return Check(name, promise, "unchanged")
    if promise is None:
        return Check(name, promise, "not promised")
    expected = trial.result(before)
    try:
        found = disagreement(expected, trial.result(after), promise.ulps, promise.finite_only)
    except PasslabError as error:
        return Check(name, promise, "broken", error=error)
    if found is None:
        return Check(name, promise, "kept")
    node = first_wrong(before, after, promise, trial, rewrites)
    return Check(name, promise, "broken", found, node)


def first_wrong(
    before: IRModule, after: IRModule, promise: Promise, trial: Trial, rewrites: Iterable[tuple[Expr, Expr, str]] = ()
) -> WrongNode | None:
    """Return the first node, operands first, whose value differs from that of the node it came from.

    None when the difference arises where no node can be led back to an older one of the same function.
    """
    old_values, new_values = trial.values(before), trial.values(after)
    source: dict[Expr, tuple[Expr, str]] = {}
    for change in late("passlab.lab.diffing", "diff")(before, after).nodes():
        if change.before is not None and change.after is not None:
            source[change.after] = (change.before, "")
    source.update((new, (old, rule)) for old, new, rule in rewrites if new is not old)
    for node in post_order(after[trial.entry]):
        if isinstance(node, Var) or node in old_values or node not in new_values:
            continue
        old, rule = _led_back(node, source, old_values)
        if old is None:
            continue
        found = disagreement(old_values[old], new_values[node], promise.ulps, promise.finite_only)
        if found is not None:
            added = tuple(n for n in _operands(node) if n not in source and n not in old_values)
            return WrongNode(node, old, found, rule, added)
    return None


def _operands(node: Expr) -> list[Expr]:
    return [child for child in children(node) if not isinstance(child, (Op, GlobalVar, Constructor, Var, Constant))]


def _led_back(
    node: Expr, source: dict[Expr, tuple[Expr, str]], known: dict[Expr, Any]
) -> tuple[Expr | None, str]:  # fmt: skip
    """Follow rewrites from a node to one of the old program; the rule is that of the last one."""
    rule = source[node][1] if node in source else ""
    seen: set[Expr] = set()
    while node in source and node not in seen:
        seen.add(node)
        node = source[node][0]
        if node in known:
            return node, rule
    return None, rule
