"""`%%relay net --live PIPELINE`: a program that one edits, with its pipeline beneath, which runs again as one types.

What cannot be read or run is reported at its source location, and the last good result stays. A pass that another cell
redefines runs again as well. `widget.recording` is the recording that is shown, `widget.program` the program.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import traitlets

from passlab.display.recording import recording_view
from passlab.errors import Diagnostic, PasslabError, visible
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.recording import Recording
from passlab.notebook import pipelines
from passlab.notebook.explorer import PipelineWidget

_NAMES = re.compile(r"[^\W\d]\w*")
_newest: dict[str, LiveWidget] = {}  # by the name that each binds: an older one no longer follows other cells


class LiveOptions(NamedTuple):
    """What a live cell was started with: the name of its program, the level, constants that it binds."""

    name: str
    opt_level: int | None = None
    constants: dict[str, Any] | None = None


class LiveWidget(PipelineWidget):
    """A program that is edited, and the recording of its pipeline. `source` and `pipeline` are what is typed."""

    _script = "live"
    source = traitlets.Unicode("").tag(sync=True)
    pipeline = traitlets.Unicode("").tag(sync=True)
    problems: Any = traitlets.List().tag(sync=True)
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
        """Read and run what is typed; what is wrong with it becomes `problems`, and what is shown stays."""
        self._passes = self._named_passes()
        try:
            program = self._read(self.source)
            recording, _ = self._record(program, self.pipeline)
        except PasslabError as error:
            self.problems = [self._problem(finding) for finding in error.diagnostics]
            return
        self.recording = recording
        self.view = recording_view(recording)
        self.problems = []
        self.graphs = {}
        self.data = self._data()
        self._bind(program)

    def follow(self) -> None:
        """Run again if a pass that the pipeline names is another one than before."""
        if _newest.get(self.options.name) is self and self._named_passes() != self._passes:
            self.refresh()

    def _text_changed(self, _: object) -> None:
        self.refresh()

    def _read(self, source: str) -> IRModule | Expr:
        return pipelines.read(source, self.options.name, constants=self.options.constants)

    def _record(self, program: IRModule | Expr, pipeline: str) -> tuple[Recording, list[Any]]:
        mod = program if isinstance(program, IRModule) else IRModule.from_expr(program)
        context = pipelines.PipelineOptions(self.options.opt_level, [], [], {})
        return pipelines.run(mod, pipeline, context, self.namespace, [])

    def _bind(self, program: IRModule | Expr) -> None:
        """Bind the name to the program, as `%%relay` does; one that cannot be read leaves the last that could."""
        self.namespace[self.options.name] = program

    def _named_passes(self) -> dict[str, int]:
        """Which objects the names in the pipeline are."""
        names = set(_NAMES.findall(self.pipeline))
        return {name: id(self.namespace[name]) for name in names if name in self.namespace}

    def _problem(self, finding: Diagnostic) -> dict[str, Any]:
        """A finding as data: where it is, if in the program, with lines and columns from 0, and in words."""
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
    """Let the live programs of the notebook follow what a cell has defined anew."""
    for widget in list(_newest.values()):
        widget.follow()
