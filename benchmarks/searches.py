"""The cost of searches in plain runs of the program: validation, bisection and reduction over ResNet-50.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.searches [--layers 50] [--json FILE]

A plain run is one of the reference evaluator on the same inputs. Validation runs the program after each of 60 passes
that changes it (goal: under 5 plain runs beyond the passes themselves). Both are the least of three: in the first, most
of the time goes to memory that the process has not used before. The search looks for a pass in the middle of a
pipeline that makes some activations leaky (`benchmarks.culprit`), down to the rewrite and the passes that it takes
(goal 15 s), and the reduction for the smallest program that shows it (goal 10 s). Seconds of the processor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks.calibrate import argument_parser, print_figures, write_record
from benchmarks.culprit import AFTER, BEFORE, leaky
from benchmarks.recording import pipeline
from passlab import instrument, lab, relay, transform
from passlab.rewriting.parameters import bind_params

GOALS = {"validation, plain runs": 5.0, "bisection s": 15.0, "reduction s": 10.0}


def seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a job, and what it returned."""
    start = process_time()
    result = job()
    return process_time() - start, result


def validated(mod: Any, instruments: list[Any]) -> Any:
    """Run the 60 passes."""
    with transform.PassContext(opt_level=4, instruments=instruments):
        return pipeline()(mod)


def measure(layers: int) -> dict[str, float]:
    """Return the figures of one network."""
    mod, params = relay.testing.resnet.get_workload(num_layers=layers)
    mod = transform.InferType()(bind_params(mod, params))
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype("float32")
    run = relay.create_executor("debug", mod).evaluate()
    seconds(lambda: validated(mod, []))
    plain = min(seconds(lambda: run(image))[0] for _ in range(3))
    alone = seconds(lambda: validated(mod, []))[0]
    first, *again = [seconds(lambda: validated(mod, [instrument.Validate(inputs=[image])]))[0] for _ in range(3)]
    whole = min(first, *again)
    bisecting, result = seconds(lambda: located(mod))
    reducing, _ = seconds(result.reduce)
    return {
        "plain run s": plain, "passes s": alone, "first validation s": first - alone,
        "validation s": whole - alone, "validation, plain runs": (whole - alone) / plain,
        "bisection s": bisecting, "reduction s": reducing,
        "bisection, plain runs": bisecting / plain, "reduction, plain runs": reducing / plain,
    }  # fmt: skip


def located(mod: Any) -> Any:
    """Return the bisection, with the rewrite and the needed passes found."""
    bisection = lab.bisect(mod, [BEFORE, leaky, AFTER])
    assert bisection.event is not None
    assert bisection.needed
    assert bisection.rewrite is not None
    return bisection


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "searches")
    parser.add_argument("--layers", type=int, default=50, choices=(18, 50))
    options = parser.parse_args(argv)
    figures = measure(options.layers)
    print_figures(figures, GOALS)
    write_record(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
