"""What the modules of executors do alike: keys of inputs, outputs in arrays of the caller, timing, calls by name.

Knows arrays, not programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, RunTypeError, did_you_mean
from passlab.executor.param_dict import load_param_dict
from passlab.vm.benchmarking import BenchmarkResult, benchmark

Array = np.ndarray[Any, Any]


def numbered(key: Any, names: Sequence[str], what: str) -> int:
    """Return the number that a name or a number stands for. Raises `RunError` for anything else."""
    if isinstance(key, str):
        if key not in names:
            hint = did_you_mean(key, names) or (f"there are {', '.join(names[:12])}" if names else "there is none")
            raise RunError(Diagnostic(f"there is no {what} `{key}`", hint=hint))
        return names.index(key)
    if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
        raise RunTypeError(f"the name or number of an existing {what} is needed, not a {type(key).__name__}")
    if not 0 <= key < len(names):
        raise RunError(f"there are {len(names)} {what}s, none of number {key}")
    return int(key)


def output_number(index: Any, count: int) -> int:
    """Return the number of an output. Raises `RunError` unless there is one of that number."""
    if not isinstance(index, (int, np.integer)) or isinstance(index, bool):
        raise RunTypeError(f"the number of an output is needed, not a {type(index).__name__}")
    if not 0 <= index < count:
        raise RunError(f"there are {count} outputs, none of number {index}")
    return int(index)


def written(value: Array, out: Any) -> Array:
    """Write a result into an array of the caller and return it. Raises `RunError`, writing nothing, unless it fits."""
    check_output(value, out)
    np.copyto(out, value)
    return out  # type: ignore[no-any-return]


def check_output(value: Array, out: Any) -> None:
    """Raise `RunError` unless a result can be written into an array."""
    if not isinstance(out, np.ndarray):
        raise RunTypeError(f"a result is written into an array, not into a {type(out).__name__}")
    if out.shape != value.shape or out.dtype != value.dtype:
        wanted, found = (f"Tensor[({', '.join(map(str, a.shape))}), {a.dtype}]" for a in (value, out))
        raise RunError(Diagnostic("the array for a result does not fit it", expected=wanted, found=found))
    if not out.flags.writeable:
        raise RunError(Diagnostic("the array for a result is read-only", hint="give one that can be written"))


class CallableByName:
    """A module whose functions can also be taken by name, as Relay's can: `module["run"]()`."""

    offered: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self.offered:
            cure = did_you_mean(str(name), self.offered) or f"it has {', '.join(self.offered)}"
            raise RunError(Diagnostic(f"the module has no function `{name}`", hint=cure))
        found: Callable[..., Any] = getattr(self, name)
        return found


class RunsByInputs(CallableByName):
    """A module that is given inputs, run, and asked for outputs: what follows from `set_input` and `run`."""

    offered: tuple[str, ...] = (
        "benchmark", "get_input", "get_input_index", "get_num_inputs", "get_num_outputs", "get_output", "load_params",
        "run", "set_input",
    )  # fmt: skip

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set an input by name or number, and others by name."""
        raise NotImplementedError

    def run(self, **inputs: Any) -> None:
        """Set the inputs given and run."""
        raise NotImplementedError

    def load_params(self, params: bytes | bytearray | Mapping[str, Any]) -> None:
        """Set the inputs of the bytes that `relay.save_param_dict` gave. Raises `VerifyError` for malformed ones."""
        named = params if isinstance(params, Mapping) else load_param_dict(params)
        for name, value in named.items():
            self.set_input(name, value)

    def benchmark(
        self, device: Any = None, func_name: str = "run", repeat: int = 5, number: int = 5,
        min_repeat_ms: float | None = None, limit_zero_time_iterations: int = 100, end_to_end: bool = False,
        cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1, **inputs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """Time runs on inputs given here or set before; see `passlab.vm.benchmarking.benchmark`.

        With `end_to_end` the inputs are set and checked each time. `device` is accepted and means this CPU. Raises
        `RunError` when inputs are missing, or `func_name` is another function than `run`.
        """
        if func_name != "run":
            raise RunError(Diagnostic(f"the module has no function `{func_name}` to be timed", hint="there is `run`"))
        self.set_input(**inputs)

        def run() -> None:
            self.run(**(inputs if end_to_end else {}))

        return benchmark(
            run, repeat, number, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
