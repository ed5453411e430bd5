"""Storages and closures: what registers hold besides arrays, tuples and ADT values."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import LimitError, RunError
from passlab.evaluate.values import ADTValue, Value


class Storage:
    """A block of memory: `buffer` is its bytes. Tensors in it are views and keep it alive."""

    __slots__ = ("buffer", "device")

    def __init__(self, size: int, device: int = 0, buffer: np.ndarray[Any, Any] | None = None) -> None:
        if size < 0:
            raise RunError(f"a storage cannot have {size} bytes")
        if buffer is None:
            limits.check("tensor_bytes", size, "a storage")
            try:
                buffer = np.empty(size, np.uint8)
            except MemoryError as error:
                raise LimitError(f"there is not enough memory for a storage of {size:,} bytes") from error
        self.buffer = buffer
        self.device = device

    @property
    def size(self) -> int:
        """The number of bytes."""
        return int(self.buffer.size)

    @property
    def held(self) -> Any:
        """The object that lives as long as the memory is in use."""
        return self.buffer

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return a tensor inside the storage. Raises `RunError` where it does not fit."""
        # NumPy accepts a negative offset and writes before the buffer, so it must be checked here
        if offset >= 0 and (not shape or min(shape) >= 0):
            try:
                return np.ndarray(shape, dtype, self.buffer, offset)
            except (TypeError, ValueError):  # the buffer is too small, or NumPy has no such large array
                pass
        raise RunError(f"a tensor {shape} of {dtype} does not fit a storage of {self.buffer.size} bytes at {offset}")

    def __repr__(self) -> str:
        return f"<storage of {self.buffer.size} bytes>"


class VMClosure:
    """A function of the executable with its captured objects."""

    __slots__ = ("func_index", "captured")

    def __init__(self, func_index: int, captured: tuple[Any, ...]) -> None:
        self.func_index = func_index
        self.captured = captured

    def __repr__(self) -> str:
        return f"<closure of VMFunc[{self.func_index}] over {len(self.captured)}>"


def value_parts(value: Value) -> Sequence[Value]:
    """Return the fields of a tuple or an ADT value, or what a closure captured; nothing for other values."""
    if type(value) is tuple:
        return value
    if isinstance(value, ADTValue):
        return value.fields
    return value.captured if isinstance(value, VMClosure) else ()


def with_parts(value: Value, parts: Sequence[Value]) -> Value:
    """Return a value with other parts; the same value where all parts are the same objects."""
    if all(new is old for new, old in zip(parts, value_parts(value), strict=True)):
        return value
    if isinstance(value, ADTValue):
        return ADTValue(value.constructor, parts)
    return VMClosure(value.func_index, tuple(parts)) if isinstance(value, VMClosure) else tuple(parts)


class Allocator:
    """Allocates storages and counts them: each is new memory (Relay's "naive" allocator)."""

    def __init__(self) -> None:
        self.allocations = 0
        self.bytes = 0

    def storage(self, size: int, device: int) -> Storage:
        """Return a storage of `size` bytes."""
        result = Storage(size, device)
        self.allocations += 1
        self.bytes += size
        return result


SMALLEST = 64  # bytes; requests below share one size class


class PooledAllocator(Allocator):
    """Allocates storages from buffers that nothing refers to any more (Relay's "pooled" allocator).

    Sizes are rounded up to classes, four to each power of two. A buffer is free when the pool holds the only reference
    to it: storages, and arrays that are views of it, hold others. Up to `most` buffers of a class are kept. `reused`
    counts the storages that needed no new memory.
    """

    def __init__(self, most: int = 32) -> None:
        super().__init__()
        self.most = most
        self.reused = 0
        self.classes: dict[int, list[np.ndarray[Any, Any]]] = {}

    def storage(self, size: int, device: int) -> Storage:
        """Return a storage of at least `size` bytes."""
        if size < 0:
            raise RunError(f"a storage cannot have {size} bytes")
        buffers = self.classes.setdefault(size_class(size), [])
        for i in range(len(buffers)):  # a loop variable would be one more reference
            if getrefcount(buffers[i]) == _UNUSED:
                self.reused += 1
                return Storage(size, device, buffers[i])
        result = Storage(size_class(size), device)
        self.allocations += 1
        self.bytes += result.buffer.size
        if len(buffers) < self.most:
            buffers.append(result.buffer)
        return result

    def release(self) -> None:
        """Drop the buffers that are not in use."""
        for size, buffers in self.classes.items():
            self.classes[size] = [buffers[i] for i in range(len(buffers)) if getrefcount(buffers[i]) > _UNUSED]


def _unused_count() -> int:
    """Return the reference count that Python reports for an array that only a list holds."""
    arrays = [np.empty(0)]
    return getrefcount(arrays[0])


# Measured, not assumed: the count depends on the version of Python.
_UNUSED = _unused_count()


def size_class(size: int) -> int:
    """Return the buffer size for requests of `size` bytes, at most a quarter larger."""
    if size <= SMALLEST:
        return SMALLEST
    # A quarter of the largest power of two below `size`, so each power of two has four classes.
    step = 1 << max(0, (size - 1).bit_length() - 3)
    return -(-size // step) * step  # rounded up
