"""The time of `lab.culprit` on a network with one fault: ResNet-18 (goal 8 s), ResNet-50 (goal 30 s, two cores).

    python -m benchmarks.culprit [--json FILE]

Prints the seconds of the clock and of the processor, the runs of the whole program, and the seconds of one run: their
ratio does not depend on what else the machine does.
"""

from __future__ import annotations

import sys
import time

from benchmarks.calibrate import argument_parser, print_figures, write_record
from passlab import lab, relay, transform
from passlab.evaluate.evaluator import Evaluator
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.testing import resnet

BEFORE = "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, CanonicalizeOps"
AFTER = "FoldConstant, DeadCodeElimination, FuseOps"
WIDTH = 256  # channels of the activations that the fault changes
GOALS = {18: 8.0, 50: 30.0}  # layers of a network, and seconds


@transform.function_pass(opt_level=0)
def leaky(func, mod, ctx):  # type: ignore[no-untyped-def]
    """Make some activations leaky."""

    def rule(before, node):  # type: ignore[no-untyped-def]
        if (
            isinstance(node, Call)
            and getattr(node.op, "name", "") == "nn.relu"
            and before.checked_type.shape[1] == WIDTH
        ):
            return relay.nn.leaky_relu(node.args[0], alpha=0.125)
        return node

    return rewrite(func, rule, only=(Call,))


def measure(layers: int) -> dict[str, float]:
    """Search for the fault in one network and return the figures."""
    mod, _ = resnet.get_workload(num_layers=layers)
    runs: list[float] = []
    plain = Evaluator._loop

    def counted(self, root, act):  # type: ignore[no-untyped-def]
        started = time.process_time()
        value = plain(self, root, act)
        if len(act.values) > layers:
            runs.append(time.process_time() - started)
        return value

    Evaluator._loop = counted  # type: ignore[method-assign]
    wall, processor = time.perf_counter(), time.process_time()
    try:
        culprit = lab.culprit(mod, [BEFORE, leaky, AFTER])
    finally:
        Evaluator._loop = plain  # type: ignore[method-assign]
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    assert culprit.name == "leaky"
    one = sum(runs) / max(len(runs), 1)
    return {
        "seconds": wall, "processor seconds": processor, "runs": len(runs), "seconds of a run": one,
        "as long as runs": processor / max(one, 1e-9),
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Search for the fault in both networks, print and record the figures."""
    options = argument_parser(__doc__, "culprit").parse_args(argv)
    records = {}
    for layers, goal in GOALS.items():
        name = f"ResNet-{layers}"
        records[name] = measure(layers)
        print(name)
        print_figures(records[name], {"seconds": goal})
    write_record(options.json, records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
