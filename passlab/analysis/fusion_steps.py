"""`WatchedFusion`: the same groups as `FusionGroups`, with the reason why each node joined its post-dominator or not.

A subclass records the decisions of its base class, so fusion itself does not pay for it. Used by views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from passlab.analysis.fusion import FusionGraph, FusionGroups
from passlab.ir.op import OpPattern

PHASES = ("what ends in element-wise work", "injective operators and tuples", "producers of tuples taken in")
_KINDS = {
    OpPattern.ELEMWISE: "element-wise",
    OpPattern.BROADCAST: "broadcast",
    OpPattern.INJECTIVE: "injective",
    OpPattern.COMM_REDUCE: "reduction",
    OpPattern.OUT_ELEMWISE_FUSABLE: "anchor",
    OpPattern.TUPLE: "tuple",
    OpPattern.OPAQUE: "opaque",
}


class FusionStep(NamedTuple):
    """A decision: whether `node` joins `sink`, its immediate post-dominator. `joined` are the groups that merged.

    Each pair of `joined` is (last node of a group, last node of the group it joins); empty if the node stays alone.
    """

    phase: int
    node: int
    sink: int
    joined: tuple[tuple[int, int], ...]
    why: str


class WatchedFusion(FusionGroups):
    """Groups that record each decision."""

    def __init__(self, graph: FusionGraph, max_nodes: int, tell: Callable[[FusionStep], None]) -> None:
        self._tell = tell
        self._phase = 0
        self._joined: list[tuple[int, int]] = []
        super().__init__(graph, max_nodes)

    def _run(self, phase: int) -> None:
        self._phase = phase
        super()._run(phase)

    def _fits(self, node: int, sink: int) -> bool:
        fits = super()._fits(node, sink)
        if not fits:
            self._told(node, sink, f"the group would hold more than {self._max} nodes")
        return fits

    def _try(self, node: int, sink: int, phase: int) -> None:
        why = self._facts(node, sink)
        super()._try(node, sink, phase)
        self._told(node, sink, why)

    def _into_tuple(self, node: int, sink: int) -> None:
        why = self._facts(node, sink)
        super()._into_tuple(node, sink)
        if self._joined:
            self._told(node, sink, why)

    def _join(self, child: int, parent: int) -> None:
        if child != parent:
            self._joined.append((child, parent))
        super()._join(child, parent)

    def _facts(self, node: int, sink: int) -> str:
        """Describe the basis of the decision: the kinds of the node, of the edges on the way, and of the sink's
        group.
        """
        kinds = self._kind[node], self._tree.relation[node], self._kind[self.root(sink)]
        own, way, there = map(kind_name, kinds)
        return f"it is {own}, the edges on the way {way}, the group there {there}"

    def _told(self, node: int, sink: int, why: str) -> None:
        self._tell(FusionStep(self._phase, node, sink, tuple(self._joined), why))
        self._joined.clear()


def kind_name(kind: int) -> str:
    """Return the name of a fusion pattern as used in sentences."""
    return _KINDS[OpPattern(kind)]
