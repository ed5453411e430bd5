"""How fast this machine is: a pure-Python loop and a matrix product, the units that reference figures are scaled by."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

REFERENCE_LOOP_MS = 87.0  # the loop below, on the machine that the compile-time reference figures come from
REFERENCE_GEMM_MS = 8.8  # a float32 product of 1024 x 1024 matrices, on the machine the run-time figures come from


def median_ms(job: Callable[[], object], runs: int = 5, prepare: Callable[[], object] | None = None) -> float:
    """Return the median wall time of `job` in milliseconds; `prepare` runs, untimed, before each run."""
    times = []
    for _ in range(runs):
        if prepare is not None:
            prepare()
        start = time.perf_counter()
        job()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


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
