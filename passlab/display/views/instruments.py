"""The view of an instrument: its measurements as a table; the programs of a printer as diffs that unfold."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from passlab import limits
from passlab.diffing.diff import diff
from passlab.display.protocol.analyses import InstrumentData, PrintedDiff, PrintedHead, PrintedProgram, PrinterData
from passlab.display.rows import Rows
from passlab.display.text.listing import LineTable
from passlab.display.view import BriefView, HasFrame, View, checked_view
from passlab.display.view_parts import Code, Embedded, Fold, Part, Sentence
from passlab.display.views.diffs import BRIEF_LINES, STATIC_LINES, DiffView, diff_view, sentence
from passlab.display.views.module import ModuleView, module_view
from passlab.display.views.recording import recording_view
from passlab.display.views.timing import timing_view
from passlab.errors import counted, visible
from passlab.instrument.base import PassInstrument
from passlab.instrument.printing import PrintedStep, Printer
from passlab.instrument.timing import PassTimingInstrument
from passlab.lab.recordings.recording import Recorder
from passlab.table import Table

MOST_ATTRIBUTES = 40


class InstrumentView(View):
    """An instrument: its table if it has one, else its public attributes."""

    kind = script = "instrument"

    def __init__(self, instrument: PassInstrument) -> None:
        self.instrument = instrument

    @property
    def title(self) -> str:
        """Its own `str` or `repr`, else its name and the number of rows."""
        own, rows = self.instrument, len(self.table)
        for form in (str, repr):
            if getattr(type(own), f"__{form.__name__}__") is not PassInstrument.__str__:
                return _brief(form(own))
        if self._measurement is None and not rows:
            return f"{own.name} has nothing to show: give it a method `table()`, or attributes without `_`"
        return f"{own.name}: {counted(rows, 'attribute' if self._measurement is None else 'row')}"

    @property
    def table(self) -> Table:
        """Its measurements; for an instrument without a table, its public attributes."""
        if self._measurement is not None:
            return self._measurement
        rows = [(name, _brief(value)) for name, value in vars(self.instrument).items() if not name.startswith("_")]
        return Table(("attribute", "value"), [row for row in rows if row[0] != "name"][:MOST_ATTRIBUTES])

    @property
    def _measurement(self) -> Table | None:
        table = getattr(self.instrument, "table", None)
        result = table() if callable(table) else None
        return result if isinstance(result, Table) else None

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "muted")
        if len(self.table):
            yield Rows(self.table)

    def data(self) -> InstrumentData | PrinterData:
        table = self.table
        rows = [[_plain(cell) for cell in row] for row in table.rows[: limits.current().shown_lines]]
        return {
            "kind": self.kind,
            "title": self.title,
            "columns": [visible(name) for name in table.columns],
            "rows": rows,
        }

    def source(self) -> HasFrame:
        """Return the table as a data frame."""
        return self.table


class PrintedStepView(BriefView):
    """One program or diff that a printing instrument showed, as a line that unfolds."""

    kind = script = "printer"
    rest = "print(STEP.diff().text()) prints all lines of a step of the recording"

    def __init__(self, step: PrintedStep) -> None:
        self.step = step

    @cached_property
    def inside(self) -> ModuleView | DiffView | None:
        """The difference or the program that the line unfolds to, None if there is only an error text."""
        before, after = self.step.before, self.step.after
        if after is None:
            return None
        return module_view(after) if before is None else diff_view(diff(before, after))

    @property
    def outcome(self) -> str:
        """The outcome of the pass, one of `palette.OUTCOMES`; a program that is printed whole counts as "input"."""
        if isinstance(self.inside, DiffView):
            return "changed" if self.inside.diff else "unchanged"
        if self.inside is None:
            return "failed" if self.step.body else "unchanged"
        return "input"

    @property
    def summary(self) -> str:
        """The pass's effect in one line."""
        if self.step.note or self.inside is None:
            return self.step.note or "no program"
        return sentence(self.inside.diff) if isinstance(self.inside, DiffView) else self.inside.title

    @property
    def title(self) -> str:
        """When it was printed, the pass, and its effect."""
        return f"{self.step.when} {self.step.name}: {self.summary}"

    @property
    def part(self) -> Fold:
        """The line, which unfolds to the difference, the program or the error."""
        inner: list[Part] = [Code(self.step.body)] if self.outcome == "failed" else []
        if isinstance(self.inside, DiffView) and self.outcome != "unchanged":  # its sentence is the title of this line
            inner = list(self.inside.changes(BRIEF_LINES if self.brief else STATIC_LINES, self.rest, self.brief))
        elif self.inside is not None and self.outcome != "unchanged":
            inner = [Embedded(self.inside)]
        tone = {"failed": "bad", "unchanged": "muted"}.get(self.outcome, "")
        return Fold(self.title, inner, tone=tone)

    def parts(self) -> Iterable[Part]:
        yield self.part

    def data(self) -> PrinterData:
        return printed_data(self.title, [self])

    def data_with(self, table: LineTable) -> PrintedHead | PrintedProgram | PrintedDiff:
        """Return the data of the step, with its lines in a table that steps share."""
        step, inside = self.step, self.inside
        head: PrintedHead = {
            "when": step.when,
            "name": visible(step.name),
            "sentence": visible(self.summary),
            "outcome": self.outcome,
            "body": step.body if self.outcome == "failed" else "",
        }
        if inside is None or self.outcome == "unchanged":
            return head
        if isinstance(inside, ModuleView):
            return {**head, **inside.data_with(table)}
        return {**head, **inside.changes_data(), **inside.lines_data(table)}

    def source(self) -> HasFrame:
        """Return the step as a table of one row."""
        return Table(("pass", "what_happened"), [(self.step.name, self.summary)])


