"""The widget of the passes that would change a program: choosing a pass runs it and shows its recording beneath."""

from __future__ import annotations

from typing import Any

import traitlets

from passlab.display.views.prospects import ProspectsView
from passlab.display.views.recording import recording_view
from passlab.lab.recordings.recording import Recording, record
from passlab.lab.variants.prospects import HIGHEST
from passlab.notebook.explorer import PipelineWidget
from passlab.notebook.formatters import static_twins


class ProspectsWidget(PipelineWidget):
    """Passes that would change a program. `recording` belongs to the pass that ran last, None at first."""

    _script = "prospects"
    prospects: Any = traitlets.Dict().tag(sync=True)
    ran = traitlets.Unicode("").tag(sync=True)  # the pass that was run last

    def __init__(self, view: ProspectsView) -> None:
        self.outlook = view
        super().__init__(recording_view(record(view.mod, [])))
        self.recording: Recording | None = None
        self.prospects = view.data()

    def _answer(self, content: object) -> None:
        names = self.outlook.table.column("pass")
        if isinstance(content, dict) and content.get("run") in names:
            name = content["run"]
            self.recording = record(self.outlook.mod, name, opt_level=HIGHEST, name=self.outlook.name)
            self.view = recording_view(self.recording)
            with self.hold_sync():
                self.graphs, self.comparison, self.selected = {}, {}, -1
                self.data = self._data()
                self.ran = name
        else:
            super()._answer(content)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, **static_twins(self.outlook)}, metadata
