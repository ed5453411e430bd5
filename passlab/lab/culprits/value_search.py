"""`ValueSearch`: hold each pass of a recording to its contract about values until one breaks it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from passlab.errors import PasslabError, WellFormedError
from passlab.instrument.change import is_changed
from passlab.instrument.events import Event, contract_of
from passlab.instrument.unchanged import UnchangedInput
from passlab.lab.culprits.coverage import Coverage
from passlab.lab.culprits.criterion import PATIENCE, Criterion
from passlab.lab.culprits.predicate_search import GuiltyPass, StepVerdict
from passlab.lab.recordings.recording import Recording, record_alone
from passlab.lab.recordings.validation import examine_part, is_checked, program_error, responsible
from passlab.oracle.deadline import Stopwatch, TimeUpError
from passlab.oracle.predicate import raised_error
from passlab.oracle.trial import SECONDS, Trial, attempt
from passlab.oracle.validation import Check, examine

BEFORE_AHEAD = 4.0  # seconds of all steps before one that is wrong at the first look
RUNS = 6  # further runs of a user's pass, which may change its mind
AT_LEAST, ENOUGH = 2, 1.0  # of these runs, and the seconds after which there are no more


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
        self._has_looked = False
        self._ahead: tuple[Event, Check] | None = None  # what that look found

    def all_verdicts(self) -> list[StepVerdict]:
        """Return the verdicts so far, in the order of the passes."""
        return list(self._verdicts)

    @property
    def candidates(self) -> Sequence[Event]:
        """The passes that changed the program and were not compared yet."""
        examined = {id(verdict.event) for verdict in self._verdicts}
        checked = [event for event in self.recording.events[1:] if is_checked(event) and event.replaced]
        return [event for event in checked if id(event) not in examined]

    def run(self) -> GuiltyPass | None:
        """Return the first pass that broke its contract, None where all of those that ran kept theirs.

        Raises `RunError` when the program does not run before any pass.
        """
        recording = self.recording
        trial = self.coverage.trial = self.criterion.trial()
        if recording.failed is None or self.criterion.inputs is not None or self.criterion.entry in recording.input:
            trial.check_inputs(recording.input)
        elif not self.candidates:
            return None  # what failed is known without a run, which has no function to begin with
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
            check = self._examine(event, trial)
            self.coverage.add(event, check)
            self._verdicts.append(StepVerdict(event, check.outcome != "broken", check.why))
            if check.outcome == "broken":
                return GuiltyPass(event, check.why, check)
            if check.outcome == "no contract" and check.finding is not None and suspect is None:
                why = f"it has no contract for values, and they differ: {check.why}"
                suspect = GuiltyPass(event, why, check)
        # A failure is certain, a difference without a contract is not.
        return None if recording.failed is not None else suspect or self._run_again(trial)

    def _examine(self, event: Event, trial: Trial) -> Check:
        """Examine a step. Before one gets more time than `SECONDS`, all later ones are compared on one draw."""
        if self._ahead is not None and self._ahead[0] is event:
            return self._ahead[1]
        most, contract = self.criterion.seconds, self.criterion.default_contract
        has_looked, trial.seconds = self._has_looked, min(SECONDS, most)
        if has_looked:
            trial.seconds = most if self._ahead is None else BEFORE_AHEAD / len(self.candidates)
        check = examine_part(event, trial, contract)
        if not check.late or has_looked or most <= SECONDS:
            return check
        self._has_looked, trial.seconds = True, 0.0
        for later in self.candidates[1:]:
            look, _ = attempt(partial(examine_part, later, trial, contract))
            if look is not None and look.outcome == "broken":
                self._ahead = later, look
                return check
        trial.seconds = most
        return examine_part(event, trial, contract)

    def _run_again(self, trial: Trial) -> GuiltyPass | None:
        """Run the user's passes again on their inputs, and return the first that is wrong then."""
        for event in self.recording.events[1:]:
            pass_ = event.pass_
            if not is_checked(event) or pass_ is None or pass_.trusted:
                continue
            watch = Stopwatch()
            for number in range(RUNS):
                if number >= AT_LEAST and watch.spent() > ENOUGH:
                    break
                limit = max(PATIENCE, 20 * event.seconds)
                again = record_alone(event.before, pass_, event.context, [UnchangedInput()], seconds=limit)
                if isinstance(again.error, TimeUpError):  # the machine may be busy: the first run did end
                    late = f"step {event.id}, {event.name}, did not end in {limit:g} s when run again"
                    self.coverage.notes.append(late)
                    break
                if again.error is not None:
                    why = f"it fails when it runs again: {raised_error(again.error)}"
                    return GuiltyPass(event, why, unsteady=True)
                if not is_changed(event.after, again.last):
                    continue
                contract = contract_of(event, self.criterion.default_contract)
                check = examine(event.name, event.before, again.last, contract, trial)
                if check.outcome == "broken" or check.finding is not None:
                    return GuiltyPass(event, f"it is wrong when it runs again: {check.why}", check, unsteady=True)
                self.coverage.notes.append(f"step {event.id}, {event.name}, gives another program in each run")
                break
        return None


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
    cause = program_error(event.after) if event.replaced else None
    if cause is None or program_error(event.before) is not None:
        return None
    return GuiltyPass(event, _ill_typed_text(cause), cause=cause)


def _ill_typed_text(cause: PasslabError) -> str:
    wrong = "is not well-formed" if isinstance(cause, WellFormedError) else "has no types"
    return f"the program that it left {wrong}: {cause.diagnostics[0].message}"
