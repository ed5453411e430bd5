"""How fast this machine is, in a pure-Python loop and a matrix product; and what benchmarks share to report figures."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

REFERENCE_LOOP_MS = 87.0  # the loop below, on the machine that the compile-time reference figures come from
REFERENCE_GEMM_MS = 8.8  # a float32 product of 1024 x 1024 matrices, on the machine the run-time figures come from


def threads() -> int:
    """Return how many threads BLAS uses: what OPENBLAS_NUM_THREADS or OMP_NUM_THREADS say, else one for each core."""
    setting = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
    return int(setting) if setting else os.cpu_count() or 1


def clock() -> Callable[[], float]:
    """Return the clock for figures that are compared: of the processor where one thread computes, else of the wall.

    The first one does not run while other programs have the core, so that figures can be had on a busy machine.
    """
    return time.process_time if threads() == 1 else time.perf_counter


def median_ms(job: Callable[[], object], runs: int = 5, prepare: Callable[[], object] | None = None) -> float:
    """Return the median time of `job` in milliseconds by `clock`; `prepare` runs, untimed, before each run."""
    now = clock()
    times = []
    for _ in range(runs):
        if prepare is not None:
            prepare()
        start = now()
        job()
        times.append((now() - start) * 1e3)
    return statistics.median(times)


def in_turns(jobs: list[Callable[[], object]], runs: int) -> list[float]:
    """Return the least milliseconds of jobs that are run in turns, after a warm-up run."""
    now = clock()
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(runs + 1):
        for job, mine in zip(jobs, times, strict=True):
            start = now()
            job()
            mine.append((now() - start) * 1e3)
    return [min(mine[1:]) for mine in times]


def matrix_product() -> Callable[[], object]:
    """Return a job: the float32 product of 1024 x 1024 matrices that speeds are multiples of."""
    a, b = np.random.default_rng(0).random((2, 1024, 1024), np.float32)
    product = np.empty_like(a)
    return lambda: np.matmul(a, b, out=product)


def _loop() -> int:
    s = 0
    for i in range(2_000_000):
        s += i * i % 7
    return s


@dataclass(frozen=True)
class Machine:
    """What the machine measured; `slowness` is its loop time over the reference machine's."""

    loop_ms: float
    gemm_ms: float
    python: str
    numpy: str
    processor: str

    @property
    def slowness(self) -> float:
        """Multiply a reference figure for Python work by this to compare it with a figure measured here."""
        return self.loop_ms / REFERENCE_LOOP_MS

    def record(self) -> dict[str, object]:
        """Return the measurements as plain data."""
        return {**asdict(self), "slowness": self.slowness}


def calibrate() -> Machine:
    """Measure this machine."""
    a = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    return Machine(
        median_ms(_loop, 3), median_ms(lambda: a @ a, 9), platform.python_version(), np.__version__, platform.machine()
    )


def argument_parser(doc: str, name: str) -> argparse.ArgumentParser:
    """Return a parser of the command line of a benchmark, with the option `--json FILE` for its record."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path(f"benchmarks/out/{name}.json"))
    return parser


def print_figures(figures: Mapping[str, float], goals: Mapping[str, float]) -> None:
    """Print a line for each figure, with its goal where it has one: figures below their goals hold."""
    width = max(map(len, figures))
    for name, value in figures.items():
        goal = goals.get(name)
        held = "" if goal is None else f"   goal {goal:g}: {'held' if value < goal else 'MISSED'}"
        print(f"  {name:{width}}{value:16.3f}{held}")


def write_record(path: Path, results: object, machine: Machine | None = None, **more: object) -> None:
    """Write results as JSON beside the measurements of the machine, which are taken now unless they are given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"machine": (machine or calibrate()).record(), **more, "results": results}
    path.write_text(json.dumps(record, indent=1), encoding="utf-8")
