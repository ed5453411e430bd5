"""The view of a run on its program: next to each line the shape, range, NaN and infinities, time and bytes of its
value.

With an earlier run, the lines show how far their values differ from it, and the first that differs is marked. The same
facts colour the boxes of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import isinf

from passlab.display.code_lines import Listing
from passlab.display.nodes import line_node
from passlab.display.protocol.analyses import FactCells, NodeValuesData
from passlab.display.rows import Rows
from passlab.display.view import BriefView, HasFrame, checked_view
from passlab.display.view_parts import Fold, HtmlOnly, Part, Sentence
from passlab.display.views.graph import GraphView
from passlab.display.views.module import ModuleView, code_line
from passlab.errors import visible
from passlab.evaluate.agreement import Disagreement
from passlab.ir.expr import Expr
from passlab.lab.node_values import NodeValues, ValueComparison, ValueFacts

MICRO, MILLI = 1e-6, 1e-3
NOT_COMPARED = "not compared"  # no node of the earlier run is known to be this one
LIKELY = "likely "  # before a difference from a node that was matched by structure alone


class NodeValuesView(BriefView):
    """A run on its program, compared with the earlier run `against` if there is one."""

    kind = script = "values"

    def __init__(self, run: NodeValues, against: NodeValues | None = None) -> None:
        self.run = run
        self.comparison = None if against is None else against.compare(run)
        self.module = ModuleView(run.mod)

    @cached_property
    def title(self) -> str:
        """Where the runs first differ, how many nodes ran, and the first non-finite value."""
        parts = ([] if self.comparison is None else [self.comparison.summary()]) + [self.run.summary()]
        failed = [] if self.run.error is None else [self.run.error.diagnostics[0].message]
        return visible(". ".join(f"{part[:1].upper()}{part[1:]}" for part in [*parts, *failed]))

    @cached_property
    def nodes(self) -> list[Expr | None]:
        """The node of each line that ran, else None."""
        return [node if node in self.run else None for node in map(line_node, self.module.lines)]

    def parts(self) -> Iterable[Part]:
        """Yield the sentence, the program with its values, and the table."""
        yield Sentence(self.title)
        facts = map(self._facts, self.nodes)
        lines = [code_line(line, *beside) for line, beside in zip(self.module.lines, facts, strict=True)]
        yield Listing(lines, rest="frame() has a row for each node", brief=self.brief)
        yield HtmlOnly(Fold("times and bytes", [Rows(self.run.table())]))

    def source(self) -> HasFrame:
        """Return one row per node."""
        return self.run.table()

    def _facts(self, node: Expr | None) -> tuple[str, str]:
        """What stands behind the line of a node, in text and in HTML."""
        if node is None:
            return "", ""
        facts = self.run[node]
        words = [shape_text(facts), range_text(facts), non_finite_text(facts), self._distance(node)]
        text = "  ".join(filter(None, words))
        return f"  // {text}" if text else "", text

    def _distance(self, node: Expr) -> str:
        """How far the value of a node differs from the earlier run, "" if it is the same, and whether it is unknown."""
        if self.comparison is None:
            return ""
        difference = self.comparison.differences.get(node)
        if difference is None:
            return "" if node in self._compared else NOT_COMPARED
        return f"{LIKELY if node in self.comparison.unsure else ''}{distance_text(difference)}"

    @cached_property
    def _compared(self) -> set[Expr]:
        return set() if self.comparison is None else set(self.comparison.compared)

    @property
    def _first(self) -> Expr | None:
        """The first node whose value surely differs."""
        first = None if self.comparison is None else self.comparison.first
        return None if self.comparison is None or first in self.comparison.unsure else first

    # ------------------------------------------------------------ data
    def graph(self) -> GraphView:
        """Return the graph of the program, with the same facts in its boxes."""
        facts = self.run.facts
        overlays = {
            "milliseconds": {node: f.seconds / MILLI for node, f in facts.items() if f.seconds},
            "bytes": {node: float(f.bytes) for node, f in facts.items()},
            "largest number": {n: max(abs(f.minimum or 0), abs(f.maximum or 0)) for n, f in facts.items()},
            "NaN and infinities": {n: float(f.nonfinite) for n, f in facts.items()} if self.run.first_nonfinite else {},
            "units in the last place": self._distances(self.comparison),
        }
        notes = {
            node: (range_text(f), non_finite_text(f), time_text(f.seconds), self._distance(node))
            for node, f in facts.items()
        }
        marks = {} if self._first is None else {self._first: "changed"}
        return GraphView(
            self.run.mod, marks, None, overlays, {n: "  ".join(filter(None, words)) for n, words in notes.items()}
        )

    @staticmethod
    def _distances(comparison: ValueComparison | None) -> dict[Expr, float]:
        if comparison is None:
            return {}
        sure = [node for node in comparison.compared if node not in comparison.unsure]
        differences = {node: comparison.differences.get(node) for node in sure}
        far = max((d.ulps for d in differences.values() if d is not None and not isinf(d.ulps)), default=1.0)
        return {n: 0.0 if d is None else 10 * far if isinf(d.ulps) else d.ulps for n, d in differences.items()}

    def data(self) -> NodeValuesData:
        longest = max((facts.seconds for facts in self.run.facts.values()), default=0.0) or 1.0
        first = self._first
        program = self.module.data()
        return {
            **program,
            "kind": self.kind,
            "title": self.title,
            "facts": [
                None if node is None else self._cells(node, longest, node is first)
                for node in self.nodes[: len(program["rows"])]
            ],
            "graph": self.graph().data(),
        }

    def _cells(self, node: Expr, longest: float, is_first: bool) -> FactCells:
        """The cells of a line: shape, range, NaN and infinities, distance, time, part of the longest, bytes, more."""
        facts = self.run[node]
        difference = None if self.comparison is None else self.comparison.differences.get(node)
        more = [f"ran {facts.runs:,} times" if facts.runs > 1 else "", visible(str(difference)) if difference else ""]
        return FactCells(
            shape_text(facts),
            range_text(facts),
            non_finite_text(facts),
            self._distance(node),
            time_text(facts.seconds),
            round(facts.seconds / longest, 3),
            bytes_text(facts.bytes),
            "\n".join(filter(None, more)),
            int(is_first),
        )


def number_text(number: float) -> str:
    """Return a number in a few characters: `−1.2`, `3.4e+08`."""
    return f"−{-number:.3g}" if number < 0 else f"{number + 0.0:.3g}"


def shape_text(facts: ValueFacts) -> str:
    """Return `(1, 64) float32`; "" for a value that is not a tensor."""
    if facts.shape is None:
        return ""
    tensor = f"({', '.join(map(str, facts.shape))}) {facts.dtype}" if facts.shape else facts.dtype
    return tensor if facts.parts == 1 else f"{tensor}, {facts.parts - 1} more"


def range_text(facts: ValueFacts) -> str:
    """Return `−1.2 … 3.4`; "" where no number is finite."""
    if facts.minimum is None or facts.maximum is None:
        return ""
    low, high = number_text(facts.minimum), number_text(facts.maximum)
    return low if low == high else f"{low} … {high}"


def non_finite_text(facts: ValueFacts) -> str:
    """Return `12 NaN, 1 inf`; "" if all numbers are finite."""
    counts = [(facts.nans, "NaN"), (facts.infinities, "inf")]
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


def distance_text(difference: Disagreement) -> str:
    """Return how far two values differ: `≠ 3 ulps`, or `≠` if units in the last place do not apply."""
    far = difference.ulps
    if isinf(far):
        return "≠"
    return f"≠ {far:,.3g} ulp{'' if far == 1 else 's'}" if far < 1e6 else f"≠ {far:.1e} ulps"


def time_text(seconds: float) -> str:
    """Return a time in a few characters; "" for none."""
    if seconds <= 0:
        return ""
    if seconds < MILLI:
        return f"{seconds / MICRO:.0f} µs"
    return f"{seconds / MILLI:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def bytes_text(count: int) -> str:
    """Return a size in a few characters."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B" if count else ""


@checked_view(NodeValues, hint="lab.watch(mod, *args) returns one")
def node_values_view(run: NodeValues, against: NodeValues | None = None) -> NodeValuesView:
    """Return the view of a watched run (`lab.watch`); `against` is an earlier run to compare it with.

    >>> run = lab.watch(passlab.parse("def @main(%x: float32) { exp(%x) }"), np.float32(0))
    >>> type(display.node_values_view(run)).__name__
    'NodeValuesView'
    """
    return NodeValuesView(run, against)
