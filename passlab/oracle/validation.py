"""Checks of contracts about values, for `Validate` and `lab.validate`.

`examine` compares the programs before and after a pass on the inputs of a `Trial`, within the contract of the pass. It
says which inputs were compared and which were left out; where the contract is broken, `first_wrong` finds the first
wrong node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from passlab.errors import Diagnostic, PasslabError, counted
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.values import Value
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.oracle.deadline import Stopwatch
from passlab.oracle.drawn_inputs import Draw
from passlab.oracle.first_wrong import WrongNode, first_wrong
from passlab.oracle.no_contract import (
    MILD,
    IntendedChange,
    derivative_disagreement,
    has_floats,
    intended_change,
    lengthen,
    takes_other_arguments,
    without_continuation,
)
from passlab.oracle.tolerance import (
    FEW_RUNS,
    RUNS,
    STEPS,
    all_finite,
    beyond,
    holds_specials,
    noise_of,
    special_disagreement,
)
from passlab.oracle.trial import GIVEN, Run, Trial
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract

Outcome = Literal["kept", "unchanged", "no contract", "not checked", "broken"]
NOT_FINITE = "numbers on the way are not finite"


@dataclass(frozen=True)
class Check:
    """The check of one pass: `finding` is how results differ, `error` why the program no longer runs.

    `compared` are the kinds of inputs on which the programs were compared, `left_out` the others with the reasons;
    `arguments` are the inputs on which they differ, of the kind `inputs`. `late` says that time ended it.
    """

    name: str
    contract: NumericContract | None
    outcome: Outcome
    finding: Disagreement | None = None
    node: WrongNode | None = None
    error: PasslabError | None = None
    compared: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    inputs: str = ""
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    late: bool = False

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the broken contract as diagnostics; none for a contract that was kept."""
        if self.outcome != "broken":
            return ()
        if self.error is not None:
            return Diagnostic(f"after the pass `{self.name}` the program no longer runs"), *self.error.diagnostics
        notes = () if self.node is None else ((str(self.node), self.node.old.span),)
        what = f"the pass `{self.name}` changed the result beyond its contract"
        return (Diagnostic(what, expected=str(self.contract), found=str(self.finding), notes=notes),)

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


def examine(
    name: str,
    before: IRModule,
    after: IRModule,
    contract: NumericContract | None,
    trial: Trial,
    rewrites: Iterable[tuple[Expr, Expr, str]] = (),
    locate: bool = True,
) -> Check:
    """Check the programs before and after a pass against a contract. `rewrites` are (old, new, rule), where known.

    With `locate` the first wrong node is searched for. Raises `RunError` when the program does not run before the pass.
    """
    if before.same_contents(after):
        return Check(name, contract, "unchanged")
    if contract is None and not trial.without_contract:
        return Check(name, contract, "no contract", left_out=("the pass has no contract for values",))
    before, after = without_continuation(before, trial.entry), without_continuation(after, trial.entry)
    if contract is None and takes_other_arguments(before, after, trial.entry):
        why = f"the pass has no contract for values, and @{trial.entry} takes other ones"
        return Check(name, contract, "no contract", left_out=(why,))
    comparison = _Comparison(name, before, after, contract, trial)
    check = comparison.check()
    if check.finding is None or not locate:
        return check
    if comparison.intended.derivative:
        return check
    noise = 0.0 if comparison.contract.exact else max(noise_of(comparison.contract), comparison.intended.noise)
    node = first_wrong(before, after, comparison.contract, trial.entry, check.arguments, list(rewrites), noise)
    return replace(check, node=node)


