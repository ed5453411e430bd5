"""`ProgressInstrument`: say which pass of a pipeline is running."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

from passlab.errors import visible
from passlab.instrument.base import PassInstrument
from passlab.ir.module import IRModule
from passlab.transform.base import PassRun, current_run
from passlab.transform.pass_info import PassInfo
from passlab.transform.sequential import Sequential
from passlab.transform.table import Table


class ProgressInstrument(PassInstrument):
    """Write a line for each pass of a pipeline as it starts: `[3/12] FuseOps`.

    Passes that run inside others are not shown; nor are passes faster than `after` seconds since the context was
    entered, so that short pipelines stay silent. Lines go to standard error, or to any object with `write`.
    """

    def __init__(self, file: Any = None, after: float = 0.0) -> None:
        super().__init__()
        self.file = file
        self.after = after
        self._entered = perf_counter()
        self._lines: list[tuple[int, int, str]] = []
        self._places: dict[int, tuple[PassRun, int]] = {}  # by identity of the pipeline's run: how many passes began

    def enter_pass_ctx(self) -> None:
        self._entered = perf_counter()
        self._lines, self._places = [], {}

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        run = current_run()
        if run is None or isinstance(run.pass_, Sequential):
            return
        parent = run.parent
        if parent is None:
            self._line(1, 1, info.name)
        elif isinstance(parent.pass_, Sequential) and parent.parent is None and parent.requiring is None:
            names = [child.info.name for child in parent.pass_.passes]
            began = self._places.get(id(parent), (parent, 0))[1]
            at = names.index(info.name, began) if info.name in names[began:] else began
            self._places[id(parent)] = (parent, at + 1)
            self._line(at + 1, len(names), info.name)

    def _line(self, number: int, total: int, name: str) -> None:
        self._lines.append((number, total, name))
        if perf_counter() - self._entered >= self.after:
            (sys.stderr if self.file is None else self.file).write(f"[{number}/{total}] {visible(name)}\n")

    def table(self) -> Table:
        """Return the passes that began: number, of how many, name."""
        return Table(("number", "of", "pass"), self._lines)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def text(self) -> str:
        """Return the lines written, or held back, since the context was entered."""
        return "\n".join(f"[{number}/{total}] {name}" for number, total, name in self._lines)
