"""`bisect`: which pass of a pipeline broke the program?

    found = lab.bisect(mod, "InferType, FoldConstant, SimplifyExpr")           # compares what programs compute
    found = lab.bisect(mod, passes, lambda mod: compiles(mod))                 # asks a predicate
    found.event, found.why, found.event.diff(), found.rewrite, found.reduce()

The pipeline is recorded once; after that only the programs it left are looked at. A predicate is asked about few of
them: between one that is good and one that is bad stands a pass that made it so. What programs compute is compared
around every pass, under the promise of that pass, as `lab.validate` does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passlab.errors import Diagnostic, PassError, PasslabError, WellFormedError, counted
from passlab.instrument.deadline import TimeUpError
from passlab.instrument.events import Event
from passlab.instrument.limit import PassLimit
from passlab.instrument.trial import Inputs, Trial
from passlab.instrument.validation import UNDECLARED, Check, check_contract, contract_of, examine
from passlab.ir.module import IRModule
from passlab.ir.walk import unnamed_permitted
from passlab.lab.coverage import Coverage
from passlab.lab.criterion import PATIENCE, Criterion
from passlab.lab.guilty_rewrite import GuiltyRewrite, rewrite_that_raised
from passlab.lab.neighbourhood import neighbourhood
from passlab.lab.oracle import Predicate, raised_error
from passlab.lab.predicate_search import PredicateSearch, StepVerdict
from passlab.lab.recording import Recording, record, record_alone
from passlab.lab.signature import same_failure
from passlab.lab.validation import examine_part, is_checked, program_error, responsible
from passlab.table import Table
from passlab.transform.numeric_contract import Promise
from passlab.transform.pipeline import as_pass

if TYPE_CHECKING:
    from passlab.lab.reduction import Reduction

SHORT = 1.0  # seconds after which a pass that did not end is asked about again
Again = Callable[..., Recording]
Limiter = Callable[[Again, Event, IRModule, "int | None"], "tuple[Recording, list[str]]"]


def run_with_named(again: Again, event: Event, mod: IRModule, most: int | None) -> tuple[Recording, list[str]]:
    """Run a pass with its first rewrites by named rules only; return what it did, and the rules of all it asked for."""
    limit = PassLimit(rewrites=most)
    return again(event, mod, limit), [rule for _, _, rule, _ in limit.rewrite_table().rows]


def run_with_unnamed(again: Again, event: Event, mod: IRModule, most: int | None) -> tuple[Recording, list[str]]:
    """Run a pass with its first rewrites by rules without a name only."""
    asked: list[str] = []

    def permit(rule: str) -> bool:
        asked.append(rule)
        return most is None or len(asked) <= most

    with unnamed_permitted(permit):
        return again(event, mod), asked


class Bisection:
    """The pass that broke a program.

    `event` is its event in the `recording`, None when no pass did; `why` says what is wrong, `error` is what it raised,
    if it did, `check` how its promise was broken, where programs were compared, and `cause` why the program that it
    left has no types, if that is so. `verdicts` are all programs that were looked at; `coverage` says on which inputs,
    and what was not looked at.
    """

    def __init__(
        self,
        recording: Recording,
        criterion: Criterion,
        verdicts: Sequence[StepVerdict],
        event: Event | None,
        why: str = "",
        check: Check | None = None,
        cause: PasslabError | None = None,
        coverage: Coverage | None = None,
    ) -> None:
        self.recording = recording
        self.verdicts = tuple(verdicts)
        self.event = event
        self.why = why
        self.check = check
        self.criterion = criterion
        self.cause = cause
        self._last_trial: tuple[IRModule, Trial] | None = None
        self.coverage = coverage

    @property
    def answers(self) -> tuple[StepVerdict, ...]:
        """The former name of `verdicts`."""
        return self.verdicts

    @property
    def found(self) -> bool:
        """Whether a pass broke the program."""
        return self.event is not None

    @property
    def error(self) -> BaseException | None:
        """What the pass raised, None when it came to its end."""
        return self.event.error if self.event is not None else None

    @property
    def before(self) -> IRModule:
        """The last good program."""
        return self.recording.last if self.event is None else self.event.before

    def summary(self) -> str:
        """Return what was found, in a sentence."""
        if self.event is None:
            return f"no pass broke the program: {self.looked_at}"
        verb = "failed" if self.error is not None else "broke the program"
        return f"step {self.event.id}, {self.event.text or self.event.name}, {verb}: {self.why}"

    @property
    def looked_at(self) -> str:
        """What was looked at, on which inputs, and what was not, and why."""
        if self.coverage is not None:
            steps = self.coverage.text()
        else:
            steps = f"the predicate was asked about {counted(len(self.verdicts), 'program')}"
        asked = {id(verdict.event) for verdict in self.verdicts}
        later = [step.id for step in self._later_steps() if id(step) not in asked]
        return f"{steps}; not step {', '.join(later)}, which came after" if later else steps

    def _later_steps(self) -> list[Event]:
        """Return the steps of the pipeline after the one that broke the program, or that it is inside of."""
        steps = self.recording.steps
        at = next((i for i, step in enumerate(steps) if any(event is self.event for event in step.walk())), len(steps))
        return steps[at + 1 :]

    def table(self) -> Table:
        """Return one row for each program that was looked at, in the order of the pipeline."""
        order = {id(event): number for number, event in enumerate(self.recording.events)}
        rows = [
            (a.event.id, a.event.text or a.event.name, "good" if a.good else "bad", a.why)
            for a in sorted(self.verdicts, key=lambda verdict: order[id(verdict.event)])
        ]
        return Table(("step", "pass", "program", "why"), rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    @cached_property
    def rewrite(self) -> GuiltyRewrite | None:
        """The first rewrite that breaks the program, when only those before it are made with it.

        Rewrites by named rules are looked at, and those of a pass of your own that are made by `rewrite`. None for a
        pass that changes programs as a whole. Runs the pass log(n) times for n rewrites.
        """
        event = self.event
        if event is None:
            return None
        return (
            self._rewrite_by(run_with_named)
            or (None if event.pass_ and event.pass_.trusted else self._rewrite_by(run_with_unnamed))
            or rewrite_that_raised(event)
        )

    def _rewrite_by(self, limited: Limiter) -> GuiltyRewrite | None:
        """Find the first wrong one of the rewrites that can be limited in number."""
        assert self.event is not None
        start = self.event.before
        _, rules = limited(self._again, self.event, start, None)
        if not rules:
            return None
        likely = self._likely(len(rules))
        if likely and self._broken_by(limited, likely) and not self._broken_by(limited, likely - 1):
            good, bad = likely - 1, likely
        elif self._broken_by(limited, 0) or not self._broken_by(limited, len(rules)):
            return None
        else:
            good, bad = 0, len(rules)
        while bad - good > 1:
            middle = (good + bad) // 2
            broken = self._broken_by(limited, middle)
            good, bad = (good, middle) if broken else (middle, bad)
        before, after = (limited(self._again, self.event, start, count)[0].last for count in (good, bad))
        return GuiltyRewrite(bad, len(rules), rules[bad - 1], before, after)

    def _broken_by(self, limited: Limiter, count: int) -> bool:
        """Whether the first rewrites of the guilty pass, so many of them, break its program."""
        assert self.event is not None
        return self._is_broken(self.event.before, limited(self._again, self.event, self.event.before, count)[0])

    def _likely(self, count: int) -> int:
        """Return the number of the rewrite that made the first wrong node, 0 where that is not known."""
        node = self.check.node if self.check is not None else None
        if node is None or self.event is None:
            return 0
        noted = [pair for n, pair in enumerate(self.event.rewrites) if self.event.rewrites.rule(n) or node.rule == ""]
        noted = [(old, new) for old, new in noted if old is not new]
        matches = [n for n, (old, new) in enumerate(noted, 1) if new is node.node or old is node.old]
        return matches[0] if matches and len(noted) == count else 0

    @cached_property
    def needed(self) -> tuple[Event, ...]:
        """The passes without which it does not happen, the guilty one last: that one alone, a pair, seldom more.

        A pass may be wrong only about what an earlier one leaves behind. Parts of the pipeline are run again on its
        input, ever smaller ones, until no pass can be left out (delta debugging). Empty when no pass broke the program,
        or when it does not happen again.
        """
        if self.event is None:
            return ()
        earlier = [e for e in self._earlier() if e.status == "ran" and e.changed]
        if self._happens_after([]):
            return (self.event,)
        if not self._happens_after(earlier):
            return ()
        size = len(earlier)
        while size:
            start = 0
            while start < len(earlier):
                rest = earlier[:start] + earlier[start + size :]
                if self._happens_after(rest):
                    earlier = rest
                else:
                    start += size
            size //= 2
        return (*earlier, self.event)

    def _earlier(self) -> list[Event]:
        """The passes that ran before the guilty one: before it, and before each of those that it stands in."""
        result: list[Event] = []
        inner, steps = self.event, self.recording.steps
        while inner is not None:
            around = steps if inner in steps or inner.parent is None else inner.parent.children
            result = [*around[: around.index(inner)], *result]
            inner = None if around is steps else inner.parent
        return result

    def _happens_after(self, earlier: Sequence[Event]) -> bool:
        """Whether the guilty pass does what it did when only some passes have run before it."""
        mod = self.recording.events[0].after
        for event in earlier:
            again = self._again(event, mod)
            if again.error is not None:
                return False
            mod = again.last
        return self._is_broken(mod, self._alone(mod))

    def reduce(self, **options: Any) -> Reduction:
        """Return the smallest program found that the same pass breaks in the same way; `options` as for `lab.reduce`.

        Raises `PassError` when no pass broke the program.
        """
        from passlab.lab.reduction import reduce

        if self.event is None:
            raise PassError("there is nothing to reduce: no pass broke the program")
        for part in self._neighbourhoods():
            if self._still(part):
                return replace(reduce(part, self._still, of=self, **options), original=self.event.before)
        return reduce(self.event.before, self._still, of=self, **options)

    def _neighbourhoods(self) -> Iterator[IRModule]:
        """Small programs around the first operator that went wrong: it alone, and with more of what it uses."""
        node = self.check.node if self.check is not None else None
        if node is None or self.event is None:
            return
        for depth in (1, 2, 4):
            part = neighbourhood(self.event.before, node.old, depth)
            if part is not None:
                yield part

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a reproducer notebook and return its path: see `reproducer`.

        Raises `PassError` when no pass broke the program, and `PasslabError` where nbformat is not installed.
        """
        from passlab.lab.reproducer import write_bisection

        return write_bisection(self, path)

    def check_of(self, mod: IRModule) -> Check | None:
        """Return how the guilty pass breaks the promise on another program, None where programs are not compared."""
        if self.event is None or self.cause is not None or self.error is not None or self.criterion.good is not None:
            return None
        again = self._alone(mod)
        contract = contract_of(self.event, self.criterion.undeclared)
        try:
            return examine(self.event.name, mod, again.last, contract, self.criterion.small_trial(self.check, mod))
        except PasslabError:
            return None

    def after(self, mod: IRModule) -> IRModule | None:
        """Return what the guilty pass makes of a program, None where it fails."""
        again = self._alone(mod)
        return None if again.error is not None else again.last

    def _trial_of(self, mod: IRModule) -> Trial:
        """Return a trial for a program: the one of the last question, if that was about the same program."""
        if self._last_trial is None or self._last_trial[0] is not mod:
            names = self.coverage.trial if self.coverage is not None else None
            kind = self.check.inputs if self.check is not None and self.criterion.inputs is None else ""
            trial = names.about(kind, mod) if names is not None and kind else None
            self._last_trial = (mod, trial or self.criterion.small_trial(self.check, mod))
        return self._last_trial[1]

    def _still(self, mod: IRModule) -> bool:
        """Whether the pass does to a program what it did to this one."""
        return self._is_broken(mod, self._alone(mod), same=True)

    def _alone(self, mod: IRModule, *instruments: Any) -> Recording:
        """Run the guilty pass on a program as it was run here."""
        assert self.event is not None
        return self._again(self.event, mod, *instruments)

    def _again(self, event: Event, mod: IRModule, *instruments: Any) -> Recording:
        """Run a pass on a program as it was run here, and no longer than is patient."""
        options = replace(event.context, disabled_pass=())
        patience = max(PATIENCE, 20 * event.seconds) if not isinstance(event.error, TimeUpError) else SHORT
        pass_ = event.pass_ if event.pass_ is not None else event.text
        return record_alone(mod, as_pass(pass_), options, instruments, seconds=patience)

    def _is_broken(self, mod: IRModule, again: Recording, same: bool = False) -> bool:
        """Whether a run of the guilty pass breaks a program; with `same`, at the same operator as here."""
        event = self.event
        assert event is not None
        if self.cause is not None:
            return same_failure(self.cause, again.error if again.error is not None else program_error(again.last))
        if event.error is not None or again.error is not None:
            return same_failure(event.error, again.error)
        return self.criterion.is_bad(
            mod, again.last, event, self.check if same else None, self.check, self._trial_of(mod)
        )

    def text(self) -> str:
        """Return what was found and what was asked as text."""
        lines = [self.summary(), *([f"looked at: {self.looked_at}"] if self.found else [])]
        return "\n".join([*lines, str(self.table())] if self.verdicts else lines)

    def __repr__(self) -> str:
        return self.text()


