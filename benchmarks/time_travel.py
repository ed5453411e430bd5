"""The cost of recording a run, and the time to reach any instant of it.

    python -m benchmarks.time_travel [--json FILE]

Goals: under 1.5 times a free run for a convolutional network, 10 times for a loop over scalars; any instant of a run
of 1,000,000 instructions in 50 ms, values that were dropped included (those of scalar loops are never kept: a look runs
a few thousand instructions again).
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

import passlab
from benchmarks.calibrate import argument_parser, median_ms, print_figures, write_record
from benchmarks.vm_time import LOOP
from passlab import limits
from passlab.debugger.debugger import Debugger
from passlab.debugger.trace import Trace
from passlab.display.views.stepper import StepperView, stepper_view
from passlab.testing import resnet
from passlab.vm import Machine, compile

LONG = 48_000  # iterations: a million instructions
SHORT = 10_000
DEEP = 20_000  # calls
RECURSION = """
def @down(%i: int32) -> int32 { if (%i == 0) { 0 } else { 1 + @down(%i - 1) } }
def @main(%n: int32) -> int32 { @down(%n) }
"""
MEMORY = 8 * 2**20  # bytes, so that most values of the long run are dropped
GOALS = {
    "recording ResNet-18, times a free run": 1.5,
    "recording scalar loop, times a free run": 10.0,
    "an instant, values kept, worst of 40": 50.0,
    "an instant, values dropped, worst of 40": 50.0,
}


def recording() -> dict[str, float]:
    """Return what -> times a free run."""
    mod, params = resnet.get_workload(num_layers=18)
    rows = {}
    image = np.random.default_rng(0).random((1, 3, 224, 224), "float32")
    for name, exe, args in (
        ("ResNet-18", compile(mod, params=params), [image]),
        ("scalar loop", compile(passlab.parse(LOOP)), [np.int32(SHORT)]),
    ):  # fmt: skip
        machine, entry = Machine(exe), exe.global_map["main"]
        machine.invoke(entry, args)
        free = median_ms(lambda m=machine, e=entry, a=args: m.invoke(e, a), 5)
        rows[f"recording {name}, times a free run"] = median_ms(lambda x=exe, a=args: Trace.record(x, a), 5) / free
    return rows


def reaching() -> dict[str, float]:
    """Return what -> milliseconds to reach an instant, the median and the worst of many."""
    exe = compile(passlab.parse(LOOP))
    rows = {}
    for name, memory in (("kept", 2**31), ("dropped", MEMORY)):
        trace = Trace.record(exe, [np.int32(LONG)], memory=memory)
        rows["instants of a long run"] = float(len(trace))
        # The first look writes out the log and makes its index.
        rows[f"the first look, values {name}"] = median_ms(lambda t=trace: t[0].registers, 1)
        places = np.random.default_rng(0).integers(0, len(trace), 40).tolist()
        times = [median_ms(lambda t=trace, i=int(i): t[i].registers, 1) for i in places]
        rows[f"an instant, values {name}, median"] = float(np.median(times))
        rows[f"an instant, values {name}, worst of 40"] = max(times)
    return rows


def pages() -> dict[str, float]:
    """Return what -> milliseconds to make the data of the stepper."""
    trace = Trace.record(compile(passlab.parse(LOOP)), [np.int32(LONG // 10)])
    what = f"the stepper's data for {len(trace):,} instructions"
    return {
        f"{what}, at first": median_ms(lambda: stepper_view(trace).data(only_start=True), 3),
        f"{what}, all": median_ms(lambda: stepper_view(trace).data(), 3),
        f"{what}, the longest slice of it": median_slice(stepper_view(trace)),
    }


def median_slice(view: StepperView) -> float:
    """Return the longest pause of a kernel that collects all values for a stepper, the median of three times."""
    longest = []
    for _ in range(3):
        slices, times, drawn = view.slices(), [], None
        while drawn is None:
            start = process_time()
            drawn = next(slices)
            times.append(process_time() - start)
        longest.append(1000 * max(times))
    return float(np.median(longest))


def forking() -> dict[str, float]:
    """Return what -> milliseconds to run on from the middle of a deep recursion, and to compare."""
    with limits.override(frames=2 * DEEP):
        dbg = Debugger(compile(passlab.parse(RECURSION)), np.int32(DEEP))
        dbg.goto(len(dbg.trace) // 2)
        depth = dbg.now.depth
        rows = {f"a fork under {depth:,} frames, run to its end": median_ms(lambda: dbg.fork(), 3)}
        fork = dbg.fork()
        rows[f"its comparison with the original, {len(fork.trace):,} instructions"] = median_ms(fork.differences, 3)
    return rows


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and write the record."""
    parser = argument_parser(__doc__, "time_travel")
    options = parser.parse_args(argv)
    rows = {**recording(), **reaching(), **pages(), **forking()}
    print_figures(rows, GOALS)
    write_record(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
