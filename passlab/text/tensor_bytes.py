"""Tensors as base64 text of TVM's binary NDArray: encoding and decoding, bit for bit.

The layout is little-endian: magic number (8 bytes), reserved (8), device type and id (4 + 4), rank (4), code of the
dtype (1), bits (1), lanes (2), shape (8 each), byte count (8), bytes. The codes are 0 int, 1 uint, 2 float, 4 bfloat, 7
and 8 the two float8.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, LimitError, RunError
from passlab.ir.dtypes import dtype_name
from passlab.op.dtypes import array_dtype

_MAGIC = 0xDD5E40F096B4A13F
_HEAD = struct.Struct("<QQiiiBBH")
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "float8_e4m3fn": 7, "float8_e5m2": 8}
_NAMES = {code: name for name, code in _CODES.items()}


def encode_tensor(array: np.ndarray[Any, Any]) -> str:
    """Return an array as text."""
    return base64.b64encode(tensor_record(array)).decode("ascii")


def tensor_record(array: np.ndarray[Any, Any]) -> bytes:
    """Return an array as the bytes of TVM's binary NDArray."""
    return b"".join(record_parts(array))


def record_parts(array: np.ndarray[Any, Any]) -> tuple[bytes, memoryview]:
    """Return head and data of such bytes. The data is the memory of the array itself, if it is contiguous."""
    name = dtype_name(array.dtype)
    base, digits = re.fullmatch(r"(float8_e4m3fn|float8_e5m2|[a-z]+)(\d*)", name).groups()  # type: ignore[union-attr]
    code, bits = (1, 1) if name == "bool" else (_CODES[base], int(digits or 8))
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    head = _HEAD.pack(_MAGIC, 0, 1, 0, array.ndim, code, bits, 1)
    return head + struct.pack(f"<{array.ndim + 1}q", *array.shape, little.nbytes), little.reshape(-1).view(
        np.uint8
    ).data


def decode_tensor(text: str) -> np.ndarray[Any, Any]:
    """Return the array, read-only. Raises `ValueError` for malformed data and `LimitError` over a limit."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"this tensor is not base64: {error}") from None
    return tensor_of_record(data)


def record_size(read: Callable[[int], bytes]) -> int:
    """Return the number of bytes that a record announces; `read` returns its next bytes."""
    head = read(_HEAD.size)
    rank = _HEAD.unpack(head)[4] if len(head) == _HEAD.size else -1
    if not 0 <= rank <= limits.current().rank:
        raise ValueError(f"this tensor has {len(head)} bytes and rank {rank}")
    return _HEAD.size + 8 * (rank + 1) + int.from_bytes(read(8 * (rank + 1))[-8:], "little")


def tensor_of_record(data: bytes | memoryview) -> np.ndarray[Any, Any]:
    """Return the array of a record, read-only. Raises `ValueError` for malformed data and `LimitError` over a limit."""
    if len(data) < _HEAD.size:
        raise ValueError("this tensor is cut off")
    magic, _, _, _, rank, code, bits, lanes = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError("this is not a tensor: its magic number is wrong")
    if not 0 <= rank <= limits.current().rank or len(data) < _HEAD.size + 8 * (rank + 1):
        raise ValueError(f"this tensor has rank {rank} and {len(data)} bytes")
    *shape, count = struct.unpack_from(f"<{rank + 1}q", data, _HEAD.size)
    dtype = _dtype(code, bits, lanes)
    if (
        any(d < 0 for d in shape)
        or math.prod(shape) * dtype.itemsize != count
        or len(data) != _HEAD.size + 8 * (rank + 1) + count
    ):
        raise ValueError(f"this tensor of shape {tuple(shape)} and dtype {dtype} has {count} bytes")
    limits.check("tensor_bytes", count, "this tensor")
    little = np.frombuffer(data, dtype.newbyteorder("<"), offset=_HEAD.size + 8 * (rank + 1))
    array = little.reshape(shape).astype(dtype, copy=False)  # where the machine is little-endian, the bytes themselves
    array.flags.writeable = False
    return array


def _dtype(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    name = _NAMES.get(code)
    if name is None or lanes != 1:
        raise ValueError(f"this tensor has an unknown dtype (code {code}, {bits} bits, {lanes} lanes)")
    if code in (7, 8):
        return array_dtype(name)
    name = "bool" if (code, bits) == (1, 1) else f"{name}{bits}"
    try:
        return array_dtype(name)
    except RunError:
        raise ValueError(f"this tensor has the unknown dtype {name}") from None


@contextmanager
def enough_memory(what: str, hint: str = "`Recording.save` writes weights without a copy of them") -> Iterator[None]:
    """Raise `LimitError` if the memory does not suffice for the block, which makes texts or bytes of weights."""
    try:
        yield
    except MemoryError as error:
        raise LimitError(Diagnostic(f"there is not enough memory for {what}", hint=hint)) from error
