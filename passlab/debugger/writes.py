"""What a run wrote, from its start to its end, in one pass: for comparing two runs of the same program.

`TraceData.written` answers for one instruction; this goes through all of them and looks up which tensor a kernel wrote
into for all kernels at once. Constants and memory are left out: they are the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, RETURN, STORAGE
from passlab.debugger.trace_data import TraceData

_SAME = (
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
    sites = trace.code_map
    counted = np.array([_is_told(trace, site) for site in range(len(sites))], bool)
    events = first + np.flatnonzero(counted[trace.site[first:last]])
    if trace.log.overwritten:  # memory is used again: each value must be looked up as it was
        for event in events.tolist():
            yield from ((event, register, value) for _, register, value in trace.written(event))
        return
    makers = _makers(trace, events)
    values: list[Any] = []
    start = end = 0
    for event in events.tolist():
        if event >= end or event < start:
            segment, _ = trace.segment(event)
            values, start = segment.values or [], segment.start
            end = start + len(values)
        if event not in makers:
            frame, register = _target(trace, event)
            if frame >= 0 and register >= 0:
                yield event, register, values[event - start]
            continue
        for register, maker in makers[event]:
            if start <= maker < end:
                yield event, register, values[maker - start]
            else:
                yield from ((event, r, value) for _, r, value in trace.written(event) if r == register)


def _is_told(trace: TraceData, site: int) -> bool:
    sites = trace.code_map
    if sites.role[site] in (KERNEL, RETURN):
        return True
    return sites.role[site] not in (CALL, STORAGE) and sites.mnemonic(site) not in _SAME and sites.written[site] >= 0


def _target(trace: TraceData, event: int) -> tuple[int, int]:
    frame = int(trace.frame_of[event])
    if trace.role[event] == RETURN:
        return int(trace.log.parent[frame]), int(trace.log.result_register[frame])
    return frame, int(trace.code_map.written[trace.site[event]])


def _makers(trace: TraceData, events: np.ndarray[Any, Any]) -> dict[int, list[tuple[int, int]]]:
    """For each kernel call its results: the register, and the event that put the tensor there (-1: before the run)."""
    order, frames, registers, _ = trace._writes
    if not len(order):
        return {}
    width, length = int(registers.max()) + 1, len(trace) + 1
    keys = np.sort((frames[order].astype(np.int64) * width + registers[order]) * length + order)
    results = [trace.code_map.results(site) for site in range(len(trace.code_map))]
    most = max(map(len, results), default=0)
    table = np.full((len(results), max(most, 1)), -1, np.int64)
    for site, outputs in enumerate(results):
        table[site, : len(outputs)] = outputs
    calls = events[table[trace.site[events], 0] >= 0]
    callees = table[trace.site[calls]]
    slots = trace.frame_of[calls].astype(np.int64)[:, None] * width + callees
    places = np.searchsorted(keys, slots * length + calls[:, None]) - 1
    outputs = keys[np.maximum(places, 0)]
    makers = np.where((places >= 0) & (outputs // length == slots) & (callees < width), outputs % length, -1)
    return {
        event: [(r, m) for r, m in zip(row, by, strict=True) if r >= 0]
        for event, row, by in zip(calls.tolist(), callees.tolist(), makers.tolist(), strict=True)
    }
