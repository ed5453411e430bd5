"""`%%relay net --live PIPELINE`: an editor for a program, with its pipeline, which runs again after each change.

Errors are reported at their source location, and the last good result stays. The pipeline also runs again if another
cell redefines one of its passes. `widget.recording` is the shown recording, `widget.program` the program.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import traitlets

from passlab.display.views.recording import recording_view
from passlab.errors import Diagnostic, PasslabError, visible
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording
from passlab.notebook import pipelines
from passlab.notebook.completion import candidates
from passlab.notebook.explorer import PipelineWidget

_NAMES = re.compile(r"[^\W\d]\w*")
MOST_OFFERED = 200
_newest: dict[str, LiveWidget] = {}  # by the name that each binds: an older one no longer follows other cells


class LiveOptions(NamedTuple):
    """The options of a live cell: the name of its program, the level, and the constants to bind."""

    name: str
    opt_level: int | None = None
    constants: dict[str, Any] | None = None


class LiveWidget(PipelineWidget):
    """A program in an editor, and the recording of its pipeline. `source` and `pipeline` are its texts."""

    _script = "live"
    source = traitlets.Unicode("").tag(sync=True)
    pipeline = traitlets.Unicode("").tag(sync=True)
    problems: Any = traitlets.List().tag(sync=True)
    followed = traitlets.Unicode("").tag(sync=True)  # which passes of other cells the last run followed
    recording: Recording

    def __init__(self, source: str, pipeline: str, options: LiveOptions, namespace: dict[str, Any]) -> None:
        self.options = options
        self.namespace = namespace
        program = self._read(source)
        self.recording, _ = self._record(program, pipeline)
        super().__init__(recording_view(self.recording))
        with self.hold_trait_notifications():
            self.source, self.pipeline = source, pipeline
        self._passes = self._named_passes()
        self._bind(program)
        _newest[options.name] = self
        self.observe(self._text_changed, names=["source", "pipeline"])

    @property
    def program(self) -> IRModule:
        """The program at the start of the recording that is shown."""
        return self.recording.input

    def refresh(self) -> None:
        """Parse and run the texts of the editor; errors become `problems`, and the last good result stays."""
        passes, self._passes = self._passes, self._named_passes()
        changed = [name for name, one in self._passes.items() if passes.get(name, one) != one]
        try:
            program = self._read(self.source)
            recording, _ = self._record(program, self.pipeline)
        except PasslabError as error:
            self.problems = [self._problem(finding) for finding in error.diagnostics]
            return
        self.recording = recording
        self.view = recording_view(recording)
        self.problems = []
        self.followed = f"runs {' and '.join(changed)} as another cell defines it now" if changed else ""
        self.graphs = {}
        self.data = self._data()
        self._bind(program)

    def follow(self) -> None:
        """Run again if a name in the pipeline now means another pass."""
        if _newest.get(self.options.name) is self and self._named_passes() != self._passes:
            self.refresh()

    def _answer(self, content: object) -> None:
        super()._answer(content)
        if isinstance(content, dict) and isinstance(before := content.get("complete"), str):
            head = f"%%relay {self.options.name}\n"
            text = f"{head}{before}{content.get('rest_of_text', '')}"
            found, fragment = candidates(text, f"{head}{before}", self.namespace)
            self.send({"completed": found[:MOST_OFFERED], "start": len(before) - len(fragment)})

    def _text_changed(self, _: object) -> None:
        self.refresh()

    def _read(self, source: str) -> IRModule | Expr:
        return pipelines.read(source, self.options.name, constants=self.options.constants)

    def _record(self, program: IRModule | Expr, pipeline: str) -> tuple[Recording, list[Any]]:
        mod = program if isinstance(program, IRModule) else IRModule.from_expr(program)
        context = pipelines.PipelineOptions(self.options.opt_level, [], [], {})
        return pipelines.run(mod, pipeline, context, self.namespace, [])

    def _bind(self, program: IRModule | Expr) -> None:
        """Bind the name to the program, as `%%relay` does."""
        self.namespace[self.options.name] = program

    def _named_passes(self) -> dict[str, list[int]]:
        """The identities of the objects that the pipeline names, and of the passes in a list."""
        values = {name: self.namespace[name] for name in _NAMES.findall(self.pipeline) if name in self.namespace}
        return {name: [id(value), *(map(id, value) if type(value) is list else ())] for name, value in values.items()}

    def _problem(self, finding: Diagnostic) -> dict[str, Any]:
        """A diagnostic as data: its text, and its location if it is in the program, with lines and columns from 0."""
        place = finding.place
        parts = [finding.message]
        if finding.expected is not None:
            parts.append(f"expected {finding.expected}, found {finding.found}" if finding.found else finding.expected)
        parts += [finding.hint] if finding.hint else []
        text = visible("; ".join(parts))
        if place is None or place.source_name != self.options.name:
            return {"line": -1, "text": text, "pipeline": place is not None and place.source_name == "pipeline"}
        last = place.end_column - 1 if place.end_line == place.line else -1
        # The text begins in the second line of its source.
        return {"line": place.line - 2, "start": place.column - 1, "end": last, "text": text, "pipeline": False}


def cell_ended(_: object = None) -> None:
    """Let the live programs of the notebook follow passes that a cell has redefined."""
    for widget in list(_newest.values()):
        widget.follow()
