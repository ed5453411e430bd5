"""`validate`: a recording checked afterwards: which of its passes changed what the program computes?

    found = validate(rec)                   # or validate(rec, inputs={"x": x})
    found.first, found.table()

The same questions as `instrument.Validate` asks while passes run, asked of the programs that were kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passlab.analysis.reshape_marks import false_mark_error
from passlab.errors import Diagnostic, PasslabError, PassTypeError
from passlab.infer import infer_module
from passlab.instrument.events import Event
from passlab.instrument.trial import Inputs, Trial, attempt
from passlab.instrument.validation import UNDECLARED, Check, contract_of, examine
from passlab.ir.module import IRModule
from passlab.lab.recording import Recording
from passlab.table import Table
from passlab.transform.numeric_contract import Promise
from passlab.transform.sequential import Sequential


@dataclass(frozen=True)
class Validation:
    """What became of the promises of the passes of a recording: events with their checks, in order. Truthy if kept."""

    checks: tuple[tuple[Event, Check], ...]

    @property
    def first(self) -> tuple[Event, Check] | None:
        """The first pass that broke its promise, with what is wrong; None when there is none."""
        return next(((event, check) for event, check in self.checks if check.outcome == "broken"), None)

    def __bool__(self) -> bool:
        return self.first is None

    def table(self) -> Table:
        """Return one row for each pass: what it promised and whether it kept it."""
        rows = [
            (event.id, check.name, "" if check.promise is None else str(check.promise), check.outcome, check.why)
            for event, check in self.checks
        ]
        return Table(("step", "pass", "promise", "outcome", "why"), rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__


def validate(
    recording: Recording,
    inputs: Inputs = None,
    *,
    entry: str = "main",
    seed: int = 0,
    undeclared: Promise | None = UNDECLARED,
) -> Validation:
    """Run the programs around each recorded pass and hold it to its promise, as `instrument.Validate` does.

    A pass after the one that broke its promise is compared with what it was given, so it is not blamed for it. Raises
    `RunError` when the program does not run on these inputs to begin with.
    """
    checked_recording(recording)
    trial = Trial(inputs, entry, seed)
    trial.check_inputs(recording.input)
    checks: list[tuple[Event, Check]] = []
    for event in recording.events[1:]:
        if is_checked(event):
            checks.append((event, examine_part(event, trial, undeclared)))
    return Validation(tuple(checks))


def checked_recording(value: Any) -> Recording:
    """Return a recording. Raises `PassTypeError` for anything else."""
    if isinstance(value, Recording):
        return value
    hint = "passlab.record(mod, passes) makes one"
    raise PassTypeError(
        Diagnostic(
            "this is not a recording of Relay's passes", expected="Recording", found=type(value).__name__, hint=hint
        )
    )


def is_checked(event: Event) -> bool:
    """Whether an event is a pass that came to its end; the passes of a pipeline are checked one by one.

    The type inference that belongs to a function pass is checked with it.
    """
    if event.status != "ran" or isinstance(event.pass_, Sequential):
        return False
    return not (event.name == "InferType" and event.role == "nested")


def responsible(event: Event) -> Event:
    """Return the pass that a failure is the fault of: a function pass for the type inference that belongs to it."""
    while event.name == "InferType" and event.role == "nested" and event.parent is not None:
        event = event.parent
    return event


def program_error(mod: IRModule) -> PasslabError | None:
    """Return why a program is wrong before it runs: it has no types, or false marks; None where it is right."""
    return attempt(lambda: infer_module(mod.snapshot()))[1] or false_mark_error(mod)


def examine_part(event: Event, trial: Trial, undeclared: Promise | None = UNDECLARED) -> Check:
    """Hold one recorded pass to its promise. Raises `RunError` when the program did not run before it."""
    noted = ((old, new, event.rewrites.rule(i)) for i, (old, new) in enumerate(event.rewrites))
    return examine(event.name, event.before, event.after, contract_of(event, undeclared), trial, noted)
