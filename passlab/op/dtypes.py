"""NumPy's dtypes for Relay's dtype names, and the check before every allocation.

bfloat16 and the 8-bit floats come from `ml_dtypes`, which is loaded on first use.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from passlab import limits
from passlab.errors import Diagnostic, LimitError, MissingPackageError, RunError

Array = npt.NDArray[Any]
ArrayOrArrays = Array | tuple[Array, ...]  # the results of a kernel
DType = np.dtype[Any]

HALF_BYTES = frozenset({"int4", "uint4"})  # NumPy's functions may compute them as wider integers, or as floats
MOST_DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32  # of an array of NumPy
_EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4")
_dtypes: dict[str, np.dtype[Any]] = {}


def array_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype for Relay's dtype `name`. Raises `RunError` for one that arrays cannot hold."""
    try:
        return _dtypes[name]
    except KeyError:
        pass
    result: np.dtype[Any]
    if name in _EXTENDED:
        result = np.dtype(getattr(_ml_dtypes(name), name))
    else:
        try:
            result = np.dtype("bool" if name == "uint1" else name)
        except TypeError:
            raise RunError(Diagnostic(f"arrays cannot hold elements of type `{name}`")) from None
    _dtypes[name] = result
    return result


def _ml_dtypes(name: str) -> ModuleType:
    try:
        return importlib.import_module("ml_dtypes")
    except ImportError:
        raise MissingPackageError(
            Diagnostic(f"{name} needs the package `ml_dtypes`", hint="pip install ml_dtypes")
        ) from None


def is_extended(dtype: Any) -> bool:
    """Whether a dtype is one of `ml_dtypes`. Their `kind` does not tell: some have the kind of NumPy's own floats."""
    return dtype.isbuiltin == 2  # type: ignore[no-any-return]


def is_float(dtype: Any) -> bool:
    """Whether a NumPy dtype is a floating-point one, including the types of `ml_dtypes`."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def float_info(dtype: Any) -> Any:
    """Return `max`, `eps`, `smallest_normal` etc. of a floating-point NumPy dtype, including the types of
    `ml_dtypes`.
    """
    return _ml_dtypes(str(dtype)).finfo(dtype) if is_extended(dtype) else np.finfo(dtype)


def integer_info(dtype: Any) -> Any:
    """Return `min` and `max` of an integer NumPy dtype, including the types of `ml_dtypes`."""
    return _ml_dtypes(str(dtype)).iinfo(dtype) if is_extended(dtype) else np.iinfo(dtype)


def is_float_name(dtype: str) -> bool:
    """Whether a Relay dtype name is a floating-point one."""
    return "float" in dtype


def guard_size(shape: Sequence[int], dtype: np.dtype[Any], what: str) -> None:
    """Raise `LimitError` if an array of this shape would exceed the limits on elements, bytes or NumPy's dimensions."""
    if len(shape) > MOST_DIMENSIONS:
        message = f"the result of {what} has {len(shape)} dimensions, and NumPy's arrays have at most {MOST_DIMENSIONS}"
        raise LimitError(Diagnostic(message, hint="leave out dimensions of size 1"))
    count = math.prod(shape)
    limits.check("elements", count, f"the result of {what}")
    limits.check("tensor_bytes", count * dtype.itemsize, f"the result of {what}")


def as_array(value: Any) -> Array:
    """Return a kernel's result as an array: NumPy turns results without dimensions into scalars."""
    return value if type(value) is np.ndarray else np.asarray(value)


# recurses: the arguments and results of kernels are nested one or two levels
def map_parts(change: Callable[[Any], Any], value: Any) -> Any:
    """Return an argument or a result of a kernel with `change` applied to it, or to the parts of a tuple."""
    return tuple([map_parts(change, part) for part in value]) if isinstance(value, tuple) else change(value)


def filled_array(shape: Sequence[int], dtype: np.dtype[Any], value: Any, what: str) -> Array:
    """Return an array of `shape` filled with `value`. Raises `LimitError` if it would be too large."""
    guard_size(shape, dtype, what)
    return np.full(tuple(shape), value, dtype)


def convert(data: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array in another dtype; the rule depends neither on the machine nor on the array's size.

    Floats become integers by truncation; values that the integer type cannot hold wrap around, and NaN and values that
    do not fit 64 bits become 0. Values other than 0 are true. Returns the array itself if it has the dtype already.
    """
    if dtype.kind in "iu" or "int" in dtype.name:
        if is_float(data.dtype):
            return _floats_to_integers(data, dtype)
    return data.astype(dtype, copy=False)


def _floats_to_integers(data: Array, dtype: np.dtype[Any]) -> Array:
    """Return floats as integers, by the rule of `convert`; C leaves NaN and floats out of range undefined.

    NumPy converts all of these to the lowest integer, so only results with that value need a correction.
    """
    floats = data if data.dtype.itemsize >= 4 else data.astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype.itemsize < 4 or dtype == np.int32:
            narrow = floats.astype(np.int32)
            if not np.any(narrow == np.iinfo(np.int32).min):
                return narrow.astype(dtype, copy=False)
        whole = np.asarray(floats.astype(np.int64))
        suspects = whole == np.iinfo(np.int64).min
        if np.any(suspects):
            whole[suspects & (floats != -(2.0**63))] = 0
            high = (floats >= 2.0**63) & (floats < 2.0**64)
            if dtype == np.uint64 and np.any(high):
                unsigned = whole.astype(np.uint64)
                unsigned[high] = (floats[high] - 2.0**63).astype(np.int64).astype(np.uint64) + np.uint64(2**63)
                return unsigned
        return whole.astype(dtype, copy=False)


def round_half_away(data: Array, out: Array | None = None) -> Array:
    """Return the whole numbers nearest to floats, halves away from zero; exact, unlike adding a half first."""
    whole = np.trunc(data)
    with np.errstate(invalid="ignore"):  # infinity minus itself
        carry = (np.abs(data - whole) >= 0.5).astype(data.dtype)
    result: Array = np.add(whole, np.copysign(carry, data), out=out)
    return result
