"""Time to compile networks for the virtual machine and to run them, beside TVM 0.14's untuned LLVM code.

    python -m benchmarks.vm_time [--runs N] [--networks resnet18,mlp] [--json FILE]

Runs are in GEMM units: the time of a 1024x1024x1024 float32 product run in turns with the network. The last column
is how many times as fast as the reference a run is in these units. Interpreter work is scaled by the Python loop of
`calibrate`. With OPENBLAS_NUM_THREADS=1 the processor's clock is read, not the wall's. `--onnxruntime` compares with
onnxruntime instead (`benchmarks.beside_onnxruntime`).
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

import passlab
from benchmarks import beside_onnxruntime
from benchmarks.calibrate import (
    REFERENCE_GEMM_MS,
    Machine,
    argument_parser,
    calibrate,
    in_turns,
    matrix_product,
    median_ms,
    threads,
    write_record,
)
from benchmarks.networks import NETWORKS, inputs
from passlab import transform
from passlab.executor import build
from passlab.vm import VirtualMachine, compile

# name -> (compile ms, run ms) of TVM, on a machine whose product took 8.8 ms and whose loop took 97 ms
REFERENCE = {
    "mlp": (382, 0.04), "lstm4x64": (916, 0.22), "squeezenet": (9303, 50.57), "mobilenet": (18229, 33.97),
    "resnet18": (14400, 101.18), "resnet50": (33356, 227.74), "vgg11": (4383, 449.78), "dcgan": (2098, 122.63),
}  # fmt: skip
OTHERS = ("dqn", "densenet121", "inception_v3", "resnet_3d")  # without a reference figure
SMALL = ("mlp", "lstm4x64")  # no convolutions in them
GOAL, SMALL_GOAL = 1.5, 1.0  # times the speed of the reference
FIRST_RUN_GOAL_MS = 2000.0  # compile and first run of resnet50, on a machine whose loop takes 97 ms
REFERENCE_LOOP_MS = 97.0
LOOP = """
def @loop(%i: int32, %acc: int32) -> int32 { if (%i == 0) { %acc } else { @loop(%i - 1, %acc + %i) } }
def @main(%n: int32) -> int32 { @loop(%n, 0) }
"""
ITERATIONS = 10_000
REFERENCE_LOOP_US = 3.0  # TVM, an iteration; 5.7 at 10,000 iterations, since its frames pile up


def measure(name: str, runs: int) -> dict[str, float]:
    """Return what -> milliseconds for one network."""
    mod, params = NETWORKS[name]()
    args = inputs(mod, params)
    held: list[Any] = []
    with transform.PassContext(opt_level=3):
        compiled = median_ms(lambda: held.append(compile(mod, params=params)), 1)
        vm = VirtualMachine(held[0])
        first = median_ms(lambda: vm.run(*args), 1)
        graph = build(mod, params=params).module()
    for i, value in enumerate(args):
        graph.set_input(i, value)
    unit, run, as_graph = in_turns([matrix_product(), lambda: vm.run(*args), graph.run], runs)
    if name in SMALL:  # in turns with the product, they would find nothing in cache
        run, as_graph = (min(in_turns([job], 50 * runs)) for job in (lambda: vm.run(*args), graph.run))
    return {
        "compile": compiled, "compile and first run": compiled + first, "run": run, "run as a graph": as_graph,
        "product": unit,
    }  # fmt: skip


def counting_loop() -> dict[str, float]:
    """Return the microseconds of an iteration, and of an instruction, of a loop over scalars."""
    vm = VirtualMachine(compile(passlab.parse(LOOP)))
    vm.run(np.int32(10))
    each = median_ms(lambda: vm.run(np.int32(ITERATIONS)), 5) * 1e3
    return {"iteration us": each / ITERATIONS, "instruction us": each / vm.machine.executed}


def table(results: dict[str, dict[str, float]], loop: dict[str, float], machine: Machine) -> str:
    """Return the figures beside the reference, scaled to this machine."""
    slow = machine.loop_ms / REFERENCE_LOOP_MS
    each, instruction = loop["iteration us"], loop["instruction us"]
    heads = ("compile ms", "(reference)", "and first run", "run ms", "graph", "GEMMs", "(reference)", "speed", "goal")
    lines = [
        f"counting loop: {each:.2f} us an iteration, reference {REFERENCE_LOOP_US * slow:.2f} us",
        f"an instruction of it: {instruction:.2f} us",
        "network".ljust(13) + "".join(head.rjust(14) for head in heads),
    ]
    for name, figures in results.items():
        compile_ms, run_ms = REFERENCE.get(name, (math.nan, math.nan))
        gemms = figures["run"] / figures["product"]
        speed = run_ms / REFERENCE_GEMM_MS / gemms
        goal = SMALL_GOAL if name in SMALL else GOAL
        numbers = (f"{figures['compile']:.0f}", f"{compile_ms * slow:.0f}", f"{figures['compile and first run']:.0f}",
                   f"{figures['run']:.2f}", f"{figures['run as a graph']:.2f}", f"{gemms:.3g}",
                   f"{run_ms / REFERENCE_GEMM_MS:.3g}", f"{speed:.2f}x",
                   "" if math.isnan(speed) else "held" if speed >= goal else "MISSED")  # fmt: skip
        lines.append(name.ljust(13) + "".join("".rjust(14) if "nan" in n else n.rjust(14) for n in numbers))
    if "resnet50" in results:
        spent, most = results["resnet50"]["compile and first run"], FIRST_RUN_GOAL_MS * slow
        lines.append(f"compile and first run of resnet50: {spent:.0f} ms, goal {most:.0f} ms")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "vm_time")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--networks", default="")
    parser.add_argument("--onnxruntime", action="store_true", help="compare with onnxruntime")
    parser.add_argument("--providers", default="numpy", help="with --onnxruntime: numpy first, then others")
    options = parser.parse_args(argv)
    if options.onnxruntime:
        named = options.networks.split(",") if options.networks else beside_onnxruntime.COMPARED
        path = options.json.with_name(f"beside_onnxruntime_{threads()}.json")
        return beside_onnxruntime.compare(named, options.providers.split(","), options.runs, path)
    names = options.networks.split(",") if options.networks else (*REFERENCE, *OTHERS)
    machine = calibrate()
    loop = counting_loop()
    results = {name: measure(name, options.runs) for name in names}
    print(f"calibration loop {machine.loop_ms:.0f} ms, matrix product {machine.gemm_ms:.1f} ms, {threads()} threads")
    print(table(results, loop, machine))
    write_record(options.json, results, machine, threads=threads(), **{"counting loop": loop})
    return 0


if __name__ == "__main__":
    sys.exit(main())
