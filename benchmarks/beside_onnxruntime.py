"""Runs of whole networks beside onnxruntime: the same weights, shapes and threads, in turns in one process.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.vm_time --onnxruntime [--providers numpy,torch] [--networks resnet18]

A speed is the median over turns of onnxruntime's time over ours: 1 is as fast as it is. `BLAS` and `machine` are shares
of our run on NumPy: in products of matrices, and outside of kernels, in Python; what is left goes over memory, as
copies of patches, pooling and elementwise ends. `bound` is the speed there would be if nothing but the products took
time: no kernel in NumPy can be faster, unless it multiplies less (empty where products are spelled as operators, which
are not counted). With one thread the processor's clock is read, so that the ratios hold on a busy machine; with more,
the wall's, and the machine must be quiet. Threads that wait for work keep a processor busy for up to a tenth of a
second (OpenBLAS's, OpenMP's): so each run stands behind a pause and a run of its own that does not count. onnxruntime
runs twice: with its waiting threads asleep, which speeds are told beside, and `awake`, as it comes. OPENBLAS_CORETYPE
and its like bind BLAS to older processors, and onnxruntime not: unset them first.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibrate import clock, matrix_product, threads, write_record
from benchmarks.networks import NETWORKS, inputs
from passlab import relay, transform
from passlab.vm import VirtualMachine, compile

COMPARED = ("resnet18", "resnet50", "mobilenet", "squeezenet", "vgg11", "densenet121", "inception_v3", "dcgan",
            "transformer12x128", "lstm64x64")  # fmt: skip
GOALS = {1: 0.8, 2: 0.9}  # threads -> speed on NumPy alone
MOBILE_GOAL, COMPILED_GOAL = 0.65, 0.97
PAUSE = 0.15  # seconds
Job = Callable[[], Any]


def session(model: Any, arrays: Sequence[Any], awake: bool = False) -> Job:
    """Return a run of a model in onnxruntime on as many threads as BLAS has, which wait `awake` or asleep."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads()
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if awake else "0")
    result = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = dict(zip([i.name for i in result.get_inputs()], arrays, strict=True))
    return lambda: result.run(None, feed)


def turns(jobs: list[Job], runs: int) -> list[list[float]]:
    """Return the milliseconds of each job in each turn, after two warm-up turns."""
    now, rows = clock(), []
    for turn in range(runs + 2):
        row = []
        for job in jobs:
            if threads() > 1:
                time.sleep(PAUSE)
                job()
            start = now()
            job()
            row.append((now() - start) * 1e3)
        if turn > 1:
            rows.append(row)
    return rows


def shares(exe: Any, args: Sequence[Any], runs: int) -> dict[str, float]:
    """Return which shares of a run on NumPy are products of matrices and Python outside of kernels."""
    now, spent = clock(), {"BLAS": 0.0, "kernels": 0.0}

    def timed(name: str, job: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            start = now()
            try:
                return job(*arguments, **named)
            finally:
                spent[name] += now() - start

        return run

    vm = VirtualMachine(exe)
    for kernel in vm.machine.exe.kernels:
        if not kernel.shapes and kernel.value is not None:
            kernel.__dict__["value"] = timed("kernels", kernel.value)
    plain, np.matmul = np.matmul, timed("BLAS", np.matmul)  # type: ignore[assignment]
    try:
        vm.run(*args)
        results = []
        for _ in range(runs):
            spent.update(BLAS=0.0, kernels=0.0)
            start = now()
            vm.run(*args)
            whole = now() - start
            results.append((spent["BLAS"] / whole, 1 - spent["kernels"] / whole))
    finally:
        np.matmul = plain
    blas, machine = (statistics.median(column) for column in zip(*results, strict=True))
    return {"BLAS": blas, "machine": machine}


def job_of(provider: str, exe: Any, mod: Any, params: Any, args: Sequence[Any]) -> Job:
    """Return a run on the virtual machine with the kernels of a provider; for "onnxruntime" one of that executor."""
    if provider == "onnxruntime":
        run = relay.create_executor(provider, mod, params=params).evaluate()
        return lambda: run(*args)
    vm = VirtualMachine(exe, providers=provider)
    return lambda: vm.run(*args)


def measure(name: str, providers: Sequence[str], runs: int) -> dict[str, Any]:
    """Return milliseconds and speeds of one network. Raises `AssertionError` where the two do not agree."""
    mod, params = NETWORKS[name]()
    args = inputs(mod, params)

    def compiled() -> Any:
        with transform.PassContext(opt_level=3):
            return compile(mod, params=params)

    exe = compiled()
    ours = [job_of(provider, exe, mod, params, args) for provider in providers]
    model = relay.to_onnx(mod, params)
    theirs, awake = session(model, args), session(model, args, awake=True)
    expected = theirs()[0]
    for job in ours:
        result = job()
        result = np.asarray(result[0] if isinstance(result, tuple) else result)
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4 * float(np.abs(expected).max()))
    jobs: list[Job] = [theirs, *ours, awake, matrix_product()]
    rows = turns(jobs, runs)
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    speeds = [statistics.median([row[0] / row[i] for row in rows]) for i in range(1, 1 + len(ours))]
    actual = shares(compiled(), args, 5)
    bound = speeds[0] / actual["BLAS"] if actual["BLAS"] > 0.05 else math.nan
    return {
        "onnxruntime ms": medians[0], "awake ms": medians[-2], "product ms": medians[-1], **actual, "bound": bound,
        "ms": dict(zip(providers, medians[1:-2], strict=True)), "speed": dict(zip(providers, speeds, strict=True)),
    }  # fmt: skip


def goal(name: str, provider: str) -> float:
    """Return the goal for the speed."""
    if provider != "numpy":
        return COMPILED_GOAL
    return MOBILE_GOAL if name == "mobilenet" else GOALS.get(threads(), GOALS[2])


def compare(networks: Sequence[str], providers: Sequence[str], runs: int, path: Path) -> int:
    """Measure, print the table, write the record. The first of the providers is `numpy`."""
    settings = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_WAIT_POLICY")
    bound = {name: value for name, value in os.environ.items() if name in settings}
    print(f"{threads()} threads" + "".join(f"; {name}={value}" for name, value in bound.items()))
    heads = [*[f"{p} ms" for p in providers], *[f"{p} speed" for p in providers], "BLAS", "machine", "bound"]
    print("network".ljust(20) + "onnxruntime ms" + "".join(head.rjust(13) for head in ("awake ms", *heads)))
    results = {}
    for name in networks:
        result = results[name] = measure(name, providers, runs)
        cells = [f"{result['awake ms']:.2f}", *[f"{result['ms'][p]:.2f}" for p in providers]]
        cells += [f"{s:.2f}" + (" held" if s >= goal(name, p) else " MISSED") for p, s in result["speed"].items()]
        cells += [f"{result['BLAS']:.0%}", f"{result['machine']:.0%}", f"{result['bound']:.2f}".replace("nan", "")]
        print(
            name.ljust(20) + f"{result['onnxruntime ms']:14.2f}" + "".join(cell.rjust(13) for cell in cells), flush=True
        )
    write_record(path, results, threads=threads(), environment=bound)
    return 0
