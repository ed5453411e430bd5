"""`RecordedFusion`: the same groups as `FusionGroups`, with the reason why each node joined its post-dominator or not.

It is a subclass that records the decisions of its base class, so that fusion alone stays fast. Views use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from passlab.analysis.fusion import FusionGraph, FusionGroups
from passlab.ir.op import OpPattern

PHASES = ("groups that end in element-wise operators", "injective operators and tuples", "producers of fused tuples")
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
    """The decision whether `node` joins `sink`, its immediate post-dominator.

    `merges` are the groups that merged, as (last node of a group, last node of the group it joins); empty if none did.
    """

    phase: int
    node: int
    sink: int
    merges: tuple[tuple[int, int], ...]
    reason: str


class RecordedFusion(FusionGroups):
    """Groups that call `observe` with each decision."""

    def __init__(self, graph: FusionGraph, max_nodes: int, observe: Callable[[FusionStep], None]) -> None:
        self._observe = observe
        self._phase = 0
        self._merges: list[tuple[int, int]] = []
        super().__init__(graph, max_nodes)

    def _run(self, phase: int) -> None:
        self._phase = phase
        super()._run(phase)

    def _within_limit(self, node: int, sink: int) -> bool:
        within = super()._within_limit(node, sink)
        if not within:
            self._record(node, sink, f"the group would hold more than {self._max} nodes")
        return within

    def _try_fuse(self, node: int, sink: int, phase: int) -> None:
        reason = self._reason(node, sink)
        super()._try_fuse(node, sink, phase)
        self._record(node, sink, reason)

    def _fuse_into_tuple(self, node: int, sink: int) -> None:
        reason = self._reason(node, sink)
        super()._fuse_into_tuple(node, sink)
        if self._merges:
            self._record(node, sink, reason)

    def _join(self, child: int, parent: int) -> None:
        if child != parent:
            self._merges.append((child, parent))
        super()._join(child, parent)

    def _reason(self, node: int, sink: int) -> str:
        """Return the patterns that the decision depends on, as text."""
        kinds = self._kind[node], self._tree.relation[node], self._kind[self.root(sink)]
        own, path, group = map(kind_name, kinds)
        return f"its pattern is {own}, that of the edges {path}, that of the group there {group}"

    def _record(self, node: int, sink: int, reason: str) -> None:
        self._observe(FusionStep(self._phase, node, sink, tuple(self._merges), reason))
        self._merges.clear()


def kind_name(kind: int) -> str:
    """Return the name of a fusion pattern as used in sentences."""
    return _KINDS[OpPattern(kind)]
