"""`VirtualMachine`: Relay's interface to the machine. It checks inputs against the types of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, RunError, RunTypeError, counted, did_you_mean, type_in_words
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.operators import describe
from passlab.evaluate.ownership import own_result, private_copy
from passlab.evaluate.values import Value
from passlab.pickling import OfOneProcess
from passlab.vm.benchmarking import BenchmarkResult, benchmark
from passlab.vm.executable import Executable
from passlab.vm.kernels.primitive import flat_values
from passlab.vm.kernels.providers import Choice, move_arrays, provider_for
from passlab.vm.machine import Machine
from passlab.vm.objects import Allocator, PooledAllocator, VMClosure

Array = np.ndarray[Any, Any]
_UNSET = object()  # an input without a value


@checked
class VirtualMachine(OfOneProcess):
    """Runs an executable on the devices it was compiled for; `device` is accepted and ignored.

    `providers` are the providers of kernels: a name, or names by device or kind of device, such as
    `{"cuda": "torch"}`; NumPy is the default. Inputs are moved to the devices of the parameters, and results are NumPy
    arrays.

    `memory_cfg` is "naive" (each storage is new memory), "pooled" (memory is reused when nothing refers to it), a dict
    of these by device, or None. With None, kernels allocate their results where a storage has no other use. Raises
    `RunError` for other settings and while constants of the executable are missing, `RunTypeError` if `exe` is not an
    executable.

    `run(*args, **named)` runs `main`; `invoke(name, *args)` any function; inputs may be set beforehand.

    >>> exe = vm.compile(passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }"))
    >>> print(vm.VirtualMachine(exe).run(np.float32([1, 2])))
    [2. 3.]
    """

    pickled_instead = "pickle its executable `exe`, and make a VirtualMachine of that"

    def __init__(self, exe: Executable, device: Any = None, memory_cfg: Any = None, providers: Choice = None) -> None:
        if not isinstance(exe, Executable):
            raise RunTypeError(f"a VirtualMachine runs an Executable, not {type(exe).__name__}; see relay.vm.compile")
        self.exe = exe
        exe.check_complete()
        self.providers = tuple([provider_for(place.device, providers) for place in exe.virtual_devices])
        self.has_foreign_arrays = not all(p.native for p in self.providers)
        self.machine = Machine(exe.on(self.providers), _allocator(memory_cfg))
        self._lock = RLock()  # a machine has one stack of frames: runs from several threads take turns
        self._inputs: dict[str, list[Any]] = {}
        self._outputs: dict[str, Sequence[Any]] = {}
        self._result: Value = _UNSET

    def __repr__(self) -> str:
        return f"VirtualMachine({self.exe!r})"

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set all inputs of a function: some by name, the rest by position. Unknown names are ignored.

        Arrays are copied: later writes of the caller do not change the input.
        """
        self._inputs[func_name] = [private_copy(value) for value in self._check(func_name, args, kwargs)]

    def _check(self, func_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the inputs of a function in order, checked against its types."""
        names = self.exe.function(func_name).params
        named = {n: v for n, v in kwargs.items() if n in names}
        if len(args) + len(named) != len(names):
            message = f"{func_name} takes {counted(len(names), 'input')}, not {len(args) + len(named)}"
            raise RunError(Diagnostic(message, hint=f"its inputs: {', '.join(f'%{name}' for name in names) or 'none'}"))
        rest = iter(args)
        values = [named[n] if n in named else next(rest) for n in names] if named else [*args]
        function = self.exe.entry_types.get(func_name)
        if function is not None:
            values = [check_argument(p, v, (VMClosure,)) for p, v in zip(function.params, values, strict=True)]
        return values

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set one input: `set_one_input("main", "x", v)` with its name or number, or `set_one_input("main", x=v)`.

        Raises `RunError` for an unknown input, and for none or several.
        """
        names = self.exe.get_function_params(func_name)
        # Two positional arguments, or one keyword, which is a name and a value.
        if len(args) + 2 * len(kwargs) != 2 or len(args) == 1:
            raise RunError("one input is set by its name or number and its value, or by one keyword")
        tag, value = args or next(iter(kwargs.items()))
        if tag not in names if isinstance(tag, str) else not (isinstance(tag, int) and 0 <= tag < len(names)):
            hint = did_you_mean(str(tag), names) or f"its inputs are {', '.join(names) or 'none'}"
            raise RunError(Diagnostic(f"{func_name} has no input {tag!r}", hint=hint))
        number = tag if isinstance(tag, int) else names.index(tag)
        function = self.exe.entry_types.get(func_name)
        checked = value if function is None else check_argument(function.params[number], value, (VMClosure,))
        self._inputs.setdefault(func_name, [_UNSET] * len(names))[number] = private_copy(checked)

    def invoke(self, func_name: Any, *args: Any, **kwargs: Any) -> Value:
        """Run a function on the inputs passed here, or set before, and return its result."""
        if (
            args
            or kwargs
            or not isinstance(func_name, str)
            or (func_name not in self._inputs and not self.exe.get_function_params(func_name))
        ):
            self.set_input(func_name, *args, **kwargs)
        else:
            self._check_set(func_name)
        inputs = self._inputs[func_name]
        self._result = own_result(self._run(self.exe.global_map[func_name], inputs), inputs)
        if func_name in self._outputs:
            self._write_outputs(func_name, self._result, self._outputs.pop(func_name))
        return self._result

    def call(self, func_name: str, args: Sequence[Any]) -> Value:
        """Run a function on inputs in order, without storing them or the result. Safe from several threads."""
        values = self._check(func_name, args, {})
        return own_result(self._run(self.exe.global_map[func_name], values), values)

    def _check_set(self, func_name: str) -> None:
        """Raise `RunError` where inputs of a function are not set."""
        if func_name not in self._inputs:
            raise RunError(
                Diagnostic(
                    f"Input has not been set for function {func_name}", hint=did_you_mean(func_name, self._inputs)
                )
            )
        names = self.exe.get_function_params(func_name)
        missing = [n for n, v in zip(names, self._inputs[func_name], strict=True) if v is _UNSET]
        if missing:
            raise RunError(f"inputs of {func_name} are not set: {', '.join(missing)}")

    def _run(self, func_index: int, args: Sequence[Value]) -> Value:
        """Run a function on values of NumPy arrays, moved to the devices of its parameters; return such a value."""
        if not self.has_foreign_arrays:
            with self._lock:
                return self.machine.invoke(func_index, args)
        moved = self._to_devices(func_index, args)
        with self._lock:
            return self._to_host(self.machine.invoke(func_index, moved))

    def _to_devices(self, func_index: int, args: Sequence[Value]) -> list[Value]:
        devices = self.exe.functions[func_index].param_device_indexes
        return [move_arrays(v, self.providers[i].to_device, np.ndarray) for v, i in zip(args, devices, strict=True)]

    def _to_host(self, value: Value) -> Value:
        for provider in self.providers:
            if provider.array_type is not np.ndarray:
                value = move_arrays(value, provider.to_host, provider.array_type)
        return value

    def run(self, *args: Any, **kwargs: Any) -> Value:
        """Run `main` and return its result."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Run a function and keep its result for `get_outputs`."""
        self.invoke(func_name, *args, **kwargs)

    def get_outputs(self) -> list[Any]:
        """Return the results of the last run, the fields of a tuple as a list. Raises `RunError` before a run."""
        if self._result is _UNSET:
            raise RunError("the machine has no outputs: nothing has been run yet")
        return list(self._result) if isinstance(self._result, tuple) else [self._result]

    def invoke_with_outputs(
        self, func_name: str, input_args: Mapping[str, Any] | Sequence[Any] | None, output_args: Any
    ) -> None:
        """Run a function and write its results into `output_args`, which `get_outputs` then returns.

        `input_args` are the inputs by name or in order, None for those set before. Raises `RunError`, with nothing
        written, where the results and the arrays differ in number, shape or dtype. Raises `RunTypeError` if an argument
        is neither a list nor, for inputs, a dict.
        """
        if not isinstance(output_args, (list, tuple)):
            actual = type_in_words(output_args)
            raise RunTypeError(Diagnostic(f"`output_args` is a list of arrays, not {actual}", hint="write [array]"))
        if isinstance(input_args, Mapping):
            if not all(isinstance(name, str) for name in input_args):
                raise RunTypeError("`input_args` has a key that is not a string: keys are names of inputs")
            self.set_input(func_name, **input_args)
        elif input_args is not None:
            if not isinstance(input_args, (list, tuple)):
                actual = type_in_words(input_args)
                raise RunTypeError(
                    Diagnostic(f"`input_args` is a list or a dict of values, not {actual}", hint="write [value]")
                )
            self.set_input(func_name, *input_args)
        self._write_outputs(func_name, self.invoke(func_name), output_args)

    def set_outputs(self, func_name: str, *args: Any) -> None:
        """Set the arrays into which the next run of a function also writes its results.

        Raises `RunError` for an unknown function; the run raises it, with nothing written, where arrays do not fit.
        """
        self.exe.get_function_params(func_name)
        self._outputs[func_name] = args

    def _write_outputs(self, func_name: str, value: Value, output_args: Sequence[Any]) -> None:
        results = flat_values([value])
        if len(results) != len(output_args):
            raise RunError(f"{func_name} has {counted(len(results), 'result')}, not {len(output_args)}")
        # All checks come before the first copy, so that nothing is written where one array does not fit.
        for i, (result, out) in enumerate(zip(results, output_args, strict=True)):
            if not isinstance(out, np.ndarray) or describe(result) != describe(out):
                expected = describe(result)
                raise RunError(
                    Diagnostic(f"output {i} of {func_name} does not fit", expected=expected, found=describe(out))
                )
            if not out.flags.writeable:
                raise RunError(f"the array for output {i} of {func_name} is read-only")
        for result, out in zip(results, output_args, strict=True):
            np.copyto(out, result)
        self._result = tuple(output_args)

    def benchmark(
        self,
        device: Any = None,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Time a function on inputs passed here or set before; see `passlab.vm.benchmarking.benchmark`.

        With `end_to_end` the times include the checks of inputs. `device` is accepted and ignored.
        """
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)

        def run() -> None:
            if end_to_end and func_name in self._inputs:
                self.set_input(func_name, *self._inputs[func_name])
            self.invoke(func_name)

        return benchmark(
            run, repeat, number, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )

    def get_input_index(self, input_name: Any, func_name: str = "main") -> int:
        """Return the index of a parameter, -1 for an unknown name."""
        names = self.exe.get_function_params(func_name)
        return names.index(input_name) if isinstance(input_name, str) and input_name in names else -1

    def call_value(self, closure: VMClosure, args: list[Any]) -> Value:
        """Call a function that a program returned; return a copy of its result, since the function may keep it."""
        return private_copy(self._run(closure.func_index, [*closure.captured, *args]))


ALLOCATORS = {"naive": Allocator, "pooled": PooledAllocator}


def _allocator(config: Any) -> Allocator | None:
    """Return the allocator of a `memory_cfg`, None for the default. Raises `RunError`."""
    if isinstance(config, dict):
        kinds = list(config.values())
        if any(type(kind) is not type(kinds[0]) or (isinstance(kind, str) and kind != kinds[0]) for kind in kinds):
            raise RunError("all devices of a machine must have the same allocator: they are this CPU")
        config = kinds[0] if kinds else None
    if config is None:
        return None
    if not isinstance(config, str):
        raise RunTypeError(f"`memory_cfg` is a string, a dict or None, not {type(config).__name__}")
    if config not in ALLOCATORS:
        raise RunError(
            Diagnostic(f"there is no allocator `{config}`", hint=did_you_mean(config, ALLOCATORS) or "naive or pooled")
        )
    return ALLOCATORS[config]()
