"""The view of an instrument: what it measured or found, as a table; what a printer showed, as diffs that unfold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.diffing.diff import diff
from passlab.display.diffs import diff_view, sentence
from passlab.display.module import module_view
from passlab.display.parts import Code, Embedded, Fold, Part, PartsView, Rows, Sentence
from passlab.display.recording import recording_view
from passlab.display.timing import timing_view
from passlab.display.view import View
from passlab.errors import counted, visible
from passlab.instrument.base import PassInstrument
from passlab.instrument.printing import PrintedStep, Printer
from passlab.instrument.timing import PassTimingInstrument
from passlab.lab.recording import Recorder
from passlab.table import Table

if TYPE_CHECKING:
    import pandas as pd

MOST_ATTRIBUTES = 40


class InstrumentView(PartsView):
    """An instrument: its table, where it has one; else what can be read of it."""

    kind = "instrument"

    def __init__(self, instrument: PassInstrument) -> None:
        self.instrument = instrument

    @property
    def title(self) -> str:
        """Its name, and how many passes it has seen where that is known."""
        rows = len(self.table)
        size = counted(rows, "row") if hasattr(self.instrument, "table") else "no measurements to show"
        return f"{self.instrument.name}: {size}"

    @property
    def table(self) -> Table:
        """What it measured; of an instrument without a table its public attributes."""
        table = getattr(self.instrument, "table", None)
        if callable(table):
            measured = table()
            if isinstance(measured, Table):
                return measured
        rows = [(name, _brief(value)) for name, value in vars(self.instrument).items() if not name.startswith("_")]
        return Table(("attribute", "value"), [row for row in rows if row[0] != "name"][:MOST_ATTRIBUTES])

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "muted")
        if len(self.table):
            yield Rows(self.table)

    def data(self) -> dict[str, Any]:
        table = self.table
        rows = [[_plain(cell) for cell in row] for row in table.rows[: limits.current().shown_lines]]
        return {**super().data(), "columns": [visible(name) for name in table.columns], "rows": rows}

    def frame(self) -> pd.DataFrame:
        """Return the table as a data frame."""
        return self.table.frame()


class PrinterView(InstrumentView):
    """What `PrintIRBefore` or `PrintIRAfter` showed, a line for each pass that unfolds to the program or the diff."""

    kind = "printer"
    instrument: Printer

    @property
    def title(self) -> str:
        """How many passes were shown."""
        return f"{self.instrument.name}: {counted(len(self.instrument.steps), 'printed step')}"

    @property
    def table(self) -> Table:
        """One row per pass: its name, and what is said of it."""
        rows = [(f"{step.when} {step.name}", step_head(step)) for step in self.instrument.steps]
        return Table(("pass", "what happened"), rows)

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "muted")
        yield from map(step_part, self.instrument.steps)


class PrintedStepView(PartsView):
    """One program or diff that a printing instrument showed."""

    kind = "printed"

    def __init__(self, step: PrintedStep) -> None:
        self.step = step

    @property
    def title(self) -> str:
        """What is said of the step."""
        return step_head(self.step)

    def parts(self) -> Iterable[Part]:
        yield step_part(self.step)

    def frame(self) -> pd.DataFrame:
        """Return the step as a table of one row."""
        return Table(("pass", "what happened"), [(self.step.name, self.title)]).frame()


def step_head(step: PrintedStep) -> str:
    """Return what is said of a step in one line."""
    if step.note or step.after is None:
        return step.note or "no program"
    if step.before is not None:
        return sentence(diff(step.before, step.after))
    return module_view(step.after).title


def step_part(step: PrintedStep) -> Part:
    """Return the line of a step, which unfolds to its diff, its program or its error."""
    head = f"{step.when} {step.name}: {step_head(step)}"
    if step.after is None:
        return Fold(head, [Code(step.body)] if step.body else [], tone="bad" if step.body else "muted")
    if step.before is None:
        return Fold(head, [Embedded(module_view(step.after))])
    changed = diff(step.before, step.after)
    return Fold(head, [Embedded(diff_view(changed))] if changed else [], tone="" if changed else "muted")


def instrument_view(instrument: PassInstrument) -> View:
    """Return the view of an instrument: of times, of a recording, of printed programs, or a table."""
    if isinstance(instrument, PassTimingInstrument):
        return timing_view(instrument)
    if isinstance(instrument, Recorder):
        return recording_view(instrument.recording)
    return PrinterView(instrument) if isinstance(instrument, Printer) else InstrumentView(instrument)


def printed_step_view(step: PrintedStep) -> PrintedStepView:
    """Return the view of one printed program or diff."""
    return PrintedStepView(step)


def _plain(value: Any) -> str | float:
    """A cell as JSON can say it: numbers as they are, all else as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    exact = isinstance(value, int | float) and abs(value) < 1 << 53
    return value if exact else visible(str(value))


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


__all__ = ["InstrumentView", "PrintedStepView", "PrinterView", "instrument_view", "printed_step_view"]
