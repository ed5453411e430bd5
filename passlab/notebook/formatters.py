"""The views of programs, diffs, recordings, timings, profiles and tables as the value of a cell.

The objects contain no markup; this table connects their classes, by name and so without importing them, to the
views of `display`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from passlab import display
from passlab.errors import naming_interrupts, type_in_words
from passlab.notebook import lazy_modules as rooms

if TYPE_CHECKING:
    from passlab.display.view import View

# (module, class) -> the view function of passlab.display that shows it; a view needs none
VIEWS = {
    ("passlab.display.view", "View"): "",
    ("passlab.ir.module", "IRModule"): "module_view",
    ("passlab.ir.expr", "Expr"): "module_view",
    ("passlab.diffing.diff", "Diff"): "diff_view",
    ("passlab.lab.recordings.recording", "Recording"): "recording_view",
    ("passlab.lab.recordings.comparison", "Comparison"): "comparison_view",
    ("passlab.lab.variants.what_if", "WhatIfTable"): "heat_map_view",
    ("passlab.lab.node_values", "NodeValues"): "node_values_view",
    ("passlab.lab.solver_runs", "Solving"): "solving_view",
    ("passlab.lab.culprits.bisection", "Bisection"): "bisection_view",
    ("passlab.lab.culprits.culprit_search", "Culprit"): "culprit_view",
    ("passlab.lab.fuzzer.fuzzing", "Campaign"): "campaign_view",
    ("passlab.lab.reducer.reduction", "Reduction"): "reduction_view",
    ("passlab.dumps.recording", "TextRecording"): "text_recording_view",
    ("passlab.diffing.text_diff", "TextDiff"): "text_diff_view",
    ("passlab.dumps.comparison", "TextComparison"): "text_comparison_view",
    ("passlab.debugger.trace", "Trace"): "stepper_view",
    ("passlab.debugger.debugger", "Debugger"): "stepper_view",
    ("passlab.instrument.base", "PassInstrument"): "instrument_view",
    ("passlab.instrument.printing", "PrintedStep"): "printed_step_view",
    ("passlab.vm.executable", "Executable"): "executable_view",
    ("passlab.vm.report", "Report"): "profile_view",
    ("passlab.table", "Table"): "table_view",
}

# passlab's extension of JupyterLab shows outputs of this type: live, or the static form that the same output holds.
OUTPUT = "application/vnd.passlab.view+json"
PREDICTION = ("passlab.course.predictions", "Asked")  # a question of the course, which a form answers


def view_of(value: Any) -> Any:
    """Return the view of a value, None when it has none."""
    for cls in type(value).__mro__:
        name = VIEWS.get((cls.__module__, cls.__name__))
        if name is not None:
            return getattr(display, name)(value) if name else value
    return None


def bundle(value: Any, include: Any = None, exclude: Any = None) -> Any:
    """Return the rich forms of a value: widget, HTML and plain text; None for a value without a view.

    IPython calls this for the classes in `VIEWS`. Where the widget library is not installed, there is no widget.
    """
    with naming_interrupts(f"the display of {type_in_words(value)}", hint="its name shows it again, or the cell"):
        view = view_of(value)
        if view is None:
            return None
        if find_spec("anywidget") is None:
            return static_twins(view)
        return rooms.widgets.show(view)._repr_mimebundle_(include=include, exclude=exclude)


def static_twins(*views: View) -> dict[str, Any]:
    """Return the static forms of views, one below the other, shown where no widget runs."""
    with rooms.gc_pause.building():
        twins = [view.twin() for view in views]
        html = rooms.html.with_shared_styles(rooms.html.join([twin.html() for twin in twins]))
        text = "\n\n".join(twin.for_terminal().text() for twin in twins)
        forms = {"text/html": str(html), "text/plain": text}
        marimo = sys.modules.get("marimo")  # which shows a tab for each form, also for those that it does not know
        return forms if marimo and marimo.running_in_notebook() else {OUTPUT: {"version": 1}, **forms}


def _prediction(asked: Any, include: Any = None, exclude: Any = None) -> Any:
    """The form of a question of the course."""
    return rooms.prediction_form.bundle(asked)


def register(display_formatter: Any) -> Callable[[], None] | None:
    """Show the classes of `VIEWS` by their views; return a function that undoes it."""
    plain = display_formatter.mimebundle_formatter
    undo = []
    for (module, name), shown in {**dict.fromkeys(VIEWS, bundle), PREDICTION: _prediction}.items():
        plain.for_type_by_name(module, name, shown)
        undo.append(f"{module}.{name}")

    def take_out() -> None:
        for key in undo:
            plain.pop(key, None)

    return take_out


def unregister(display_formatter: Any, undo: Callable[[], None] | None) -> None:
    """Undo `register`."""
    if undo is not None:
        undo()
