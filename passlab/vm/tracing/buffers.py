"""Memory that tensors look into: whose it is, what stood there at an instant, and values that look elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.evaluate.values import ADTValue
from passlab.vm.objects import Storage, VMClosure

if TYPE_CHECKING:
    from passlab.vm.tracing.log import Log


def owner(tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory a tensor looks into: a storage's buffer, or the tensor itself."""
    while type(tensor.base) is np.ndarray:
        tensor = tensor.base
    return tensor


def offset_in(tensor: np.ndarray[Any, Any], buffer: np.ndarray[Any, Any]) -> int:
    """Return the byte of its buffer at which a tensor begins."""
    return int(tensor.__array_interface__["data"][0] - buffer.__array_interface__["data"][0])


def bytes_of(buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a buffer as bytes."""
    return np.ndarray((buffer.nbytes,), np.uint8, buffer)


def content_at(log: Log, buffer: np.ndarray[Any, Any], instant: int) -> np.ndarray[Any, Any] | None:
    """Return a copy of a buffer as it was at an instant, None when it is still as it was."""
    later = [o for o in log.overwritten.get(id(buffer), ()) if o.event >= instant]
    if not later:
        return None
    copy = buffer.copy()
    flat = bytes_of(copy)
    for old in reversed(later):
        flat[old.start : old.start + len(old.content)] = np.frombuffer(old.content, np.uint8)
    return copy


def tensor_at(log: Log, tensor: np.ndarray[Any, Any], instant: int) -> np.ndarray[Any, Any]:
    """Return a tensor as it was at an instant: itself, or a copy with the old content."""
    buffer = owner(tensor)
    copy = content_at(log, buffer, instant) if log.overwritten else None
    return tensor if copy is None else looked_into(tensor, buffer, copy)


def looked_into(
    tensor: np.ndarray[Any, Any], buffer: np.ndarray[Any, Any], other: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return what a tensor inside `buffer` is inside another buffer of the same size."""
    if tensor is buffer:
        return other
    return np.ndarray(tensor.shape, tensor.dtype, other, offset_in(tensor, buffer), tensor.strides)


class Redirection:
    """Rebuilds values so that those that look into some buffers look into others. What does not change is shared."""

    def __init__(self, buffers: dict[int, np.ndarray[Any, Any]]) -> None:
        self.buffers = buffers
        self.known: dict[int, tuple[Any, Any]] = {}  # by id: the value itself, which keeps the id, and what it became

    def __call__(self, root: Any) -> Any:
        """Return the rebuilt value. Values may be nested as deep as programs make them."""
        stack = [(root, False)]
        while stack:
            value, ready = stack.pop()
            if id(value) in self.known:
                continue
            parts = _parts(value)
            if ready or not parts:
                self.known[id(value)] = (value, self._made(value, parts))
            else:
                stack.append((value, True))
                stack.extend((part, False) for part in parts)
        return self.known[id(root)][1]

    def _made(self, value: Any, parts: Sequence[Any]) -> Any:
        if isinstance(value, Storage):
            other = self.buffers.get(id(value.buffer))
            return value if other is None else Storage(value.buffer.size, value.device, other)
        if isinstance(value, np.ndarray):
            buffer = owner(value)
            other = self.buffers.get(id(buffer))
            return value if other is None else looked_into(value, buffer, other)
        fields = [self.known[id(part)][1] for part in parts]
        if all(new is old for new, old in zip(fields, parts, strict=True)):
            return value
        if isinstance(value, tuple):
            return tuple(fields)
        return (
            ADTValue(value.constructor, fields)
            if isinstance(value, ADTValue)
            else VMClosure(value.func_index, tuple(fields))
        )


def _parts(value: Any) -> Sequence[Any]:
    if type(value) is tuple:
        return value
    if isinstance(value, ADTValue):
        return value.fields
    return value.captured if isinstance(value, VMClosure) else ()
