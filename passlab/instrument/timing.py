"""`PassTimingInstrument`: the time of each pass, as a tree in the format of TVM and as a table."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any

from passlab.errors import Diagnostic, PassError
from passlab.instrument.base import PassInstrument
from passlab.instrument.per_run import PerRun
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.context import hook_nanoseconds
from passlab.transform.pass_info import PassInfo

_log = logging.getLogger("passlab.instrument")
_latest = threading.local()


class PassTime:
    """One run of a pass: its name, the passes inside it, its time in microseconds, and whether it failed."""

    __slots__ = ("name", "children", "started", "nanoseconds", "failed")

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: list[PassTime] = []
        self.started = perf_counter_ns()
        self.nanoseconds = 0
        self.failed = False

    @property
    def total(self) -> float:
        """Microseconds from start to end."""
        return self.nanoseconds / 1000

    @property
    def own(self) -> float:
        """Microseconds without the passes that ran inside."""
        return self.total - sum(child.total for child in self.children)


class _OnClassOrInstance:
    """A method that, called on the class, uses the latest instrument of this thread, as in TVM."""

    def __init__(self, method: Callable[[Any], str]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: Any) -> Callable[[], str]:
        target = instance if instance is not None else getattr(_latest, "instrument", None)
        return lambda: self.method(target if target is not None else owner())


class PassTimingInstrument(PassInstrument, Tabular):
    """Measure every pass. `render()` gives the tree as text, `frame()` as a table, `passes` as data.

    The work of instruments does not count. The times stay available until the context is entered again. A pass that
    raises counts up to that moment.

    >>> timing = instrument.PassTimingInstrument()
    >>> with transform.PassContext(instruments=[timing]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> print(timing.text())
    FoldConstant
      InferType
    """

    def __init__(self) -> None:
        super().__init__()
        self.passes: list[PassTime] = []
        self._running: PerRun[PassTime] = PerRun()

    def enter_pass_ctx(self) -> None:
        _latest.instrument = self
        self._running.forget()
        if not self._running.inside:
            self.passes = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        _latest.instrument = self
        node = PassTime(info.name)
        around = self._running.enclosing()
        (around[-1].children if around else self.passes).append(node)
        self._running.begin(node)
        # Last, so that the work of the instrument does not count; that of other instruments is subtracted.
        node.started = perf_counter_ns() - hook_nanoseconds()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._end(failed=False)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._end(failed=True)

    def _end(self, failed: bool) -> None:
        now = perf_counter_ns() - hook_nanoseconds()  # first, so that the rest does not count
        node = self._running.end()
        if node is not None:
            node.nanoseconds, node.failed = now - node.started, failed

    def walk(self) -> Iterator[tuple[int, PassTime, PassTime | None]]:
        """Yield (depth, pass, the pass around it) in order of starting."""
        stack: list[tuple[int, PassTime, PassTime | None]] = [(0, node, None) for node in reversed(self.passes)]
        while stack:
            depth, node, parent = stack.pop()
            yield depth, node, parent
            stack.extend((depth + 1, child, node) for child in reversed(node.children))

    def _rows(self) -> Iterator[tuple[int, str, float, float, float, float, bool]]:
        if self._running.inside:
            raise PassError(Diagnostic("cannot print pass profile while still in a pass!"))
        everything = sum(node.total for node in self.passes)
        for depth, node, parent in self.walk():
            around = everything if parent is None else parent.total
            yield (
                depth,
                node.name,
                node.total / 1e6,
                node.own / 1e6,
                _percent(node.total, everything),
                _percent(node.total, around),
                node.failed,
            )

    @_OnClassOrInstance
    def render(self) -> str:
        """Return the tree, one line a pass: `NAME: TOTALus [SELFus] (PERCENT_OF_ALL%; PERCENT_OF_PARENT%)`.

        Raises `PassError` from inside a pass. Warns and returns "" when nothing was measured.
        """
        lines = [
            f"{chr(9) * depth}{name}: {1e6 * total:.0f}us [{1e6 * own:.0f}us] ({of_all:.2f}%; {of_parent:.2f}%)\n"
            for depth, name, total, own, of_all, of_parent, _ in self._rows()
        ]
        if not lines:
            _log.warning("no passes have been profiled, did you enable pass profiling?")
        return "".join(lines)

    def table(self) -> Table:
        """Return the passes in order of starting, with all seconds of each and its own seconds."""
        names = ("depth", "pass", "seconds", "own_seconds", "percent_of_all", "percent_of_parent", "failed")
        return Table(names, self._rows())

    def text(self) -> str:
        """Return the tree without times: the same for every run."""
        return "\n".join(
            f"{'  ' * depth}{node.name}{' (failed)' if node.failed else ''}" for depth, node, _ in self.walk()
        )


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
