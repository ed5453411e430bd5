"""The cost of recording: 60 passes over ResNet-50, time added by a recorder and memory of all its snapshots.

    python -m benchmarks.recording [--runs N] [--network resnet50] [--json FILE]

The goals: under 5% added time, and the recording, snapshots and all, under twice the memory of one module. Plain and
recorded runs take turns, each on a module parsed afresh, and the ratio of their processor times is taken pair by pair.
Memory is what stays allocated while only the recording is kept, next to one typed module: the network with its weights
bound, which is what a user compiles. The nodes alone, without any weights, are shown too: there the programs of the
passes that rewrite everything (SimplifyInference, FoldScaleAxis, SimplifyExpr, FuseOps) are new ones and each counts.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tracemalloc
from time import process_time
from typing import Any

import passlab
from benchmarks.calibrate import argument_parser, calibrate, print_figures, write_record
from passlab import relay, transform
from passlab.infer import infer_module
from passlab.rewriting.parameters import bind_params
from passlab.text.parser import parse as parse_only

CLEAN = ("InferType", "SimplifyInference", "FoldConstant", "FoldScaleAxis", "EliminateCommonSubexpr",
         "CanonicalizeOps", "FoldConstant", "DeadCodeElimination", "SimplifyExpr", "FastMath", "FoldExplicitPadding",
         "DivToMul")  # fmt: skip
PASSES = [*CLEAN * 4, "CombineParallelConv2D", "CombineParallelDense", "FlattenAtrousConv", "CanonicalizeCast",
          "RemoveUnusedFunctions", "BatchingOps", "EliminateCommonSubexpr", "DynamicToStatic", "DeadCodeElimination",
          "FoldConstant", "InferType", "FuseOps"]  # fmt: skip
GOALS = {"added %": 5.0, "modules of memory": 2.0}
DEPTHS = {"resnet18": 18, "resnet50": 50}


def pipeline() -> transform.Sequential:
    """Return the 60 passes."""
    return transform.Sequential([transform.get_pass(name) for name in PASSES])


def fresh(text: str, params: dict[str, Any] | None = None) -> Any:
    """Return the module parsed afresh, with copies of the weights bound to it if there are any."""
    mod = parse_only(text)
    return bind_params(mod, {name: array.copy() for name, array in params.items()}) if params else mod


def timed(text: str, recorded: bool, params: dict[str, Any] | None = None) -> tuple[float, Any]:
    """Return the processor seconds of one run on a fresh module, and its result."""
    mod, passes = fresh(text, params), pipeline()
    gc.collect()
    start = process_time()
    if recorded:
        result: Any = passlab.record(mod, passes, opt_level=4)
    else:
        with transform.PassContext(opt_level=4):
            result = passes(mod)
    return process_time() - start, result


def added_percent(text: str, runs: int) -> tuple[float, float]:
    """Return the time that recording adds in percent, the median over pairs of runs, and milliseconds without it."""
    ratios, plain = [], []
    for turn in range(runs):
        order = (False, True) if turn % 2 else (True, False)
        seconds = {recorded: timed(text, recorded)[0] for recorded in order}
        ratios.append(seconds[True] / seconds[False])
        plain.append(seconds[False])
    return (statistics.median(ratios) - 1) * 100, statistics.median(plain) * 1e3


def kept_bytes(make: Any) -> int:
    """Return the bytes that stay allocated while only what `make()` returns is kept."""
    gc.collect()
    tracemalloc.start()
    result = make()
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert result is not None
    return kept


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "recording")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--network", default="resnet50", choices=DEPTHS)
    options = parser.parse_args(argv)
    machine = calibrate()
    workload, params = relay.testing.resnet.get_workload(num_layers=DEPTHS[options.network])
    text = workload.astext()
    recording = timed(text, True)[1]  # everything is imported and every cache is warm after this
    assert len(recording) == len(PASSES) + 1
    assert recording.error is None
    percent, plain = added_percent(text, options.runs)
    module = kept_bytes(lambda: infer_module(fresh(text, params)))
    kept = kept_bytes(lambda: timed(text, True, params)[1])
    last = kept_bytes(lambda: timed(text, True)[1].last)
    nodes = kept_bytes(lambda: timed(text, True)[1])
    figures = {
        "passes": len(PASSES), "events": len(recording.events), "changed": sum(e.changed for e in recording.events),
        "plain ms": plain, "added %": percent, "module bytes": module, "recording bytes": kept,
        "modules of memory": kept / module, "nodes of the last module, bytes": last, "nodes of all, bytes": nodes,
    }  # fmt: skip
    print(f"{len(PASSES)} passes over {options.network}; this machine is {machine.slowness:.2f} times the reference")
    print_figures(figures, GOALS)
    write_record(options.json, figures, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
