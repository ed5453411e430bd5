"""Views as notebook output: a live widget where there is one for the kind of view, HTML and text everywhere.

A widget holds the data of its view and draws it in the browser alone, so that it still works when the kernel is busy or
gone. What is selected in it comes back as a Python object: `widget.selection`.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from passlab.display.graph import GraphView, graph_view
from passlab.display.recording import RecordingView
from passlab.display.scripts import script, style
from passlab.display.view import View
from passlab.instrument.events import Event
from passlab.ir.expr import Expr


class ViewWidget(anywidget.AnyWidget):
    """Base of the widgets: one view, its data, and its static twins."""

    _css = style()
    data = traitlets.Dict().tag(sync=True)

    def __init__(self, view: View) -> None:
        self.view = view
        super().__init__(data=self._data())
        self.on_msg(self._heard)

    def _data(self) -> dict[str, Any]:
        """What the browser gets at first."""
        return self.view.data()

    def _heard(self, _: Any, content: Any, buffers: Any) -> None:
        """Answer a message of the browser. Most widgets need nothing of the kernel."""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), **static_twins(self.view)}, metadata


class ModuleWidget(ViewWidget):
    """A program."""

    _esm = script("module")


class DiffWidget(ViewWidget):
    """A difference between two programs."""

    _esm = script("diff")


class GraphWidget(ViewWidget):
    """A dataflow graph. `selection` is the expression of the box that is selected."""

    _esm = script("graph")
    picked = traitlets.Int(-1).tag(sync=True)
    view: GraphView

    @property
    def selection(self) -> Expr | None:
        """The expression of the selected box, None when none is."""
        boxes = self.view.graph.boxes
        return boxes[self.picked].expr if 0 <= self.picked < len(boxes) else None

    def _heard(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("fold"), bool):
            self.view = self.view.with_folding(content["fold"])
            self.picked = -1
            self.data = self.view.data()


class PipelineWidget(ViewWidget):
    """A recorded pipeline. `selection` is the event of the pass that is selected."""

    _esm = script("pipeline")
    selected = traitlets.Int(-1).tag(sync=True)
    graphs = traitlets.Dict().tag(sync=True)
    view: RecordingView

    def _data(self) -> dict[str, Any]:
        return self.view.data(only_start=self.view.is_large)

    @property
    def selection(self) -> Event | None:
        """The event of the selected pass, None when none is."""
        events = self.view.events
        return events[self.selected] if 0 <= self.selected < len(events) else None

    def _heard(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("rest") and self.data.get("partial"):
            self.data = self.view.data()
        if not isinstance(content, dict) or not isinstance(content.get("graph"), str):
            return
        event = next((e for e in self.view.events if e.id == content.get("id")), None)
        if event is not None and content["graph"] not in self.graphs:
            found = self.view.diff(event)
            drawn = graph_view(event.after, None if found is None else found.diff).data()
            self.graphs = {**self.graphs, content["graph"]: drawn}


class Shown:
    """A view as static output: HTML and plain text."""

    def __init__(self, view: View) -> None:
        self.view = view

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, str], dict[str, Any]]:
        return static_twins(self.view), {}


_WIDGETS: dict[str, type[ViewWidget]] = {
    "module": ModuleWidget, "diff": DiffWidget, "graph": GraphWidget, "pipeline": PipelineWidget,
}  # fmt: skip


def static_twins(view: View) -> dict[str, str]:
    """Return what is shown of a view where no widget runs."""
    return {"text/html": str(view.html()), "text/plain": view.text()}


def show(view: View) -> Any:
    """Return what displays a view in a notebook: a widget, or static output for views without one."""
    widget = _WIDGETS.get(view.kind)
    return Shown(view) if widget is None else widget(view)


__all__ = ["DiffWidget", "GraphWidget", "ModuleWidget", "PipelineWidget", "Shown", "ViewWidget", "show"]
