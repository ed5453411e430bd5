"""Accumulation: the number formats in which sums of products are computed.

NumPy's matrix product is fast (BLAS) for float32 and float64 only. Other formats are computed in one of these if the
result is then the same or better, and rounded or wrapped to the result format once at the end. So half floats are
computed in float32, and small integers in float64 (exact below 2**53).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.op.dtypes import HALF_BYTES, Array, DType, array_dtype, is_float
from passlab.op.nn.blas import multiply

BLAS = (np.dtype("float32"), np.dtype("float64"))
_SMALL = tuple(np.dtype(d) for d in ("bool", "int8", "uint8", "int16", "uint16"))


def result_dtype(name: str, default: DType) -> DType:
    """Return the NumPy dtype called `name`; "" means `default`."""
    return array_dtype(name) if name else default


def working_dtype(out: DType, *inputs: DType) -> DType:
    """Return the dtype to compute sums of products in, for inputs and a result of given dtypes."""
    if is_float(out):
        return out if out in BLAS else np.dtype("float32")
    if all(d in _SMALL or d.name in HALF_BYTES for d in inputs):
        return np.dtype("float64")
    return out


def result_array(out: Array | None, shape: Sequence[int], dtype: DType) -> Array:
    """Return the array to compute a result in: `out` if it is contiguous and of `dtype`, else a new one."""
    return out if out is not None and out.dtype == dtype and out.flags.c_contiguous else np.empty(shape, dtype)


def to_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return `array` in `dtype`. Whole numbers held as floats wrap if they become integers, as integer sums do."""
    if array.dtype == dtype:
        return array
    if array.dtype == np.float64 and not is_float(dtype):
        return array.astype(np.int64).astype(dtype)
    return array.astype(dtype)


def wrap_result(result: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """As `cast_result`, but whole numbers held as floats wrap if they become integers."""
    if out is None:
        return to_dtype(result, dtype)
    if result is not out:
        np.copyto(out, to_dtype(result, dtype), casting="unsafe")
    return out


def cast_result(result: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return `result` in `dtype`, written to `out` if it is given (and is not `result` itself)."""
    if out is None:
        return result if result.dtype == dtype else result.astype(dtype)
    if result is not out:
        np.copyto(out, result, casting="unsafe")
    return out


def in_float_dtype(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run a kernel of real numbers in float32 or float64: other formats are widened, and rounded back at the end."""

    def run(attrs: Attrs, data: Array, *rest: Any, out: Array | None = None) -> Any:
        dtype = data.dtype
        if dtype in BLAS:
            return kernel(attrs, data, *rest, out=out)
        work = np.dtype("float32") if is_float(dtype) else np.dtype("float64")
        result = kernel(attrs, data.astype(work), *[array.astype(work) for array in rest])
        if isinstance(result, tuple):
            targets = out if out is not None else (None,) * len(result)
            return tuple(wrap_result(part, dtype, target) for part, target in zip(result, targets, strict=True))
        return wrap_result(result, dtype, out)

    return update_wrapper(run, kernel)


def matmul(a: Array, b: Array, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """Return the matrix product of `a` and `b` (NumPy's rules) summed and returned in `dtype`."""
    if a.dtype is b.dtype is dtype and dtype in BLAS:  # the common case needs no decision
        return multiply(a, b, out=out)
    work = working_dtype(dtype, a.dtype, b.dtype)
    a, b = a.astype(work, copy=False), b.astype(work, copy=False)
    if work == dtype:
        return multiply(a, b, out=out)
    return wrap_result(multiply(a, b), dtype, out)
