"""Small parts of TVM's interface that mean little on this machine, with their meaning here."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from passlab import instrument, relay, transform
from passlab.errors import Diagnostic, NodeValueError, PasslabError
from passlab.executor.create import DebugExecutor
from passlab.ir.module import IRModule
from passlab.op.qnn.quantize import current_rounding
from passlab.relay.quantize.config import QConfig
from passlab.relay.quantize.config import qconfig as quantization_options


# ------------------------------------------------------------ results that are kept
def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that caches results while the program runs. Nothing is written to disk."""
    return functools.lru_cache(maxsize=None)


# ------------------------------------------------------------ names in generated code
class NameStyleError(PasslabError, ValueError):
    """A name that generated code cannot have."""


def mangle_module_name(name: str | None) -> str:
    """Return the name of a module in TVM's form. Raises `NameStyleError` for a letter that is not ASCII."""
    if name and not name.isascii():
        raise NameStyleError(f"`{name}` is not a name in ASCII")
    return f"tvmgen_{name}" if name else "tvmgen"


def sanitize_name(name: str) -> str:
    """Return a name of letters, digits and underscores. Raises `NameStyleError` for an empty one."""
    if not name:
        raise NameStyleError("Name is empty")
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)


def prefix_name(names: str | Sequence[str]) -> str:
    """Return names joined, with TVM's prefix. Raises `NameStyleError` for no names."""
    return _join("TVM", names)


def prefix_generated_name(names: str | Sequence[str]) -> str:
    """Return names joined, with the prefix of generated code. Raises `NameStyleError` for no names."""
    return _join("TVMGen", names)


def _join(prefix: str, names: str | Sequence[str]) -> str:
    parts = [names] if isinstance(names, str) else [*names]
    if "" in parts or not parts:
        what = (
            "Name is empty" if isinstance(names, str) else "Name segment is empty" if parts else "Name segments empty"
        )
        raise NameStyleError(what)
    return "_".join([prefix, *parts])


def _check_prefix(name: str, what: str) -> str:
    """Return a sanitized name. Raises `NameStyleError` for one that does not begin with TVM's prefix."""
    if not name.startswith("TVM"):
        raise NameStyleError(f"{what} not TVM prefixed: {name}" if name else f"{what} name is empty")
    return sanitize_name(name)


def to_c_function_style(name: str) -> str:
    """Return a name with TVM's prefix in the style of functions: `TVM_my_func` is `TVMMyFunc`."""
    head, *words = _check_prefix(name, "Function").split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in words)


def to_c_variable_style(name: str) -> str:
    """Return a name with TVM's prefix in the style of variables."""
    return _check_prefix(name, "Variable").lower()


def to_c_constant_style(name: str) -> str:
    """Return a name with TVM's prefix in the style of constants."""
    return _check_prefix(name, "Constant").upper()


# ------------------------------------------------------------ machines
def _never(*args: Any, **kwargs: Any) -> bool:
    """Return False: there is no such hardware or library."""
    return False


def always(*args: Any, **kwargs: Any) -> bool:
    """Return True: this part of TVM is available."""
    return True


def py_str(value: bytes) -> str:
    """Return a text of bytes."""
    return value.decode("utf-8")


have_bf16 = have_fp16 = have_int8 = have_tensorcore = _never
can_use_rocthrust = can_use_thrust = _never
pipeline_executor_enabled = pipeline_executor_build_enabled = _never
target_has_amx = target_has_avx512 = target_has_vnni = _never


def parse_compute_version(version: str) -> tuple[int, int]:
    """Return the two numbers of a version `7.5`."""
    major, _, minor = version.partition(".")
    return int(major), int(minor or 0)


def llvm_version_major(allow_none: bool = False) -> int | None:
    """Return None, or 0 if a number is required: LLVM is not used."""
    return None if allow_none else 0


def llvm_lookup_intrinsic_id(name: str) -> int:
    """Return 0: LLVM is not used."""
    return 0


def num_threads() -> int:
    """Return the number of threads that run a program: one, besides the threads of NumPy's own products."""
    return 1


def libinfo() -> dict[str, str]:
    """Return facts about the emulated build of TVM: it has nothing but this CPU."""
    return {"USE_LLVM": "OFF", "USE_CUDA": "OFF", "LLVM_VERSION": "NOT-FOUND", "TVM_VERSION": "0.14.0"}


def describe() -> None:
    """Print nothing."""


# ------------------------------------------------------------ memory pools of microcontrollers
@dataclass(frozen=True)
class PoolInfoProperties:
    """Properties of a pool of memory. They change nothing here."""

    size_hint_bytes: int = -1
    clock_frequency_hz: int = -1
    read_bandwidth_bytes_per_cycle: int = -1
    write_bandwidth_bytes_per_cycle: int = -1
    read_latency_cycles: int = 0
    write_latency_cycles: int = 0
    target_burst_bytes: Any = None


