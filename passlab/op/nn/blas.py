"""Products of matrices in BLAS, whose threads share large ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.op.dtypes import Array
from passlab.threads import note_product


def multiply(a: Any, b: Any, out: Array | None = None) -> Array:
    """Return the product of two matrices, or of stacks of them, by the rules of `numpy.matmul`."""
    result = np.matmul(a, b, out=out)
    note_product(math.prod(result.shape[-2:]) * a.shape[-1])
    product: Array = result
    return product
