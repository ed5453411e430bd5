"""Products of matrices with a constant weight compiled by Numba; see `numba_blocks`.

The weight (N, K) is packed once into panels of a few vectors of its rows, (panels, K, PANEL). A few rows of data and a
panel give sums in registers. A part of K is taken at a time, so that this part of a panel stays in the nearest caches
for all rows of the data, while the next part is fetched. Needs the package numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.threads import work_together
from passlab.vm.kernels.fused_product import Array, Remembered, shape_of
from passlab.vm.kernels.numba_blocks import PANEL, SUMS
from passlab.vm.kernels.numba_convolution import threads_for
from passlab.vm.kernels.numba_loops import by_panels

NOTHING = np.empty((1, 1), np.float32)


def is_matrix_product(call: Call) -> bool:
    """Whether a call on float32 multiplies matrices, of which the first has rows enough for a block."""
    rows, weight = shape_of(call.args[0]), shape_of(call.args[1])
    return len(rows) == len(weight) == 2 and rows[0] >= SUMS


def matrix_product(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    shape, (units, inputs) = shape_of(call), shape_of(call.args[1])
    panels, floor = -(-units // PANEL), np.float32(0 if relu else -np.inf)
    threads = threads_for(shape[0] * units * inputs, by_itself=False)
    weights, biases = Remembered(pack_panels), Remembered(lambda bias: _padded(bias, panels))
    no_bias = np.zeros(panels * PANEL, np.float32)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        result = np.empty(shape, np.float32) if out is None or not out.flags.c_contiguous else out
        x, factors = np.ascontiguousarray(data), weights(weight)
        added = NOTHING if other is None else np.ascontiguousarray(other)
        ending = (no_bias if bias is None else biases(bias), added, other is not None, floor)
        counter = np.zeros(1, np.int64)
        work_together(lambda: by_panels(x, factors, counter, ending, result), threads)
        if out is not None and out is not result:
            out[...] = result
        return result if out is None else out

    return compute


def pack_panels(weight: Array) -> Array:
    """Return a weight (N, K) as (panels, K, PANEL), filled up with zeros."""
    units, inputs = weight.shape
    panels = -(-units // PANEL)
    packed = np.zeros((panels * PANEL, inputs), weight.dtype)
    packed[:units] = weight
    return np.ascontiguousarray(packed.reshape(panels, PANEL, inputs).transpose(0, 2, 1))


def _padded(bias: Array, panels: int) -> Array:
    result = np.zeros(panels * PANEL, np.float32)
    result[: bias.size] = bias.reshape(-1)
    return result
