"""`StatisticsInstrument`: what each pass did to the size of the program, operator by operator."""

from __future__ import annotations

from collections import Counter
from typing import Any
from weakref import WeakKeyDictionary

from passlab.instrument.base import PassInstrument
from passlab.ir.expr import Call, Expr
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.transform.pass_info import PassInfo
from passlab.transform.table import Table

_COUNTS: WeakKeyDictionary[Expr, tuple[int, Counter[str]]] = WeakKeyDictionary()


def count_function(function: Expr) -> tuple[int, Counter[str]]:
    """Return (nodes, calls of each operator) of a function; linear once, then remembered with it."""
    known = _COUNTS.get(function)
    if known is None:
        order = post_order(function)
        calls = Counter(node.op.name for node in order if type(node) is Call and type(node.op) is Op)
        known = _COUNTS[function] = (len(order), calls)
    return known


def count_module(mod: IRModule) -> tuple[int, Counter[str]]:
    """Return (nodes, calls of each operator) of a module."""
    nodes, calls = 0, Counter[str]()
    for function in mod.functions.values():
        size, inside = count_function(function)
        nodes += size
        calls.update(inside)
    return nodes, calls


def shown_change(before: Counter[str], after: Counter[str]) -> str:
    """Return what changed between two counts: `-2 nn.bias_add +2 add`."""
    changes = {name: after[name] - before[name] for name in sorted({*before, *after})}
    gone = [f"{change} {name}" for name, change in changes.items() if change < 0]
    come = [f"+{change} {name}" for name, change in changes.items() if change > 0]
    return " ".join(gone + come)


class StatisticsInstrument(PassInstrument):
    """Count functions, nodes and operator calls around every pass."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[list[Any]] = []
        self._running: list[tuple[list[Any], IRModule]] = []

    def enter_pass_ctx(self) -> None:
        if not self._running:
            self._rows = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        row: list[Any] = [len(self._running), info.name, len(mod), None, None, None, ""]
        self._rows.append(row)
        self._running.append((row, mod.snapshot()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        row, before = self._running.pop()
        nodes, calls = count_module(before)
        nodes_now, calls_now = count_module(mod)
        row[2:] = [len(mod), nodes_now, nodes_now - nodes, sum(calls_now.values()), shown_change(calls, calls_now)]

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        row, _ = self._running.pop()
        row[6] = f"failed: {type(error).__name__}"

    def table(self) -> Table:
        """Return the passes in order of starting, with the counts after each and what changed."""
        return Table(("depth", "pass", "functions", "nodes", "nodes_change", "calls", "operators"), self._rows)

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def text(self) -> str:
        """Return `table()` as text."""
        return str(self.table())
