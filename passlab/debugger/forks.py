"""Forks: runs that branch off another one with changed values, and the differences between the two.

A trace keeps the changes of its forks (`Branch`), so that they are saved with it; the traces of the forks take memory
and belong to the caller. Programs are deterministic: a fork that nothing references is run again on demand.

The file begins with the writes of a run in one pass, for comparing two runs of the same program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import numpy as np

from passlab import limits
from passlab.debugger.code_map import CALL, KERNEL, RETURN, STORAGE, CodeMap
from passlab.debugger.instant import same_values
from passlab.debugger.trace_data import TraceData

_SAME_IN_EVERY_RUN = (
    "load_const",
    "load_consti",
    "alloc_storage",
    "alloc_tensor",
    "alloc_tensor_reg",
    "kill_register",
    "device_copy",
)


def writes(trace: TraceData, first: int, last: int) -> Iterator[tuple[int, int, Any]]:
    """Yield (event, register, value after it) for an interval of a run, in order. n log n in the instructions."""
    code = trace.code_map
    compared = np.array([_is_compared(code, point) for point in range(len(code))], bool)
    events = first + np.flatnonzero(compared[trace.point[first:last]])
    if trace.log.overwritten:  # kernels reused memory: each value must be looked up as it was
        for event in events.tolist():
            yield from ((event, register, value) for _, register, value in trace.written(event))
        return
    producers = _producers(trace, events)
    values: list[Any] = []
    start = end = 0
    for event in events.tolist():
        if event >= end or event < start:
            segment, _ = trace.segment(event)
            values, start = segment.values or [], segment.start
            end = start + len(values)
        if event not in producers:
            frame, register = _target(trace, event)
            if frame >= 0 and register >= 0:
                yield event, register, values[event - start]
            continue
        for register, producer in producers[event]:
            if start <= producer < end:
                yield event, register, values[producer - start]
            else:
                yield from ((event, r, value) for _, r, value in trace.written(event) if r == register)


def _is_compared(code: CodeMap, point: int) -> bool:
    if code.role[point] in (KERNEL, RETURN):
        return True
    return (
        code.role[point] not in (CALL, STORAGE)
        and code.mnemonic(point) not in _SAME_IN_EVERY_RUN
        and code.written[point] >= 0
    )


def _target(trace: TraceData, event: int) -> tuple[int, int]:
    frame = int(trace.frame_of[event])
    if trace.role[event] == RETURN:
        return int(trace.log.parent[frame]), int(trace.log.result_register[frame])
    return frame, int(trace.code_map.written[trace.point[event]])


def _producers(trace: TraceData, events: np.ndarray[Any, Any]) -> dict[int, list[tuple[int, int]]]:
    """Map each kernel call to its results: the register, and the event that put the tensor there (-1: no event)."""
    order, frames, registers, _ = trace._writes
    if not len(order):
        return {}
    width, length = int(registers.max()) + 1, len(trace) + 1
    # One integer for frame, register and event, so that a binary search finds the last write before a call.
    keys = np.sort((frames[order].astype(np.int64) * width + registers[order]) * length + order)
    results = [trace.code_map.results(point) for point in range(len(trace.code_map))]
    most = max(map(len, results), default=0)
    table = np.full((len(results), max(most, 1)), -1, np.int64)
    for point, registers_written in enumerate(results):
        table[point, : len(registers_written)] = registers_written
    calls = events[table[trace.point[events], 0] >= 0]
    targets = table[trace.point[calls]]
    slots = trace.frame_of[calls].astype(np.int64)[:, None] * width + targets
    indices = np.searchsorted(keys, slots * length + calls[:, None]) - 1  # the last write to each slot before the call
    last_writes = keys[np.maximum(indices, 0)]
    producers = np.where(
        (indices >= 0) & (last_writes // length == slots) & (targets < width), last_writes % length, -1
    )
    return {
        event: [(register, producer) for register, producer in zip(row, by, strict=True) if register >= 0]
        for event, row, by in zip(calls.tolist(), targets.tolist(), producers.tolist(), strict=True)
    }


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
        """The largest difference of two tensors over elements finite in both; None for other values, or without any."""
        if (pair := self._numbers()) is None:
            return None
        both = np.isfinite(pair[0]) & np.isfinite(pair[1])
        return float(np.abs(pair[0][both] - pair[1][both]).max()) if both.any() else None

    @property
    def one_sided(self) -> int:
        """The number of elements where one of the two is not finite and the other is different."""
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
        """Return the largest difference and the number of `one_sided` elements as text."""
        error, one_sided = self.error, self.one_sided
        parts = [f"{error:.3g}" if error is not None else "", f"{one_sided:,} not finite" if one_sided else ""]
        return ", ".join(part for part in parts if part)


def parting(branch: TraceData, original: TraceData, instant: int) -> int | None:
    """Return the instant of a branch at which its control flow differs from the original's, None where it does not."""
    mine, theirs = _instruction_keys(branch), _instruction_keys(original)[instant:]
    length = min(len(mine), len(theirs))
    different = np.flatnonzero(mine[:length] != theirs[:length])
    if different.size:
        return int(different[0])
    # Runs that agree until one of them ends diverge at that end.
    return None if len(mine) == len(theirs) else length