@dataclass(frozen=True)
class PoolInfo:
    """A pool of memory by name. It changes nothing here."""

    pool_name: str
    targets: Any = ()
    pool_info_properties: PoolInfoProperties = PoolInfoProperties()


class WorkspacePoolInfo(PoolInfo):
    """A pool for intermediate tensors."""


class ConstantPoolInfo(PoolInfo):
    """A pool for constants."""


class WorkspaceMemoryPools:
    """Pools of memory. They change nothing here."""

    def __init__(self, pools: Sequence[PoolInfo]) -> None:
        self.pools = tuple(pools)


class ConstantMemoryPools(WorkspaceMemoryPools):
    """Pools of memory for constants."""


# ------------------------------------------------------------ programs and values
@dataclass(frozen=True)
class Range:
    """The `extent` integers from `min` on: `Range(4)` or `Range(1, 5)`."""

    min: int
    extent: int

    def __init__(self, begin: int, end: int | None = None, span: Any = None) -> None:
        object.__setattr__(self, "min", 0 if end is None else begin)
        object.__setattr__(self, "extent", begin if end is None else end - begin)


def getitem_helper(values: Any, getter: Callable[[Any, int], Any], length: int, index: int | slice) -> Any:
    """Return one value, or the values of a slice."""
    if isinstance(index, slice):
        return [getter(values, at) for at in range(*index.indices(length))]
    if not -length <= index < length:
        raise IndexError(f"index {index} of {length} values")
    return getter(values, index % length)


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Return the class of an error as it is: Python's errors keep their class here."""
    return func_name if isinstance(func_name, type) else cls if cls is not None else lambda value: value


class PassPrintingInstrument(instrument.PassInstrument):
    """Print the program before and after some passes, by name."""

    def __init__(self, print_before_pass_names: Sequence[str] = (), print_after_pass_names: Sequence[str] = ()) -> None:
        super().__init__()
        self._parts = [
            instrument.PrintIRBefore(list(print_before_pass_names)) if print_before_pass_names else None,
            instrument.PrintIRAfter(list(print_after_pass_names)) if print_after_pass_names else None,
        ]

    def run_before_pass(self, mod: Any, info: Any) -> None:
        if self._parts[0] is not None:
            self._parts[0].run_before_pass(mod, info)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        if self._parts[1] is not None:
            self._parts[1].run_after_pass(mod, info)


@dataclass(frozen=True)
class RequantizeConfig:
    """The rounding of `qnn.requantize`: `with requantize_config(rounding=...)` sets it."""

    rounding: str
    compute_dtype: str


def current_requantize_config() -> RequantizeConfig:
    """Return the rounding and the dtype in force."""
    return RequantizeConfig(*current_rounding())


MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = range(3)  # the categories of ToMixedPrecision


# ------------------------------------------------------------ executors and passes with an argument for the device
class Interpreter(DebugExecutor):
    """Evaluates expressions. The device and the target are this CPU."""

    def __init__(self, mod: IRModule, device: Any = None, target: Any = None) -> None:
        super().__init__(mod)


def ManifestAlloc(cpu_virtual_device: Any = None) -> transform.Pass:
    """Return the pass; shapes and other small values are always on this CPU, so the device has no effect."""
    return transform.get_pass("ManifestAlloc")


# ------------------------------------------------------------ options of quantization
def qconfig(**options: Any) -> QConfig:
    """Return the options of `relay.quantize`; unknown ones are ignored with a warning, as TVM ignores them."""
    unknown = sorted(name for name in options if name not in QConfig.__dataclass_fields__)
    if unknown:
        warnings.warn(f"qconfig has no option {', '.join(unknown)}", RuntimeWarning, stacklevel=2)
    return quantization_options(**{name: value for name, value in options.items() if name not in unknown})


# ------------------------------------------------------------ instruments
class PassTimingInstrument(instrument.PassTimingInstrument):
    """Measures passes, and clears its times when its context ends, as in TVM."""

    def exit_pass_ctx(self) -> None:
        """Clear the times."""
        self.passes = []


# ------------------------------------------------------------ operators
def scatter_add(data: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Return data with updates added at indices along an axis: `relay.scatter_elements` under its older name."""
    return relay.scatter_elements(data, indices, updates, axis, "add")


def _pads(axes: int, padding: Any) -> tuple[int, ...]:
    """Return the padding before each of some axes, then that after each. Raises `NodeValueError` for another form."""
    sizes = (padding,) * axes if isinstance(padding, int) else tuple(padding)
    if len(sizes) not in (axes, 2 * axes):
        raise NodeValueError(Diagnostic("the size of padding is wrong", expected=f"{axes} or {2 * axes} numbers"))
    return tuple(int(size) for size in (sizes if len(sizes) == 2 * axes else sizes * 2))


get_pad_tuple1d, get_pad_tuple2d, get_pad_tuple3d = (functools.partial(_pads, axes) for axes in (1, 2, 3))
