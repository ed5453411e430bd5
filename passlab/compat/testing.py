"""`tvm.testing`: the functions that TVM's tests and tutorials call. There is one target, "llvm", on this CPU.

The hook at the end is `tvm.testing.plugin`: it provides `target`, `dev` and linked parameters of tests.
"""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from passlab.devices import Device, cpu
from passlab.ir.types import TensorType
from passlab.op.dtypes import Array, array_dtype

Decorator = Callable[[Any], Any]


def _pytest() -> ModuleType:
    """Return pytest, which only test programs need."""
    return importlib.import_module("pytest")


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Assert that two arrays have the same shape and agree element by element, like `numpy.testing.assert_allclose`."""
    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_equal(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def main() -> None:
    """Run the tests of the file that calls this, with pytest."""
    file = sys._getframe(1).f_globals["__file__"]
    sys.exit(_pytest().main([file, *sys.argv[1:]]))


def device_enabled(target: Any) -> bool:
    """Whether programs for a target run here: those for this CPU do."""
    return str(target).split()[:1] in (["llvm"], ["c"], ["cpu"])


def enabled_targets() -> list[tuple[str, Device]]:
    """Return the targets that tests run on: (name, device)."""
    return [("llvm", cpu(0))]


def install_request_hook(depth: int) -> None:
    """Do nothing: TVM's tests redirect downloads here."""


def ctx_list() -> list[tuple[str, Device]]:
    """Return the targets that tests run on: (name, device)."""
    return enabled_targets()


def enable_span_filling() -> AbstractContextManager[None]:
    """Return a context for importers: nodes always get the source of the model's nodes as their span."""
    return nullcontext()


def disable_span_filling() -> AbstractContextManager[None]:
    """Return a context for importers. Nodes get their spans here as well: spans change no program."""
    return nullcontext()


