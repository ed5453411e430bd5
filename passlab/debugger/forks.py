"""Forks: runs that left another one with changed values, and what became of the difference.

A trace remembers how its forks left it (`Branch`), so that they are saved with it; what became of them takes memory
and belongs to the caller. Programs are deterministic: a fork that is no longer referenced is run again when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from passlab import limits
from passlab.debugger.instant import same_values
from passlab.debugger.trace_data import TraceData
from passlab.debugger.writes import writes

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Difference:
    """A register that both runs wrote at the same step with different values."""

    instant: int
    register: int
    instruction: str
    before: Any
    after: Any

    @property
    def error(self) -> float | None:
        """The largest difference of two tensors of numbers where both are finite; None for other values, or nowhere."""
        if (pair := self._numbers()) is None:
            return None
        both = np.isfinite(pair[0]) & np.isfinite(pair[1])
        return float(np.abs(pair[0][both] - pair[1][both]).max()) if both.any() else None

    @property
    def one_sided(self) -> int:
        """In how many elements one of the two is NaN or infinite and the other is not the same."""
        if (pair := self._numbers()) is None:
            return 0
        same = (pair[0] == pair[1]) | (np.isnan(pair[0]) & np.isnan(pair[1]))
        return int((~same & ~(np.isfinite(pair[0]) & np.isfinite(pair[1]))).sum())

    def _numbers(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        a, b = self.before, self.after
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.shape != b.shape or not a.size:
            return None
        return a.astype(np.float64), b.astype(np.float64)

    def error_text(self) -> str:
        """Return the largest difference, and how many elements are finite on one side only."""
        error, one_sided = self.error, self.one_sided
        parts = [f"{error:.3g}" if error is not None else "", f"{one_sided:,} not finite" if one_sided else ""]
        return ", ".join(part for part in parts if part)


def parting(branch: TraceData, original: TraceData, instant: int) -> int | None:
    """Return the instant of a branch at which it and its original go different ways, None when they do not."""
    mine, theirs = _places(branch), _places(original)[instant:]
    length = min(len(mine), len(theirs))
    apart = np.flatnonzero(mine[:length] != theirs[:length])
    if apart.size:
        return int(apart[0])
    return None if len(mine) == len(theirs) else length


def differences(branch: TraceData, original: TraceData, instant: int, most: int) -> list[Difference]:
    """Return what a branch wrote with another value than its original, in order, while both go the same way."""
    parted = parting(branch, original, instant)
    end = len(branch) if parted is None else parted
    mine, theirs = writes(branch, 0, end), writes(original, instant, instant + end)
    result: list[Difference] = []
    for (event, register, after), (_, _, before) in zip(mine, theirs, strict=True):
        if not same_values(before, after):
            text = branch.code_map.text(int(branch.site[event]))
            result.append(Difference(event, register, text, before, after))
            if len(result) >= most:
                break
    return result


@dataclass(eq=False)
class Branch:
    """How a fork left a trace, and the branches that left it in turn."""

    instant: int
    changes: dict[int, Any]
    alive: ref[TraceData]
    branches: list[Branch] = field(default_factory=list)
    kept: TraceData | None = None  # a branch that was read from a file, whose times no other run has

    def run_again(self, original: TraceData) -> TraceData:
        """Return the branch, run again unless somebody holds it."""
        branch = self.alive()
        if branch is None:
            branch = original.engine.run_on(original, self.instant, self.changes)
            branch.branches = self.branches
            self.alive = ref(branch)
        return branch


def remember(original: TraceData, branch: TraceData, keep: bool = False) -> None:
    """Let a trace know of a branch that left it, and forget those over the cap; with `keep`, hold it."""
    assert branch.parent is not None
    original.branches.append(
        Branch(branch.parent[1], branch.changes, ref(branch), branch.branches, branch if keep else None)
    )
    del original.branches[: max(0, len(original.branches) - limits.current().trace_forks)]


def branch_off(original: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
    """Run on from an instant of a trace, which remembers it, with other values in registers. Raises `RunError`."""
    branch = original.engine.run_on(original, instant, changes)
    remember(original, branch)
    return branch


def branches_of(trace: TraceData) -> list[TraceData]:
    """Return the traces that left a trace and that it remembers, in the order they were made."""
    return [branch.run_again(trace) for branch in trace.branches]


def _places(trace: TraceData) -> np.ndarray[Any, Any]:
    """For each instruction executed a number of what it is, the same in all traces of a program.

    Traces of the evaluator know only what ran, so that their sites differ: there it is the node and what became of it.
    """
    if trace.kind != "debug":
        return trace.site
    numbers = np.array([hash((id(i.node), i.mnemonic)) for i in trace.code_map.instructions], np.int64)
    return numbers[trace.site]
