"""Views as notebook output: a live widget where there is one for the kind of view, HTML and text everywhere.

A widget holds the data of its view and draws it in the browser alone, so that it still works when the kernel is busy or
gone. What is selected in it comes back as Python objects: `widget.selection` is a list of nodes, observable and
settable. All widgets of a notebook have one selection: a node that is selected in one is lit in the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, ClassVar
from weakref import WeakSet

import anywidget
import traitlets

from passlab.debugger.forks import Fork
from passlab.debugger.instant import Instant
from passlab.display.graph import GraphView, graph_view
from passlab.display.nodes import node_of, number_of
from passlab.display.page import document
from passlab.display.recording import RecordingView
from passlab.display.scripts import script, style
from passlab.display.stepper import StepperView, stepper_view
from passlab.display.tensors import picture
from passlab.display.text_recording import TextRecordingView
from passlab.display.view import View
from passlab.errors import PasslabError, visible
from passlab.instrument.events import Event
from passlab.ir.expr import Expr
from passlab.ir.node_errors import not_a_node_error

Change = dict[str, Any]  # what traitlets says of a trait that changed, or is about to


class ViewWidget(anywidget.AnyWidget):
    """Base of the widgets: one view, its data, and its static twins. `selection` has the nodes that are selected."""

    _css = style()
    data = traitlets.Dict().tag(sync=True)
    nodes = traitlets.List(traitlets.Int()).tag(sync=True)
    selection: Any = traitlets.List()
    _live: ClassVar[WeakSet[ViewWidget]] = WeakSet()

    def __init__(self, view: View) -> None:
        self.view = view
        super().__init__(data=self._data())
        self.on_msg(self._heard)
        ViewWidget._live.add(self)

    @traitlets.validate("selection")
    def _checked_selection(self, proposal: Change) -> list[Expr]:
        """Take a list of nodes; raises `NodeTypeError` for anything else in it."""
        for node in proposal["value"]:
            if not isinstance(node, Expr):
                raise not_a_node_error(node, "a node of a program")
        return list(proposal["value"])

    @traitlets.observe("selection")
    def _selection_changed(self, change: Change) -> None:
        self.nodes = [number_of(node) for node in change["new"]]

    @traitlets.observe("nodes")
    def _nodes_changed(self, change: Change) -> None:
        """Keep `selection` in step, and light the same nodes in all other widgets."""
        numbers = change["new"]
        kept = {number_of(node): node for node in self.selection}
        selected = [kept.get(number) or node_of(number) for number in numbers]
        self.selection = [node for node in selected if node is not None]
        for widget in list(ViewWidget._live):
            if widget is not self and widget.nodes != numbers:
                widget.nodes = numbers

    def _data(self) -> dict[str, Any]:
        """What the browser gets at first."""
        return self.view.data()

    def _heard(self, _: object, content: object, buffers: object) -> None:
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
    """A dataflow graph."""

    _esm = script("graph")
    view: GraphView

    def _heard(self, _: object, content: object, buffers: object) -> None:
        if isinstance(content, dict) and isinstance(content.get("fold"), bool):
            self.view = self.view.with_folding(content["fold"])
            self.data = self.view.data()


class PipelineWidget(ViewWidget):
    """A recorded pipeline. `event` is the event of the pass that is shown."""

    _esm = script("pipeline")
    selected = traitlets.Int(-1).tag(sync=True)
    graphs = traitlets.Dict().tag(sync=True)
    view: RecordingView

    def _data(self) -> dict[str, Any]:
        return self.view.data(only_start=self.view.is_large)

    @property
    def event(self) -> Event | None:
        """The event of the pass that is shown, None before any is."""
        events = self.view.events
        return events[self.selected] if 0 <= self.selected < len(events) else None

    def _heard(self, _: object, content: object, buffers: object) -> None:
        if isinstance(content, dict) and content.get("rest") and self.data.get("partial"):
            self.data = self.view.data()
        if not isinstance(content, dict) or not isinstance(content.get("graph"), str):
            return
        event = next((e for e in self.view.events if e.id == content.get("id")), None)
        if event is not None and content["graph"] not in self.graphs:
            found = self.view.diff(event)
            drawn = graph_view(event.after, None if found is None else found.diff).data()
            self.graphs = {**self.graphs, content["graph"]: drawn}


LARGE_CELLS = 112  # of the heat maps that a kernel draws when asked


class StepperWidget(ViewWidget):
    """A recorded run. `at` is the instant it shows; `now` the state there; `fork` the branch that was made last."""

    _esm = script("stepper")
    at = traitlets.Int(0).tag(sync=True)
    pictures = traitlets.Dict().tag(sync=True)
    branch = traitlets.Dict().tag(sync=True)
    page = traitlets.Unicode("").tag(sync=True)
    view: StepperView

    def __init__(self, view: StepperView) -> None:
        self.fork: Fork | None = None
        self._underway = False  # the values that were not sent at first
        super().__init__(view)
        self.at = self.data["at"]
        self.observe(self._moved, "at")

    def _data(self) -> dict[str, Any]:
        return self.view.data(only_start=self.view.is_large)

    @property
    def now(self) -> Instant:
        """The state at the instant that is shown, of the branch if one is."""
        shown = self.fork.trace if self.fork is not None and self.branch else self.view.trace
        return shown[min(self.at, len(shown))]

    def _moved(self, change: Change) -> None:
        if not self.branch:
            self.view.debugger.goto(min(change["new"], len(self.view.trace)))

    def _heard(self, _: object, content: object, buffers: object) -> None:
        if not isinstance(content, dict):
            return
        if content.get("rest") is True:
            self._complete()
        elif type(content.get("draw")) is int:
            self._draw(content["draw"])
        elif content.get("export") is True:
            self.page = ""
            self.page = document(stepper_view(self.view.debugger))  # which numbers values for itself
        elif isinstance(content.get("fork"), dict):
            self._branch_off(content["fork"])

    def _complete(self) -> None:
        """Send the values that were not sent at first."""
        fork = self.fork
        if self.data.get("partial") and not self._underway:
            self._underway = True
            in_slices(self.view.slices(), self._completed)
        if fork is not None and self.branch.get("data", {}).get("partial"):

            def completed(data: dict[str, Any]) -> None:
                if self.fork is fork and self.branch:
                    self.branch = {**self.branch, "data": data}

            in_slices(stepper_view(fork.trace).slices(), completed)

    def _completed(self, data: dict[str, Any]) -> None:
        self._underway = False
        self.data = data

    def _draw(self, number: int) -> None:
        tensor = self.view.values.tensors.get(number)
        drawn = None if tensor is None else picture(tensor, LARGE_CELLS)
        if drawn is not None:
            self.pictures = {**self.pictures, str(number): drawn}

    def _branch_off(self, wanted: dict[str, Any]) -> None:
        """Run on with another value in a register; what went wrong is told in the widget."""
        dbg = self.view.debugger
        try:
            instant, register, text = int(wanted["instant"]), int(wanted["register"]), str(wanted["value"])
            self.fork = dbg.fork({register: text}, instant, _variables())
        except PasslabError as error:
            found = error.diagnostics[0]
            self.branch = {"error": visible(". ".join(part for part in (found.message, found.hint) if part))}
            return
        except (KeyError, TypeError, ValueError):
            self.branch = {"error": "this is no fork"}
            return
        self.branch = branch_data(self.fork, stepper_view(self.fork.trace))


def in_slices(slices: Iterator[dict[str, Any] | None], done: Callable[[dict[str, Any]], None]) -> None:
    """Do work in slices, between which the kernel answers others; `done` hears what comes of it.

    Where no event loop runs, as in a plain script, all of it is done at once.
    """

    def go_on(loop: asyncio.AbstractEventLoop) -> None:
        found = next(slices)
        if found is None:
            loop.call_soon(go_on, loop)
        else:
            done(found)

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        for found in slices:
            if found is not None:
                done(found)
    else:
        go_on(loop)


def branch_data(fork: Fork, view: StepperView) -> dict[str, Any]:
    """Return what the widget shows of a fork: its run, what became different, and where the two part (-1: nowhere)."""
    head, *_ = fork.text().split("\n")
    table = fork.compare()
    rows = [[visible(str(cell)) for cell in row] for row in table.rows]
    parted = fork.parted
    return {
        "data": view.data(only_start=view.is_large),
        "instant": fork.instant,
        "text": visible(head),
        "rows": rows,
        "head": list(table.columns),
        "parted": -1 if parted is None else parted,
    }


def _variables() -> dict[str, Any]:
    """The variables of the notebook, none outside of one."""
    from IPython import get_ipython

    shell = get_ipython()
    return {} if shell is None else {n: v for n, v in shell.user_ns.items() if not n.startswith("_")}


class Shown:
    """A view as static output: HTML and plain text."""

    def __init__(self, view: View) -> None:
        self.view = view

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, str], dict[str, Any]]:
        return static_twins(self.view), {}


class DumpWidget(ViewWidget):
    """A recording of another compiler's passes. `step` is the step that is shown."""

    _esm = script("dump")
    selected = traitlets.Int(-1).tag(sync=True)
    view: TextRecordingView

    @property
    def step(self) -> Any:
        """The step that is shown, None before any is."""
        steps = self.view.recording.steps
        return steps[self.selected] if 0 <= self.selected < len(steps) else None


_WIDGETS: dict[str, type[ViewWidget]] = {
    "dump": DumpWidget,
    "module": ModuleWidget,
    "diff": DiffWidget,
    "graph": GraphWidget,
    "pipeline": PipelineWidget,
    "stepper": StepperWidget,
}


def static_twins(view: View) -> dict[str, str]:
    """Return what is shown of a view where no widget runs."""
    return {"text/html": str(view.html()), "text/plain": view.text()}


def show(view: View) -> Any:
    """Return what displays a view in a notebook: a widget, or static output for views without one."""
    widget = _WIDGETS.get(view.kind)
    return Shown(view) if widget is None else widget(view)


__all__ = [
    "DiffWidget",
    "DumpWidget",
    "GraphWidget",
    "ModuleWidget",
    "PipelineWidget",
    "Shown",
    "StepperWidget",
    "ViewWidget",
    "show",
]
