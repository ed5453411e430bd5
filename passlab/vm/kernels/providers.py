"""Providers of kernels: each makes the kernels of a device, and moves arrays to the device and back.

    VirtualMachine(exe, providers={"cuda": "torch"})     # by kind of device, by device, or one name for all

The arrays on a device belong to its provider; on a CPU they are always NumPy's. So the machine itself and shape
functions need not know about providers. `numpy` is always available; the others need optional packages and are loaded
on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from passlab.devices import Device, device
from passlab.errors import Diagnostic, MissingPackageError, RunError, RunTypeError, did_you_mean
from passlab.evaluate.values import Value
from passlab.ir.expr import Function
from passlab.vm.kernels.primitive import Kernel, make_kernel
from passlab.vm.objects import Storage, value_parts, with_parts

Array = np.ndarray[Any, Any]


class Provider:
    """The provider `numpy` and the base of the others. Every device is this CPU unless its provider says otherwise."""

    name = "numpy"
    native = True  # whether the arrays on the device are NumPy's
    array_type: type = np.ndarray

    def __init__(self, device: Device) -> None:
        self.device = device

    def kernel(self, function: Function) -> Kernel:
        """Return the kernel of a primitive function on arrays of this device."""
        return make_kernel(function)

    def to_device(self, array: Array) -> Any:
        """Return a NumPy array as an array of the device."""
        return array

    def to_host(self, value: Any) -> Any:
        """Return an array of the device as a NumPy array, other values unchanged."""
        return value

    def storage(self, size: int, number: int) -> Storage:
        """Return a storage of the device; `number` is the device's number in the executable."""
        return Storage(size, number)


# by name: "module:class", the package that it needs, and how to install it
PROVIDERS: dict[str, tuple[str, str, str]] = {
    "numpy": ("passlab.vm.kernels.providers:Provider", "numpy", ""),
    "torch": ("passlab.vm.kernels.torch_provider:TorchProvider", "torch", "pip install torch"),
    "onnxruntime": (
        "passlab.vm.kernels.onnx_provider:OnnxProvider",
        "onnxruntime",
        "pip install onnxruntime",
    ),
}
Choice = str | Mapping[Any, str] | None


def provider_for(place: Device, choice: Choice) -> Provider:
    """Return the provider of a device: `choice` is a name for all, or names by device, kind of device or "cpu:1".

    Raises `RunError` for an unknown name, `MissingPackageError` where its package is not installed.
    """
    name: Any = choice if isinstance(choice, str) else _choice_for(place, {} if choice is None else choice)
    if not isinstance(name, str) or name not in PROVIDERS:
        hint = did_you_mean(name, PROVIDERS) or f"the providers are {', '.join(PROVIDERS)}"
        raise RunError(Diagnostic(f"there is no provider of kernels `{name}`", hint=hint))
    path, package, hint = PROVIDERS[name]
    module, _, attribute = path.partition(":")
    try:
        result: Callable[[Device], Provider] = getattr(import_module(module), attribute)
    except ImportError as error:
        raise MissingPackageError(
            Diagnostic(f"the kernels of `{name}` need the package {package}: {error}", hint=f"{hint}, or use `numpy`")
        ) from error
    return result(place)


def _choice_for(place: Device, choice: Mapping[Any, str]) -> str:
    """Return the name for a device: a device as key precedes a kind of device."""
    if not isinstance(choice, Mapping):
        raise RunTypeError(f"`providers` is a name or a dict of names, not {type(choice).__name__}")
    kinds = {key: name for key, name in choice.items() if isinstance(key, str) and ":" not in key}
    exact = {device(key): name for key, name in choice.items() if key not in kinds}
    by_kind = {device(key).kind: name for key, name in kinds.items()}
    return exact.get(place, by_kind.get(place.kind, "numpy"))


# ---------------------------------------------------------------- values with arrays inside
def move_arrays(value: Value, move: Callable[[Any], Any], kind: type | tuple[type, ...]) -> Value:
    """Return a value with `move` applied to the arrays of a kind in it; the same value if none exist.

    Arrays may be in tuples, ADT values and closures of any depth.
    """
    result: dict[int, Any] = {}  # by id: shared parts stay shared, and are moved once
    stack: list[Any] = [value]
    while stack:
        part = stack[-1]
        # Postorder without recursion: a value stays on the stack until all its parts are moved.
        missing = [p for p in value_parts(part) if id(p) not in result] if id(part) not in result else []
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if id(part) not in result:
            moved = [result[id(p)] for p in value_parts(part)]
            result[id(part)] = move(part) if isinstance(part, kind) else with_parts(part, moved)
    return result[id(value)]
