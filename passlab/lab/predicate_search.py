"""`PredicateSearch`: between a good program and a bad one stands a pass that made it so; a predicate is asked which."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from passlab.instrument.events import Event
from passlab.ir.module import IRModule
from passlab.lab.oracle import Oracle, Outcome, Predicate
from passlab.lab.recording import Recording


@dataclass(frozen=True)
class StepVerdict:
    """What was found out about the program after one step: whether it is good, and if not, why."""

    event: Event
    good: bool
    why: str = ""


class PredicateSearch:
    """Asks a predicate about the programs of a recording, about each once."""

    def __init__(self, recording: Recording, good: Predicate, executor: Executor | None) -> None:
        self.recording = recording
        self.oracle = Oracle(good, executor)
        self.verdicts: dict[str, StepVerdict] = {}  # by the number of the step
        self.error: Exception | None = None  # what the predicate raised last
        self._known: dict[int, Outcome] = {}  # by program: steps that change nothing share theirs

    def ask(self, event: Event) -> bool:
        """Return whether the program after a step is good."""
        answer = self._ask_all([event.after])[0]
        self.verdicts[event.id] = StepVerdict(event, answer.holds, answer.why)
        return answer.holds

    def _ask_all(self, mods: Sequence[IRModule]) -> list[Outcome]:
        """Return what is known of some programs, after asking about those that were not asked about before."""
        new = {id(mod): mod for mod in mods if id(mod) not in self._known}
        for key, outcome in zip(new, self.oracle.all(list(new.values())), strict=True):
            self._known[key] = outcome
            self.error = outcome.error or self.error
        return [self._known[id(mod)] for mod in mods]

    def first(self, steps: Sequence[Event], every: bool) -> Event | None:
        """Return a pass that guilty a good program and left a bad one, the innermost; None when the last is good."""
        guilty: Event | None = None
        while True:
            changed = [e for e in steps if e.status == "ran" and e.changed]
            if self.oracle.executor is not None:
                self._ask_all([event.after for event in changed])
            event = (self._in_order if every else self._halving)(changed)
            if event is None or (guilty is not None and not self._ask_all([event.before])[0].holds):
                return guilty  # what broke it was the work of the pass itself, before or between those inside it
            guilty, steps = event, event.children

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

    def all_verdicts(self) -> list[StepVerdict]:
        """Return what was asked and answered."""
        return list(self.verdicts.values())
