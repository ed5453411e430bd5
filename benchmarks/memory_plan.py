"""How well memory is planned: the storages of a graph beside the least that any plan could do with.

    python -m benchmarks.memory_plan [--networks resnet18,resnet50] [--json FILE]

The lower bound is the largest sum of bytes that are alive at once: a result is alive from the node that makes it to the
last that reads it. Inputs and parameters are not planned and not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from math import prod
from pathlib import Path

import numpy as np

from benchmarks.vm_time import workload
from passlab import transform
from passlab.executor import Graph, build
from passlab.executor.graph import NOP


def lower_bound(graph: Graph) -> int:
    """Return the most bytes of results that are alive at once."""
    rows = graph.row_ptr
    sizes = [prod(s) * np.dtype(d).itemsize for s, d in zip(graph.shapes, graph.dtypes, strict=True)]
    root = list(range(rows[-1]))
    for i, node in enumerate(graph.nodes):
        if node.func_name == NOP:
            root[rows[i]] = root[rows[node.inputs[0][0]] + node.inputs[0][1]]
    last: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        last.update({root[rows[j] + index]: i for j, index in node.inputs})
    last.update({root[rows[j] + index]: len(graph.nodes) for j, index in graph.heads})
    alive = most = 0
    ending: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        if node.func_name and node.func_name != NOP:
            for result in range(rows[i], rows[i + 1]):
                alive += sizes[result]
                end = last.get(result, i)
                ending[end] = ending.get(end, 0) + sizes[result]
        most = max(most, alive)
        alive -= ending.get(i, 0)
    return most


def measure(name: str) -> dict[str, float]:
    """Return the bytes planned for a network, the lower bound and their ratio."""
    mod, params = workload(name)
    with transform.PassContext(opt_level=3):
        made = build(mod, params=params)
    planned, bound = made.module().storage_bytes, lower_bound(made.graph)
    return {"planned": planned, "lower bound": bound, "ratio": planned / bound}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default="mlp,resnet18,resnet50,mobilenet,squeezenet,dcgan")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    record = {name: measure(name) for name in options.networks.split(",")}
    print(f"{'network':<12} {'planned':>12} {'lower bound':>12} {'ratio':>6}")
    for name, row in record.items():
        print(f"{name:<12} {row['planned']:>12,} {row['lower bound']:>12,} {row['ratio']:>6.2f}")
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
