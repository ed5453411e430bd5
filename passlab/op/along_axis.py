"""Operations along one axis at a time, in simpler operators: products with a matrix, and selections.

Resizing, adaptive means and sums over neighbours are products with a constant matrix; borders and windows select
elements at constant indices. Gradients use these functions, which take sizes and indices, not operators' attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpCall
from passlab.op.declare import call
from passlab.op.dtypes import array_dtype

FOREVER = 2**63 - 1  # an end beyond every dimension


def number(value: Any, dtype: str) -> Constant:
    """Return numbers as a constant of `dtype`."""
    return Constant(np.asarray(value).astype(array_dtype(dtype)))


def indices(values: Any) -> Constant:
    """Return integers as a constant."""
    return Constant(np.asarray(values, np.int64))


def move_axis(data: Expr, rank: int, source: int, target: int) -> Expr:
    """Return data with one axis moved to another position."""
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return data if order == list(range(rank)) else call("transpose", data, axes=order)


def matmul_along_axis(data: Expr, rank: int, axis: int, matrix: Any, dtype: str) -> Expr:
    """Return data of a given rank and dtype, multiplied along `axis` by a matrix of shape (new size, old size)."""
    last = move_axis(data, rank, axis, rank - 1)
    if rank == 1:  # a product needs two dimensions
        last = call("expand_dims", last, axis=0)
    result = call("nn.matmul", last, number(matrix, dtype), units=None, transpose_b=True)
    if rank == 1:
        return call("squeeze", result, axis=[0])
    return move_axis(result, rank, rank - 1, axis)


def take_along(data: Expr, axis: int, positions: Any) -> Expr:
    """Return the elements of data at constant indices along `axis`."""
    return call("take", data, indices(positions), axis=axis)


def part(data: Expr, axis: int, start: int, stop: int, step: int = 1) -> Expr:
    """Return the elements of data from `start` up to `stop` along `axis`."""
    return call("strided_slice", data, begin=[start], end=[stop], strides=[step], axes=[axis])


def reshape_to(data: Expr, shape: Sequence[Any]) -> OpCall:
    """Return data in another shape, which may contain zeros and one -1."""
    return call("reshape", data, newshape=shape, allowzero=0 in shape)


def to_layout(data: Expr, source: str, target: str) -> Expr:
    """Return data in another layout."""
    return data if source == target else call("layout_transform", data, src_layout=source, dst_layout=target)