class _Comparison:
    """The comparison of two programs on the draws of a trial."""

    def __init__(
        self, name: str, before: IRModule, after: IRModule, declared: NumericContract | None, trial: Trial
    ) -> None:
        self.name = name
        self.before = before
        self.after = after
        self.declared = declared
        self.contract = DEFAULT_CONTRACT if declared is None else declared
        self.trial = trial
        self.compared: list[str] = []
        self.left_out: list[str] = []
        self.late = False
        self.intended = intended_change(before, after, trial.entry) if declared is None else IntendedChange()

    def check(self) -> Check:
        failure: PasslabError | None = None
        watch = Stopwatch()
        self.trial.meet(self.before, self.after)
        all_draws = self.trial.draws(self.before)
        for number, draw in enumerate(all_draws):
            if self.compared and watch.spent() > self.trial.seconds:  # the first draw always counts
                self.late = True
                self.left_out.append(
                    f"{counted(len(all_draws) - number, 'kind')} of inputs for which there was no time"
                )
                break
            run = self.trial.run(self.before, number)
            reason = self._reason_to_skip(draw, run)
            if reason:
                failure = failure or run.error
                if run.endless and self.trial.limit is not None:
                    break
                self.left_out.append(f"{draw.kind}: {reason}")
                if reason == NOT_FINITE and (check := self._check_guarded(number, draw, run)) is not None:
                    return check
                continue
            check = self._check_draw(number, draw, run)
            if check is not None:
                return check
            self.compared.append(draw.kind)
        if not self.compared:
            if failure is not None:
                raise failure
            return self._result("not checked")
        return self._result("kept" if self.declared is not None else "no contract")

    def _result(self, outcome: Outcome, **fields: Any) -> Check:
        fields |= {"compared": tuple(self.compared), "left_out": tuple(self.left_out), "late": self.late}
        return Check(self.name, self.declared, outcome, **fields)

    def _reason_to_skip(self, draw: Draw, run: Run) -> str:
        """Return why the programs are not compared on a draw, "" if they are."""
        if run.error is not None:
            return f"the program does not run on them: {run.error.diagnostics[0].message}"
        if self.contract.exact or ((draw.extreme or draw.special) and not has_floats(self.before, self.after)):
            return ""
        if self.intended.noise and not draw.kind.startswith((*MILD, GIVEN)):
            return "shorter floats do not hold such numbers"
        if self.intended.derivative and not (draw.typical or draw.kind == GIVEN):
            return "derivatives are compared on typical numbers"
        if draw.extreme:
            return "the contract allows rounding, which has no bound there"
        if draw.special:
            return "" if self.declared is DEFAULT_CONTRACT else "the contract says nothing of NaN and infinities"
        rounds_apart = self.contract.finite_only or "magnitudes" in draw.kind  # intermediate values may overflow
        if rounds_apart and not run.finite and not draw.typical and draw.kind != GIVEN:
            return NOT_FINITE
        return ""

    def _check_guarded(self, number: int, draw: Draw, run: Run) -> Check | None:
        """Return what is wrong where no NaN or infinity reaches the result, as behind `where(%x == 0, ...)`, until a
        pass of the user removes the guard.
        """
        later = self.trial.run(self.after, number)
        if self.declared is not DEFAULT_CONTRACT or "magnitudes" in draw.kind or later.error is not None:
            return None
        difference = special_disagreement(run.value, later.value) if all_finite(run.value) else None
        if difference is None or all_finite(later.value):
            return None
        return self._result("broken", finding=difference, inputs=draw.kind, arguments=draw.arguments)

    def _check_draw(self, number: int, draw: Draw, run: Run) -> Check | None:
        """Compare on one draw; None where the programs agree."""
        where = {"inputs": draw.kind, "arguments": draw.arguments}
        later = self.trial.run(self.after, number)
        if later.error is not None:
            return self._result("broken", error=later.error, **where)
        value = later.value
        if self.intended.derivative:
            return self._check_derivatives(number, draw, run.value, value)
        if self.intended.noise:
            value = lengthen(value, run.value)
        if draw.special and not self.contract.exact:
            difference = special_disagreement(run.value, value)
        else:
            difference = disagreement(run.value, value, self.contract.ulps, self.contract.finite_only)
        if difference is not None and not self.contract.exact and not draw.special:
            difference = self._beyond_noise(number, difference, run.value, value)
        if difference is None and self._given_specials(draw):
            difference = special_disagreement(run.value, value)
        if difference is None:
            return None
        return self._result("broken" if self.declared is not None else "no contract", finding=difference, **where)

    def _given_specials(self, draw: Draw) -> bool:
        """Whether the inputs given hold NaN or infinities, on which programs agree as on those that are drawn."""
        is_open = draw.kind == GIVEN and not self.contract.exact and self.declared is DEFAULT_CONTRACT
        return is_open and holds_specials(draw.arguments)

    def _check_derivatives(self, number: int, draw: Draw, before: Value, after: Value) -> Check | None:
        """Compare a program of (value, derivatives) with the value before the pass and with finite differences."""
        entry = self.trial.entry
        difference = disagreement(before, after[0], self.contract.ulps, self.contract.finite_only)
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
        return self._result("no contract", finding=difference, inputs=draw.kind, arguments=draw.arguments)

    def _beyond_noise(self, number: int, difference: Disagreement, before: Value, after: Value) -> Disagreement | None:
        """Return a difference that rounding does not explain; few noisy runs suffice for a large one."""
        noise, steps = max(noise_of(self.contract), self.intended.noise), STEPS * (self.intended.noise > 0)
        rest: Disagreement | None = difference
        for count in FEW_RUNS:
            try:
                noisy = self.trial.noisy(self.before, number, noise, count)
            except PasslabError:
                return None  # it fails under noise, so nothing is known about rounding
            # Few runs suffice to see that a difference is beyond even the largest spread of its tensor.
            if count < RUNS:
                far = beyond(difference, before, after, noisy, self.contract, overall=True, steps=steps)
                if far is not None:
                    return far
            rest = beyond(difference, before, after, noisy, self.contract, steps=steps)
            if rest is None:
                return None
        return rest
