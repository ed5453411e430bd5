"""What registers hold besides arrays, tuples and data values: storages and closures."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import LimitError, RunError


class Storage:
    """A piece of memory: `buffer` is its bytes. Tensors made in it are views and keep it alive."""

    __slots__ = ("buffer", "device")

    def __init__(self, size: int, device: int = 0, buffer: np.ndarray[Any, Any] | None = None) -> None:
        if size < 0:
            raise RunError(f"a storage of {size} bytes was asked for")
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
        """Its bytes."""
        return int(self.buffer.size)

    @property
    def held(self) -> Any:
        """The object that lives as long as the memory is in use."""
        return self.buffer

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return a tensor inside the storage. Raises `RunError` when it does not fit."""
        # NumPy takes a negative offset for one inside the buffer, and writes there: this must be checked here
        if offset >= 0 and (not shape or min(shape) >= 0):
            try:
                return np.ndarray(shape, dtype, self.buffer, offset)
            except (TypeError, ValueError):  # the buffer is too small; there are no arrays so large
                pass
        raise RunError(f"a tensor {shape} of {dtype} does not fit a storage of {self.buffer.size} bytes at {offset}")

    def __repr__(self) -> str:
        return f"<storage of {self.buffer.size} bytes>"


class VMClosure:
    """A function of the executable with the objects it captured."""

    __slots__ = ("func_index", "captured")

    def __init__(self, func_index: int, captured: tuple[Any, ...]) -> None:
        self.func_index = func_index
        self.captured = captured

    def __repr__(self) -> str:
        return f"<closure of VMFunc[{self.func_index}] over {len(self.captured)}>"


class Allocator:
    """Gives storages and counts them: every one is new memory (Relay's "naive" allocator)."""

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
    """Gives memory again once nothing refers to it any more.

    Sizes are rounded up to classes, four to each power of two. A buffer is given again only when the pool holds the
    last reference to it: a storage, and any array that looks into it however it was made, is one more. Up to `most`
    buffers of a class are looked at, and kept. `reused` counts the storages that needed no new memory.
    """

    def __init__(self, most: int = 32) -> None:
        super().__init__()
        self.most = most
        self.reused = 0
        self.classes: dict[int, list[np.ndarray[Any, Any]]] = {}

    def storage(self, size: int, device: int) -> Storage:
        """Return a storage of at least `size` bytes."""
        if size < 0:
            raise RunError(f"a storage of {size} bytes was asked for")
        held = self.classes.setdefault(size_class(size), [])
        for i in range(len(held)):
            if getrefcount(held[i]) == _UNUSED:
                self.reused += 1
                return Storage(size, device, held[i])
        result = Storage(size_class(size), device)
        self.allocations += 1
        self.bytes += result.buffer.size
        if len(held) < self.most:
            held.append(result.buffer)
        return result

    def release(self) -> None:
        """Forget the memory that is not in use."""
        for size, held in self.classes.items():
            self.classes[size] = [held[i] for i in range(len(held)) if getrefcount(held[i]) > _UNUSED]


def _unused_count() -> int:
    """How many references Python reports for an array that only a list holds."""
    held = [np.empty(0)]
    return getrefcount(held[0])


_UNUSED = _unused_count()


def size_class(size: int) -> int:
    """Return the size of the buffers that requests of `size` bytes are served from, at most a quarter larger."""
    if size <= SMALLEST:
        return SMALLEST
    step = 1 << max(0, (size - 1).bit_length() - 3)
    return -(-size // step) * step
