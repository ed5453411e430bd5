"""`tvm.target`: functions that create targets, the configuration of `PlanDevices`, and where parts of a program are.

All targets mean this CPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from passlab.devices import Device, Target, VirtualDevice, device
from passlab.errors import Diagnostic, DiagnosticError, UnknownNameError, did_you_mean
from passlab.ir.expr import Expr, Function, Let
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of
from passlab.ir.walk import children
from passlab.transform.context import PassContext

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


# ---------------------------------------------------------------- the device of each part of a program
class Anywhere(VirtualDevice):
    """The place of a value without a constraint, which has the device type -1 in TVM."""

    @property
    def device_type_int(self) -> int:
        """TVM's number for no device."""
        return -1

    device_type = virtual_device_id = device_type_int


@dataclass(frozen=True)
class CompilationConfig:
    """The targets of a compilation, the host device, and the device of primitives without an annotation."""

    host_target: Target
    primitive_targets: tuple[Target, ...]
    host_virtual_device: VirtualDevice
    default_primitive_virtual_device: VirtualDevice

    @property
    def optional_homogeneous_target(self) -> Target | None:
        """The single target of all primitives, None if there are several."""
        return self.primitive_targets[0] if len(self.primitive_targets) == 1 else None


def make_compilation_config(ctxt: PassContext, target: Any, target_host: Any = None) -> CompilationConfig:
    """Return the configuration for one target, several, or targets by kind of device.

    The configuration `relay.fallback_device_type` of the context is the device of primitives without an annotation;
    without it, and with several targets, that is the CPU. Raises `DiagnosticError` without a target.
    """
    choice = list(target.values()) if isinstance(target, dict) else target
    targets = [Target.of(t) for t in (choice if isinstance(choice, (list, tuple)) else [choice])]
    if not targets:
        raise DiagnosticError(Diagnostic("a compilation needs a target", hint='such as `["llvm"]`'))
    hosts = [Target.of(target_host)] if target_host is not None else [t.host for t in targets if t.host is not None]
    cpus = [t for t in targets if _device(t).device_type == 1]
    host = hosts[0] if hosts else Target.of(cpus[0]) if cpus else Target()
    number = ctxt.config.get("relay.fallback_device_type")
    kind = device(int(number)) if number is not None else _device(targets[0]) if len(targets) == 1 else Device()
    primitive = next((t for t in targets if _device(t).kind == kind.kind), targets[0])
    return CompilationConfig(host, tuple(targets), VirtualDevice(Device(), host), VirtualDevice(kind, primitive))


def _device(target: Target) -> Device:
    return device(target.kind)


def virtual_devices(mod: IRModule, function: Function) -> dict[Expr, VirtualDevice]:
    """Return the device of each expression of a function after `PlanDevices`; operators have none."""
    places: dict[Expr, VirtualDevice] = {}
    stack: list[tuple[Expr, Any]] = [(function, function.virtual_device)]
    while stack:
        node, place = stack.pop()
        place = getattr(node, "virtual_device", None) or place
        inner = place
        if is_call_of(node, "on_device"):
            place = inner = node.attrs["virtual_device"]
        elif is_call_of(node, "device_copy"):
            place, inner = node.attrs["dst_virtual_device"], node.attrs["src_virtual_device"]
        if isinstance(node, Op) or node in places:
            continue
        places[node] = place or VirtualDevice()
        if isinstance(node, Let) and node.var.virtual_device is not None:
            stack += [(node.var, None), (node.value, node.var.virtual_device), (node.body, place)]
        else:
            stack.extend((child, inner) for child in children(node))
    return places
