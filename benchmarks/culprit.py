"""The time of `lab.culprit` on a network with one fault: ResNet-18 (goal 8 s), ResNet-50 (goal 30 s, two cores).

    python -m benchmarks.culprit

Prints the seconds of the clock and of the processor, the runs of the whole program, and the seconds of one run: their
ratio does not depend on what else the machine does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from passlab import lab, relay, transform
from passlab.evaluate.evaluator import Evaluator
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.testing import resnet

BEFORE = "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, CanonicalizeOps"
AFTER = "FoldConstant, DeadCodeElimination, FuseOps"
WIDTH = 256  # channels of the activations that the fault changes


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


def main(arguments: Sequence[str]) -> int:
    """Search for the fault in both networks and print the times."""
    for layers in (18, 50):
        mod, _ = resnet.get_workload(num_layers=layers)
        runs: list[float] = []
        plain = Evaluator._loop

        def counted(self, root, act, plain=plain, runs=runs, layers=layers):  # type: ignore[no-untyped-def]
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
        one = sum(runs) / max(len(runs), 1)
        print(
            f"ResNet-{layers}: {culprit.name} ({culprit.where}), {wall:.1f} s, {processor:.1f} s of the processor, ",
            end="",
        )
        print(f"{len(runs)} runs of {one:.2f} s: as long as {processor / max(one, 1e-9):.0f} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
