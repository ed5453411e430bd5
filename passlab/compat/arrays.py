"""Arrays with TVM's interface: NumPy arrays with `numpy()`, `asnumpy()`, `copyto` and a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.devices import Device, cpu
from passlab.op.dtypes import Array, array_dtype


class NDArray(np.ndarray):
    """A NumPy array with the interface of TVM's `NDArray`."""

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy as a plain NumPy array."""
        return np.array(self)

    asnumpy = numpy

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute; `device` and `ctx` return this CPU, although NumPy defines `device` differently."""
        return cpu() if name in ("device", "ctx") else super().__getattribute__(name)

    def copyfrom(self, source_array: Any) -> NDArray:
        """Overwrite the elements with the elements of another array of the same shape, converted to this dtype."""
        np.copyto(self, np.asarray(source_array), casting="unsafe")
        return self

    def copyto(self, target: Any, mem_scope: Any = None) -> NDArray:
        """Copy the elements into another array, or to a device, as a new array."""
        if isinstance(target, Device):
            return array(self)
        np.copyto(target, self)
        result: NDArray = target
        return result

    def same_as(self, other: object) -> bool:
        """Whether the other array is this object."""
        return self is other


def array(arr: Any, device: Any = None, mem_scope: Any = None) -> NDArray:
    """Return a copy of an array, a number or nested lists; float64 lists become float32, as in TVM."""
    value = np.array(arr.numpy() if hasattr(arr, "numpy") and not isinstance(arr, np.ndarray) else arr)
    if not isinstance(arr, (np.ndarray, np.generic)) and value.dtype == np.float64:
        value = value.astype("float32")
    return value.view(NDArray)


def empty(shape: Sequence[int] | int, dtype: str = "float32", device: Any = None, mem_scope: Any = None) -> NDArray:
    """Return an array of zeros, to write results into."""
    return np.zeros(shape, array_dtype(str(dtype))).view(NDArray)


def as_ndarray(value: Any) -> Array:
    """Return an array or a NumPy number as an `NDArray` of the same memory; other values as they are."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    return value.view(NDArray) if isinstance(value, np.ndarray) else value


def from_dlpack(dltensor: Any) -> NDArray:
    """Return an array of the memory of another library's array, which gives it by DLPack."""
    return np.from_dlpack(dltensor).view(NDArray)


def numpyasarray(np_data: Any) -> NDArray:
    """Return a NumPy array as an `NDArray` of the same memory."""
    return np.asarray(np_data).view(NDArray)
