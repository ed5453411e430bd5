"""Products of matrices with a constant weight compiled by Numba; see `numba_blocks`.

The weight (N, K) is packed once into panels of PANEL of its rows, (panels, K, PANEL). The products of a few rows of
data with a panel are summed in registers. K is split, so that one part of a panel stays in the nearest caches for all
rows of the data while the next part is prefetched. Needs the package numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.threads import work_together
from passlab.vm.kernels.fused_product import Array, FrozenCache, shape_of
from passlab.vm.kernels.numba_blocks import BLOCK_ROWS, PANEL
from passlab.vm.kernels.numba_convolution import threads_for, write_result
from passlab.vm.kernels.numba_loops import multiply_panels

NO_ADDEND = np.empty((1, 1), np.float32)


def is_matrix_product(call: Call) -> bool:
    """Whether a call on float32 multiplies matrices, the first with enough rows for a block."""
    rows, weight = shape_of(call.args[0]), shape_of(call.args[1])
    return len(rows) == len(weight) == 2 and rows[0] >= BLOCK_ROWS


def matrix_product(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    shape, (units, inputs) = shape_of(call), shape_of(call.args[1])
    panels, floor = -(-units // PANEL), np.float32(0 if relu else -np.inf)
    threads = threads_for(shape[0] * units * inputs, depthwise=False)
    weights, biases = FrozenCache(pack_panels), FrozenCache(lambda bias: _pad_bias(bias, panels))
    no_bias = np.zeros(panels * PANEL, np.float32)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        x, packed, counter = np.ascontiguousarray(data), weights(weight), np.zeros(1, np.int64)
        addend = NO_ADDEND if other is None else np.ascontiguousarray(other)
        epilogue = (no_bias if bias is None else biases(bias), addend, other is not None, floor)

        def write(result: Array) -> None:
            work_together(lambda: multiply_panels(x, packed, counter, epilogue, result), threads)

        return write_result(out, shape, write)

    return compute


def pack_panels(weight: Array) -> Array:
    """Return a weight (N, K) as (panels, K, PANEL), padded with zeros."""
    units, inputs = weight.shape
    panels = -(-units // PANEL)
    packed = np.zeros((panels * PANEL, inputs), weight.dtype)
    packed[:units] = weight
    return np.ascontiguousarray(packed.reshape(panels, PANEL, inputs).transpose(0, 2, 1))


def _pad_bias(bias: Array, panels: int) -> Array:
    result = np.zeros(panels * PANEL, np.float32)
    result[: bias.size] = bias.reshape(-1)
    return result
