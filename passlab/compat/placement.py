"""The device of each part of a program, and the configuration of `PlanDevices`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passlab.devices import Device, Target, VirtualDevice, device
from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.expr import Expr, Function, Let
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of
from passlab.ir.walk import children
from passlab.transform.context import PassContext


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
