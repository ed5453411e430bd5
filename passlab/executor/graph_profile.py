"""Profiling of a graph: the time of each node, and the memory alive over time, as a `Report`."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from passlab.executor.graph import COPY, NOP, Graph
from passlab.vm.report import Report, Row, describe, marks

if TYPE_CHECKING:
    from passlab.executor.graph_module import GraphModuleDebug

WARM_UPS = 3
DEVICES = {1: "cpu0", 2: "cuda0"}  # by DLPack's numbers of devices
NAMES = {NOP: "reshape_nop", COPY: "device_copy"}


def profile(module: GraphModuleDebug) -> Report:
    """Run a graph, whose inputs are set, three times unmeasured and once measured; one event for each kernel node.

    The memory follows from the live ranges: the bytes of the results that are alive after each node.
    """
    for _ in range(WARM_UPS):
        module.run()
    numbers = module.kernel_nodes
    durations: list[float] = []
    start = perf_counter()
    with np.errstate(all="ignore"):
        for i in numbers:
            before = perf_counter()
            module.run_node(i)
            durations.append((perf_counter() - before) * 1e6)
    total = (perf_counter() - start) * 1e6
    calls = [_event(module, i, microseconds) for i, microseconds in zip(numbers, durations, strict=True)]
    memory, allocated = _memory(module.graph, numbers)
    devices = {c["Device"] for c in calls} or {DEVICES[1]}
    sums = {d: sum(c["Duration (us)"] for c in calls if c["Device"] == d) for d in sorted(devices)}
    if len(sums) == 1:  # the time between the nodes counts too, where one device has it
        sums = dict.fromkeys(sums, total)
    whole = sum(sums.values()) or 1.0
    metrics = {d: {"Duration (us)": t, "Percent": 100 * t / whole, "Count": 1} for d, t in sums.items()}
    config = {"Executor": "Graph", "Number of threads": 1, "NumPy": np.__version__}
    return Report(tuple(calls), metrics, config, memory, allocated)


def _event(module: GraphModuleDebug, number: int, microseconds: float) -> Row:
    node, rows = module.graph.nodes[number], module.rows
    arrays = [*module.inputs_of(number), *module.values[rows[number] : rows[number + 1]]]
    kind = module.graph.device_types[rows[number]] if node.num_outputs else 1
    event: Row = {
        "Name": NAMES.get(node.func_name, node.func_name),
        "Duration (us)": microseconds,
        "Device": DEVICES.get(kind, f"device {kind}"),
        "Argument Shapes": ", ".join(map(describe, arrays)),
        "Bytes": sum(a.nbytes for a in arrays if a is not None),
        "Node": node.name,
    }
    event.update(marks(node.attrs))
    return event


def _memory(graph: Graph, kernel_nodes: list[int]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return (event, bytes alive after it) wherever the bytes change, and the bytes of all results together."""
    lives = graph.lives()
    sizes = {result: graph.result_bytes(result) for result in lives}
    change = [0] * (len(graph.nodes) + 2)
    for result, (birth, death) in lives.items():
        change[birth] += sizes[result]
        change[death + 1] -= sizes[result]
    live, over_time, last = 0, [], 0
    events = {node: event for event, node in enumerate(kernel_nodes)}
    for node, difference in enumerate(change[: len(graph.nodes)]):
        live += difference
        if node in events and live != last:
            over_time.append((events[node], live))
            last = live
    return tuple(over_time), sum(sizes.values())
