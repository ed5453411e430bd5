"""Does a program still compute what it did? The work behind `Validate` and `lab.validate`.

`examine` holds the two sides of a pass to its promise on the inputs of a `Trial`, says on what they were compared and
what was left out, and where the promise is broken leads to the first node whose value went wrong (`first_wrong`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

from passlab.errors import Diagnostic, PasslabError, PassTypeError, counted
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.values import Value
from passlab.instrument.draws import Draw
from passlab.instrument.events import Event
from passlab.instrument.first_wrong import WrongNode, first_wrong
from passlab.instrument.tolerance import FEW_RUNS, RUNS, STEPS, beyond, noise_of, special_disagreement
from passlab.instrument.trial import GIVEN, Run, Trial
from passlab.instrument.unpromised import (
    MILD,
    Purpose,
    called_plainly,
    derivative_disagreement,
    lengthen,
    other_call,
    purpose_of,
)
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import Promise, combine

Outcome = Literal["kept", "unchanged", "not promised", "not checked", "broken"]
UNDECLARED = Promise(4, finite_only=True)  # what a pass that declares no promise is held to


@dataclass(frozen=True)
class Check:
    """What became of the promise of one pass. `finding` is how results differ, `error` why it no longer runs.

    `compared` are the kinds of inputs that the two programs were compared on, `left_out` those that they were not,
    with the reason; `arguments` are the inputs on which they differ, of the kind `inputs`.
    """

    name: str
    promise: Promise | None
    outcome: Outcome
    finding: Disagreement | None = None
    node: WrongNode | None = None
    error: PasslabError | None = None
    compared: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    inputs: str = ""
    arguments: tuple[Any, ...] = field(default=(), repr=False)

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
        if self.outcome == "not checked":
            return "; ".join(self.left_out)
        if self.finding is None:
            return ""
        on = f" (on {self.inputs})" if self.inputs and self.inputs != GIVEN else ""
        return f"{self.node or self.finding}{on}"


def check_contract(undeclared: Any) -> None:
    """Raise `PassTypeError` for what is no numeric contract, and not None."""
    if undeclared is not None and not isinstance(undeclared, Promise):
        hint = "transform.EXACT, transform.Rounds(ulps) or None"
        raise PassTypeError(Diagnostic("`undeclared` is a numeric contract", found=repr(undeclared), hint=hint))


def promise_of(pass_: Pass | None, undeclared: Promise | None = UNDECLARED) -> Promise | None:
    """Return what a pass is held to: its promise; `undeclared` for a pass that is not a standard one and has none."""
    check_contract(undeclared)
    if pass_ is None:
        return undeclared
    return pass_.promise if pass_.promise is not None or pass_.trusted else undeclared


def contract_of(event: Event, undeclared: Promise | None = UNDECLARED) -> Promise | None:
    """Return what one run of a pass is held to: the contracts of the rules that it applied, where all are known."""
    promise = promise_of(event.pass_, undeclared)
    rules = event.rewrites.rules
    contracts = {rule.name: rule.promise for rule in getattr(event.pass_, "rules", ())}
    if promise is None or not rules or not all(rule in contracts for rule in rules):
        return promise
    return combine(contracts[rule] for rule in rules)


def examine(
    name: str,
    before: IRModule,
    after: IRModule,
    promise: Promise | None,
    trial: Trial,
    rewrites: Iterable[tuple[Expr, Expr, str]] = (),
    locate: bool = True,
) -> Check:
    """Hold the two sides of a pass to a promise. `rewrites` are (old, new, rule), as far as they are known.

    With `locate` the first wrong node is looked for. Raises `RunError` when the program does not even run before.
    """
    if before.same_contents(after):
        return Check(name, promise, "unchanged")
    if promise is None and not trial.unpromised:
        return Check(name, promise, "not promised", left_out=("the pass promises nothing about values",))
    before, after = called_plainly(before, trial.entry), called_plainly(after, trial.entry)
    if promise is None and other_call(before, after, trial.entry):
        why = f"the pass promises nothing about values, and @{trial.entry} takes other ones"
        return Check(name, promise, "not promised", left_out=(why,))
    comparison = _Comparison(name, before, after, promise, trial)
    check = comparison.check()
    if check.finding is None or not locate:
        return check
    held = promise or UNDECLARED
    purpose = purpose_of(before, after, trial.entry) if promise is None else Purpose()
    if purpose.derivative:
        return check
    noise = 0.0 if held.exact else max(noise_of(held), purpose.noise)
    node = first_wrong(before, after, held, trial.entry, check.arguments, list(rewrites), noise)
    return replace(check, node=node)


class _Comparison:
    """The comparison of two programs on the draws of a trial."""

    def __init__(self, name: str, before: IRModule, after: IRModule, promise: Promise | None, trial: Trial) -> None:
        self.name = name
        self.before = before
        self.after = after
        self.promise = promise
        self.held = promise if promise is not None else UNDECLARED
        self.trial = trial
        self.compared: list[str] = []
        self.left_out: list[str] = []
        self.purpose = purpose_of(before, after, trial.entry) if promise is None else Purpose()

    def check(self) -> Check:
        failure: PasslabError | None = None
        started = perf_counter()
        all_draws = self.trial.draws(self.before)
        for number, draw in enumerate(all_draws):
            if self.compared and perf_counter() - started > self.trial.seconds:
                self.left_out.append(
                    f"{counted(len(all_draws) - number, 'kind')} of inputs for which there was no time"
                )
                break
            run = self.trial.run(self.before, number)
            reason = self._reason(draw, run)
            if reason:
                failure = failure or run.error
                if run.endless and self.trial.limit is not None:
                    break
                self.left_out.append(f"{draw.kind}: {reason}")
                continue
            check = self._on(number, draw, run)
            if check is not None:
                return check
            self.compared.append(draw.kind)
        if not self.compared:
            if failure is not None:
                raise failure
            return self._check("not checked")
        return self._check("kept" if self.promise is not None else "not promised")

    def _check(self, outcome: Outcome, **fields: Any) -> Check:
        return Check(
            self.name, self.promise, outcome, compared=tuple(self.compared), left_out=tuple(self.left_out), **fields
        )

    def _reason(self, draw: Draw, run: Run) -> str:
        """Why the programs are not compared on a draw, "" where they are."""
        if run.error is not None:
            return f"the program does not run on them: {run.error.diagnostics[0].message}"
        if self.held.exact:
            return ""
        if self.purpose.noise and not draw.kind.startswith((*MILD, GIVEN)):
            return "shorter floats do not hold such numbers"
        if self.purpose.derivative and not (draw.typical or draw.kind == GIVEN):
            return "derivatives are compared on typical numbers"
        if draw.extreme:
            return "the contract allows rounding, which has no bound there"
        if draw.special:
            return "" if self.promise is UNDECLARED else "the contract says nothing of NaN and infinities"
        rounds_apart = self.held.finite_only or "magnitudes" in draw.kind  # where numbers overflow on the way
        if rounds_apart and not run.finite and not draw.typical and draw.kind != GIVEN:
            return "numbers on the way are not finite"
        return ""

    def _on(self, number: int, draw: Draw, run: Run) -> Check | None:
        """Compare on one draw; None where the programs agree."""
        where = {"inputs": draw.kind, "arguments": draw.arguments}
        later = self.trial.run(self.after, number)
        if later.error is not None:
            return self._check("broken", error=later.error, **where)
        value = later.value
        if self.purpose.derivative:
            return self._derivatives(number, draw, run.value, value)
        if self.purpose.noise:
            value = lengthen(value, run.value)
        if draw.special and not self.held.exact:
            difference = special_disagreement(run.value, value)
        else:
            difference = disagreement(run.value, value, self.held.ulps, self.held.finite_only)
        if difference is not None and not self.held.exact and not draw.special:
            difference = self._beyond_noise(number, difference, run.value, value)
        if difference is None:
            return None
        return self._check("broken" if self.promise is not None else "not promised", finding=difference, **where)

    def _derivatives(self, number: int, draw: Draw, before: Value, after: Value) -> Check | None:
        """Hold a program of (value, derivatives) to the value before, and to finite differences."""
        entry = self.trial.entry
        difference = disagreement(before, after[0], self.held.ulps, self.held.finite_only)
        if difference is not None:
            difference = self._beyond_noise(number, difference, before, after[0])
        if difference is None:
            try:
                difference = derivative_disagreement(
                    lambda arguments: Evaluator(self.before).run(entry, arguments), draw.arguments, after[1]
                )
            except PasslabError:
                return None
        if difference is None:
            return None
        return self._check("not promised", finding=difference, inputs=draw.kind, arguments=draw.arguments)

    def _beyond_noise(self, number: int, difference: Disagreement, before: Value, after: Value) -> Disagreement | None:
        """Return a difference that rounding does not explain; few noisy runs tell where it is far larger."""
        noise, steps = max(noise_of(self.held), self.purpose.noise), STEPS * (self.purpose.noise > 0)
        rest: Disagreement | None = difference
        for count in FEW_RUNS:
            try:
                noisy = self.trial.noisy(self.before, number, noise, count)
            except PasslabError:
                return None  # it fails when it rounds otherwise: nothing can be said
            if count < RUNS:
                far = beyond(difference, before, after, noisy, self.held, overall=True, steps=steps)
                if far is not None:
                    return far
            rest = beyond(difference, before, after, noisy, self.held, steps=steps)
            if rest is None:
                return None
        return rest
