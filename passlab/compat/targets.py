"""`tvm.target`: functions that create targets. All targets mean this CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from passlab.devices import Device, Target, device
from passlab.errors import Diagnostic, UnknownNameError, did_you_mean

VERSION = "0.14.0"  # the version of TVM whose interface this is


def _maker(kind: str, device_name: str = "") -> Callable[..., Target]:
    def make(model: str = "unknown", arch: Any = None, options: Any = None) -> Target:
        words = [kind, f"-device={device_name}"] if device_name else [kind]
        words += [f"-model={model}", *(options if isinstance(options, (list, tuple)) else (options or "").split())]
        return Target.of(" ".join(words))

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f'Return the target "{kind}" with options, which mean nothing more than their text.'
    return make


cuda = _maker("cuda")
rocm = _maker("rocm")
vulkan = _maker("vulkan")
llvm = _maker("llvm")
arm_cpu = rasp = _maker("llvm", "arm_cpu")
riscv_cpu = _maker("llvm", "riscv_cpu")
bifrost = _maker("opencl", "bifrost")
mali = _maker("opencl", "mali")
intel_graphics = _maker("opencl", "intel_graphics")
adreno = _maker("opencl", "adreno")
micro = stm32 = _maker("c")
hexagon = _maker("hexagon")
vta = _maker("ext_dev", "vta")


def _device_maker(kind: str) -> Callable[..., Device]:
    def make(device_id: int = 0) -> Device:
        return device(kind, device_id)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"Return a {kind} device. Programs placed on it run on this CPU."
    return make


metal_device = _device_maker("metal")
opencl_device = _device_maker("opencl")
rocm_device = _device_maker("rocm")
vulkan_device = _device_maker("vulkan")
ext_dev_device = _device_maker("ext_dev")
hexagon_device = _device_maker("hexagon")
webgpu_device = _device_maker("webgpu")


def create(target: Any, host: Any = None) -> Target:
    """Return the target of a string, a dict or a target."""
    return Target.of(target, host)


class GenericFunc:
    """A function with an implementation for each key of targets, chosen by the current target."""

    def __init__(self, default: Callable[..., Any]) -> None:
        self.default = default
        self.by_key: dict[str, Callable[..., Any]] = {}
        functools.update_wrapper(self, default)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_packed_func()(*args, **kwargs)

    def get_packed_func(self) -> Callable[..., Any]:
        """Return the implementation for the current target."""
        target = Target.current()
        chosen = (self.by_key[key] for key in (target.keys if target else ()) if key in self.by_key)
        return next(chosen, self.default)

    def register(self, func: Any, key_list: Any = None, allow_override: bool = False) -> Any:
        """Add an implementation for keys: `register(f, ["cuda"])`, or a decorator `@register(["cuda"])`."""
        if key_list is None:
            return lambda function: self._enter(function, func)
        return self._enter(func, key_list)

    def _enter(self, function: Callable[..., Any], keys: Any) -> Callable[..., Any]:
        self.by_key.update(dict.fromkeys([keys] if isinstance(keys, str) else keys, function))
        return function

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Replace the implementation for all other targets."""
        self.default = func


generic_func = GenericFunc
_generic: dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """Return what `override_native_generic_func` registered under a name. Raises `UnknownNameError` without it."""
    if name not in _generic:
        raise UnknownNameError(Diagnostic(f"there is no generic function `{name}`", hint=did_you_mean(name, _generic)))
    return _generic[name]


def override_native_generic_func(name: str) -> Callable[[Callable[..., Any]], GenericFunc]:
    """Return a decorator that registers a generic function with this default under a name."""

    def enter(function: Callable[..., Any]) -> GenericFunc:
        _generic[name] = GenericFunc(function)
        return _generic[name]

    return enter
