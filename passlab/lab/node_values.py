"""`watch`: a run of a program with what every node computed: shape, range, NaN and infinities, time, bytes.

    run = lab.watch(net, x, w)
    run[node].maximum, run.first_nonfinite, run.compare(lab.watch(other, x, w)).first

Runs are compared node by node, also runs of different programs: nodes correspond as they do in a diff. The reference
evaluator runs the program, so a node inside a fused function has its own value. The facts of a node that runs several
times cover all its values; its last value is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.diffing.diff import count_operators, diff, node_name
from passlab.diffing.matching import Pairs
from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.evaluator import STEPS, Activation, Evaluator, Return, Waits
from passlab.evaluate.values import Value
from passlab.ir.expr import Call, Expr, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import is_op_call
from passlab.lab.recordings.lineage import lineage_of
from passlab.lab.recordings.recording import Recording, checked_module
from passlab.lazy import notebook_forms
from passlab.op.dtypes import is_float
from passlab.table import Table

KEPT_BYTES = 1 << 30  # of the values that a run keeps for comparisons; later nodes have facts only
_COLUMNS = ("node", "runs", "shape", "dtype", "minimum", "maximum", "nan", "inf", "seconds", "bytes")


@dataclass
class ValueFacts:
    """Facts about the values of one node. `minimum` and `maximum` are taken over the finite numbers, and None without
    any.
    """

    runs: int = 0
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    minimum: float | None = None
    maximum: float | None = None
    nans: int = 0
    infinities: int = 0
    seconds: float = 0.0
    bytes: int = 0
    parts: int = field(default=1)

    @property
    def nonfinite(self) -> int:
        """The number of elements that were NaN or infinite."""
        return self.nans + self.infinities

    def add(self, value: Value, seconds: float) -> None:
        """Add the facts of one more value, which took `seconds` to compute."""
        self.runs += 1
        self.seconds += seconds
        arrays = [part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, np.ndarray)]
        self.parts = len(value) if isinstance(value, tuple) else 1
        self.bytes = sum(array.nbytes for array in arrays)
        if arrays:
            self.shape, self.dtype = tuple(arrays[0].shape), arrays[0].dtype.name
        for array in arrays:
            self._add_numbers(array)

    def _add_numbers(self, array: np.ndarray[Any, Any]) -> None:
        if not array.size or (array.dtype.kind not in "biuf" and not is_float(array.dtype)):
            return
        numbers = array
        if is_float(array.dtype):
            # Narrow floats, such as bfloat16, are counted as float32, which holds their values exactly.
            numbers = array if array.dtype.kind == "f" else array.astype(np.float32)
            finite = np.isfinite(numbers)
            if not finite.all():
                nans = int(np.isnan(numbers).sum())
                self.nans += nans
                self.infinities += int(array.size - finite.sum()) - nans
                numbers = numbers[finite]
        if numbers.size:
            low, high = float(numbers.min()), float(numbers.max())
            self.minimum = low if self.minimum is None else min(low, self.minimum)
            self.maximum = high if self.maximum is None else max(high, self.maximum)


@checked
class NodeValues:
    """One run: `run[node]` are the facts of a node that ran, `result` is the result of the program."""

    _repr_mimebundle_ = notebook_forms

    def __init__(self, mod: IRModule, entry: str) -> None:
        self.mod = mod
        self.entry = entry
        self.facts: dict[Expr, ValueFacts] = {}
        self.values: dict[Expr, Value] = {}
        self.result: Value = ()
        self.error: PasslabError | None = None
        self._room = KEPT_BYTES

    def __getitem__(self, node: Expr) -> ValueFacts:
        return self.facts[node]

    def __contains__(self, node: object) -> bool:
        return node in self.facts

    def note(self, node: Expr, value: Value, seconds: float = 0.0) -> None:
        """Add a value of a node. `seconds` is the time that it took to compute."""
        facts = self.facts.get(node)
        if facts is None:
            facts = self.facts[node] = ValueFacts()
        facts.add(value, seconds)
        if self._room > 0:
            self._room -= facts.bytes
            self.values[node] = value

    @property
    def order(self) -> list[Expr]:
        """The nodes that ran, in the order in which they first did."""
        return list(self.facts)

    @property
    def first_nonfinite(self) -> Expr | None:
        """The first node to run with a NaN or an infinity; None if all numbers are finite."""
        return next((node for node in self.order if self.facts[node].nonfinite), None)

    @property
    def seconds(self) -> float:
        """The time of all operators together, in seconds."""
        return sum(f.seconds for node, f in self.facts.items() if is_op_call(node))

    def compare(self, other: NodeValues) -> ValueComparison:
        """Compare another run, of this program or of one that passes made of it, with this one.

        Raises `RunError` if `other` is not a run.
        """
        if not isinstance(other, NodeValues):
            raise RunError(Diagnostic("a run is compared with another run", hint="lab.watch(net, *args) makes one"))
        return ValueComparison(self, other)

    def summary(self) -> str:
        """Return how many nodes ran, and the first node whose value is not finite."""
        node = self.first_nonfinite
        first = "all numbers are finite" if node is None else f"the first that is not finite: {node_name(node)}"
        return f"{len(self.facts):,} nodes ran; {first}"

    def table(self) -> Table:
        """Return a row for each node that ran, in that order."""
        return Table(_COLUMNS, [_facts_row(node, self.facts[node]) for node in self.order])

    def __repr__(self) -> str:
        rows = [row[:8] for row in self.table().rows]
        return f"{self.summary()}\n{Table(_COLUMNS[:8], rows)}"


class ValueComparison:
    """Two runs, node by node. `differences` has a finding for each node of the second run whose value differs.

    `source` maps a node of the second run to its node in the first, if it is known; `unsure` are the nodes of programs
    without a common recording whose partner was found by structure alone. `compared` are the nodes that were compared.
    """

    def __init__(self, a: NodeValues, b: NodeValues) -> None:
        self.a, self.b = a, b
        self.source, self.unsure = _corresponding_nodes(a, b)
        self.compared: list[Expr] = []
        self.differences: dict[Expr, Disagreement] = {}
        for node in b.order:
            old = self.source.get(node)
            if old is None or node not in b.values or old not in a.values:
                continue
            difference = disagreement(a.values[old], b.values[node])
            if not _is_comparable(a.facts[old], b.facts[node], difference):
                continue
            self.compared.append(node)
            if difference is not None:
                self.differences[node] = difference

    @property
    def first(self) -> Expr | None:
        """The first node to run whose value differs; None where all agree bit by bit.

        Nodes whose partner is sure come before others, and arguments after all.
        """
        return min(self.differences, key=lambda n: (n in self.unsure, isinstance(n, Var)), default=None)

    def summary(self) -> str:
        """Return where the runs first differ, and how many nodes were compared."""
        if not self.compared:
            return "no node of one program corresponds to a node of the other"
        compared = f"{len(self.compared):,} of {len(self.b.facts):,} nodes were compared"
        result = "" if self._results is None else f"the results differ: {self._results}; "
        if self.first is None:
            return f"{result}all values agree bit by bit; {compared}"
        where = f"first {node_name(self.first)}: {self.differences[self.first]}"
        unsure = len(self.unsure & self.differences.keys())
        likely = f", {unsure:,} of them nodes that were matched by structure alone" if unsure else ""
        if self._results is None:
            result = "the results are the same; "
        return f"{result}{len(self.differences):,} nodes differ{likely}, {where}; {compared}"

    @property
    def _results(self) -> Disagreement | None:
        """How the results of the programs differ; None where they agree, or where a run failed."""
        failed = self.a.error is not None or self.b.error is not None
        return None if failed else disagreement(self.a.result, self.b.result)

    def __repr__(self) -> str:
        return self.summary()


@checked
def watch(program: IRModule | Recording, *args: Any, entry: str = "main") -> NodeValues:
    """Run a program on the reference evaluator and return what every node computed.

    Raises `RunError` for arguments that do not fit. A later error is the `error` of the run, which keeps the values so
    far.

    >>> run = lab.watch(passlab.parse("def @main(%x: float32) { exp(%x) + 1f }"), np.float32(0))
    >>> print(run.result)
    2.0
    """
    mod = checked_module(program)
    run = NodeValues(mod, entry)
    evaluator = _WatchingEvaluator(mod, run)
    closure, values = evaluator._start_state(entry, args)
    for param, value in zip(closure.function.params, values, strict=True):
        run.note(param, value)
    try:
        with np.errstate(all="ignore"):
            run.result = evaluator.apply(closure, values)
    except PasslabError as error:
        run.error = error
    return run


class _WatchingEvaluator(Evaluator):
    """An evaluator that adds the value of every call to a run."""

    def __init__(self, mod: IRModule, run: NodeValues) -> None:
        super().__init__(mod)
        self.run_values = run
        self.entered: dict[tuple[Expr, int], float] = {}
        self._steps = {**STEPS, Call: _watched_call, TupleGetItem: _watched_projection, Return: _watched_return}


def _watched_call(ev: Any, node: Call, act: Activation) -> Waits:
    start = perf_counter()
    waits = STEPS[Call](ev, node, act)
    if node in act.values:
        ev.run_values.note(node, act.values[node], perf_counter() - start)
    elif waits and isinstance(waits[-1][0], Return):  # a function runs now; its `Return` has the value
        ev.entered[node, id(act)] = start
    return waits


def _watched_projection(ev: Any, node: TupleGetItem, act: Activation) -> Waits:
    waits = STEPS[TupleGetItem](ev, node, act)
    if node in act.values:
        ev.run_values.note(node, act.values[node])
    return waits


def _watched_return(ev: Any, node: Return, act: Activation) -> Waits:
    waits = STEPS[Return](ev, node, act)
    call, caller = node.call, node.caller
    start = ev.entered.pop((call, id(caller)), None)
    ev.run_values.note(call, caller.values[call], 0.0 if start is None else perf_counter() - start)
    return waits


def _is_comparable(old: ValueFacts, new: ValueFacts, difference: Disagreement | None) -> bool:
    """Whether the last values of two nodes say if they differ.

    Nodes that ran several times may have done so in another order: only their ranges say that some value differs.
    """
    if old.runs == new.runs == 1:
        return True
    ranges = [(facts.minimum, facts.maximum, facts.nans, facts.infinities) for facts in (old, new)]
    return old.runs == new.runs and (difference is None or ranges[0] != ranges[1])


def _corresponding_nodes(a: NodeValues, b: NodeValues) -> Pairs:
    """Return for nodes of the second run the node of the first whose value it should have.

    Programs of one recording correspond by the lines of their nodes, and what is only likely is left out. Nodes of
    strangers are matched by structure, function by function: those that compute the same are sure. A changed node is
    paired only where both programs call its operator equally often: otherwise it is not clear which call corresponds.
    """
    lineage = lineage_of(a.mod, b.mod)
    if lineage is not None and lineage.complete:
        pairs = lineage.pairs(a.facts, b.facts)
        return Pairs(_params(a.mod, b.mod) | {n: old for n, old in pairs.of.items() if n not in pairs.unsure}, set())
    of, unsure = _params(a.mod, b.mod), set[Expr]()
    for function in diff(a.mod, b.mod, lineage).functions:
        if function.before is None or function.after is None:
            continue
        matching = function.matching
        before, after = count_operators(function.before), count_operators(function.after)
        for node, old in matching.backward.items():
            label, sure = node_name(node), node in matching.known or node in matching.certain
            if sure or before[label] == after[label]:
                of[node] = old
                unsure |= set() if sure else {node}
    return Pairs(of, unsure)


def _params(before: IRModule, after: IRModule) -> dict[Expr, Expr]:
    """Return the parameters of the functions of a module with the parameters of the functions of another, by index."""
    named = {name.name_hint: function for name, function in before.functions.items()}
    pairs: dict[Expr, Expr] = {}
    for name, function in after.functions.items():
        older = named.get(name.name_hint)
        if older is not None and len(older.params) == len(function.params):
            pairs.update(zip(function.params, older.params, strict=True))
    return pairs


def _facts_row(node: Expr, facts: ValueFacts) -> tuple[Any, ...]:
    shape = "" if facts.shape is None else f"({', '.join(map(str, facts.shape))})"
    name = f"%{node.name_hint}" if isinstance(node, Var) else node_name(node)
    low, high = (None if number is None else float(f"{number:.6g}") for number in (facts.minimum, facts.maximum))
    counts = (facts.nans, facts.infinities, facts.seconds, facts.bytes)
    return (name, facts.runs, shape, facts.dtype, low, high, *counts)
