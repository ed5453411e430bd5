"""`MemoryInstrument`: the memory that each pass takes, and `MemoryMeter`, which recorders use, too.

`tracemalloc` counts Python allocations, which slows passes down several times.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

from passlab.instrument.base import PassInstrument
from passlab.instrument.per_run import PerRun
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.pass_info import PassInfo


class MemoryMeter:
    """Peak and kept bytes of nested intervals of work: `begin`, work, `end`.

    An interval without an end is dropped with the one around it. Tracing is started when it is off, and stopped again
    by `close`.
    """

    def __init__(self) -> None:
        self._open: list[list[int]] = []  # [bytes at the start, highest so far]
        self._started = False

    def begin(self) -> list[int]:
        """Start an interval inside the current one, and return it."""
        if not tracemalloc.is_tracing():
            self._started = True  # first: an interrupt between the two lines must not leave it running for good
            tracemalloc.start()
        now, peak = tracemalloc.get_traced_memory()
        for around in self._open[-1:]:  # the peak so far belongs to the interval around this one
            around[1] = max(around[1], peak)
        tracemalloc.reset_peak()
        self._open.append(interval := [now, now])
        return interval

    def end(self, interval: list[int]) -> tuple[int, int]:
        """End an interval; return (peak, kept): its highest and its last bytes above those at its start."""
        start, highest = interval
        while any(other is interval for other in self._open):  # also drops inner intervals that an error left open
            highest = max(highest, self._open.pop()[1])
        now, peak = tracemalloc.get_traced_memory()
        highest = max(highest, peak)
        for around in self._open[-1:]:
            around[1] = max(around[1], highest)
        tracemalloc.reset_peak()
        return max(0, highest - start), now - start

    def close(self) -> None:
        """Stop the tracing that this meter started."""
        self._open = []
        if self._started:
            tracemalloc.stop()
            self._started = False


class MemoryInstrument(PassInstrument, Tabular):
    """Measure the memory of every pass: `frame()` gives the peak above its start and what it kept, in bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._meter = MemoryMeter()
        self._rows: list[list[Any]] = []
        self._running: PerRun[tuple[list[Any], list[int]]] = PerRun()

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self._rows = []

    def exit_pass_ctx(self) -> None:
        if not self._running.inside:
            self._meter.close()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        row = [len(self._running.enclosing()), info.name, None, None, False]
        self._rows.append(row)
        self._running.begin((row, self._meter.begin()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._end(failed=False)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._end(failed=True)

    def _end(self, failed: bool) -> None:
        state = self._running.end()
        if state is not None:
            row, interval = state
            row[2:] = [*self._meter.end(interval), failed]

    def table(self) -> Table:
        """Return the passes in order of starting, with their bytes."""
        return Table(("depth", "pass", "peak_bytes", "kept_bytes", "failed"), self._rows)

    def text(self) -> str:
        """Return the passes without figures: the same for every run."""
        return "\n".join(f"{'  ' * row[0]}{row[1]}{' (failed)' if row[4] else ''}" for row in self._rows)
