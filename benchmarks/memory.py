"""The memory of a recording of 60 passes over ResNet-50, and the memory that runs, recordings and views leave behind.

    python -m benchmarks.memory [--runs 10000] [--recordings 1000] [--views 1000] [--json FILE]

A recording is measured beside the weights that stand in its programs, each array once: passes that fold scales make
new weights, which every recording needs. What is used over and over again is compared by the memory of the
process (its resident set) after a third of the rounds and after all of them, each time after a collection: what grows
between the two would grow for ever. A view is made a widget, told to show, and closed, as a notebook does.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import passlab
from benchmarks.calibrate import argument_parser, write_record
from benchmarks.recording import fresh, kept_bytes, pipeline
from passlab import relay, transform
from passlab.ir.expr import Constant
from passlab.ir.walk import post_order
from passlab.vm import VirtualMachine, compile

GOAL = 1.1  # memory of a recording over the weights of its programs
GROWTH_GOAL_KB = 1024  # that two thirds of the rounds may add to the process; its allocator keeps and returns memory
PASSES = "InferType, SimplifyInference, FoldConstant, FuseOps"


def resident_kb() -> int:
    """Return the memory that the process has in use."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0])


def growth(job: Callable[[], Any], rounds: int) -> dict[str, float]:
    """Return the memory of the process after a third of the rounds and after all, in KB."""
    readings = []
    for part in (rounds // 3, rounds - rounds // 3):
        for _ in range(part):
            job()
        readings.append(resident_kb())
    return {
        "rounds": rounds,
        "after a third": readings[0],
        "after all": readings[1],
        "growth": readings[1] - readings[0],
    }


def recorded() -> dict[str, float]:
    """Return the bytes of a recording of 60 passes, and of the arrays in its programs."""
    mod, params = relay.testing.resnet.get_workload(num_layers=50)
    text = mod.astext()
    results: list[Any] = []

    def job() -> Any:
        results[:] = [passlab.record(fresh(text, params), pipeline(), opt_level=4)]
        return results[0]

    kept = kept_bytes(job)
    arrays: dict[int, int] = {}
    for module in {id(e.after): e.after for e in results[0].events}.values():
        for function in module.functions.values():
            for node in post_order(function):
                if isinstance(node, Constant):
                    root = node.data if node.data.base is None else node.data.base
                    arrays[id(root)] = root.nbytes
    weights = sum(array.nbytes for array in params.values())
    return {"bytes": kept, "arrays of its programs": sum(arrays.values()), "weights of the module": weights,
            "of the arrays": kept / sum(arrays.values()), "of the weights": kept / weights}  # fmt: skip


def jobs() -> dict[str, Callable[[], Any]]:
    """Return the jobs that are repeated: a run, a recording, and a view that is opened and closed."""
    from passlab.display.views.recording import recording_view
    from passlab.notebook.widgets import show

    mod, params = relay.testing.mlp.get_workload(batch_size=1)
    with transform.PassContext(opt_level=3):
        vm = VirtualMachine(compile(mod, params=params))
    data = np.ones((1, 1, 28, 28), "float32")
    recording = passlab.record(mod, PASSES, opt_level=3)

    def view() -> None:
        widget = show(recording_view(recording))
        widget._repr_mimebundle_()
        widget.close()

    return {
        "runs": lambda: vm.run(data), "recordings": lambda: passlab.record(mod, PASSES, opt_level=3).text(),
        "views": view,
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "memory")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--recordings", type=int, default=1_000)
    parser.add_argument("--views", type=int, default=1_000)
    options = parser.parse_args(argv)
    results: dict[str, dict[str, float]] = {"recording of 60 passes over resnet50": recorded()}
    for name, job in jobs().items():
        result = results[name] = growth(job, getattr(options, name))
        held = "held" if result["growth"] <= GROWTH_GOAL_KB else "MISSED"
        print(f"{name:12}{result['rounds']:8} rounds: {result['after a third']:9} KB after a third, "
              f"{result['after all']:9} after all   {held}", flush=True)  # fmt: skip
    kept = results["recording of 60 passes over resnet50"]
    held = "held" if kept["of the arrays"] <= GOAL else "MISSED"
    print(f"a recording of 60 passes over resnet50: {kept['bytes'] / 1e6:.1f} MB, {kept['of the arrays']:.3f} times "
          f"the arrays of its programs ({held}), {kept['of the weights']:.2f} times the module's weights")  # fmt: skip
    write_record(options.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
