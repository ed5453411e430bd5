"""The widget of the stepper: it sends values in slices, and forks the run with another value."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import traitlets

from passlab.debugger.instant import Instant
from passlab.debugger.trace import Fork
from passlab.display.pages.page import document
from passlab.display.views.stepper import StepperView, stepper_view
from passlab.display.views.tensors import picture
from passlab.errors import PasslabError, visible
from passlab.notebook.view_widget import Change, ViewWidget, notebook_variables

LARGE_CELLS = 112  # of the heat maps that a kernel draws when asked


class StepperWidget(ViewWidget):
    """A recorded run. `at` is the instant that is shown, `now` the state there, `fork` the latest branch."""

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
        self.observe(self._instant_changed, "at")

    def _data(self) -> Mapping[str, Any]:
        return self.view.data(only_start=self.view.is_large)

    @property
    def now(self) -> Instant:
        """The state at the instant that is shown, in the branch if a branch is shown."""
        shown = self.fork.trace if self.fork is not None and self.branch else self.view.trace
        return shown[min(self.at, len(shown))]

    def _instant_changed(self, change: Change) -> None:
        if not self.branch:
            self.view.debugger.goto(min(change["new"], len(self.view.trace)))

    def _answer(self, content: object) -> None:
        if not isinstance(content, dict):
            return
        if content.get("rest") is True:
            self._complete()
        elif type(content.get("draw")) is int:
            number = content["draw"]
            tensor = self.view.values.tensors.get(number)
            drawn = None if tensor is None else picture(tensor, LARGE_CELLS)
            if drawn is not None:
                self.pictures = {**self.pictures, str(number): drawn}
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
            in_slices(self.view.slices(), self._receive_data)
        if fork is not None and self.branch.get("data", {}).get("partial"):

            def complete(data: dict[str, Any]) -> None:
                if self.fork is fork and self.branch:
                    self.branch = {**self.branch, "data": data}

            in_slices(stepper_view(fork.trace).slices(), complete)

    def _receive_data(self, data: dict[str, Any]) -> None:
        self._underway = False
        self.data = data

    def _branch_off(self, change: dict[str, Any]) -> None:
        """Fork the run with another value in a register; errors are shown in the widget."""
        dbg = self.view.debugger
        try:
            instant, register, text = int(change["instant"]), int(change["register"]), str(change["value"])
            self.fork = dbg.fork({register: text}, instant, notebook_variables())
        except PasslabError as error:
            diagnostic = error.diagnostics[0]
            self.branch = {"error": visible(". ".join(part for part in (diagnostic.message, diagnostic.hint) if part))}
            return
        except (KeyError, TypeError, ValueError):
            self.branch = {"error": "a fork needs an instant, a register and a value"}
            return
        self.branch = branch_data(self.fork, stepper_view(self.fork.trace))


def in_slices(slices: Iterator[dict[str, Any] | None], done: Callable[[dict[str, Any]], None]) -> None:
    """Do work in slices, between which the kernel can run other code, and call `done` with the result.

    Without an event loop, as in a plain script, all slices run at once.
    """

    def go_on(loop: asyncio.AbstractEventLoop) -> None:
        part = next(slices)
        if part is None:
            loop.call_soon(go_on, loop)
        else:
            done(part)

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        for piece in slices:
            if piece is not None:
                done(piece)
    else:
        go_on(loop)


def branch_data(fork: Fork, view: StepperView) -> dict[str, Any]:
    """Return the data of a fork: its run, the differences, and the instant where the two diverge (-1: they do not)."""
    head, *_ = fork.text().split("\n")
    table = fork.compare()
    rows = [[visible(str(cell)) for cell in row] for row in table.rows]
    parted = fork.parted
    return {
        "data": view.data(only_start=view.is_large),
        "instant": fork.instant,
        "changed": list(fork.changes),
        "text": visible(head),
        "rows": rows,
        "head": list(table.columns),
        "parted": -1 if parted is None else parted,
    }