class PrinterView(InstrumentView):
    """What `PrintIRBefore` or `PrintIRAfter` showed, a line for each pass that unfolds to the program or the diff."""

    kind = script = "printer"
    instrument: Printer

    @cached_property
    def steps(self) -> list[PrintedStepView]:
        """The passes that were shown so far, one view for each."""
        return [PrintedStepView(step) for step in self.instrument.steps]

    def for_terminal(self) -> View:
        """Return the steps with the first lines of their differences."""
        view = PrinterView(self.instrument)
        view.steps = [step.for_terminal() for step in self.steps]
        return view

    @property
    def title(self) -> str:
        """How many passes were shown."""
        return f"{self.instrument.name}: {counted(len(self.steps), 'printed step')}"

    @property
    def table(self) -> Table:
        """One row per pass: its name and its effect."""
        return Table(("pass", "what_happened"), [(f"{v.step.when} {v.step.name}", v.summary) for v in self.steps])

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "muted")
        for view in self.steps:
            yield view.part

    def data(self) -> PrinterData:
        return printed_data(self.title, self.steps)


def printed_data(title: str, views: Iterable[PrintedStepView]) -> PrinterData:
    """Return printed steps as data for the widget, with each different line once."""
    table = LineTable()
    steps = [view.data_with(table) for view in views]
    return {"kind": PrinterView.kind, "title": visible(title), "steps": steps, **table.data()}


@checked_view(PassInstrument, hint="instrument.PassTimingInstrument() is one")
def instrument_view(instrument: PassInstrument) -> View:
    """Return the view of an instrument: of times, of a recording, of printed programs, or a table.

    >>> timing = instrument.PassTimingInstrument()
    >>> with transform.PassContext(instruments=[timing]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> print(display.instrument_view(timing).text().splitlines()[0].split()[0])
    FoldConstant
    """
    if isinstance(instrument, PassTimingInstrument):
        return timing_view(instrument)
    if isinstance(instrument, Recorder):
        return recording_view(instrument.recording)
    return PrinterView(instrument) if isinstance(instrument, Printer) else InstrumentView(instrument)


@checked_view(PrintedStep, hint="`steps` of instrument.PrintIRAfter() has them")
def printed_step_view(step: PrintedStep) -> PrintedStepView:
    """Return the view of one printed program or diff."""
    return PrintedStepView(step)


def _plain(value: Any) -> str | float:
    """A cell as JSON: a number, or else text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    exact = isinstance(value, int | float) and abs(value) < 1 << 53  # browsers read numbers as float64
    return value if exact else visible(str(value))


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"
