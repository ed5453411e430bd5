"""Products of matrices in BLAS, whose threads share large ones.

BLAS multiplies floats. Whole numbers go through it as well where each sum of products is exact in float32 (to 2**24) or
float64 (below 2**53). For numbers of eight bits held in int32, this takes a fortieth of the time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.op.dtypes import Array
from passlab.threads import note_product

_WORTH = 1 << 14  # products below which the cast costs more than the multiplication


def multiply(a: Any, b: Any, out: Array | None = None) -> Array:
    """Return the product of two matrices, or of stacks of them, by the rules of `numpy.matmul`.

    Integers wrap as NumPy's do.
    """
    if a.dtype.kind in "iu" and b.dtype.kind in "iu" and math.prod(a.shape) * b.shape[-1] >= _WORTH:
        return _integers(a, b, out)
    result = np.matmul(a, b, out=out)
    note_product(math.prod(result.shape[-2:]) * a.shape[-1])
    product: Array = result
    return product


def _integers(a: Array, b: Array, out: Array | None) -> Array:
    """Return a product of integers, computed in floats that hold each of its sums."""
    largest = a.shape[-1] * _magnitude(a) * _magnitude(b)
    dtype = np.result_type(a, b)
    if largest >= 1 << 53:
        wrapped: Array = np.matmul(a, b, out=out)
        return wrapped
    work = np.float32 if largest <= 1 << 24 else np.float64
    total: Array = np.matmul(a.astype(work), b.astype(work))
    note_product(math.prod(total.shape[-2:]) * a.shape[-1])
    if out is None:
        return total.astype(np.int64).astype(dtype, copy=False)
    np.copyto(out, total.astype(np.int64), casting="unsafe")
    return out


def _magnitude(array: Array) -> int:
    return max(abs(int(array.min(initial=0))), abs(int(array.max(initial=0))))
