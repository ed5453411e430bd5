"""`bisect`: which pass of a pipeline broke the program?

    bisection = lab.bisect(mod, "InferType, FoldConstant, SimplifyExpr")           # compares what programs compute
    bisection = lab.bisect(mod, passes, lambda mod: compiles(mod))                 # asks a predicate
    bisection.event, bisection.why, bisection.event.diff(), bisection.rewrite, bisection.reduce()

The pipeline is recorded once; the search reads the recorded programs. A predicate is asked by binary search: between a
good program and a bad one stands the pass that broke it. Without a predicate, the programs around every pass are run
and compared under the contract of that pass, as `lab.validate` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from passlab.arguments import checked
from passlab.diffing.diff import Diff, diff, node_name
from passlab.errors import Diagnostic, PassError, PasslabError, RunError, VerifyError, counted
from passlab.instrument.events import Event, contract_of
from passlab.instrument.limit import PassLimit
from passlab.instrument.statistics import count_module
from passlab.instrument.unchanged import UnchangedInput
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.walk import rewrite, unnamed_permitted
from passlab.lab.culprits.coverage import Coverage
from passlab.lab.culprits.criterion import PATIENCE, Criterion, same_fault
from passlab.lab.culprits.cutting import cut_at, neighbourhood, replay
from passlab.lab.culprits.predicate_search import GuiltyPass, PredicateSearch, StepVerdict
from passlab.lab.culprits.value_search import RUNS, ValueSearch, responsible_for_failure
from passlab.lab.recordings.recording import Recording, record, record_alone
from passlab.lab.recordings.validation import program_error
from passlab.lab.reducer.search import Shrinking
from passlab.oracle.deadline import TimeUpError
from passlab.oracle.predicate import Predicate, judge
from passlab.oracle.signature import same_failure
from passlab.oracle.trial import SECONDS, Inputs, Trial
from passlab.oracle.validation import Check, examine
from passlab.rewriting.let_removal import remove_lets
from passlab.table import Table, Tabular
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract, check_contract
from passlab.transform.pipeline_text import Pipeline, as_pass

if TYPE_CHECKING:
    from passlab.lab.reducer.reduction import Reduction

NOTHING = GuiltyPass(None)
SMALL_PROGRAM = 30  # nodes; one of so many is reduced with the pass itself, which says more than a copy of what it made


# `GuiltyRewrite`: the application of a rule that broke a program, or that raised, as its traceback shows.


@dataclass(frozen=True, repr=False)
class GuiltyRewrite:
    """The rewrite of a pass that broke a program: the `number`-th of `count`, by a rule ("" for one without a name).

    `before` is the program after the rewrites before it, `after` the program with it as well. Where the rule raised,
    `number` is 0, `node` is the node it was called with, and `before` and `after` are the program before the pass.
    """

    number: int
    count: int
    rule: str
    before: IRModule
    after: IRModule
    node: Expr | None = None

    def diff(self) -> Diff:
        """Return what the rewrite changed."""
        return diff(self.before, self.after)

    def __str__(self) -> str:
        rule = f"by the rule `{self.rule}`" if self.rule else ""
        if self.node is not None:
            return f"the rewrite of `{node_name(self.node)}`{f' {rule}' if rule else ''}, which raised"
        return f"rewrite {self.number:,} of {self.count:,}, {rule or self.diff().summary}"

    __repr__ = __str__


# By code object: that is all a frame knows of its function.
_WALKS = {
    inspect.unwrap(rewrite).__code__: ("pre", "name"),
    inspect.unwrap(remove_lets).__code__: ("pre", "name"),
}  # the local variables that hold node and rule


def rewrite_that_raised(event: Event) -> GuiltyRewrite | None:
    """Return the rewrite in which a pass raised, None where it raised in none.

    The traversals hold their current node in a local variable, which is read from their frames in the traceback.
    """
    trace = None if event.error is None else event.error.__traceback__
    result = None
    while trace is not None:
        frame: FrameType = trace.tb_frame
        names = _WALKS.get(frame.f_code)
        node = None if names is None else frame.f_locals.get(names[0])
        if names is not None and isinstance(node, Expr):
            rule = str(frame.f_locals.get(names[1], ""))
            result = GuiltyRewrite(0, 0, rule, event.before, event.before, node)  # the innermost frame is the last one
        trace = trace.tb_next
    return result


SHORT = 1.0  # seconds that a pass which once ran out of time gets when it runs again
RunPass = Callable[..., Recording]
LimitedRun = Callable[[RunPass, Event, IRModule, "int | None"], "tuple[Recording, list[str]]"]


def run_with_named_rewrites(
    again: RunPass, event: Event, mod: IRModule, most: int | None
) -> tuple[Recording, list[str]]:
    """Run a pass with only its first rewrites by named rules; return the recording and all rules it asked for."""
    limit = PassLimit(rewrites=most)
    return again(event, mod, limit), [rule for _, _, rule, _ in limit.rewrite_table().rows]


def run_with_unnamed_rewrites(
    again: RunPass, event: Event, mod: IRModule, most: int | None
) -> tuple[Recording, list[str]]:
    """Run a pass with only its first rewrites by unnamed rules; return the recording and all rules it asked for."""
    asked: list[str] = []

    def permit(rule: str) -> bool:
        asked.append(rule)
        return most is None or len(asked) <= most

    with unnamed_permitted(permit):
        return again(event, mod), asked


@checked
class Bisection(Tabular):
    """The pass that broke a program.

    `event` is the guilty pass in the `recording`, None if no pass is guilty; `why` says what is wrong. `error` is what
    it raised, `check` how it broke its contract, and `cause` why its result has no types; each is None where it does
    not apply. `verdicts` are the programs that were examined; `coverage` says on which inputs, and what was left out.
    `stopped` says why the search ended early, "" when it was complete; `candidates` are then the steps that may still
    be the guilty one. An `unsteady` pass is wrong only when it runs again.
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
        stopped: str = "",
        candidates: Sequence[Event] = (),
        unsteady: bool = False,
    ) -> None:
        self.stopped = stopped
        self.unsteady = unsteady
        self.candidates = tuple(candidates)
        self.recording = recording
        # The program in the recording is right, and its pass is not.
        self.verdicts = tuple(StepVerdict(event, False, why) if unsteady and v.event is event else v for v in verdicts)
        self.event = event
        self.why = why
        self.check = check
        self.criterion = criterion
        self.cause = cause
        self._last_trial: tuple[IRModule, Trial] | None = None
        self.coverage = coverage

    @property
    def found(self) -> bool:
        """Whether a pass broke the program."""
        return self.event is not None

    @property
    def error(self) -> BaseException | None:
        """What the pass raised; None when it returned."""
        return None if self.event is None else self.event.error

    @property
    def before(self) -> IRModule:
        """The last good program."""
        return self.recording.last if self.event is None else self.event.before

    def summary(self) -> str:
        """Return what was found, in a sentence."""
        if self.stopped:
            return f"the search was {self.stopped}; {_names_of(self.candidates)} broken the program: {self.looked_at}"
        if self.event is None:
            return f"no pass broke the program: {self.looked_at}"
        verb = "failed" if self.error is not None else "broke the program"
        return f"step {self.event.id}, {self.event.text or self.event.name}, {verb}: {self.why}"

    @property
    def looked_at(self) -> str:
        """Which programs were examined on which inputs, which were not, and why."""
        if self.stopped and not self.verdicts:
            return "no program was examined"
        if self.coverage is not None:
            steps = self.coverage.text()
        else:
            steps = f"the predicate was asked about {counted(len(self.verdicts), 'program')}"
        asked = {id(verdict.event) for verdict in self.verdicts}
        later = [] if self.stopped else [step.id for step in self.later_steps() if id(step) not in asked]
        return f"{steps}; not step {', '.join(later)}, which came after" if later else steps

    def later_steps(self) -> list[Event]:
        """Return the steps of the pipeline after the one that is, or contains, the guilty pass."""
        steps = self.recording.steps
        at = next((i for i, step in enumerate(steps) if any(event is self.event for event in step.walk())), len(steps))
        return steps[at + 1 :]

    def table(self) -> Table:
        """Return one row for each examined program, in the order of the pipeline."""
        order = {id(event): number for number, event in enumerate(self.recording.events)}
        rows = [
            (a.event.id, a.event.text or a.event.name, "good" if a.good else "bad", a.why)
            for a in sorted(self.verdicts, key=lambda verdict: order[id(verdict.event)])
        ]
        return Table(("step", "pass", "program", "why"), rows)

    @cached_property
    def rewrite(self) -> GuiltyRewrite | None:
        """The first rewrite that breaks the program: without it, the rewrites before it keep the program right.

        Covers rewrites by named rules, and those that a pass of your own makes by `rewrite`. None for a pass that
        changes programs as a whole. Runs the pass log(n) times for n rewrites.
        """
        event = self.event
        if event is None or self.unsteady:
            return None
        return (
            # Named rules first; rewrites without a name can be limited in a user's own pass only.
            self._first_wrong_rewrite(run_with_named_rewrites)
            or (None if event.pass_ and event.pass_.trusted else self._first_wrong_rewrite(run_with_unnamed_rewrites))
            or rewrite_that_raised(event)
        )

    def _first_wrong_rewrite(self, limited: LimitedRun) -> GuiltyRewrite | None:
        """Search for the first wrong rewrite among those whose number `limited` can restrict."""
        assert self.event is not None
        start = self.event.before
        _, rules = limited(self._run_pass, self.event, start, None)  # without a limit, to list all rules
        if not rules:
            return None
        # Two runs confirm a right suspicion; the binary search below needs log2(n).
        likely = self._suspected_rewrite(len(rules))
        if likely and self._breaks_program(limited, likely) and not self._breaks_program(limited, likely - 1):
            good, bad = likely - 1, likely
        elif self._breaks_program(limited, 0) or not self._breaks_program(limited, len(rules)):
            return None  # without a good start and a bad end there is nothing to halve
        else:
            good, bad = 0, len(rules)
        # The first `good` rewrites keep the program right, the first `bad` ones break it.
        while bad - good > 1:
            middle = (good + bad) // 2
            broken = self._breaks_program(limited, middle)
            good, bad = (good, middle) if broken else (middle, bad)
        before, after = (limited(self._run_pass, self.event, start, count)[0].last for count in (good, bad))
        return GuiltyRewrite(bad, len(rules), rules[bad - 1], before, after)

    def _breaks_program(self, limited: LimitedRun, count: int) -> bool:
        """Whether the first `count` rewrites of the guilty pass break its program."""
        assert self.event is not None
        return self._is_broken(self.event.before, limited(self._run_pass, self.event, self.event.before, count)[0])

    def _suspected_rewrite(self, count: int) -> int:
        """Return the number of the rewrite that made the first wrong node, 0 if it is unknown."""
        node = self.check.node if self.check is not None else None
        if node is None or self.event is None:
            return 0
        rewrites = self.event.rewrites.with_rules()
        pairs = [(old, new) for old, new, rule in rewrites if (rule or not node.rule) and old is not new]
        matches = [n for n, (old, new) in enumerate(pairs, 1) if new is node.node or old is node.old]
        # The numbers agree only where both lists have the same rewrites.
        return matches[0] if matches and len(pairs) == count else 0

    @cached_property
    def needed(self) -> tuple[Event, ...]:
        """The passes that the fault needs, the guilty one last: that one alone, a pair, seldom more.

        A pass may be wrong only about the result of an earlier one. Ever smaller parts of the pipeline run again on its
        input until no pass can be left out (delta debugging). Empty when no pass broke the program, or when the fault
        does not recur.
        """
        if self.event is None or self.unsteady:
            return ()
        earlier = [e for e in self._earlier_passes() if e.status == "ran" and e.replaced]
        if self._happens_after([]):
            return (self.event,)
        if not self._happens_after(earlier):
            return ()
        # Delta debugging: parts are left out, then parts of half that size, down to single passes.
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

    def _earlier_passes(self) -> list[Event]:
        """Return the passes that ran before the guilty one, and before each pass that contains it, in order."""
        result: list[Event] = []
        inner, steps = self.event, self.recording.steps
        while inner is not None:
            # The siblings of a step are the steps: a pipeline around them is not a step itself.
            around = steps if inner in steps or inner.parent is None else inner.parent.children
            result = [*around[: around.index(inner)], *result]
            inner = None if around is steps else inner.parent
        return result

    def _happens_after(self, earlier: Sequence[Event]) -> bool:
        """Whether the guilty pass still breaks the program when only some passes have run before it."""
        mod = self.recording.events[0].after
        for event in earlier:
            again = self._run_pass(event, mod)
            if again.error is not None:
                return False
            mod = again.last
        return self._is_broken(mod, self._run_guilty_pass(mod))

    def reduce(self, **options: Any) -> Reduction:
        """Return the smallest program that the search finds broken by the same pass in the same way.

        `options` are as for `lab.reduce`.

        Raises `PassError` when no pass broke the program.
        """
        from passlab.lab.reducer.reduction import Reduction, reduce

        if self.event is None:
            raise PassError("there is nothing to reduce: no pass broke the program")
        if not isinstance(options.get("executor"), ThreadPoolExecutor):
            options.pop("executor", None)  # the predicate holds the recording, which no other process gets
        for part in self._neighbourhoods():
            if self._shows_fault(part):
                return replace(reduce(part, self._shows_fault, of=self, **options), original=self.event.before)
        is_small = count_module(self.event.before)[0] <= SMALL_PROGRAM
        if not is_small and (alone := self._cut_out()) is not None:
            small, made = alone
            step = Shrinking("all but the wrong operator", len(small), count_module(small)[0])
            return Reduction(self.event.before, small, (step,), 1, of=made)
        return reduce(self.event.before, self._shows_fault, of=self, **options)

    def _cut_out(self) -> tuple[IRModule, Bisection] | None:
        """Return the wrong operator alone, and a bisection whose pass makes of it what the guilty pass made.

        The guilty pass itself may do something only in the whole program. None where the fault does not show then.
        """
        event, check = self.event, self.check
        if event is None or check is None or check.node is None:
            return None
        cut = cut_at(event.before, event.after, check.node, self.criterion.entry, check.arguments)
        if cut is None:
            return None
        made = replace(event, pass_=replay(event, cut.after, self.criterion.default_contract))
        seeds: list[Inputs] = [None, list(cut.values)]  # drawn inputs first: a script of them is short
        for inputs in seeds:
            criterion = replace(self.criterion, inputs=inputs, entry="main")
            alone = Bisection(self.recording, criterion, self.verdicts, made, self.why, check)
            if alone._shows_fault(cut.before):
                return cut.before, alone
        return None

    def _neighbourhoods(self) -> Iterator[IRModule]:
        """Yield small programs around the first wrong operator: it alone, then with more of its operands."""
        node = self.check.node if self.check is not None else None
        if node is None or self.event is None:
            return
        for depth in (1, 2, 4):  # the smallest part that shows the fault is taken
            part = neighbourhood(self.event.before, node.old, depth)
            if part is not None:
                yield part

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a reproducer notebook and return its path: see `reproducer`.

        Raises `PassError` when no pass broke the program, and `PasslabError` where nbformat is not installed.
        """
        from passlab.lab.reducer.reproducer import write_bisection

        return write_bisection(self, path)

    def check_of(self, mod: IRModule) -> Check | None:
        """Return how the guilty pass breaks its contract on another program; None where programs are not compared."""
        if self.event is None or self.cause is not None or self.error is not None or self.criterion.good is not None:
            return None
        check: Check | None = None
        for _ in range(1 + RUNS * self.unsteady):
            again = self._run_guilty_pass(mod)
            try:
                check = self._examine(mod, again, self.criterion.small_trial(self.check, mod))
            except PasslabError:
                return None
            if check.finding is not None or check.error is not None:
                break
        return check

    def _examine(self, mod: IRModule, again: Recording, trial: Trial, locate: bool = True) -> Check:
        """Hold a run of the guilty pass to its contract, as `examine` does."""
        assert self.event is not None
        contract = contract_of(self.event, self.criterion.default_contract)
        rewrites = [rewrite for event in again.events[1:] for rewrite in event.rewrites.with_rules()]
        return examine(self.event.name, mod, again.last, contract, trial, rewrites, locate)

    def after(self, mod: IRModule) -> IRModule | None:
        """Return a wrong result of the guilty pass on a program, the first of several runs; None where it fails."""
        for _ in range(RUNS):
            again = self._run_guilty_pass(mod)
            if again.error is not None:
                return None
            if self._is_broken(mod, again):
                break
        return again.last

    def breaks(self, mod: IRModule) -> bool:
        """Whether the guilty pass breaks another program in the same way, in one of several runs."""
        runs = range(1 + RUNS * self.unsteady)
        return any(self._is_broken(mod, self._run_guilty_pass(mod)) for _ in runs)

    def _trial_of(self, mod: IRModule) -> Trial:
        """Return a trial for a program; the last one is reused if it is of the same program."""
        if self._last_trial is None or self._last_trial[0] is not mod:
            cached = self.coverage.trial if self.coverage is not None else None
            kind = self.check.inputs if self.check is not None and self.criterion.inputs is None else ""
            trial = cached.of_kind(kind, mod) if cached is not None and kind else None
            self._last_trial = (mod, trial or self.criterion.small_trial(self.check, mod))
        return self._last_trial[1]

    def _shows_fault(self, mod: IRModule) -> bool:
        """Whether the guilty pass breaks a program at the same operator as here."""
        runs = range(1 + RUNS * self.unsteady)
        return any(self._is_broken(mod, self._run_guilty_pass(mod), same=True) for _ in runs)

    def _run_guilty_pass(self, mod: IRModule, *instruments: Any) -> Recording:
        """Run the guilty pass on a program as it was run here."""
        assert self.event is not None
        return self._run_pass(self.event, mod, *instruments)

    def _run_pass(self, event: Event, mod: IRModule, *instruments: Any) -> Recording:
        """Run a pass on a program under its recorded options, for at most `PATIENCE` or 20 times its recorded time."""
        options = replace(event.context, disabled_pass=())
        patience = max(PATIENCE, 20 * event.seconds) if not isinstance(event.error, TimeUpError) else SHORT
        pass_ = event.pass_ if event.pass_ is not None else event.text
        if isinstance(event.error, VerifyError):  # it may have changed its input, and would do so again
            instruments = (UnchangedInput(), *instruments)
        return record_alone(mod, as_pass(pass_), options, instruments, seconds=patience)

    def _is_broken(self, mod: IRModule, again: Recording, same: bool = False) -> bool:
        """Whether a run of the guilty pass breaks a program; with `same`, at the same operator as here."""
        event = self.event
        assert event is not None
        if self.cause is not None:
            return same_failure(self.cause, again.error if again.error is not None else program_error(again.last))
        if event.error is not None or again.error is not None:
            return same_failure(event.error, again.error)
        good = self.criterion.good
        if good is not None:  # a program that is bad before the pass has another fault
            return bool(good(mod)) and not judge(good, again.last).holds
        check, trial = self.check if same else None, self._trial_of(mod)
        try:
            outcome = self._examine(mod, again, trial, locate=check is not None)
        except RunError:
            return False
        if outcome.finding is None and outcome.error is None:
            return False
        return check is None or same_fault(check, outcome)

    def text(self) -> str:
        """Return the summary and the table of verdicts as text."""
        lines = [self.summary(), *([f"examined: {self.looked_at}"] if self.found else [])]
        return "\n".join([*lines, str(self.table())] if self.verdicts else lines)

    def __repr__(self) -> str:
        return self.text()


def record_guarded(
    program: IRModule, passes: Any, seconds: float | None, good: Predicate | None, options: dict[str, Any]
) -> Recording:
    """Record a pipeline in which, where no predicate asks, a pass that changes its input fails."""
    guard = [UnchangedInput()] if good is None else []
    instruments = [*guard, *options.get("instruments", ())]
    return record(program, passes, seconds=seconds, **{**options, "instruments": instruments})


def _names_of(candidates: Sequence[Event]) -> str:
    """Return which steps can have done something, as the beginning of a sentence."""
    names = [f"{event.id}, {event.name}" for event in candidates]
    if len(names) > 1:
        return f"only the {len(names):,} passes from step {names[0]}, to step {names[-1]}, can have"
    return f"only step {names[0]}, can have" if names else "no step is left that can have"


@checked
def bisect(
    program: IRModule | Recording,
    passes: Pipeline | None = None,
    good: Predicate | None = None,
    *,
    inputs: Inputs = None,
    entry: str = "main",
    seed: int = 0,
    default_contract: NumericContract | None = DEFAULT_CONTRACT,
    every: bool = False,
    executor: Executor | None = None,
    without_contract: bool = False,
    seconds: float | None = None,
    coverage: Coverage | None = None,
    looking: Callable[[Event], Any] | None = None,
    step_seconds: float = SECONDS,
    **options: Any,
) -> Bisection:
    """Return which pass of a pipeline broke a program, or raised.

    `passes` and `options` are as for `record`; a recording has its own. `good` is a predicate over modules; a program
    for which it raises is bad. Without it, programs are run on `inputs`: a list, a table by name of the parameter, or
    None for random ones from `seed`. Each pass is held to its contract, one that declares none to `default_contract`. A
    predicate is asked log(n) times for n programs; with `every` it is asked after each pass in order, which finds the
    first guilty pass even where a later one repairs the program. An `executor` (of `concurrent.futures`, or a cluster
    with the same interface) asks about all programs at once. Raises `PassError` when the program is bad before any pass
    or the predicate cannot be sent to the executor, and `RunError` when the program does not run before any pass. An
    interrupt from the keyboard ends the search: the verdicts so far are returned, with the `candidates` that are left.
    After `step_seconds` of processor time a step is compared on no further inputs; a pipeline that runs longer than
    `seconds` failed in the pass that was running.

    >>> @transform.function_pass(opt_level=0)
    ... def forgets(func, mod, ctx):
    ...     return relay.Function(func.params, relay.abs(func.body))
    >>> mod = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> lab.bisect(mod, [transform.FoldConstant(), forgets]).event.name
    'forgets'
    """
    if isinstance(program, Recording) and (passes is not None or options):
        raise PassError(
            Diagnostic("a recording has its pipeline already", hint="bisect(mod, passes, ...) runs another")
        )
    criterion = Criterion(good, inputs, entry, seed, default_contract, without_contract, step_seconds)
    check_contract(default_contract)
    recording = program if isinstance(program, Recording) else record_guarded(program, passes, seconds, good, options)
    search: PredicateSearch | ValueSearch
    if good is not None:
        coverage, search = None, PredicateSearch(recording, good, executor, every)
    else:
        coverage = Coverage() if coverage is None else coverage
        search = ValueSearch(recording, criterion, coverage, looking)
    stopped = ""
    try:
        guilty = search.run() or (responsible_for_failure(recording) if recording.failed is not None else NOTHING)
    except KeyboardInterrupt:
        guilty, stopped = NOTHING, "interrupted"
    finally:
        if coverage is not None and coverage.trial is not None:
            coverage.trial.release()
            criterion = replace(criterion, slowest=coverage.trial.slowest)
    return Bisection(
        recording,
        criterion,
        search.all_verdicts(),
        guilty.event,
        guilty.why,
        guilty.check,
        guilty.cause,
        coverage,
        stopped,
        search.candidates if stopped else (),
        guilty.unsteady,
    )


__all__ = ["Bisection", "Criterion", "GuiltyRewrite", "StepVerdict", "bisect"]
