"""What registers hold besides arrays, tuples and data values: storages and closures."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import RunError


class Storage:
    """A piece of memory: `buffer` is its bytes. Tensors made in it are views and keep it alive."""

    __slots__ = ("buffer", "device")

    def __init__(self, size: int, device: int = 0) -> None:
        if size < 0:
            raise RunError(f"a storage of {size} bytes was asked for")
        limits.check("tensor_bytes", size, "a storage")
        self.buffer = np.empty(size, np.uint8)
        self.device = device

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return a tensor inside the storage. Raises `RunError` when it does not fit."""
        try:
            return np.ndarray(shape, dtype, self.buffer, offset)
        except (TypeError, ValueError) as error:
            raise RunError(
                f"a tensor {shape} of {dtype} does not fit a storage of {self.buffer.size} bytes at {offset}"
            ) from error

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
