"""`compare`: two recordings side by side: which passes correspond, where the programs diverge, and the time of each.

    comparison = lab.compare(rec_a, rec_b)
    comparison.rows, comparison.first_divergence, comparison.table()

Passes are aligned by name and options, in order, as lines are in a text diff. A row has a pass of either side or of
both. Programs are compared by structure, so renaming variables is not a divergence.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, overload

from passlab.diffing.diff import Diff
from passlab.diffing.text_diff import steps_of_both
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.equal import structural_equal
from passlab.lab.recordings.event_rows import outcome
from passlab.lab.recordings.lineage import diff
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.validation import checked_recording
from passlab.table import Table, Tabular

_COLUMNS = ("step_a", "step_b", "pass", "outcome_a", "outcome_b", "program", "nodes_a", "nodes_b", "operators")


@dataclass(frozen=True, eq=False)
class ComparedStep:
    """A step of one recording, the one of the other that corresponds to it, or both; None where a side has none.

    `same` says whether the programs after it are equal. For a step of one side, the other side keeps the program of its
    latest step.
    """

    a: Event | None
    b: Event | None
    same: bool
    after_a: Any
    after_b: Any

    @property
    def name(self) -> str:
        """The pass, with its options."""
        event = self.a or self.b
        assert event is not None
        return event.text or event.name

    def diff(self) -> Diff:
        """Return the difference between the programs of both sides after the step."""
        return diff(self.after_a, self.after_b)

    @property
    def nodes(self) -> tuple[int, int]:
        """How many nodes the programs have."""
        return count_module(self.after_a)[0], count_module(self.after_b)[0]

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """The seconds of the pass on either side."""
        return self.a.seconds if self.a else None, self.b.seconds if self.b else None

    @property
    def peak_bytes(self) -> tuple[int | None, int | None]:
        """The peak memory of the pass on either side in bytes, where it was recorded."""
        return self.a.peak_bytes if self.a else None, self.b.peak_bytes if self.b else None

    @property
    def operators(self) -> dict[str, int]:
        """For each operator how many more calls of it the second program has."""
        counts = Counter(count_module(self.after_b)[1])
        counts.subtract(count_module(self.after_a)[1])  # unlike `-`, it keeps negative counts
        return {name: count for name, count in sorted(counts.items()) if count}


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """Two recordings, step by step."""

    a: Recording
    b: Recording
    rows: tuple[ComparedStep, ...]

    @cached_property
    def first_divergence(self) -> ComparedStep | None:
        """The first step after which the programs differ; None when they never do."""
        return next((row for row in self.rows if not row.same), None)

    @property
    def same(self) -> bool:
        """Whether both end with the same program."""
        return not self.rows or self.rows[-1].same

    def summary(self) -> str:
        """Return in a sentence where the programs diverge, what differs in the end, and which steps are in one only."""
        first = self.first_divergence
        only = [sum(row.b is None for row in self.rows), sum(row.a is None for row in self.rows)]
        passes = steps_of_both(len(self.rows) - sum(only), *only)
        if first is None:
            return f"the programs never differ; {passes}"
        side = "" if first.a and first.b else " (only in the first)" if first.a else " (only in the second)"
        where = f"they diverge at {first.name}{side}"
        if self.same:
            return f"the last programs are the same; {where}; {passes}"
        return f"{where}; in the end: {diff(self.a.last, self.b.last).summary}; {passes}"

    def table(self) -> Table:
        """Return a row for each step: both numbers and outcomes, nodes and time of either side, operators."""
        rows = [(*_step_row(row), *row.seconds) for row in self.rows]
        return Table((*_COLUMNS, "seconds_a", "seconds_b"), rows)

    def text(self) -> str:
        """Return the summary and the steps, without times: the same for every run."""
        return f"{self.summary()}\n{Table(_COLUMNS, map(_step_row, self.rows))}"

    def __repr__(self) -> str:
        return self.text()


@overload
def compare(a: Recording, b: Recording) -> Comparison: ...


@overload
def compare(a: Any, b: Any) -> Any: ...


def compare(a: Any, b: Any) -> Any:
    """Align the steps of two recordings and return a `Comparison`. Raises `PassTypeError` for other objects.

    Recordings of text (`passlab.dumps`) align themselves and return a `TextComparison`.

    >>> mod = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> a, b = passlab.record(mod, "FoldConstant"), passlab.record(mod, "InferType")
    >>> lab.compare(a, b).summary().partition(";")[0]
    'they diverge at FoldConstant (only in the first)'
    """
    # Recordings of text are recognized by this method, since `lab` does not import `dumps`.
    if not isinstance(a, Recording) and hasattr(a, "compare"):
        return a.compare(b)
    first, second = checked_recording(a), checked_recording(b)
    texts = [[step.text or step.name for step in rec.steps] for rec in (first, second)]
    rows: list[ComparedStep] = []
    latest = [first.input, second.input]
    # `autojunk` would ignore passes that occur often in recordings of 200 steps or more.
    for tag, i, j, k, end in SequenceMatcher(None, texts[0], texts[1], autojunk=False).get_opcodes():
        if tag == "equal":
            pairs: list[tuple[Event | None, Event | None]] = list(
                zip(first.steps[i:j], second.steps[k:end], strict=True)
            )
        else:
            pairs = [(step, None) for step in first.steps[i:j]]
            pairs += [(None, step) for step in second.steps[k:end]]
        for one, other in pairs:
            latest = [one.after if one else latest[0], other.after if other else latest[1]]
            same = latest[0] is latest[1] or structural_equal(latest[0], latest[1])
            rows.append(ComparedStep(one, other, same, latest[0], latest[1]))
    return Comparison(first, second, tuple(rows))


def _step_row(row: ComparedStep) -> tuple[Any, ...]:
    operators = " ".join(f"{count:+} {name}" for name, count in row.operators.items())
    return (
        "" if row.a is None else row.a.id,
        "" if row.b is None else row.b.id,
        row.name,
        "" if row.a is None else outcome(row.a),
        "" if row.b is None else outcome(row.b),
        "same" if row.same else "differs",
        *row.nodes,
        operators,
    )
