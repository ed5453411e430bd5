"""The buffers of tensors: owners, contents at an instant, and values redirected to other buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.evaluate.values import Value
from passlab.vm.objects import Storage, value_parts, with_parts

if TYPE_CHECKING:
    from passlab.vm.tracing.log import Log


def owner(tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that owns the memory of a tensor: a storage's buffer, or the tensor itself."""
    while type(tensor.base) is np.ndarray:
        tensor = tensor.base
    return tensor


def offset_in(tensor: np.ndarray[Any, Any], buffer: np.ndarray[Any, Any]) -> int:
    """Return the offset in bytes of a tensor in its buffer."""
    return int(tensor.__array_interface__["data"][0] - buffer.__array_interface__["data"][0])


def bytes_of(buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a buffer as bytes."""
    return np.ndarray((buffer.nbytes,), np.uint8, buffer)


def content_at(log: Log, buffer: np.ndarray[Any, Any], instant: int) -> np.ndarray[Any, Any] | None:
    """Return a copy of a buffer with its content at an instant, None where the content is unchanged since."""
    later = [o for o in log.overwritten.get(id(buffer), ()) if o.event >= instant]
    if not later:
        return None
    copy = buffer.copy()
    flat = bytes_of(copy)
    # The oldest content comes last: where several overlap, it is what stood there at the instant.
    for old in reversed(later):
        flat[old.start : old.start + len(old.content)] = np.frombuffer(old.content, np.uint8)
    return copy


def tensor_at(log: Log, tensor: np.ndarray[Any, Any], instant: int) -> np.ndarray[Any, Any]:
    """Return a tensor with its content at an instant: itself, or a copy."""
    buffer = owner(tensor)
    copy = content_at(log, buffer, instant) if log.overwritten else None
    return tensor if copy is None else view_of(tensor, buffer, copy)


def view_of(
    tensor: np.ndarray[Any, Any], buffer: np.ndarray[Any, Any], other: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the view of another buffer that corresponds to a tensor in `buffer`, which has the same size."""
    if tensor is buffer:
        return other
    return np.ndarray(tensor.shape, tensor.dtype, other, offset_in(tensor, buffer), tensor.strides)


class Redirection:
    """Rebuilds values with other buffers. Unchanged parts are shared."""

    def __init__(self, buffers: dict[int, np.ndarray[Any, Any]]) -> None:
        self.buffers = buffers
        self._rebuilt: dict[
            int, tuple[Value, Value]
        ] = {}  # by id: the value, whose life keeps the id valid, and the new one

    def __call__(self, root: Value) -> Value:
        """Return the rebuilt value, which may be nested to any depth."""
        stack = [(root, False)]
        while stack:
            value, ready = stack.pop()
            if id(value) in self._rebuilt:
                continue
            parts = value_parts(value)
            if ready or not parts:
                self._rebuilt[id(value)] = (value, self._rebuild(value, parts))
            else:
                stack.append((value, True))  # again, after its parts
                stack.extend((part, False) for part in parts)
        return self._rebuilt[id(root)][1]

    def _rebuild(self, value: Value, parts: Sequence[Value]) -> Value:
        if isinstance(value, Storage):
            other = self.buffers.get(id(value.buffer))
            return value if other is None else Storage(value.buffer.size, value.device, other)
        if isinstance(value, np.ndarray):
            buffer = owner(value)
            other = self.buffers.get(id(buffer))
            return value if other is None else view_of(value, buffer, other)
        return with_parts(value, [self._rebuilt[id(part)][1] for part in parts])
