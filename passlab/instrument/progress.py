"""`ProgressInstrument`: say which pass of a pipeline is running."""

from __future__ import annotations

import sys
import threading
from time import perf_counter
from typing import Any

from passlab.errors import visible
from passlab.instrument.base import PassInstrument
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.base import PassRun, current_run
from passlab.transform.pass_info import PassInfo
from passlab.transform.sequential import Sequential

_CELLS = 24


class ProgressInstrument(PassInstrument, Tabular):
    """Show how far a pipeline is: a bar in a terminal or a notebook, a line per pass in any other output.

    Nothing is shown before `after` seconds have passed since the context was entered, so that short pipelines stay
    silent; a bar is taken away when the context is left. Passes that run inside others are not counted. Writes to
    standard error, or to any object with `write`; `bar` says whether it draws a bar, where that is not to be guessed.
    """

    def __init__(self, file: Any = None, after: float = 0.5, bar: bool | None = None) -> None:
        super().__init__()
        self.file = file
        self.after = after
        self.bar = bar
        self._entered = perf_counter()
        self._lines: list[tuple[int, int, str]] = []
        self._places: dict[int, tuple[PassRun, int]] = {}  # by identity of the pipeline's run: how many passes began
        self._width = 0  # of the bar that stands in the output now
        self._timer: threading.Timer | None = None

    def enter_pass_ctx(self) -> None:
        self._stop()
        self._entered = perf_counter()
        self._lines, self._places = [], {}
        if self.after > 0:  # a first pass that takes long would otherwise show nothing until it ends
            self._timer = threading.Timer(self.after, self._draw)
            self._timer.daemon = True
            self._timer.start()

    def exit_pass_ctx(self) -> None:
        self._stop()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        run = current_run()
        if run is None or isinstance(run.pass_, Sequential):
            return
        parent = run.parent
        if parent is None:
            self._add(1, 1, info.name)
        elif isinstance(parent.pass_, Sequential) and parent.parent is None and parent.requiring is None:
            names = [child.info.name for child in parent.pass_.passes]
            began = self._places.get(id(parent), (parent, 0))[1]
            at = names.index(info.name, began) if info.name in names[began:] else began
            self._places[id(parent)] = (parent, at + 1)
            self._add(at + 1, len(names), info.name)

    # ------------------------------------------------------------ drawing
    def _add(self, number: int, total: int, name: str) -> None:
        self._lines.append((number, total, name))
        if perf_counter() - self._entered >= self.after:
            self._draw()

    def _draw(self) -> None:
        """Show the pass that began last."""
        if not self._lines:
            return
        number, total, name = self._lines[-1]
        line = f"[{number}/{total}] {visible(name)}"
        if not self._draws_bar():
            self._out.write(f"{line}\n")
            return
        done = _CELLS * (number - 1) // total
        shown = f"{'█' * done}{'░' * (_CELLS - done)} {line}"
        self._out.write(f"\r{shown.ljust(self._width)}")
        self._out.flush()
        self._width = len(shown)

    def _stop(self) -> None:
        """Take the bar away."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._width:
            self._out.write(f"\r{' ' * self._width}\r")
            self._out.flush()
            self._width = 0

    @property
    def _out(self) -> Any:
        return sys.stderr if self.file is None else self.file

    def _draws_bar(self) -> bool:
        """Whether the output goes back to the start of a line when told: terminals do, and the streams of kernels."""
        if self.bar is not None:
            return self.bar
        isatty = getattr(self._out, "isatty", None)
        return (isatty is not None and isatty()) or type(self._out).__module__.startswith("ipykernel.")

    # ------------------------------------------------------------ afterwards
    def table(self) -> Table:
        """Return the passes that began: number, of how many, name."""
        return Table(("number", "of", "pass"), self._lines)

    def text(self) -> str:
        """Return the lines written, or held back, since the context was entered."""
        return "\n".join(f"[{number}/{total}] {name}" for number, total, name in self._lines)