def differences(branch: TraceData, original: TraceData, instant: int, most: int) -> list[Difference]:
    """Return the writes of a branch that differ from its original's, in order, until their control flow differs."""
    parted = parting(branch, original, instant)
    end = len(branch) if parted is None else parted
    mine, theirs = writes(branch, 0, end), writes(original, instant, instant + end)
    result: list[Difference] = []
    for (event, register, after), (_, _, before) in zip(mine, theirs, strict=True):
        if not same_values(before, after):
            text = branch.code_map.text(int(branch.point[event]))
            result.append(Difference(event, register, text, before, after))
            if len(result) >= most:
                break
    return result


@dataclass(eq=False)
class Branch:
    """The changes of a fork of a trace, and the branches of the fork in turn."""

    instant: int
    changes: dict[int, Any]
    alive: ref[TraceData]
    branches: list[Branch] = field(default_factory=list)
    kept: TraceData | None = None  # a branch read from a file: running it again would lose its times

    def run_again(self, original: TraceData) -> TraceData:
        """Return the branch, run again where nothing references it any more."""
        branch = self.alive()
        if branch is None:
            branch = original.engine.run_on(original, self.instant, self.changes)
            branch.branches = self.branches
            self.alive = ref(branch)
        return branch


def remember(original: TraceData, branch: TraceData, keep: bool = False) -> None:
    """Add a branch to a trace and drop the oldest over `limits.trace_forks`; with `keep`, hold a reference to it."""
    assert branch.parent is not None
    original.branches.append(
        Branch(branch.parent[1], branch.changes, ref(branch), branch.branches, branch if keep else None)
    )
    del original.branches[: max(0, len(original.branches) - limits.current().trace_forks)]


def branch_off(original: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
    """Run on from an instant with other values in registers and add the branch to the trace. Raises `RunError`."""
    branch = original.engine.run_on(original, instant, changes)
    remember(original, branch)
    return branch


def branches_of(trace: TraceData) -> list[TraceData]:
    """Return the branches of a trace, oldest first."""
    return [branch.run_again(trace) for branch in trace.branches]


def _instruction_keys(trace: TraceData) -> np.ndarray[Any, Any]:
    """Return a number for each instruction executed that identifies it in all traces of a program.

    A trace of the evaluator numbers only what ran, so its program points differ: its keys belong to the nodes.
    """
    if trace.kind != "debug":
        return trace.point
    # Both runs are of the same program, so they share its nodes, and ids identify them.
    numbers = np.array([hash((id(i.node), i.mnemonic)) for i in trace.code_map.instructions], np.int64)
    return numbers[trace.point]
