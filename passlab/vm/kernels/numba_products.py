"""Products of matrices compiled by Numba; see `numba_blocks`.

A constant weight (N, K) is packed once into panels of PANEL of its rows, (panels, K, PANEL). The products of a few rows
of data with a panel are summed in registers. K is split, so that one part of a panel stays in the nearest cache for all
rows of the data while the next part is prefetched. Of two matrices that change, the second is packed block by block
while the product is computed. Needs the package numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.ir.op import op_name
from passlab.threads import PIECES
from passlab.vm.kernels.fused_product import Array, FrozenCache, shape_of
from passlab.vm.kernels.numba_blocks import BLOCK_ROWS, PANEL
from passlab.vm.kernels.numba_channels import groups_of, pack_bias
from passlab.vm.kernels.numba_convolution import threads_for, write_result
from passlab.vm.kernels.numba_images import multiply_batches
from passlab.vm.kernels.numba_loops import multiply_panels
from passlab.vm.kernels.numba_tiles import WIDE
from passlab.vm.kernels.numba_waiting import share_pieces

NO_ADDEND = np.empty((1, 1), np.float32)
FEWEST_ROWS = 4  # of a product of changing matrices: for fewer, packing the second one does not pay
FEWEST_PRODUCTS = 1 << 15  # multiplications of it: NumPy is faster for fewer


def is_matrix_product(call: Call) -> bool:
    """Whether a call on float32 multiplies matrices, the first with enough rows for a block."""
    rows, weight = shape_of(call.args[0]), shape_of(call.args[1])
    return len(rows) == len(weight) == 2 and rows[0] >= BLOCK_ROWS


def matrix_product(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    shape, (units, inputs) = shape_of(call), shape_of(call.args[1])
    panels, floor = -(-units // PANEL), np.float32(0 if relu else -np.inf)
    threads = threads_for(shape[0] * units * inputs, depthwise=False)
    weights, biases = FrozenCache(pack_panels), FrozenCache(lambda bias: pack_bias(bias, 1, PANEL).reshape(-1))
    no_bias = np.zeros(panels * PANEL, np.float32)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        x, packed = np.ascontiguousarray(data), weights(weight)
        addend = NO_ADDEND if other is None else np.ascontiguousarray(other)
        epilogue = (no_bias if bias is None else biases(bias), addend, other is not None, floor)

        def write(result: Array) -> None:
            share_pieces(lambda counter: multiply_panels(x, packed, counter, epilogue, result), threads)

        return write_result(out, shape, write)

    return compute


def _matrices(call: Call) -> tuple[tuple[int, int, int], int, tuple[bool, bool]]:
    """Return samples, rows and columns of a product, the products in each sum, and which factors are transposed."""
    attrs: Any = call.attrs
    data, shape = shape_of(call.args[0]), shape_of(call)
    if op_name(call) == "nn.dense":
        return (1, shape[0], shape[1]), data[1], (False, False)
    return (
        (shape[0], shape[1], shape[2]),
        data[1 if attrs.transpose_a else 2],
        (attrs.transpose_a, not attrs.transpose_b),
    )


def is_changing_product(call: Call) -> bool:
    """Whether a call on float32 multiplies matrices, of one sample or many, that are large enough to be packed."""
    if not (op_name(call) == "nn.batch_matmul" or (op_name(call) == "nn.dense" and len(shape_of(call)) == 2)):
        return False
    shape, depth, _ = _matrices(call)
    return shape[1] >= FEWEST_ROWS and math.prod(shape) * depth >= FEWEST_PRODUCTS


def changing_product(call: Call) -> Callable[..., Any]:
    """Return a function (data, weight, out) of arrays, of which the last may be None; the weight may change."""
    shape, depth, turns = _matrices(call)
    threads, groups = threads_for(math.prod(shape) * depth, depthwise=False), groups_of(shape[1])
    parts = 1 if threads == 1 else max(1, min(-(-shape[2] // WIDE), -(-threads * PIECES // shape[0])))

    def compute(data: Any, weight: Any, out: Any = None) -> Any:
        factors = [m if m.ndim == 3 else m[None] for m in (data, weight)]
        x, w = (m.transpose(0, 2, 1) if turned else m for m, turned in zip(factors, turns, strict=True))

        def write(result: Array) -> None:
            whole = result.reshape(shape)
            share_pieces(lambda counter: multiply_batches(x, w, (*groups, parts, counter), whole), threads)

        return write_result(out, shape_of(call), write)

    return compute


def pack_panels(weight: Array) -> Array:
    """Return a weight (N, K) as (panels, K, PANEL), padded with zeros."""
    units, inputs = weight.shape
    panels = -(-units // PANEL)
    packed = np.zeros((panels * PANEL, inputs), weight.dtype)
    packed[:units] = weight
    return np.ascontiguousarray(packed.reshape(panels, PANEL, inputs).transpose(0, 2, 1))
