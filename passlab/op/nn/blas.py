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
    work = _exact_floats(a, b)
    if work is None:
        result = np.matmul(a, b, out=out)
    else:
        total = np.matmul(a.astype(work), b.astype(work)).astype(np.int64)
        result = total.astype(np.result_type(a, b), copy=False) if out is None else out
        if out is not None:
            np.copyto(out, total, casting="unsafe")
    note_product(math.prod(result.shape[-2:]) * a.shape[-1])
    product: Array = result
    return product


def _exact_floats(a: Array, b: Array) -> type | None:
    """Return floats that hold each sum of a product of integers; None where the integers themselves are as good."""
    if a.dtype.kind not in "iu" or b.dtype.kind not in "iu" or math.prod(a.shape) * b.shape[-1] < _WORTH:
        return None
    largest = a.shape[-1] * _magnitude(a) * _magnitude(b)
    if largest <= 1 << 24:
        return np.float32
    return np.float64 if largest < 1 << 53 else None


def _magnitude(array: Array) -> int:
    return max(abs(int(array.min(initial=0))), abs(int(array.max(initial=0))))
