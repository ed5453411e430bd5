"""The view of two recordings side by side: aligned passes, where the programs diverge, any two programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial

from passlab.display.protocol.programs import DiffData
from passlab.display.protocol.recordings import ComparedRow, ComparisonData, Side, SideStep
from passlab.display.rows import Rows, milliseconds
from passlab.display.text.listing import Listings, ProgramLines
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Embedded, Fold, HtmlOnly, Part, Sentence
from passlab.display.views.diffs import DiffView, diff_view, sentence
from passlab.display.views.recording import outcome
from passlab.errors import Diagnostic, PassError, visible
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.module import IRModule
from passlab.lab.recordings.comparison import ComparedStep, Comparison
from passlab.lab.recordings.lineage import diff
from passlab.lab.recordings.recording import Recording
from passlab.table import Table

STATIC_DIFFS = 3  # that static HTML shows: the first divergence and those that follow
PLAIN = ("step_a", "step_b", "pass", "outcome_a", "outcome_b", "program", "nodes_a", "nodes_b", "operators")


class ComparisonView(View):
    """Two recordings, step by step."""

    kind = script = "comparison"

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._diffs: dict[tuple[int, int], DiffView] = {}
        self.lines: Callable[[IRModule], ProgramLines] = Listings().of

    @cached_property
    def title(self) -> str:
        """Where they diverge, and what differs at the end."""
        summary = self.comparison.summary()
        return visible(summary[:1].upper() + summary[1:] + ".")

    def parts(self) -> Iterable[Part]:
        """Yield the sentence, the aligned passes, and the differences after the first steps that differ."""
        yield Sentence(self.title)
        columns = self.comparison.table()
        kept = [columns.columns.index(name) for name in PLAIN]
        yield Rows(Table(PLAIN, [tuple(row[at] for at in kept) for row in columns.rows]))
        differing = [row for row in self.comparison.rows if not row.same]
        for row in differing[:STATIC_DIFFS]:
            yield HtmlOnly(Fold(f"after {row.name}", [Embedded(diff_view(row.diff()))]))

    def source(self) -> HasFrame:
        """Return one row per step."""
        return self.comparison

    # ------------------------------------------------------------ data
    def pair(self, a: int, b: int) -> DiffData:
        """Return the difference between the programs after two steps, one of either recording, as data.

        Raises `PassError` if there is no such step.
        """
        old, new = _step(self.comparison.a, a).after, _step(self.comparison.b, b).after
        view = self._diffs.get((id(old), id(new)))
        if view is None:
            view = DiffView(diff(old, new), partial(self.lines, old), partial(self.lines, new))
            self._diffs[id(old), id(new)] = view
        return view.data()

    def sentence(self, a: int, b: int) -> str:
        """Return the difference between the programs after two steps as a sentence.

        Raises `PassError` if there is no such step.
        """
        return sentence(diff(_step(self.comparison.a, a).after, _step(self.comparison.b, b).after))

    def data(self, only_start: bool = False) -> ComparisonData:
        """Return the data of the widget; with `only_start`, only the difference of the row that it opens with."""
        rows = [self._row(row, at) for row, at in self._rows_with_steps()]
        first = next((number for number, row in enumerate(rows) if not row["same"]), -1)
        start = first if first >= 0 else len(rows) - 1
        rows_shown = [rows[start]] if only_start else [row for row in rows if not row["same"]]
        return {
            "kind": self.kind,
            "title": self.title,
            "sides": (_side(self.comparison.a), _side(self.comparison.b)),
            "rows": rows,
            "first": first,
            "start": start,
            "pairs": {"{}:{}".format(*row["at"]): self.pair(*row["at"]) for row in rows_shown},
        }

    def _rows_with_steps(self) -> Iterable[tuple[ComparedStep, tuple[int, int]]]:
        """Yield the rows with the number of the latest step of each side."""
        a = b = 0
        for row in self.comparison.rows:
            a = a if row.a is None else int(row.a.id)
            b = b if row.b is None else int(row.b.id)
            yield row, (a, b)

    def _row(self, row: ComparedStep, at: tuple[int, int]) -> ComparedRow:
        return {
            "at": at,
            "name": visible(row.name),
            "a": row.a is not None,
            "b": row.b is not None,
            "same": row.same,
            "calls": sum(row.operators.values()),
        }


def _step(recording: Recording, number: int) -> Event:
    if not 0 <= number < len(recording.steps):
        raise PassError(Diagnostic(f"there is no step {number}", hint=f"the last is {len(recording.steps) - 1}"))
    return recording.steps[number]


def _side(recording: Recording) -> Side:
    """The steps of one recording: names, outcomes, times and sizes."""
    return {"name": visible(recording.name), "steps": [_step_data(step) for step in recording.steps]}


def _step_data(step: Event) -> SideStep:
    nodes, calls = count_module(step.after)
    return {
        "id": step.id,
        "name": visible(step.text or step.name),
        "outcome": outcome(step),
        "role": step.role,
        "error": "" if step.error is None else visible(str(step.error).strip().split("\n")[0]),
        "ms": milliseconds(step.seconds),
        "peak": step.peak_bytes,
        "nodes": nodes,
        "calls": sum(calls.values()),
    }


@checked_view(Comparison, hint="lab.compare(recording, other) returns one")
def comparison_view(comparison: Comparison) -> ComparisonView:
    """Return the view of a comparison of two recordings (`lab.compare`).

    >>> mod = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> a, b = passlab.record(mod, "FoldConstant"), passlab.record(mod, "InferType")
    >>> print(display.comparison_view(lab.compare(a, b)).text().partition(";")[0])
    They diverge at FoldConstant (only in the first)
    """
    return ComparisonView(comparison)