def bisect(
    program: IRModule | Recording,
    passes: Any = None,
    good: Predicate | None = None,
    *,
    inputs: Inputs = None,
    entry: str = "main",
    seed: int = 0,
    undeclared: Promise | None = UNDECLARED,
    every: bool = False,
    executor: Executor | None = None,
    unpromised: bool = False,
    seconds: float | None = None,
    coverage: Coverage | None = None,
    looking: Callable[[Event], Any] | None = None,
    **options: Any,
) -> Bisection:
    """Return which pass of a pipeline broke a program, or raised.

    `passes` and `options` are those of `record`; for a recording there are none. `good` is a predicate over modules,
    and one that raises says that the program is bad; without it programs are run on `inputs` (a list, a table by name
    of the parameter, or None: random ones, from `seed`), and each pass is held to its promise, one that declares none
    to `undeclared`. A predicate is asked log(n) times for n programs; with `every` after each pass in order, which
    finds the first even where a later pass mends what it broke. An `executor` (of `concurrent.futures`: threads,
    processes, or a cluster with that face) asks it about all of them at once. Raises `PassError` when the program is
    bad before any pass or cannot be asked about elsewhere, and `RunError` when it does not run then.
    """
    if isinstance(program, Recording) and (passes is not None or options):
        raise PassError(
            Diagnostic("a recording has its pipeline already", hint="bisect(mod, passes, ...) runs another")
        )
    criterion = Criterion(good, inputs, entry, seed, undeclared, unpromised)
    check_contract(undeclared)
    recording = program if isinstance(program, Recording) else record(program, passes, seconds=seconds, **options)
    if good is None:
        return _compare(recording, criterion, Coverage() if coverage is None else coverage, looking)
    search = PredicateSearch(recording, good, executor)
    start = recording.steps[0]
    if not search.ask(start):
        raise PassError(
            Diagnostic(
                f"the program is bad before any pass: {search.verdicts[start.id].why}",
                hint="the predicate is true of good programs",
            )
        ) from search.error
    event = search.first(recording.steps, every)
    if event is None and recording.failed is not None:
        return _failure(recording, criterion, search.all_verdicts(), None)
    if event is None:
        return Bisection(recording, criterion, search.all_verdicts(), None)
    return Bisection(recording, criterion, search.all_verdicts(), event, search.verdicts[event.id].why)


