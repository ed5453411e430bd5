"""The output of `PrintIRBefore` and `PrintIRAfter` in a notebook: one widget, which grows with every pass."""

from __future__ import annotations

from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from IPython.display import display

from passlab.display import instrument_view
from passlab.instrument.printing import Printer
from passlab.notebook.progress import PATIENCE
from passlab.notebook.view_widget import ViewWidget

SHARE = 10  # at most a tenth of a pipeline's time is spent on updating the widget


class PrintedCell:
    """The widget of one printer. A short pipeline shows it at its end, a long one while it runs."""

    def __init__(self) -> None:
        self.widget: ViewWidget | None = None
        self.handle: Any = None
        self.next = monotonic() + PATIENCE

    def update(self, printer: Printer, whole: bool) -> None:
        """Show the steps so far, or wait for a later step if that would take too much of the time."""
        began = monotonic()
        if began < self.next and not whole:
            return
        view = instrument_view(printer)
        if self.widget is None:
            self.widget = ViewWidget(view)
            self.handle = display(self.widget, display_id=not whole or None)
        else:
            self.widget.view = view
            self.widget.data = view.data()
            if whole and self.handle is not None:
                self.handle.update(self.widget)  # updates the stored static forms
        ended = monotonic()
        self.next = ended + SHARE * (ended - began)


class PrintedCells:
    """The widgets of printers, each in the cell in which its context was entered."""

    def __init__(self) -> None:
        self._shown: WeakKeyDictionary[Printer, PrintedCell] = WeakKeyDictionary()

    def show(self, printer: Printer, whole: bool) -> None:
        """Show the output of a printer so far; with `whole`, its context has ended, and the next gets a new widget."""
        self._shown.setdefault(printer, PrintedCell()).update(printer, whole)
        if whole:
            del self._shown[printer]


HERE = PrintedCells()
