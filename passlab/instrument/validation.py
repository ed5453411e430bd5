"""Does a program still compute what it did? The work behind `Validate` and `lab.validate`.

A `Trial` runs programs with the reference evaluator on the inputs given, or on draws of many kinds. `examine` holds the
two sides of a pass to its promise, says on what they were compared and what was left out, and where the promise is
broken leads to the first node whose value went wrong (`first_wrong`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal, TypeVar

from passlab.errors import Diagnostic, PasslabError, PassTypeError, RunError, counted, did_you_mean
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.values import Value
from passlab.instrument.deadline import run_within
from passlab.instrument.draws import Draw, draws
from passlab.instrument.events import Event
from passlab.instrument.first_wrong import WrongNode, first_wrong
from passlab.instrument.known_results import MOST_BYTES, KnownResults
from passlab.instrument.tolerance import FEW_RUNS, RUNS, STEPS, beyond, noise_of, special_disagreement
from passlab.instrument.unpromised import (
    MILD,
    Purpose,
    called_plainly,
    derivative_disagreement,
    lengthen,
    other_call,
    purpose_of,
)
from passlab.instrument.watched import Branch, Watched, branches_of, noisy_runs
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import Promise, combine

T = TypeVar("T")
Inputs = Sequence[Any] | Mapping[str, Any] | None
Outcome = Literal["kept", "unchanged", "not promised", "not checked", "broken"]
UNDECLARED = Promise(4, finite_only=True)  # what a pass that declares no promise is held to
GIVEN = "the inputs given"
DRAW_SECONDS = 0.5  # that a program may take at least on unusual inputs, before any pass
EXPLORE_SECONDS = 0.3  # for which draws are looked for that reach more branches
TURNS = 40  # of all kinds of draws
MOST_DRAWS = 28
SECONDS = 1.0  # for which one program is run on draws, the first in any case


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


@dataclass(frozen=True)
class Run:
    """One run of a program: its value, or its error; whether all floats were finite; which branches were taken."""

    value: Value = None
    error: PasslabError | None = None
    finite: bool = True
    branches: frozenset[Branch] = frozenset()
    endless: bool = False


def attempt(work: Callable[[], T]) -> tuple[T | None, PasslabError | None]:
    """Return what some work gives, or what it raised: of the code of an operator or executor that is anything."""
    try:
        return work(), None
    except PasslabError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - a fault of user code must not end the search
        return None, RunError(f"{type(error).__name__}: {error}")


def _check_options(inputs: Any, seed: Any) -> None:
    """Raise `PassTypeError` for inputs and seeds that are none."""
    if isinstance(inputs, (str, bytes)) or not (inputs is None or isinstance(inputs, (Mapping, Sequence))):
        message = "inputs are a list, or a table by name of the parameter"
        raise PassTypeError(Diagnostic(message, found=type(inputs).__name__))
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise PassTypeError(Diagnostic("a seed is a whole number from 0 on", found=repr(seed)))


class Trial:
    """Runs one function of programs on the same inputs: a list, a table by parameter, or None for draws of all kinds.

    The runs of the last two programs are remembered: what one pass leaves, the next one is given. `seconds` is how long
    one program is run on draws; the first one is run in any case. With `unpromised` passes that promise nothing are
    compared, too. With `patience` a program that takes so many seconds, and twenty times as long as any before, counts
    as one that does not end.
    """

    def __init__(
        self,
        inputs: Inputs = None,
        entry: str = "main",
        seed: int = 0,
        seconds: float = SECONDS,
        unpromised: bool = False,
        patience: float | None = None,
        kinds: Sequence[str] = (),
        first: str = "",
        limit: float | None = None,
    ) -> None:
        _check_options(inputs, seed)
        self.inputs = inputs
        self.entry = entry
        self.seed = seed
        self.seconds = seconds
        self.unpromised = unpromised
        self.patience = patience
        self.kinds = tuple(kinds)  # of draws; all without any
        self.first = first
        self.limit = limit
        self._endless: dict[int, Run] = {}  # draws on which the first program does not end: later ones are not run
        self._slowest = 0.0
        self._usual = 0.0  # seconds on typical inputs
        self.taken: set[Branch] = set()  # of the branches of the first program
        self._first: IRModule | None = None
        self._draws: tuple[Draw, ...] | None = None
        self._known: list[tuple[IRModule, dict[int, Run]]] = []
        self._results: dict[int, KnownResults] = {}  # of operators on each of the draws
        self._noisy: list[tuple[IRModule, dict[tuple[int, float, int], list[Value]]]] = []

    def draws(self, mod: IRModule) -> tuple[Draw, ...]:
        """Return the arguments, which are those for the first program asked about. Raises `RunError`."""
        if self._draws is None:
            if self.entry not in mod:
                names = [name for name, _ in mod.items()]
                hint = did_you_mean(self.entry, names) or f"it has {', '.join(f'@{name}' for name in names)}"
                raise RunError(Diagnostic(f"the program has no function @{self.entry}", hint=hint))
            if self.inputs is None:
                all_draws = draws(mod, self.entry, self.seed)
                chosen = [draw for draw in all_draws if not self.kinds or draw.kind in self.kinds]
                self._draws = tuple(sorted(chosen, key=lambda draw: draw.kind != self.first))
            else:
                self._draws = (Draw(GIVEN, tuple(self._given(mod[self.entry]))),)
            self._first = mod
        return self._draws

    def run(self, mod: IRModule, number: int) -> Run:
        """Run a program on one of the draws."""
        runs: dict[int, Run] = next((stored for program, stored in self._known if program.same_contents(mod)), {})
        others = [pair for pair in self._known if pair[1] is not runs]
        self._known = [*(pair for pair in others[:-1] if self._is_first(pair[0])), *others[-1:], (mod, runs)]
        if number in self._endless:
            return self._endless[number]
        if number not in runs:
            runs[number] = self._run(mod, self.draws(mod)[number], self._results_of(number))
            if self._first is not None and mod.same_contents(self._first):
                self.taken |= runs[number].branches
                if runs[number].endless:
                    self._endless[number] = runs[number]
        return runs[number]

    def noisy(self, mod: IRModule, number: int, noise: float, count: int) -> list[Value]:
        """Return results of a program on one of the draws under noise. Raises `PasslabError` where it fails then."""
        key = (number, noise, count)
        results = next((noise for program, noise in self._noisy if program.same_contents(mod)), {})
        others = [pair for pair in self._noisy if pair[1] is not results]
        self._noisy = [*(pair for pair in others if self._is_first(pair[0])), (mod, results)]
        if key not in results:
            fewer = max((c for n, x, c in results if (n, x) == (number, noise) and c < count), default=0)
            earlier = results.get((number, noise, fewer), [])
            arguments = self.draws(mod)[number].arguments
            results[key] = [*earlier, *noisy_runs(mod, self.entry, arguments, noise, count, fewer)]
        return results[key]

    def _is_first(self, mod: IRModule) -> bool:
        """Whether a program is the first one asked about: its runs are cached, since it may be compared again."""
        return self._first is not None and mod.same_contents(self._first)

    def about(self, kind: str, mod: IRModule) -> Trial | None:
        """Return a trial on one kind of draws with what is known of a program; None where that is nothing."""
        if self._draws is None or not any(program.same_contents(mod) for program, _ in self._known):
            return None
        number = next((n for n, draw in enumerate(self._draws) if draw.kind == kind), None)
        if number is None:
            return None
        trial = Trial(self.inputs, self.entry, self.seed, self.seconds, self.unpromised, self.patience, (kind,))
        trial._draws, trial._first, trial._slowest = (self._draws[number],), mod, self._slowest
        trial._known = [(p, {0: runs[number]}) for p, runs in self._known if number in runs and p.same_contents(mod)]
        trial._noisy = [
            (p, {(0, noise, count): values for (n, noise, count), values in names.items() if n == number})
            for p, names in self._noisy
        ]
        return trial

    def _results_of(self, number: int) -> KnownResults:
        """Return the results that the program before gave on one of the draws."""
        results = self._results.setdefault(number, KnownResults(MOST_BYTES // (1 + number)))
        results.begin_run()
        return results

    def release(self) -> None:
        """Give back the memory of results that a next run would find again."""
        self._results.clear()

    def _run(self, mod: IRModule, draw: Draw, results: KnownResults | None = None) -> Run:
        evaluator = Watched(mod, results=results)
        started = perf_counter()
        first = self._first is None or mod.same_contents(self._first)
        seconds = None if self.patience is None else max(self.patience, 20 * self._slowest)
        if first:  # a loop may go on as long as a number that was drawn says
            seconds = None if draw.typical or draw.kind == GIVEN else max(DRAW_SECONDS, 4 * self._usual)
        if self.limit is not None:
            seconds = self.limit if seconds is None else min(seconds, self.limit)

        def work() -> tuple[Value | None, PasslabError | None]:
            nonlocal evaluator
            evaluator = Watched(mod, results=results)
            return attempt(lambda: evaluator.run(self.entry, draw.arguments))

        outcome, late = run_within(seconds, work)
        if outcome is None:
            slow = f"{late}; programs before it took {self._slowest:.2g} s at most"
            return Run(error=RunError(slow), branches=frozenset(evaluator.branches), endless=True)
        value, error = outcome
        if error is not None:
            return Run(error=error, branches=frozenset(evaluator.branches))
        self._slowest = max(self._slowest, perf_counter() - started)
        if draw.typical:
            self._usual = max(self._usual, perf_counter() - started)
        return Run(value, None, evaluator.finite, frozenset(evaluator.branches))

    def missing(self) -> set[Branch]:
        """Return the branches of the first program, and sides of its comparisons and clips, that no run has taken."""
        return branches_of(self._first, self.entry) - self.taken if self._first is not None else set()

    def explore(self, mod: IRModule, seconds: float = EXPLORE_SECONDS) -> None:
        """Draw again where a branch, or a side of a comparison, is not reached, and keep the draws that reach one.

        Nothing is drawn again for programs without any, nor after so many seconds.
        """
        if self.inputs is not None or self.entry not in mod or not branches_of(mod, self.entry):
            return
        end = perf_counter() + seconds
        for number, _ in enumerate(self.draws(mod)):
            if perf_counter() > end:
                return
            self.run(mod, number)
        for turn in range(1, TURNS + 1):
            for draw in draws(mod, self.entry, self.seed + 1000 * turn):
                if perf_counter() > end or not self.missing() or len(self.draws(mod)) >= MOST_DRAWS:
                    return
                reached = self._run(mod, draw)
                if reached.error is None and reached.branches - self.taken:
                    draw.kind = f"{draw.kind}, drawn again to reach a branch"
                    assert self._draws is not None
                    self._draws = (*self._draws, draw)
                    self.run(mod, len(self._draws) - 1)

    def _given(self, function: Function) -> list[Any]:
        if not isinstance(self.inputs, Mapping):
            return list(self.inputs or ())
        names = [param.name_hint for param in function.params]
        for name in self.inputs:
            if name not in names:
                what = f"@{self.entry} has no parameter `{name}`"
                raise RunError(Diagnostic(what, hint=did_you_mean(name, names) or f"it has {', '.join(names)}"))
        missing = [name for name in names if name not in self.inputs]
        if missing:
            raise RunError(Diagnostic(f"there is no input for %{missing[0]} of @{self.entry}"))
        return [self.inputs[name] for name in names]

    def check_inputs(self, mod: IRModule) -> None:
        """Begin with a program. Raises `RunError` where the inputs given do not fit it, or it has no such function."""
        if self.inputs is None and self.entry in mod:
            with contextlib.suppress(RunError):  # reported where programs are compared
                self.draws(mod)
        if self.inputs is not None or self.entry not in mod:
            for number, _ in enumerate(self.draws(mod)):
                if (error := self.run(mod, number).error) is not None:
                    raise error


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
    held, finding = promise or UNDECLARED, check.finding
    purpose = purpose_of(before, after, trial.entry) if promise is None else Purpose()
    if purpose.derivative:
        return check
    noise = 0.0 if held.exact else max(noise_of(held), purpose.noise)
    noted = list(rewrites)
    node = first_wrong(before, after, held, trial.entry, check.arguments, noted, noise)
    return replace(check, finding=finding, node=node)


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
