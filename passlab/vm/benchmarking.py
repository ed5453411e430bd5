"""Timing of runs, in Relay's terms: `repeat` measurements, each the mean of `number` runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from statistics import fmean, median, pstdev
from typing import Any

from passlab.errors import RunError, RunTypeError


@dataclass(frozen=True)
class BenchmarkResult:
    """The seconds of one run, once for each measurement."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return fmean(self.results)

    @property
    def median(self) -> float:
        """The middle one, in seconds."""
        return median(self.results)

    @property
    def min(self) -> float:
        """The shortest, in seconds."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The longest, in seconds."""
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
    """Measure `run` `repeat` times, `number` runs each, after one that is not measured.

    With `min_repeat_ms`, `number` grows until a measurement takes so long, or the clock shows no time
    `limit_zero_time_iterations` times. Between measurements it pauses. Raises `RunError` for numbers below 1, and for
    times that are negative or without end; `RunTypeError` for what is no number.
    """
    counts = {"repeat": repeat, "number": number, "repeats_to_cooldown": repeats_to_cooldown}
    times = {
        "min_repeat_ms": 0 if min_repeat_ms is None else min_repeat_ms,
        "cooldown_interval_ms": cooldown_interval_ms,
    }
    _check_numbers({**counts, "limit_zero_time_iterations": limit_zero_time_iterations}, (int, Integral))
    _check_numbers(times, (int, float, Real))
    if min(counts.values()) < 1:
        raise RunError("repeat, number and repeats_to_cooldown are at least 1")
    if not all(0 <= t < float("inf") for t in times.values()):
        raise RunError("min_repeat_ms and cooldown_interval_ms are numbers of milliseconds, and not negative")
    run()
    results = []
    for i in range(repeat):
        seconds = _time_calls(run, number)
        still = 0
        while min_repeat_ms and seconds * 1e3 < min_repeat_ms and still < limit_zero_time_iterations:
            still += seconds == 0
            number = max(number + 1, int(number * min(min_repeat_ms / (seconds * 1e3 or 1e-6), 10)))
            seconds = _time_calls(run, number)
        results.append(seconds / number)
        if cooldown_interval_ms and (i + 1) % repeats_to_cooldown == 0:
            time.sleep(cooldown_interval_ms / 1e3)
    return BenchmarkResult(tuple(results))


def _check_numbers(numbers: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise RunTypeError(f"`{name}` is a number, not a {type(value).__name__}")


def _time_calls(run: Callable[[], object], number: int) -> float:
    started = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - started
