"""How well memory is planned: what a graph takes, and its storages, beside the least that any plan could do with.

    python -m benchmarks.memory_plan [--networks resnet18,resnet50] [--json FILE]

The lower bound is the largest sum of bytes that are alive at once: a result is alive from the node that makes it to the
last that reads it. Inputs and parameters are not planned and not counted.
"""

from __future__ import annotations

import sys
from itertools import accumulate
from math import prod

import numpy as np

from benchmarks.calibrate import argument_parser, write_record
from benchmarks.networks import NETWORKS
from passlab import transform
from passlab.executor import Graph, build


def lower_bound(graph: Graph) -> int:
    """Return the most bytes of results that are alive at once."""
    sizes = [prod(s) * np.dtype(d).itemsize for s, d in zip(graph.shapes, graph.dtypes, strict=True)]
    change = [0] * (len(graph.nodes) + 2)
    for result, (birth, death) in graph.lives().items():
        change[birth] += sizes[result]
        change[death + 1] -= sizes[result]
    return max(accumulate(change))


def shared_storages(graph: Graph) -> int:
    """Return the bytes of the storages that Relay's JSON lists, each as large as its largest result."""
    sizes: dict[int, int] = {}
    for result in graph.lives():
        size = prod(graph.shapes[result]) * np.dtype(graph.dtypes[result]).itemsize
        sizes[graph.storage_ids[result]] = max(size, sizes.get(graph.storage_ids[result], 0))
    return sum(sizes.values())


def measure(name: str) -> dict[str, float]:
    """Return the bytes planned for a network, the lower bound and their ratio."""
    mod, params = NETWORKS[name]()
    with transform.PassContext(opt_level=3):
        factory = build(mod, params=params)
    planned, bound = factory.module().storage_bytes, lower_bound(factory.graph)
    return {
        "planned": planned,
        "storages": shared_storages(factory.graph),
        "lower bound": bound,
        "ratio": planned / bound,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argument_parser(__doc__, "memory_plan")
    parser.add_argument("--networks", default="mlp,resnet18,resnet50,mobilenet,squeezenet,dcgan")
    options = parser.parse_args(arguments)
    record = {name: measure(name) for name in options.networks.split(",")}
    print(f"{'network':<12} {'planned':>12} {'storages':>12} {'lower bound':>12} {'ratio':>6}")
    for name, row in record.items():
        print(f"{name:<12} {row['planned']:>12,} {row['storages']:>12,} {row['lower bound']:>12,} {row['ratio']:>6.2f}")
    write_record(options.json, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
