"""The base classes of the modules that executors run: inputs by name or number, outputs, timing, functions by name.

They handle arrays, not programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, RunTypeError, did_you_mean, type_in_words
from passlab.executor.param_dict import load_param_dict
from passlab.vm.benchmarking import BenchmarkResult, benchmark

Array = np.ndarray[Any, Any]


def numbers_of(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each name; a repeated name has the number of its first output."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        numbers.setdefault(name, number)
    return numbers


def index_of(key: Any, numbers: Mapping[str, int], count: int, what: str) -> int:
    """Return the number, below `count`, of a name or number. `what` is the noun for messages. Raises `RunError`."""
    if not isinstance(key, str):
        return _in_range(key, count, what, f"name or number of an existing {what}")
    if key not in numbers:
        names = list(numbers)
        hint = did_you_mean(key, names) or (f"there are {', '.join(names[:12])}" if names else f"there are no {what}s")
        raise RunError(Diagnostic(f"there is no {what} `{key}`", hint=hint))
    return numbers[key]


def output_number(index: Any, count: int) -> int:
    """Return the number of an output. Raises `RunError` if it is out of range."""
    return _in_range(index, count, "output", "number of an output")


def _in_range(number: Any, count: int, what: str, hint: str) -> int:
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool):
        raise RunTypeError(f"the {hint} is needed, not {type_in_words(number)}")
    if not 0 <= number < count:
        raise RunError(f"there are {count} {what}s, none of number {number}")
    return int(number)


def write_output(value: Array, out: Any) -> Array:
    """Write a result into `out` and return `out`. Raises `RunError`, without writing, if the array does not fit."""
    check_output(value, out)
    np.copyto(out, value)
    return out  # type: ignore[no-any-return]


def check_output(value: Array, out: Any) -> None:
    """Raise `RunError` unless a result can be written into an array."""
    if not isinstance(out, np.ndarray):
        raise RunTypeError(f"a result is written into an array, not into {type_in_words(out)}")
    if out.shape != value.shape or out.dtype != value.dtype:
        expected, actual = (f"Tensor[({', '.join(map(str, a.shape))}), {a.dtype}]" for a in (value, out))
        raise RunError(Diagnostic("the array for a result does not fit it", expected=expected, found=actual))
    if not out.flags.writeable:
        raise RunError(Diagnostic("the array for a result is read-only", hint="give one that can be written"))


class CallableByName:
    """A module whose functions can also be called by name, as in Relay: `module["run"]()`."""

    function_names: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> Callable[..., Any]:
        if not isinstance(name, str) or name not in self.function_names:
            hint = did_you_mean(str(name), self.function_names) or f"it has {', '.join(self.function_names)}"
            raise RunError(Diagnostic(f"the module has no function `{name}`", hint=hint))
        result: Callable[..., Any] = getattr(self, name)
        return result

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float | None = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that times `func_name` on its arguments: `repeat` measurements of `number` runs each.

        `dev`, `cache_flush_bytes` and `f_preproc` are accepted and ignored. Raises `RunError` for an unknown function;
        the returned function raises it for wrong numbers (see `benchmark`).
        """
        function = self[func_name]

        def evaluate(*args: Any) -> BenchmarkResult:
            return benchmark(
                lambda: function(*args),
                repeat,
                number,
                min_repeat_ms,
                limit_zero_time_iterations,
                cooldown_interval_ms,
                repeats_to_cooldown,
            )

        return evaluate


class RunsByInputs(CallableByName):
    """The interface of graph executors: set inputs, run, get outputs. Subclasses implement `_set` and `run`."""

    function_names: tuple[str, ...] = (
        "benchmark",
        "get_input",
        "get_input_index",
        "get_num_inputs",
        "get_num_outputs",
        "get_output",
        "load_params",
        "run",
        "set_input",
    )

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names  # of the inputs
        self._numbers = numbers_of(names)

    @property
    def module(self) -> RunsByInputs:
        """This module itself, for `m.module.time_evaluator("run", device)` as in Relay."""
        return self

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set an input by name or number, and others by name. Raises `RunError` for unknown names and wrong values."""
        pairs = [] if key is None else [(key, value)]
        for name, array in (*pairs, *params.items()):
            self._set(self._input_number(name), array)

    def _input_number(self, key: Any) -> int:
        return index_of(key, self._numbers, len(self.names), "input")

    def _set(self, number: int, value: Any) -> None:
        """Set the input with a number."""
        raise NotImplementedError

    def run(self, **inputs: Any) -> None:
        """Set `inputs` and run."""
        raise NotImplementedError

    def get_num_inputs(self) -> int:
        """Return the number of inputs, including the parameters."""
        return len(self.names)

    def get_input_index(self, name: Any) -> int:
        """Return the number of an input, -1 if no input has that name."""
        return self._numbers.get(name, -1) if isinstance(name, str) else -1

    def load_params(self, params: bytes | bytearray | Mapping[str, Any]) -> None:
        """Set inputs from a mapping or from the bytes of `relay.save_param_dict`.

        Raises `VerifyError` for malformed bytes.
        """
        arrays = params if isinstance(params, Mapping) else load_param_dict(params)
        for name, value in arrays.items():
            self.set_input(name, value)

    def benchmark(
        self,
        device: Any = None,
        func_name: Any = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **inputs: Any,
    ) -> BenchmarkResult:
        """Time runs on `inputs` and on those set before; see `passlab.vm.benchmarking.benchmark`.

        With `end_to_end` the inputs are set and checked each time. `device` is accepted and ignored. Raises `RunError`
        if inputs are missing, or if `func_name` is another function than `run`.
        """
        if not isinstance(func_name, str) or func_name != "run":
            raise RunError(Diagnostic(f"the module has no function `{func_name}` to be timed", hint="there is `run`"))
        self.set_input(**inputs)
        options = (limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        if end_to_end:
            return benchmark(lambda: self.run(**inputs), repeat, number, min_repeat_ms, *options)
        return self.time_evaluator("run", device, number, repeat, min_repeat_ms, *options)()
