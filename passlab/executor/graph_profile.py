"""Where the time of a graph goes: its nodes one after the other, with a clock, as a `Report`."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from passlab.executor.graph import COPY, NOP, Graph
from passlab.vm.report import Report, Row, describe, marks

if TYPE_CHECKING:
    from passlab.executor.graph_module import GraphModuleDebug

WARM_UPS = 3
DEVICES = {1: "cpu0", 2: "cuda0"}
NAMES = {NOP: "reshape_nop", COPY: "device_copy"}


def profile(module: GraphModuleDebug) -> Report:
    """Run a graph, whose inputs are set, three times unmeasured and once measured; one event for each node that runs.

    The memory told of is that of the graph's plan: which results are alive after each node, were they let go then.
    """
    for _ in range(WARM_UPS):
        module.run()
    ran = module.ran
    took: list[float] = []
    started = perf_counter()
    with np.errstate(all="ignore"):
        for i in ran:
            before = perf_counter()
            module.run_node(i)
            took.append((perf_counter() - before) * 1e6)
    total = (perf_counter() - started) * 1e6
    calls = [_event(module, i, microseconds) for i, microseconds in zip(ran, took, strict=True)]
    memory, allocated = _memory(module.graph, ran)
    devices = {c["Device"] for c in calls} or {DEVICES[1]}
    sums = {d: sum(c["Duration (us)"] for c in calls if c["Device"] == d) for d in sorted(devices)}
    if len(sums) == 1:  # what lies between the nodes counts too
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


def _memory(graph: Graph, ran: list[int]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return the bytes alive after each event, where they change, and those of all results together."""
    lives = graph.lives()
    sizes = {result: graph.result_bytes(result) for result in lives}
    change = [0] * (len(graph.nodes) + 2)
    for result, (birth, death) in lives.items():
        change[birth] += sizes[result]
        change[death + 1] -= sizes[result]
    live, over_time, last = 0, [], 0
    events = {node: event for event, node in enumerate(ran)}
    for node, more in enumerate(change[: len(graph.nodes)]):
        live += more
        if node in events and live != last:
            over_time.append((events[node], live))
            last = live
    return tuple(over_time), sum(sizes.values())
