"""Views as notebook output: a live widget if there is one for the kind of view, HTML and text everywhere.

A widget has the data of its view and draws it in the browser, so it still works when the kernel is busy or
gone. The selection comes back as Python objects: `widget.selection` is a list of nodes, observable and
settable. All widgets of a notebook have one selection: a node that is selected in one is highlighted in the others.
"""

from __future__ import annotations

from typing import Any

from passlab.display.view import View
from passlab.errors import Diagnostic, PassTypeError
from passlab.lazy import load
from passlab.notebook.formatters import VIEWS, static_twins, view_of
from passlab.notebook.view_widget import ViewWidget


class Shown:
    """A view as static output: HTML and plain text."""

    def __init__(self, view: View) -> None:
        self.view = view

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return static_twins(self.view), {}


# The widgets that answer the browser or have more than a selection, by the script of their view; each is loaded for the
# first such view. All others are a plain `ViewWidget`.
_WIDGETS = {
    "comparison": "passlab.notebook.explorer:ComparisonWidget",
    "dump": "passlab.notebook.dump_widget:DumpWidget",
    "graph": "passlab.notebook.graph_widget:GraphWidget",
    "heatmap": "passlab.notebook.explorer:HeatMapWidget",
    "pipeline": "passlab.notebook.explorer:PipelineWidget",
    "prospects": "passlab.notebook.prospects_widget:ProspectsWidget",
    "stepper": "passlab.notebook.stepper_widget:StepperWidget",
}


def show(value: object) -> Any:
    """Return the view of a value as a widget, or as static output where its view has none.

    For notebooks without IPython's display, such as marimo's: `passlab.notebook.show(rec)` as the last line of a cell.
    Raises `PassTypeError` for what has no view.
    """
    view = view_of(value)
    if view is None:
        hint = f"there are views of {', '.join(sorted(name for _, name in VIEWS))}"
        raise PassTypeError(Diagnostic("this value has no view", found=type(value).__name__, hint=hint))
    if not view.script:
        return Shown(view)
    target = _WIDGETS.get(view.script)
    return (load(target) if target else ViewWidget)(view)


__all__ = ["Shown", "ViewWidget", "show"]
