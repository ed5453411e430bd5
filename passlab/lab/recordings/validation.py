"""`validate`: which passes of a recording broke their contracts about the values of the program.

    validation = validate(rec)                   # or validate(rec, inputs={"x": x})
    validation.first, validation.table()

The checks are those that `instrument.Validate` makes while passes run, on the recorded programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passlab.analysis.reshape_marks import false_mark_error
from passlab.arguments import checked
from passlab.errors import Diagnostic, PasslabError, PassTypeError
from passlab.infer import infer_module
from passlab.instrument.events import Event, contract_of
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording
from passlab.oracle.trial import Inputs, Trial, attempt
from passlab.oracle.validation import Check, examine
from passlab.table import Table, Tabular
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract
from passlab.transform.sequential import Sequential


@dataclass(frozen=True)
class Validation(Tabular):
    """The checks of the passes of a recording, in order, each with its event. True when every contract was kept."""

    checks: tuple[tuple[Event, Check], ...]

    @property
    def first(self) -> tuple[Event, Check] | None:
        """The first pass that broke its contract, with its check; None if every pass kept its contract."""
        return next(((event, check) for event, check in self.checks if check.outcome == "broken"), None)

    def __bool__(self) -> bool:
        return self.first is None

    def table(self) -> Table:
        """Return one row for each pass: its contract and whether it kept it."""
        rows = [
            (event.id, check.name, "" if check.contract is None else str(check.contract), check.outcome, check.why)
            for event, check in self.checks
        ]
        return Table(("step", "pass", "contract", "outcome", "why"), rows)

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__


@checked
def validate(
    recording: Recording,
    inputs: Inputs = None,
    *,
    entry: str = "main",
    seed: int = 0,
    default_contract: NumericContract | None = DEFAULT_CONTRACT,
) -> Validation:
    """Run the programs around each recorded pass and hold it to its contract, as `instrument.Validate` does.

    Each pass is compared with its own input program, so a pass is not blamed for an earlier one. Raises `RunError` when
    the input of the recording does not run on these inputs.

    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant")
    >>> print(lab.validate(rec))
    step  pass          contract  outcome  why
    ----  ------------  --------  -------  ---
    1     FoldConstant  EXACT     kept
    """
    checked_recording(recording)
    trial = Trial(inputs, entry, seed)
    trial.check_inputs(recording.input)
    checks: list[tuple[Event, Check]] = []
    for event in recording.events[1:]:
        if is_checked(event):
            checks.append((event, examine_part(event, trial, default_contract)))
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
    """Whether an event is checked: a pass that ran, but not a pipeline, whose passes are checked one by one.

    Type inference inside a function pass is checked with that pass.
    """
    if event.status != "ran" or isinstance(event.pass_, Sequential):
        return False
    return not (event.name == "InferType" and event.role == "nested")


def responsible(event: Event) -> Event:
    """Return the pass that is responsible for a failure: the function pass for a failure of its type inference."""
    while event.name == "InferType" and event.role == "nested" and event.parent is not None:
        event = event.parent
    return event


def program_error(mod: IRModule) -> PasslabError | None:
    """Return the static error of a program: it has no types, or false marks of reshapes; None where it has none."""
    return attempt(lambda: infer_module(mod.snapshot()))[1] or false_mark_error(mod)


def examine_part(event: Event, trial: Trial, default_contract: NumericContract | None = DEFAULT_CONTRACT) -> Check:
    """Check one recorded pass against its contract. Raises `RunError` when the program did not run before it."""
    contract = contract_of(event, default_contract)
    return examine(event.name, event.before, event.after, contract, trial, event.rewrites.with_rules())
