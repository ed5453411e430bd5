"""Conversion of ONNX tensors to arrays, and of ONNX element types to Relay's dtypes.

The declared size of a tensor is checked against the limits and the available bytes before anything is allocated.
`external_data` reads the files of tensors stored outside the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, ModelError
from passlab.op.dtypes import Array, array_dtype, guard_size

# number of TensorProto.DataType -> (dtype, the field with elements that are not stored as raw bytes)
DTYPES: dict[int, tuple[str, str]] = {
    1: ("float32", "float_data"), 2: ("uint8", "int32_data"), 3: ("int8", "int32_data"), 4: ("uint16", "int32_data"),
    5: ("int16", "int32_data"), 6: ("int32", "int32_data"), 7: ("int64", "int64_data"), 9: ("bool", "int32_data"),
    10: ("float16", "int32_data"), 11: ("float64", "double_data"), 12: ("uint32", "uint64_data"),
    13: ("uint64", "uint64_data"), 16: ("bfloat16", "int32_data"), 17: ("float8_e4m3fn", "int32_data"),
    19: ("float8_e5m2", "int32_data"), 21: ("uint4", "int32_data"), 22: ("int4", "int32_data"),
}  # fmt: skip
_OTHERS = {
    0: "undefined",
    8: "string",
    14: "complex64",
    15: "complex128",
    18: "float8e4m3fnuz",
    20: "float8e5m2fnuz",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}
_FOUR_BITS = frozenset({"int4", "uint4"})  # two elements in a byte
_BITS = frozenset({"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"})  # stored as bit patterns in the fields

External = Callable[[Any, int], bytes]


def dtype_of(code: int) -> str:
    """Return the dtype of an ONNX element type. Raises `ModelError` if Relay has no such dtype."""
    if code not in DTYPES:
        name = _OTHERS.get(code, str(code))
        raise ModelError(Diagnostic(f"Relay has no tensors of the ONNX element type `{name}`"))
    return DTYPES[code][0]


def code_of(dtype: str) -> int:
    """Return the ONNX element type of a Relay dtype."""
    return next(code for code, (name, _) in DTYPES.items() if name == dtype)


def array_of(tensor: Any, external: External | None = None) -> Array:
    """Return a TensorProto as an array; `external(tensor, size)` reads data stored in another file.

    Raises `ModelError` if dimensions, type and bytes do not agree, `LimitError` if it is too large.
    """
    name = f"the tensor `{tensor.name}`"
    shape, dtype = tuple(tensor.dims), dtype_of(tensor.data_type)
    if any(size < 0 for size in shape):
        raise ModelError(Diagnostic(f"{name} has a negative dimension", found=str(shape)))
    numpy_dtype = array_dtype(dtype)
    guard_size(shape, numpy_dtype, name)
    count = math.prod(shape)
    size = -(-count // 2) if dtype in _FOUR_BITS else count * numpy_dtype.itemsize  # two elements in a byte, rounded up
    if tensor.data_location == 1:  # 1: EXTERNAL
        if external is None:
            hint = "give `from_onnx` the path of the model: the file is looked for next to it"
            raise ModelError(Diagnostic(f"{name} lies in another file", hint=hint))
        return _from_bytes(external(tensor, size), dtype, count).reshape(shape)
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != size:
            _refuse_contents(name, f"{size} bytes", f"{len(tensor.raw_data)} bytes")
        return _from_bytes(tensor.raw_data, dtype, count).reshape(shape)
    return _from_field(tensor, name, dtype, count).reshape(shape)


def _refuse_contents(name: str, expected: str, actual: str) -> None:
    raise ModelError(
        Diagnostic(f"the contents of {name} do not fit its shape and type", expected=expected, found=actual)
    )


def _from_bytes(data: bytes, dtype: str, count: int) -> Array:
    """Return elements from little-endian bytes."""
    target = array_dtype(dtype)
    if dtype in _FOUR_BITS:
        return _unpack_four_bits(np.frombuffer(data, np.uint8), dtype, count)
    if dtype == "bool":
        return np.asarray(np.frombuffer(data, np.uint8) != 0)
    if target.kind in "iuf":
        return np.frombuffer(data, target.newbyteorder("<")).astype(target, copy=False)
    # NumPy does not swap the bytes of bfloat16 and its kind, so their bits are read as integers.
    bits = np.dtype(f"<u{target.itemsize}")
    return np.frombuffer(data, bits).astype(bits.newbyteorder("="), copy=False).view(target)


def _unpack_four_bits(data: Array, dtype: str, count: int) -> Array:
    """Return 4-bit integers packed in pairs, the first in the lower bits."""
    nibbles: Array = np.stack((data & 15, data >> 4), axis=1).reshape(-1)[:count].astype(np.int16)
    # Two's complement: 8 to 15 stand for -8 to -1.
    values: Array = np.where(nibbles > 7, nibbles - 16, nibbles) if dtype == "int4" else nibbles
    return values.astype(array_dtype(dtype))


def _from_field(tensor: Any, name: str, dtype: str, count: int) -> Array:
    """Return elements from the repeated field for the tensor's type."""
    elements = getattr(tensor, DTYPES[tensor.data_type][1])
    needed = -(-count // 2) if dtype in _FOUR_BITS else count
    if len(elements) != needed:
        _refuse_contents(name, f"{needed} elements", f"{len(elements)} elements")
    values: Array = np.array(elements) if count else np.zeros(0, np.int64)
    if dtype in _FOUR_BITS:
        return _unpack_four_bits((values & 255).astype(np.uint8), dtype, count)
    target = array_dtype(dtype)
    if dtype in _BITS:
        # Each element of the field has 32 bits, with the pattern in the lowest.
        values = (values & (2 ** (8 * target.itemsize) - 1)).astype(f"u{target.itemsize}").view(target)
    return values.astype(target, copy=False)
