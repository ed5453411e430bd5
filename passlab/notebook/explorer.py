"""The widgets of recordings: the explorer, the comparison, the heat map, and their answers to the browser.

An explorer compares its recording with another one of the notebook, or any two of its own steps, and asks "what if":
`widget.variant` is the recording of the pipeline that was edited last.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any

import traitlets
from IPython import get_ipython

from passlab.display.nodes import node_of
from passlab.display.pages.page_answers import OWN
from passlab.display.protocol.recordings import RecordingData
from passlab.display.text.python_code import python_of
from passlab.display.views.comparisons import ComparisonView, comparison_view
from passlab.display.views.heat_map import HeatMapView
from passlab.display.views.recording import RecordingView, recording_view
from passlab.display.views.rewrites import MOST, misses_data, parts_data, step_data
from passlab.errors import PasslabError, visible
from passlab.instrument.events import Event
from passlab.lab.recordings.comparison import compare
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.rewrites import RewriteStep, rewrites_of, why_not
from passlab.lab.variants.pipeline_variants import WhatIf
from passlab.notebook.pipelines import pass_names, pass_options, passes_of
from passlab.notebook.view_widget import ViewWidget, notebook_variables

MOST_COPIED = 4_000_000  # characters of a program that is copied with its constants


class ComparisonWidget(ViewWidget):
    """Two recordings side by side."""

    view: ComparisonView

    def _data(self) -> Mapping[str, Any]:
        return self.view.data(only_start=True)

    def _answer(self, content: object) -> None:
        if isinstance(content, dict) and "pair" in content:
            self.send(pair_answer(self.view, content["pair"]))


class HeatMapWidget(ViewWidget):
    """The heat map of `lab.what_if`. `variant` is the recording of the cell that was opened last."""

    comparison = traitlets.Dict().tag(sync=True)
    view: HeatMapView
    compared: ComparisonView | None = None
    variant: Recording | None = None

    def _answer(self, content: object) -> None:
        if not isinstance(content, dict):
            return
        cell = content.get("cell")
        if isinstance(cell, list) and len(cell) == 2 and type(cell[0]) is int and isinstance(cell[1], str):
            self._open(cell[0], cell[1])
        if "pair" in content and self.compared is not None:
            self.send(pair_answer(self.compared, content["pair"]))

    def _open(self, number: int, change: str) -> None:
        """Compare the pipeline of a cell with the original. Errors are sent to the widget."""
        try:
            question = self.view.table.question(change, number)
            self.variant, comparison = question.recording, question.comparison
        except PasslabError as error:
            self.send({"refused": visible(error.diagnostics[0].message)})
            return
        self.compared = comparison_view(comparison)
        self.comparison = {**self.compared.data(only_start=True), "other": f"{number} {change}"}
        self.send({"opened": f"{number} {change}"})


class PipelineWidget(ViewWidget):
    """A recorded pipeline. `event` is the event of the shown pass; `variant` is the recording of an edited pipeline."""

    selected = traitlets.Int(-1).tag(sync=True)
    place = traitlets.Dict().tag(sync=True)  # where the reader is, for when the page is loaded again
    graphs = traitlets.Dict().tag(sync=True)
    comparison = traitlets.Dict().tag(sync=True)
    view: RecordingView
    compared: ComparisonView | None = None
    variant: Recording | None = None
    _steps: frozenset[int] | set[int] = frozenset()  # those that were looked at, of a huge recording
    _looked_into: tuple[Event | None, list[RewriteStep]] = (None, [])

    def _data(self) -> Mapping[str, Any]:
        return self._named(self.view.data(only_start=self.view.is_large))

    def _named(self, data: RecordingData) -> RecordingData:
        """The data with the name that the program has in the notebook."""
        program = self.view.recording.input
        name = next((name for name, value in notebook_variables().items() if value is program), data["program"])
        return {**data, "program": name}

    @property
    def event(self) -> Event | None:
        """The event of the pass that is shown, None at first."""
        events = self.view.events
        return events[self.selected] if 0 <= self.selected < len(events) else None

    def _answer(self, content: object) -> None:
        if not isinstance(content, dict):
            return
        if content.get("rest") and self.data.get("partial"):
            self.data = self._named(self.view.data())
        step = content.get("step")
        if type(step) is int and 0 <= step < len(self.view.events) and self.data.get("partial"):
            self._steps = {*self._steps, step}
            self.data = self._named(self.view.data(only_start=True, also=self._steps))
        if isinstance(content.get("graph"), str):
            self._draw(content["graph"], content.get("id"))
        if content.get("others"):
            self.send({"others": [OWN, *_recordings()], "passes": pass_names(notebook_variables())})
        if isinstance(content.get("compare"), str):
            self._compare(content["compare"])
        if isinstance(content.get("what_if"), list):
            self._what_if(content["what_if"])
        query = content.get("find")
        if isinstance(query, str) and query:
            lines, left = self.view.find(query)
            self.send({"found": query, "lines": lines, "left": left})
        if isinstance(content.get("copy"), str):
            self._copy(content["copy"], content.get("id"), content.get("node"))
        if isinstance(content.get("options"), str):
            self.send({"options": content["options"], "fields": pass_options(content["options"], notebook_variables())})
        if isinstance(content.get("bind"), str):
            self._bind_variant(content["bind"])
        if content.get("keep") and self.variant is not None:
            self._keep(self.variant)
        if isinstance(content.get("rewrites"), str):
            event_id = content["rewrites"]
            steps = self._rewrites(event_id)
            self.send({"rewrites": event_id, "steps": [step_data(step) for step in steps[:MOST]]})
        for name, answer in (("parts", self._rewrite_parts), ("why_not", self._why_not)):
            if isinstance(content.get(name), list) and len(content[name]) == 2:
                answer(*content[name])
        if "pair" in content and self.compared is not None:
            self.send(pair_answer(self.compared, content["pair"]))

    def _draw(self, key: str, event_id: object) -> None:
        event = self._event(event_id)
        if event is not None and key not in self.graphs:
            self.graphs = {**self.graphs, key: self.view.graph(event).data()}

    def _event(self, event_id: object) -> Event | None:
        return next((event for event in self.view.events if event.id == event_id), None)

    def _rewrites(self, event_id: object) -> list[RewriteStep]:
        """The rewrites of a pass; for the last pass they are cached."""
        event = self._event(event_id)
        if event is not self._looked_into[0]:
            self._looked_into = (event, [] if event is None else rewrites_of(event))
        return self._looked_into[1]

    def _copy(self, what: str, event_id: object, number: object) -> None:
        """Send a program, or a node as Python, as text for the clipboard."""
        event = self._event(event_id)
        node = node_of(number) if type(number) is int else None
        if what == "node" and node is not None:
            self.send({"copied": what, "text": python_of(node)})
        if what in ("before", "after") and event is not None:
            mod = event.before if what == "before" else event.after
            text = mod.astext(show_meta_data=True)
            self.send({"copied": what, "text": text if len(text) < MOST_COPIED else mod.astext(show_meta_data=False)})

    def _bind_variant(self, name: str) -> None:
        """Bind the recording of the edited pipeline to a name of the notebook."""
        problem = ""
        shell = get_ipython()
        if not name.isidentifier() or keyword.iskeyword(name):
            problem = f"`{visible(name)}` is not a Python name"
        elif shell is None or self.variant is None:
            problem = "there is no notebook to bind a name in" if shell is None else "no edited pipeline has run yet"
        else:
            shell.user_ns[name] = self.variant
        self.send({"bound": name, **({"problem": problem} if problem else {})})

    def _keep(self, recording: Recording) -> None:
        """Show another recording in place of this one."""
        self.view = recording_view(recording)
        self.graphs, self.comparison, self._steps = {}, {}, frozenset()
        self._looked_into = (None, [])
        self.data = self._data()

    def _rewrite_parts(self, event_id: object, number: object) -> None:
        steps = self._rewrites(event_id)
        if type(number) is int and 0 <= number < len(steps):
            self.send({"parts": f"{event_id}:{number}", "data": parts_data(steps[number])})

    def _why_not(self, event_id: object, number: object) -> None:
        event, node = self._event(event_id), node_of(number) if type(number) is int else None
        if event is not None and node is not None:
            self.send({"misses": misses_data(node, why_not(event, node))})

    def _compare(self, name: str) -> None:
        """Compare the recording with another one of the notebook, or with itself."""
        other = self.view.recording if name == OWN else _recordings().get(name)
        if other is None:
            self.send({"refused": f"there is no recording {name} any more"})
            return
        self._show_comparison(comparison_view(compare(self.view.recording, other)), name)

    def _what_if(self, passes: list[Any]) -> None:
        """Run another pipeline: numbers are passes of the recording, texts new ones. Errors are sent to the widget."""
        items = [item for item in passes if type(item) is int or isinstance(item, str)]
        try:
            question = WhatIf(self.view.recording).rewrite(items, passes_of(notebook_variables()))
            self.variant = question.recording
            comparison = question.comparison
        except PasslabError as error:
            diagnostic = error.diagnostics[0]
            self.send({"refused": visible(". ".join(part for part in (diagnostic.message, diagnostic.hint) if part))})
            return
        self._show_comparison(comparison_view(comparison), "")

    def _show_comparison(self, view: ComparisonView, name: str) -> None:
        self.compared = view
        self.comparison = {**view.data(only_start=True), "other": name}


def pair_answer(view: ComparisonView, pair: Any) -> dict[str, Any]:
    """Return the description of a pair of steps: their difference, or why they have no difference."""
    if not (isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair)):
        return {"refused": "a comparison needs two steps"}
    key = f"{pair[0]}:{pair[1]}"
    try:
        return {"pair": key, "data": view.pair(*pair)}
    except PasslabError as error:
        return {"pair": key, "problem": visible(error.diagnostics[0].message)}


def _recordings() -> dict[str, Recording]:
    """The recordings that have names in the notebook."""
    return {name: value for name, value in notebook_variables().items() if isinstance(value, Recording)}
