"""The widget of a recording of another compiler's passes, in which one name is followed."""

from __future__ import annotations

from typing import Any

import traitlets

from passlab.display.views.text_recording import TextRecordingView, unit_names
from passlab.notebook.view_widget import Change, ViewWidget


class DumpWidget(ViewWidget):
    """A recording of another compiler's passes.

    `selected` is the index of the shown step in `recording.steps`, `picked` the name that is followed: its
    unit, its name, and the step after which it has this name. All widgets of one recording follow the same name.
    """

    selected = traitlets.Int(-1).tag(sync=True)
    picked = traitlets.Dict().tag(sync=True)
    view: TextRecordingView

    @property
    def step(self) -> Any:
        """The step that is shown, None at first."""
        steps = self.view.recording.steps
        return steps[self.selected] if 0 <= self.selected < len(steps) else None

    def pick(self, name: str, unit: str = "", step: Any = -1) -> None:
        """Follow a value of a unit by its name after a step, here and in all other widgets of the recording.

        Raises `DumpError` if there is no such name.
        """
        recording = self.view.recording
        recording.follow(name, unit, step)  # raises for unknown names
        number = [*recording.units].index(recording.history(unit).unit.name)
        shown = unit_names(recording)[number]
        self.picked = {"unit": shown, "name": name, "step": recording.number_of(step)}

    @traitlets.observe("picked")
    def _picked_changed(self, change: Change) -> None:
        for widget in list(ViewWidget._live):
            if isinstance(widget, DumpWidget) and widget.view.recording is self.view.recording:
                widget.picked = change["new"]
