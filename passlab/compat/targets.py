"""`tvm.target`: functions that create targets. All targets mean this CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.devices import Device, Target, device

VERSION = "0.14.0"  # the version of TVM whose interface this is


def _maker(kind: str) -> Callable[..., Target]:
    def make(model: str = "unknown", arch: Any = None, options: Any = None) -> Target:
        words = [kind, *(options if isinstance(options, (list, tuple)) else (options or "").split())]
        if model != "unknown":
            words.append(f"-model={model}")
        return Target.of(" ".join(words))

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f'Return the target "{kind}" with options, which mean nothing more than their text.'
    return make


cuda = _maker("cuda")
rocm = _maker("rocm")
vulkan = _maker("vulkan")
arm_cpu = _maker("llvm")
llvm = _maker("llvm")
bifrost = mali = intel_graphics = adreno = _maker("opencl")
micro = stm32 = _maker("c")
hexagon = _maker("hexagon")
rasp = riscv_cpu = _maker("llvm")


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


def generic_func(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function: there is one target, and therefore one implementation."""
    return function


def override_native_generic_func(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that leaves a function as it is."""
    return lambda function: function
