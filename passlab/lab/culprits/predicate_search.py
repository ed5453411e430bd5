"""`PredicateSearch`: binary search for the pass after which a predicate no longer holds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from passlab.errors import Diagnostic, PassError, PasslabError
from passlab.instrument.events import Event
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording
from passlab.oracle.predicate import Oracle, Outcome, Predicate
from passlab.oracle.validation import Check


@dataclass(frozen=True)
class GuiltyPass:
    """The pass that broke a program, and how; without an `event`, no pass did.

    An `unsteady` pass is right in the recording and wrong when it runs again.
    """

    event: Event | None
    why: str = ""
    check: Check | None = None
    cause: PasslabError | None = None
    unsteady: bool = False


@dataclass(frozen=True)
class StepVerdict:
    """Whether the program after a step is good, and if not, why."""

    event: Event
    good: bool
    why: str = ""


class PredicateSearch:
    """Asks a predicate about the programs of a recording, once about each."""

    def __init__(self, recording: Recording, good: Predicate, executor: Executor | None, every: bool) -> None:
        self.recording = recording
        self.oracle = Oracle(good, executor)
        self.every = every  # in order, and not by halving
        self.verdicts: dict[str, StepVerdict] = {}  # by the number of the step
        self.error: Exception | None = None  # what the predicate raised last
        self.candidates: Sequence[Event] = _changing(recording.steps)  # the steps that may still be the guilty one
        self._outcomes: dict[int, Outcome] = {}  # by program: steps that change nothing share theirs

    def ask(self, event: Event) -> bool:
        """Return whether the program after a step is good."""
        answer = self._ask_all([event.after])[0]
        self.verdicts[event.id] = StepVerdict(event, answer.holds, answer.why)
        return answer.holds

    def _ask_all(self, mods: Sequence[IRModule]) -> list[Outcome]:
        """Return the outcomes of some programs, asking about those that have none yet."""
        # The recording keeps its modules, so no id is used twice.
        new = {id(mod): mod for mod in mods if id(mod) not in self._outcomes}
        for key, outcome in zip(new, self.oracle.all(list(new.values())), strict=True):
            self._outcomes[key] = outcome
            self.error = outcome.error or self.error
        return [self._outcomes[id(mod)] for mod in mods]

    def run(self) -> GuiltyPass | None:
        """Return the pass after which the predicate no longer holds; None when it holds of the last program.

        Raises `PassError` when it does not hold before any pass.
        """
        start = self.recording.steps[0]
        if not self.ask(start):
            raise PassError(
                Diagnostic(
                    f"the program is bad before any pass: {self.verdicts[start.id].why}",
                    hint="the predicate is true of good programs",
                )
            ) from self.error
        event = self._first(self.recording.steps)
        return None if event is None else GuiltyPass(event, self.verdicts[event.id].why)

    def _first(self, steps: Sequence[Event]) -> Event | None:
        """Return the innermost pass that turned a good program into a bad one."""
        guilty: Event | None = None
        while True:
            changed = _changing(steps)
            if self.oracle.executor is not None:
                self._ask_all([event.after for event in changed])
            event = (self._first_in_order if self.every else self._first_by_halving)(changed)
            if event is None or (guilty is not None and not self._ask_all([event.before])[0].holds):
                return guilty  # the pass itself broke the program, not a pass inside it
            guilty, steps, self.candidates = event, event.children, [event]

    def _first_in_order(self, steps: Sequence[Event]) -> Event | None:
        for at, event in enumerate(steps):
            self.candidates = steps[at:]
            if not self.ask(event):
                return event
        return None

    def _first_by_halving(self, steps: Sequence[Event]) -> Event | None:
        if not steps or self.ask(steps[-1]):
            return None
        good, bad = -1, len(steps) - 1  # the program before the first step is good
        while bad - good > 1:
            self.candidates = steps[good + 1 : bad + 1]
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.ask(steps[middle]) else (good, middle)
        return steps[bad]

    def all_verdicts(self) -> list[StepVerdict]:
        """Return the verdicts so far, in the order of the questions."""
        return list(self.verdicts.values())


def _changing(steps: Sequence[Event]) -> list[Event]:
    """Return the steps that ran and changed the program."""
    return [event for event in steps if event.status == "ran" and event.replaced]
