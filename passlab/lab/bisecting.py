"""`bisect`: which pass of a pipeline broke the program?

    found = lab.bisect(mod, "InferType, FoldConstant, SimplifyExpr")           # compares what programs compute
    found = lab.bisect(mod, passes, lambda mod: compiles(mod))                 # asks a predicate
    found.event, found.why, found.event.diff(), found.rewrite, found.reduce()

The pipeline is recorded once; after that only the programs it left are looked at. A predicate is asked about few of
them: between one that is good and one that is bad stands a pass that made it so. What programs compute is compared
around every pass, under the promise of that pass, as `lab.validate` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passlab.errors import Diagnostic, PassError
from passlab.instrument.events import Event
from passlab.instrument.limit import PassLimit
from passlab.instrument.validation import UNDECLARED, Check, Inputs, Trial, examine, promise_of
from passlab.ir.module import IRModule
from passlab.lab.asking import Asker, Predicate, Reply, answer, raised
from passlab.lab.diffing import Diff, diff
from passlab.lab.recording import Recording, record
from passlab.lab.validating import examined, is_checked
from passlab.transform.pipeline import as_pass
from passlab.transform.promise import Promise
from passlab.transform.table import Table

if TYPE_CHECKING:
    from passlab.lab.reducing import Reduction


@dataclass(frozen=True)
class Answer:
    """What was found out about the program after one step: whether it is good, and if not, why."""

    event: Event
    good: bool
    why: str = ""


@dataclass(frozen=True)
class Question:
    """How to tell a good program from a bad one: a predicate, or what it computes on some inputs."""

    good: Predicate | None
    inputs: Inputs
    entry: str
    seed: int
    undeclared: Promise | None

    def trial(self) -> Trial:
        return Trial(self.inputs, self.entry, self.seed)

    def broken(self, event: Event, before: IRModule, after: IRModule) -> bool:
        """Whether the step from one program to the other is as wrong as that of an event."""
        if self.good is not None:
            return bool(self.good(before)) and not answer(self.good, after).holds
        promise = promise_of(event.pass_, self.undeclared)
        return examine(event.name, before, after, promise, self.trial()).outcome == "broken"


@dataclass(frozen=True, repr=False)
class GuiltyRewrite:
    """The rewrite of a pass that broke a program: the `number`-th of `count`, by a named rule.

    `before` is the program with the rewrites before it made and no other, `after` the one with it.
    """

    number: int
    count: int
    rule: str
    before: IRModule
    after: IRModule

    def diff(self) -> Diff:
        """Return what the rewrite changed."""
        return diff(self.before, self.after)

    def __str__(self) -> str:
        return f"rewrite {self.number:,} of {self.count:,}, by the rule `{self.rule}`"

    __repr__ = __str__


class Bisection:
    """The pass that broke a program.

    `event` is its event in the `recording`, None when no pass did; `why` says what is wrong, `error` is what it raised,
    if it did, and `check` how its promise was broken, where programs were compared. `answers` are all that was asked.
    """

    def __init__(
        self, recording: Recording, question: Question, answers: Sequence[Answer], event: Event | None, why: str = "",
        check: Check | None = None,
    ) -> None:  # fmt: skip
        self.recording = recording
        self.answers = tuple(answers)
        self.event = event
        self.why = why
        self.check = check
        self.question = question

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
            return "no pass broke the program"
        verb = "failed" if self.error is not None else "broke the program"
        return f"step {self.event.id}, {self.event.text or self.event.name}, {verb}: {self.why}"

    def table(self) -> Table:
        """Return one row for each program that was looked at, in the order of the pipeline."""
        place = {id(event): number for number, event in enumerate(self.recording.events)}
        rows = [
            (a.event.id, a.event.text or a.event.name, "good" if a.good else "bad", a.why)
            for a in sorted(self.answers, key=lambda answer: place[id(answer.event)])
        ]
        return Table(("step", "pass", "program", "why"), rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    @cached_property
    def rewrite(self) -> GuiltyRewrite | None:
        """The first rewrite by a named rule that breaks the program, when only those before it are made with it.

        None for a pass that changes programs as a whole. Runs the pass log(n) times for n rewrites.
        """
        event = self.event
        if event is None:
            return None
        limit = PassLimit()
        if not self._is_broken(event.before, self._alone(event.before, limit)):
            return None
        rules = [rule for _, _, rule, _ in limit.rewrite_table().rows]
        good, bad = 0, len(rules)
        if not rules or self._is_broken(event.before, self._alone(event.before, PassLimit(rewrites=0))):
            return None
        while bad - good > 1:
            middle = (good + bad) // 2
            broken = self._is_broken(event.before, self._alone(event.before, PassLimit(rewrites=middle)))
            good, bad = (good, middle) if broken else (middle, bad)
        before, after = (self._alone(event.before, PassLimit(rewrites=count)).last for count in (good, bad))
        return GuiltyRewrite(bad, len(rules), rules[bad - 1], before, after)

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
        found: list[Event] = []
        inner, steps = self.event, self.recording.steps
        while inner is not None:
            around = steps if inner in steps or inner.parent is None else inner.parent.children
            found = [*around[: around.index(inner)], *found]
            inner = None if around is steps else inner.parent
        return found

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
        from passlab.lab.reducing import reduce

        if self.event is None:
            raise PassError("there is nothing to reduce: no pass broke the program")
        return reduce(self.event.before, self._still, of=self, **options)

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a notebook that shows what was found to whoever opens it, and return its path: see `reproducing`.

        Raises `PassError` when no pass broke the program, and `PasslabError` where nbformat is not installed.
        """
        from passlab.lab.reproducing import write_bisection

        return write_bisection(self, path)

    def _still(self, mod: IRModule) -> bool:
        """Whether the pass does to a program what it did to this one."""
        return self._is_broken(mod, self._alone(mod))

    def _alone(self, mod: IRModule, *instruments: Any) -> Recording:
        """Run the guilty pass on a program as it was run here."""
        assert self.event is not None
        return self._again(self.event, mod, *instruments)

    def _again(self, event: Event, mod: IRModule, *instruments: Any) -> Recording:
        """Run a pass on a program as it was run here."""
        return record(
            mod, as_pass(event.pass_ if event.pass_ is not None else event.text), event.context.opt_level,
            required_pass=event.context.required_pass, config=event.context.config, instruments=instruments,
        )  # fmt: skip

    def _is_broken(self, mod: IRModule, again: Recording) -> bool:
        """Whether a run of the guilty pass on a program shows what it showed here."""
        event = self.event
        assert event is not None
        if event.error is not None or again.error is not None:
            return type(event.error) is type(again.error)
        return self.question.broken(event, mod, again.last)

    def text(self) -> str:
        """Return what was found and what was asked as text."""
        return f"{self.summary()}\n{self.table()}" if self.answers else self.summary()

    def __repr__(self) -> str:
        return self.text()


