"""Names of tensors, nested like the tuples of a program, and their types in ONNX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from passlab.errors import ModelError
from passlab.frontend.onnx.package import onnx
from passlab.ir.types import TensorType, TupleType
from passlab.op.dtypes import array_dtype

Names = Any  # a name, or a nested list of names


class NoCounterpartError(Exception):
    """ONNX cannot express a construct; the emitter records it and continues."""


def flat(names: Names) -> list[str]:
    """Return the names of a nested list in order."""
    leaves: list[str] = []
    stack = [names]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            leaves.append(part)
        else:
            stack.extend(reversed(part))
    return leaves


def refill(shape: Names, names: Iterator[str]) -> Names:
    """Return names nested like `shape`."""
    root: list[Names] = []
    stack = [(iter([shape]), root)]
    while stack:
        parts, target = stack[-1]
        part = next(parts, None)
        if part is None:
            stack.pop()
        elif isinstance(part, str):
            target.append(next(names))
        else:
            nested: list[Names] = []
            target.append(nested)
            stack.append((iter(part), nested))
    return root[0]


def tensor_types(ty: Any) -> list[TensorType]:
    """Return the tensor types in a type in order. Raises `NoCounterpartError` for other types."""
    leaves: list[TensorType] = []
    stack = [ty]
    while stack:
        part = stack.pop()
        if isinstance(part, TensorType):
            leaves.append(part)
        elif isinstance(part, TupleType):
            stack.extend(reversed(part.fields))
        else:
            raise NoCounterpartError(f"models have no values of the type {part}")
    return leaves


def element_type(dtype: str) -> int:
    """Return ONNX's number of a dtype. Raises `NoCounterpartError` if ONNX lacks the dtype."""
    try:
        return int(onnx().helper.np_dtype_to_tensor_dtype(array_dtype(dtype)))
    except (KeyError, ValueError, ModelError):
        raise NoCounterpartError(f"ONNX has no tensors of {dtype}") from None
