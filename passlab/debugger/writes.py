"""The writes of a run in one pass, for comparing two runs of the same program.

`TraceData.written` looks up one instruction; this module looks up the results of all kernels at once. Constants and
allocations are left out: they are the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, RETURN, STORAGE, CodeMap
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