def bisect(
    program: IRModule | Recording, passes: Any = None, good: Predicate | None = None, *, inputs: Inputs = None,
    entry: str = "main", seed: int = 0, undeclared: Promise | None = UNDECLARED, every: bool = False,
    executor: Executor | None = None, **options: Any,
) -> Bisection:  # fmt: skip
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
    recording = program if isinstance(program, Recording) else record(program, passes, **options)
    question = Question(good, inputs, entry, seed, undeclared)
    if good is None:
        return _compared(recording, question)
    search = _Search(recording, good, executor)
    start = recording.steps[0]
    if not search.ask(start):
        raise PassError(
            Diagnostic(
                f"the program is bad before any pass: {search.answers[start.id].why}",
                hint="the predicate is true of good programs",
            )
        ) from search.error
    event = search.first(recording.steps, every)
    failed = recording.failed
    if event is None and failed is not None:
        return Bisection(recording, question, search.told(), failed, raised(failed.error))
    if event is None:
        return Bisection(recording, question, search.told(), None)
    return Bisection(recording, question, search.told(), event, search.answers[event.id].why)


def _compared(recording: Recording, question: Question) -> Bisection:
    """Hold each pass to its promise until one breaks it."""
    trial, answers = question.trial(), list[Answer]()
    for event in recording.events[1:]:
        if not is_checked(event):
            continue
        check = examined(event, trial, question.undeclared)
        answers.append(Answer(event, check.outcome != "broken", check.why))
        if check.outcome == "broken":
            return Bisection(recording, question, answers, event, check.why, check)
    failed = recording.failed
    return Bisection(recording, question, answers, failed, "" if failed is None else raised(failed.error))


class _Search:
    """Asks a predicate about the programs of a recording, about each once."""

    def __init__(self, recording: Recording, good: Predicate, executor: Executor | None) -> None:
        self.recording = recording
        self.asker = Asker(good, executor)
        self.answers: dict[str, Answer] = {}  # by the number of the step
        self.error: Exception | None = None  # what the predicate raised last
        self._known: dict[int, Reply] = {}  # by program: steps that change nothing share theirs

    def ask(self, event: Event) -> bool:
        """Return whether the program after a step is good."""
        known = self._ask_all([event.after])[0]
        self.answers[event.id] = Answer(event, known.holds, known.why)
        return known.holds

    def _ask_all(self, mods: Sequence[IRModule]) -> list[Reply]:
        """Return what is known of some programs, after asking about those that were not asked about before."""
        new = {id(mod): mod for mod in mods if id(mod) not in self._known}
        for key, told in zip(new, self.asker.all(list(new.values())), strict=True):
            self._known[key] = told
            self.error = told.error or self.error
        return [self._known[id(mod)] for mod in mods]

    def first(self, steps: Sequence[Event], every: bool) -> Event | None:
        """Return a pass that found a good program and left a bad one, the innermost; None when the last is good."""
        found: Event | None = None
        while True:
            changed = [e for e in steps if e.status == "ran" and e.changed]
            if self.asker.executor is not None:
                self._ask_all([event.after for event in changed])
            event = (self._in_order if every else self._halving)(changed)
            if event is None or (found is not None and not self._ask_all([event.before])[0].holds):
                return found  # what broke it was the work of the pass itself, before or between those inside it
            found, steps = event, event.children

    def _in_order(self, steps: Sequence[Event]) -> Event | None:
        return next((event for event in steps if not self.ask(event)), None)

    def _halving(self, steps: Sequence[Event]) -> Event | None:
        if not steps or self.ask(steps[-1]):
            return None
        good, bad = -1, len(steps) - 1  # what was before the first is good
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.ask(steps[middle]) else (good, middle)
        return steps[bad]

    def told(self) -> list[Answer]:
        """Return what was asked and answered."""
        return list(self.answers.values())


__all__ = ["Answer", "Bisection", "GuiltyRewrite", "bisect"]