def get_dtype_range(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer dtype."""
    bounds = np.iinfo(array_dtype(dtype))
    return int(bounds.min), int(bounds.max)


def random_of_type(ty: TensorType, scale: float = 1, mean: float = 0) -> np.ndarray[Any, Any]:
    """Return an array of a type with normally distributed numbers."""
    shape = tuple(int(str(dim)) for dim in ty.shape)
    return (mean + scale * np.random.default_rng().standard_normal(shape)).astype(array_dtype(ty.dtype))


def strtobool(text: str) -> bool:
    """Return the bool that a word such as `yes` or `0` stands for."""
    return str(text).lower() in ("1", "on", "t", "true", "y", "yes")


def parametrize_targets(*targets: Any) -> Decorator:
    """Return a decorator that runs a test on each of some targets that are this CPU, by default on "llvm".

    The test takes `target`, `dev` or both, or its fixtures take `target`. It is skipped if no target is this CPU.
    """
    if len(targets) == 1 and callable(targets[0]):
        return _on_targets(targets[0], enabled_targets())
    rows = [(target, cpu(0)) for target in targets if device_enabled(target)] if targets else enabled_targets()
    return functools.partial(_on_targets, rows=rows)


def _on_targets(test: Any, rows: list[tuple[str, Device]]) -> Decorator:
    """Return a test that runs on each of some targets, or is skipped if none exist."""
    if not rows:
        skipped: Decorator = _pytest().mark.skip(reason="passlab has no code for its targets")(test)
        return skipped
    taken = inspect.signature(test).parameters
    names = [name for name in ("target", "dev") if name in taken] or ["target"]
    values = [tuple({"target": target, "dev": dev}[name] for name in names) for target, dev in rows]
    result: Decorator = _pytest().mark.parametrize(names, values)(test)
    return result


def parameter(*values: Any, ids: Any = None, by_dict: Any = None) -> Any:
    """Return a fixture that takes each of some values in turn."""
    if by_dict:
        ids, values = tuple(by_dict), tuple(by_dict.values())

    def value_of(*_test: Any, request: Any) -> object:  # a fixture of a class is called with the test's object
        return request.param

    return _pytest().fixture(params=values, ids=ids)(value_of)


_GROUPS = itertools.count()


def parameters(*value_sets: Iterable[Any], ids: Any = None) -> list[Any]:
    """Return one fixture for each position of `value_sets`: a test gets the values of one set together.

    The plugin `tvm.testing.plugin` passes the sets to tests (`pytest_plugins = ["tvm.testing.plugin"]`).
    """
    group = next(_GROUPS)
    fixtures = []
    for values in zip(*value_sets, strict=True):

        def value_of(*_test: Any, request: Any) -> object:
            return request.param

        vars(value_of).update(parametrize_group=group, parametrize_values=values, parametrize_ids=ids)
        fixtures.append(_pytest().fixture(value_of))
    return fixtures


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """Return a fixture; `cache_return_value` computes its value once for the same values of other fixtures."""

    def make(function: Any) -> Decorator:
        result: Decorator = _pytest().fixture(_remember(function) if cache_return_value else function)
        return result

    return make if func is None else make(func)


def _remember(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that caches its results by the text of its arguments, except for a test's own object."""
    results: dict[str, Any] = {}
    parameters = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def once(*args: Any, **kwargs: Any) -> Array:
        named = {**dict(zip(parameters, args, strict=False)), **kwargs}
        key = repr(sorted((name, value) for name, value in named.items() if name != "self"))
        if key not in results:
            results[key] = function(*args, **kwargs)
        return copy.deepcopy(results[key])

    return once


def _always(name: str) -> Callable[..., Any]:
    """Return a decorator, which may also be called with arguments first, that leaves tests as they are."""

    def decorate(*args: Any, **kwargs: Any) -> Decorator:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else lambda test: test

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = "Leave a test as it is: it runs here on the one target there is."
    vars(decorate)["marks"] = list
    return decorate


def _skips(name: str, what: str) -> Decorator:
    """Return a decorator that skips a test whose requirements are not available."""

    def decorate(*args: Any, **kwargs: Any) -> Decorator:
        mark = _pytest().mark.skip(reason=f"passlab has no {what}")
        direct = len(args) == 1 and callable(args[0]) and not isinstance(args[0], str)
        result: Decorator = mark(args[0]) if direct else mark
        return result

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = f"Skip a test: passlab has no {what}."
    vars(decorate)["marks"] = lambda: [_pytest().mark.skip(reason=f"passlab has no {what}")]
    return decorate


_RUN = (
    "requires_llvm",
    "uses_gpu",
    "skip_if_32bit",
    "skip_if_wheel_test",
    "slow",
    "requires_x86",
    "known_failing_targets",
    "exclude_targets",
    "skip_parameterizations",
    "xfail_parameterizations",
)
_SKIP = {
    "requires_aarch64": "code for Arm",
    "requires_arm_compute_library": "Arm Compute Library",
    "requires_cublas": "cuBLAS",
    "requires_cuda": "code for CUDA",
    "requires_cudagraph": "code for CUDA",
    "requires_cudnn": "cuDNN",
    "requires_corstone300": "simulator",
    "requires_ethosn": "code for Ethos-N",
    "requires_ethosu": "code for Ethos-U",
    "requires_gpu": "code for GPUs",
    "requires_hexagon": "code for Hexagon",
    "requires_metal": "code for Metal",
    "requires_micro": "microTVM",
    "requires_opencl": "code for OpenCL",
    "requires_rocm": "code for ROCm",
    "requires_rpc": "remote calls",
    "requires_arm_dot": "code for Arm",
    "requires_x86_avx512": "machine code",
    "requires_x86_vnni": "machine code",
    "requires_tensorcore": "code for CUDA",
    "requires_vulkan": "code for Vulkan",
}


def requires_package(*packages: str) -> Decorator:
    """Return a decorator that skips a test if a package is not installed."""
    absent = [name for name in packages if importlib.util.find_spec(name.partition(".")[0]) is None]
    mark: Decorator = _pytest().mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")
    return mark


@functools.cache
def _decorator(name: str) -> Decorator | None:
    if name in _RUN:
        return _always(name)
    feature = name.removeprefix("requires_")
    return _skips(name, _SKIP.get(name, feature.replace("_", " "))) if feature != name else None


def __getattr__(name: str) -> Decorator:
    decorator = _decorator(name)
    if decorator is None:
        raise AttributeError(f"tvm.testing has no {name}")
    return decorator


def __dir__() -> list[str]:
    return sorted({*globals(), *_RUN, *_SKIP})


# ---------------------------------------------------------------- the pytest plugin
def pytest_generate_tests(metafunc: Any) -> None:
    """Run a test that takes `target` or `dev` on each target, and with each set of `tvm.testing.parameters`."""
    marked = {name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])}
    names = [name for name in ("target", "dev") if name in metafunc.fixturenames and name not in marked]
    if names:
        rows = [[dict(zip(("target", "dev"), row, strict=True))[name] for name in names] for row in enabled_targets()]
        metafunc.parametrize(names, rows)
    groups: dict[int, dict[str, Any]] = {}
    for name, definitions in metafunc._arg2fixturedefs.items():
        function = definitions[-1].func
        group = getattr(function, "parametrize_group", None)
        if group is not None:
            groups.setdefault(group, {})[name] = function
    for fixtures in groups.values():
        sets = list(zip(*(function.parametrize_values for function in fixtures.values()), strict=True))
        ids = next(iter(fixtures.values())).parametrize_ids
        metafunc.parametrize(list(fixtures), sets, indirect=True, ids=ids)


def _names(argument: Any) -> list[str]:
    return [name.strip() for name in argument.split(",")] if isinstance(argument, str) else list(argument)