def _compare(
    recording: Recording, criterion: Criterion, coverage: Coverage, looking: Callable[[Event], Any] | None
) -> Bisection:
    """Hold each pass to its promise until one breaks it. `looking` is called with each event before it is compared."""
    trial, verdicts = criterion.trial(), list[StepVerdict]()
    coverage.trial = trial
    trial.check_inputs(recording.input)
    with contextlib.suppress(PasslabError):  # what does not run is told where programs are compared
        trial.explore(recording.input)
    suspect: tuple[Event, Check] | None = None
    for event in recording.events[1:]:
        if not is_checked(event):
            coverage.skip(event)
            continue
        if looking is not None:
            looking(event)
        if event.changed and (cause := program_error(event.after)) is not None and program_error(event.before) is None:
            verdicts.append(StepVerdict(event, False, _ill_typed(cause)))
            return Bisection(recording, criterion, verdicts, event, _ill_typed(cause), None, cause, coverage)
        check = examine_part(event, trial, criterion.undeclared)
        coverage.add(event, check)
        verdicts.append(StepVerdict(event, check.outcome != "broken", check.why))
        if check.outcome == "broken":
            return Bisection(recording, criterion, verdicts, event, check.why, check, None, coverage)
        if check.outcome == "not promised" and check.finding is not None:
            suspect = suspect or (event, check)
    if recording.failed is not None:
        return _failure(recording, criterion, verdicts, coverage)
    if suspect is not None:
        why = f"it promises nothing about values, and they differ: {suspect[1].why}"
        return Bisection(recording, criterion, verdicts, suspect[0], why, suspect[1], None, coverage)
    return Bisection(recording, criterion, verdicts, None, coverage=coverage)


def _failure(
    recording: Recording, criterion: Criterion, verdicts: Sequence[StepVerdict], coverage: Coverage | None
) -> Bisection:
    """Say which pass is responsible for what ended a recording."""
    failed = recording.failed
    assert failed is not None
    for event in recording.events[1:]:
        if is_checked(event) and event.changed and event is not failed:
            cause = program_error(event.after)
            if cause is not None and program_error(event.before) is None:
                return Bisection(recording, criterion, verdicts, event, _ill_typed(cause), None, cause, coverage)
    event = responsible(failed)
    if event is not failed and isinstance(failed.error, PasslabError):
        return Bisection(recording, criterion, verdicts, event, _ill_typed(failed.error), None, failed.error, coverage)
    return Bisection(recording, criterion, verdicts, event, raised_error(event.error), None, None, coverage)


def _ill_typed(cause: PasslabError) -> str:
    wrong = "is not well-formed" if isinstance(cause, WellFormedError) else "has no types"
    return f"the program that it left {wrong}: {cause.diagnostics[0].message}"


__all__ = ["Bisection", "Criterion", "GuiltyRewrite", "StepVerdict", "bisect"]
