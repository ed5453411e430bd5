"""Providers compute on a device: they make kernels of primitive functions, and bring arrays to the device and back.

    VirtualMachine(exe, providers={"cuda": "torch"})     # by kind of device, by device, or one name for all

What lies on a device is an array of its provider. On a CPU that is always a NumPy array, whoever computes there; so the
machine itself, shape functions and values that leave it need not know of providers. `numpy` is always there; the
others belong to optional packages and are loaded when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from passlab.devices import Device, device
from passlab.errors import Diagnostic, MissingPackageError, RunError, RunTypeError, did_you_mean
from passlab.evaluate.values import ADTValue
from passlab.ir.expr import Function
from passlab.vm.kernels.primitive import Kernel, make_kernel
from passlab.vm.objects import Storage, VMClosure

Array = np.ndarray[Any, Any]


class Provider:
    """Computes with NumPy. Every other kind of device stands for this CPU, with arrays of its own."""

    name = "numpy"
    native = True  # whether what lies on the device are NumPy arrays
    array_type: type = np.ndarray

    def __init__(self, device: Device) -> None:
        self.device = device

    def kernel(self, function: Function) -> Kernel:
        """Return the kernel of a primitive function, which takes and gives this device's arrays."""
        return make_kernel(function)

    def to_device(self, array: Array) -> Any:
        """Return a NumPy array as an array of the device."""
        return array

    def to_host(self, value: Any) -> Any:
        """Return an array of the device as a NumPy array, anything else as it is."""
        return value

    def storage(self, size: int, number: int) -> Storage:
        """Return a piece of the device's memory; `number` is the device's in the executable."""
        return Storage(size, number)


# name -> "module:class", the package it needs, and how to get it
PROVIDERS: dict[str, tuple[str, str, str]] = {
    "numpy": ("passlab.vm.kernels.providers:Provider", "numpy", ""),
    "torch": ("passlab.vm.kernels.torch_provider:TorchProvider", "torch", 'pip install "passlab[torch]"'),
    "numba": ("passlab.vm.kernels.numba_provider:NumbaProvider", "numba", 'pip install "passlab[numba]"'),
}
Choice = str | Mapping[Any, str] | None


def provider_for(place: Device, choice: Choice) -> Provider:
    """Return the provider of a device under a choice: a name for all, or names by device, kind of device or "cpu:1".

    Raises `RunError` for a name that is not known, `MissingPackageError` when its package is not installed.
    """
    name: Any = choice if isinstance(choice, str) else _chosen(place, {} if choice is None else choice)
    if not isinstance(name, str) or name not in PROVIDERS:
        hint = did_you_mean(name, PROVIDERS) or f"there are {', '.join(PROVIDERS)}"
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


def _chosen(place: Device, choice: Mapping[Any, str]) -> str:
    """Return the name for a device: the most precise key wins."""
    if not isinstance(choice, Mapping):
        raise RunTypeError(f"providers are a name or a dict of names, not {type(choice).__name__}")
    kinds = {key: name for key, name in choice.items() if isinstance(key, str) and ":" not in key}
    exact = {device(key): name for key, name in choice.items() if key not in kinds}
    by_kind = {device(key).kind: name for key, name in kinds.items()}
    return exact.get(place, by_kind.get(place.kind, "numpy"))


# ---------------------------------------------------------------- values with arrays inside
def move_arrays(value: Any, move: Callable[[Any], Any], kind: type | tuple[type, ...]) -> Any:
    """Return a value with the arrays of a kind inside it moved; the same value when there are none.

    Goes through tuples, data values and what closures captured, however deep, without recursion.
    """
    result: dict[int, Any] = {}  # by identity: what values share stays shared, and is moved once
    work: list[Any] = [value]
    while work:
        at = work[-1]
        waiting = [p for p in _parts(at) if id(p) not in result] if id(at) not in result else []
        if waiting:
            work.extend(waiting)
            continue
        work.pop()
        if id(at) not in result:
            result[id(at)] = move(at) if isinstance(at, kind) else _with_parts(at, result)
    return result[id(value)]


def _parts(value: Any) -> tuple[Any, ...]:
    if type(value) is tuple:
        return value
    if isinstance(value, ADTValue):
        return tuple(value.fields)
    return value.captured if isinstance(value, VMClosure) else ()


def _with_parts(value: Any, new_parts: Mapping[int, Any]) -> Any:
    old = _parts(value)
    parts = [new_parts[id(p)] for p in old]
    if all(a is b for a, b in zip(old, parts, strict=True)):
        return value
    if type(value) is tuple:
        return tuple(parts)
    if isinstance(value, ADTValue):
        return ADTValue(value.constructor, parts)
    return VMClosure(value.func_index, tuple(parts))
