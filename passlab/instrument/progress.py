"""`ProgressInstrument`: a progress bar for pipelines."""

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
    """Show the progress of a pipeline: a bar in a terminal or a notebook, a line per pass in any other output.

    Nothing is shown in the first `after` seconds of a context, so that short pipelines stay silent; the bar is removed
    when the context is left. Passes inside others are not counted. Writes to standard error, or to `file`, any object
    with `write`; `bar` says whether to draw a bar, None to decide by the output.

    >>> import sys
    >>> with transform.PassContext(instruments=[instrument.ProgressInstrument(sys.stdout, after=0.0)]):
    ...     _ = transform.parse_pipeline("FoldConstant, FuseOps")(passlab.parse("def @main() { 1f + 2f }"))
    [1/2] FoldConstant
    [2/2] FuseOps
    """

    def __init__(self, file: Any = None, after: float = 0.5, bar: bool | None = None) -> None:
        super().__init__()
        self.file = file
        self.after = after
        self.bar = bar
        self._entered = perf_counter()
        self._lines: list[tuple[int, int, str]] = []
        self._begun: dict[int, tuple[PassRun, int]] = {}  # by `id` of a pipeline's run: how many passes began
        self._width = 0  # of the bar in the output now
        self._timer: threading.Timer | None = None

    def enter_pass_ctx(self) -> None:
        self._remove_bar()
        self._entered = perf_counter()
        self._lines, self._begun = [], {}
        if self.after > 0:  # so that a slow first pass is shown while it runs
            self._timer = threading.Timer(self.after, self._draw)
            self._timer.daemon = True
            try:
                self._timer.start()
            except RuntimeError:  # there are no threads on this platform: the passes after `after` draw the bar
                self._timer = None

    def exit_pass_ctx(self) -> None:
        self._remove_bar()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        run = current_run()
        if run is None or isinstance(run.pass_, Sequential):
            return
        parent = run.parent
        if parent is None:
            self._begin_pass(1, 1, info.name)
        elif isinstance(parent.pass_, Sequential) and parent.parent is None and parent.requiring is None:
            names = [child.info.name for child in parent.pass_.passes]
            began = self._begun.get(id(parent), (parent, 0))[1]
            # A skipped pass never begins, so the place is that of the next pass with this name.
            index = names.index(info.name, began) if info.name in names[began:] else began
            self._begun[id(parent)] = (parent, index + 1)
            self._begin_pass(index + 1, len(names), info.name)

    # ------------------------------------------------------------ drawing
    def _begin_pass(self, number: int, total: int, name: str) -> None:
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
        done = _CELLS * (number - 1) // total  # the pass that runs is not done
        shown = f"{'█' * done}{'░' * (_CELLS - done)} {line}"
        self._out.write(f"\r{shown.ljust(self._width)}")
        self._out.flush()
        self._width = len(shown)

    def _remove_bar(self) -> None:
        """Remove the bar."""
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
        """Whether the output understands carriage returns: terminals and the streams of kernels do."""
        if self.bar is not None:
            return self.bar
        isatty = getattr(self._out, "isatty", None)
        return (isatty is not None and isatty()) or type(self._out).__module__.startswith("ipykernel.")

    # ------------------------------------------------------------ afterwards
    def table(self) -> Table:
        """Return the passes that began: number, of how many, name."""
        return Table(("step", "steps", "pass"), self._lines)

    def text(self) -> str:
        """Return the lines written, or held back, since the context was entered."""
        return "\n".join(f"[{number}/{total}] {name}" for number, total, name in self._lines)
