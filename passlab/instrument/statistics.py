"""`StatisticsInstrument`: how each pass changed the size of the program, operator by operator."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from passlab.analysis.cost import costs
from passlab.instrument.base import PassInstrument
from passlab.instrument.per_run import PerRun
from passlab.ir.expr import Constant, Expr
from passlab.ir.module import IRModule
from passlab.ir.op import is_op_call
from passlab.ir.walk import post_order
from passlab.table import Table
from passlab.transform.pass_info import PassInfo


class Size(NamedTuple):
    """The size of a program, and the cost of running each of its operator calls once.

    `parameters` are the elements of constants, `macs` multiply-accumulates, `bytes` those that operators read and
    write; the last two leave out calls with unknown sizes.
    """

    functions: int = 0
    nodes: int = 0
    calls: int = 0
    parameters: int = 0
    macs: int = 0
    bytes: int = 0


# Keyed by function: functions never change, and an entry goes with its function.
_SIZES: WeakKeyDictionary[Expr, Size] = WeakKeyDictionary()
_COUNTS: WeakKeyDictionary[Expr, tuple[int, Counter[str]]] = WeakKeyDictionary()
_MODULE_COUNTS: WeakKeyDictionary[IRModule, tuple[tuple[Expr, ...], int, Counter[str]]] = WeakKeyDictionary()


def count_function(function: Expr) -> tuple[int, Counter[str]]:
    """Return (nodes, calls of each operator) of a function; linear once, then cached with it."""
    cached = _COUNTS.get(function)
    if cached is None:
        order = post_order(function)
        calls = Counter(node.op.name for node in order if is_op_call(node))
        cached = _COUNTS[function] = (len(order), calls)
    return cached


def count_module(mod: IRModule) -> tuple[int, Counter[str]]:
    """Return (nodes, calls of each operator) of a module; summed once while its functions stay."""
    functions = tuple(function for _, function in mod.items())
    cached = _MODULE_COUNTS.get(mod)
    if cached is None or cached[0] != functions:
        nodes, calls = 0, Counter[str]()
        for function in functions:
            size, inside = count_function(function)
            nodes += size
            calls.update(inside)
        cached = _MODULE_COUNTS[mod] = (functions, nodes, calls)
    return cached[1], cached[2].copy()


def shown_change(before: Counter[str], after: Counter[str]) -> str:
    """Return the difference of two counts as text: `-2 nn.bias_add +2 add`."""
    changes = {name: after[name] - before[name] for name in sorted({*before, *after})}
    fewer = [f"{change} {name}" for name, change in changes.items() if change < 0]
    more = [f"+{change} {name}" for name, change in changes.items() if change > 0]
    return " ".join(fewer + more)


def function_size(function: Expr) -> Size:
    """Return the size of one function; linear once, then cached with it when its types are known."""
    cached = _SIZES.get(function)
    if cached is not None:
        return cached
    nodes, calls = count_function(function)
    elements = sum(node.data.size for node in post_order(function) if type(node) is Constant)
    costly = costs(function)
    size = Size(
        1,
        nodes,
        sum(calls.values()),
        elements,
        sum(c.macs or 0 for c in costly),
        sum((c.bytes_read or 0) + (c.bytes_written or 0) for c in costly),
    )
    if function.checked_type_ is not None:  # without types the costs are incomplete
        _SIZES[function] = size
    return size


def module_size(mod: IRModule) -> Size:
    """Return the size of a module: the sum over its functions."""
    sizes = [function_size(function) for function in mod.functions.values()]
    return Size(*map(sum, zip(*sizes, strict=True))) if sizes else Size()


class StatisticsInstrument(PassInstrument):
    """Counts functions, nodes, operator calls, parameters, multiply-accumulates and bytes around every pass.

    `table()` has the counts after each pass and the change in words, `frame()` also the counts before it.

    >>> statistics = instrument.StatisticsInstrument()
    >>> with transform.PassContext(instruments=[statistics]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> list(statistics.frame()["pass"])
    ['FoldConstant', 'InferType']
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[_PassCounts] = []
        self._running: PerRun[tuple[_PassCounts, IRModule]] = PerRun()

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self._rows = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        row = _PassCounts(len(self._running.enclosing()), info.name, module_size(mod))
        self._rows.append(row)
        self._running.begin((row, mod.snapshot()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        state = self._running.end()
        if state is not None:
            row, before = state
            row.after = module_size(mod)
            row.note = shown_change(count_module(before)[1], count_module(mod)[1])

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        state = self._running.end()
        if state is not None:
            state[0].note = f"failed: {type(error).__name__}"

    def table(self) -> Table:
        """Return the passes in order of starting, with the counts after each and what changed."""
        counts = ("functions", "nodes", "nodes_change", "calls", "parameters", "macs", "bytes")
        return Table(("depth", "pass", *counts, "operators"), (row.compact() for row in self._rows))

    def frame(self) -> Any:
        """Return a pandas data frame, a row for each pass: each count before (`nodes_before`) and after (`nodes`)."""
        names = [name for field in Size._fields for name in (f"{field}_before", field)]
        return Table(("depth", "pass", *names, "operators"), (row.full() for row in self._rows)).frame()

    def text(self) -> str:
        """Return `table()` as text."""
        return str(self.table())


class _PassCounts:
    """One pass: its depth, its name, the sizes before and after it, and its change or error in words."""

    def __init__(self, depth: int, name: str, before: Size) -> None:
        self.depth = depth
        self.name = name
        self.before = before
        self.after: Size | None = None
        self.note = ""

    def compact(self) -> tuple[Any, ...]:
        size = self.after
        if size is None:
            return (self.depth, self.name, *[None] * 7, self.note)
        change = size.nodes - self.before.nodes
        return (self.depth, self.name, *size[:2], change, *size[2:], self.note)

    def full(self) -> tuple[Any, ...]:
        after: tuple[int | None, ...] = self.after if self.after is not None else (None,) * len(Size._fields)
        pairs = [value for pair in zip(self.before, after, strict=True) for value in pair]
        return (self.depth, self.name, *pairs, self.note)
