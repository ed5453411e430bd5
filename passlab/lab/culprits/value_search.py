"""`ValueSearch`: hold each pass of a recording to its contract about values until one breaks it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import PasslabError, WellFormedError
from passlab.instrument.events import Event
from passlab.lab.culprits.coverage import Coverage
from passlab.lab.culprits.criterion import Criterion
from passlab.lab.culprits.predicate_search import GuiltyPass, StepVerdict
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.validation import examine_part, is_checked, program_error, responsible
from passlab.oracle.predicate import raised_error

NOTHING = GuiltyPass(None)


class ValueSearch:
    """Compares the programs before and after each pass, in order. `looking` is called with each event before that."""

    def __init__(
        self,
        recording: Recording,
        criterion: Criterion,
        coverage: Coverage,
        looking: Callable[[Event], Any] | None,
    ) -> None:
        self.recording = recording
        self.criterion = criterion
        self.coverage = coverage
        self.looking = looking
        self._verdicts: list[StepVerdict] = []

    def all_verdicts(self) -> list[StepVerdict]:
        """Return the verdicts so far, in the order of the passes."""
        return list(self._verdicts)

    @property
    def candidates(self) -> Sequence[Event]:
        """The passes that changed the program and were not compared yet."""
        examined = {id(verdict.event) for verdict in self._verdicts}
        checked = [event for event in self.recording.events[1:] if is_checked(event) and event.changed]
        return [event for event in checked if id(event) not in examined]

    def run(self) -> GuiltyPass | None:
        """Return the first pass that broke its contract, None where all of those that ran kept theirs.

        Raises `RunError` when the program does not run before any pass.
        """
        recording, default_contract = self.recording, self.criterion.default_contract
        trial = self.coverage.trial = self.criterion.trial()
        trial.check_inputs(recording.input)
        with contextlib.suppress(PasslabError):  # the comparison below reports a program that does not run
            trial.explore(recording.input)
        suspect: GuiltyPass | None = None
        for event in recording.events[1:]:
            if not is_checked(event):
                self.coverage.skip(event)
                continue
            if self.looking is not None:
                self.looking(event)
            ill_typed = _ill_typed(event)
            if ill_typed is not None:
                self._verdicts.append(StepVerdict(event, False, ill_typed.why))
                return ill_typed
            check = examine_part(event, trial, default_contract)
            self.coverage.add(event, check)
            self._verdicts.append(StepVerdict(event, check.outcome != "broken", check.why))
            if check.outcome == "broken":
                return GuiltyPass(event, check.why, check)
            if check.outcome == "no contract" and check.finding is not None and suspect is None:
                why = f"it has no contract for values, and they differ: {check.why}"
                suspect = GuiltyPass(event, why, check)
        # A failure is certain, a difference without a contract is not.
        return None if recording.failed is not None else suspect


def responsible_for_failure(recording: Recording) -> GuiltyPass:
    """Return the pass that is responsible for the error that a recording ended with."""
    failed = recording.failed
    assert failed is not None
    # A pass that leaves an ill-typed program may be why a later one fails.
    for event in recording.events[1:]:
        if is_checked(event) and event is not failed and (ill_typed := _ill_typed(event)) is not None:
            return ill_typed
    event = responsible(failed)
    if event is not failed and isinstance(failed.error, PasslabError):
        return GuiltyPass(event, _ill_typed_text(failed.error), cause=failed.error)
    return GuiltyPass(event, raised_error(event.error))


def _ill_typed(event: Event) -> GuiltyPass | None:
    """Return the pass as the guilty one if it made a typed program ill-typed or ill-formed."""
    cause = program_error(event.after) if event.changed else None
    if cause is None or program_error(event.before) is not None:
        return None
    return GuiltyPass(event, _ill_typed_text(cause), cause=cause)


def _ill_typed_text(cause: PasslabError) -> str:
    wrong = "is not well-formed" if isinstance(cause, WellFormedError) else "has no types"
    return f"the program that it left {wrong}: {cause.diagnostics[0].message}"
