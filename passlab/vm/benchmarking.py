"""Timing of runs as in Relay: `repeat` measurements, each the mean of `number` runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from statistics import fmean, median, pstdev
from typing import Any

from passlab.errors import RunError, RunTypeError, type_in_words


@dataclass(frozen=True)
class BenchmarkResult:
    """The seconds of one run in each measurement."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return fmean(self.results)

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return median(self.results)

    @property
    def min(self) -> float:
        """The minimum, in seconds."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The maximum, in seconds."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation, in seconds."""
        return pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = " ".join(f"{f'{n} (ms)':>12}" for n in names)
        row = " ".join(f"{getattr(self, n) * 1e3:>12.4f}" for n in names)
        return f"Execution time summary:\n{head}\n{row}"

    __repr__ = __str__


def benchmark(
    run: Callable[[], object],
    repeat: int = 5,
    number: int = 5,
    min_repeat_ms: float | None = None,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
) -> BenchmarkResult:
    """Time `run` in `repeat` measurements of `number` runs each, after one untimed run.

    With `min_repeat_ms`, `number` grows until a measurement takes that long, or the clock shows 0 seconds
    `limit_zero_time_iterations` times. It sleeps `cooldown_interval_ms` after `repeats_to_cooldown` measurements.
    Raises `RunError` for counts below 1 and for negative or infinite times; `RunTypeError` for other types.
    """
    counts = {"repeat": repeat, "number": number, "repeats_to_cooldown": repeats_to_cooldown}
    times = {
        "min_repeat_ms": 0 if min_repeat_ms is None else min_repeat_ms,
        "cooldown_interval_ms": cooldown_interval_ms,
    }
    _check_numbers({**counts, "limit_zero_time_iterations": limit_zero_time_iterations}, (int, Integral))
    _check_numbers(times, (int, float, Real))
    if min(counts.values()) < 1:
        raise RunError("`repeat`, `number` and `repeats_to_cooldown` must be at least 1")
    if not all(0 <= t < float("inf") for t in times.values()):
        raise RunError("`min_repeat_ms` and `cooldown_interval_ms` must be finite and not negative")
    # The first run fills caches (kernels, compiled code), so it is not measured.
    run()
    results = []
    for i in range(repeat):
        seconds = _time_calls(run, number)
        zeros = 0
        while min_repeat_ms and seconds * 1e3 < min_repeat_ms and zeros < limit_zero_time_iterations:
            zeros += seconds == 0
            # At most ten times as many: a short measurement is a poor estimate. 1e-6 stands for a time of 0.
            number = max(number + 1, int(number * min(min_repeat_ms / (seconds * 1e3 or 1e-6), 10)))
            seconds = _time_calls(run, number)
        results.append(seconds / number)
        if cooldown_interval_ms and (i + 1) % repeats_to_cooldown == 0:
            time.sleep(cooldown_interval_ms / 1e3)
    return BenchmarkResult(tuple(results))


def _check_numbers(numbers: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
    for name, value in numbers.items():
        # A bool is an int in Python, but True is not a count.
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise RunTypeError(f"`{name}` must be a number, not {type_in_words(value)}")


def _time_calls(run: Callable[[], object], number: int) -> float:
    started = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - started
