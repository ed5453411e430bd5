"""`TraceInstrument`: passes on a time line, in the JSON format that Perfetto and Chrome's `about:tracing` open."""

from __future__ import annotations

import json
import os
import threading
from time import perf_counter_ns
from typing import Any

from passlab.atomic_file import write_text
from passlab.instrument.base import PassInstrument
from passlab.instrument.per_run import PerRun
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.base import current_run
from passlab.transform.pass_info import PassInfo


class TraceInstrument(PassInstrument, Tabular):
    """Record when each pass started and ended, thread by thread. `save(path)` writes the trace, `json()` returns it.

    Times are microseconds from the moment the context was entered.

    >>> import json
    >>> trace = instrument.TraceInstrument()
    >>> with transform.PassContext(instruments=[trace]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> "FoldConstant" in trace.json()
    True
    """

    def __init__(self) -> None:
        super().__init__()
        self._events: list[dict[str, Any]] = []
        self._running: PerRun[dict[str, Any]] = PerRun()
        self._origin = perf_counter_ns()

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self._events = []
            self._origin = perf_counter_ns()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        run = current_run()
        event = {
            "name": info.name,
            "cat": "pass",
            "ph": "X",  # a complete event: it has a start and a duration
            "pid": os.getpid(),
            "tid": threading.get_ident(),
            "dur": 0.0,
            "ts": 0.0,
            "args": {"opt_level": info.opt_level, "path": run.path() if run is not None else info.name},
        }
        self._events.append(event)
        self._running.begin(event)
        # Last, so that the work of the instrument does not count.
        event["ts"] = (perf_counter_ns() - self._origin) / 1000

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        now = (perf_counter_ns() - self._origin) / 1000
        event = self._running.end()
        if event is not None:
            event["dur"] = now - event["ts"]

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        event = self._running.of(current_run())
        if event is not None:
            event["args"]["error"] = type(error).__name__
        self.run_after_pass(mod, info)

    def json(self) -> str:
        """Return the trace as JSON text."""
        return json.dumps({"traceEvents": self._events, "displayTimeUnit": "ms"})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file. Raises `FileAccessError`."""
        write_text(path, self.json())

    def table(self) -> Table:
        """Return the passes in order of starting, with the seconds at which each began, and its own."""
        rows = [
            (e["name"], e["args"]["path"], e["ts"] / 1e6, e["dur"] / 1e6, e["args"].get("error", ""))
            for e in self._events
        ]
        return Table(("pass", "path", "start_seconds", "seconds", "error"), rows)

    def text(self) -> str:
        """Return the paths of the passes, one a line: the same for every run."""
        return "\n".join(event["args"]["path"] for event in self._events)
