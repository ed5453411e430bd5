"""Slices, gathers and products."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from passlab import relay
from passlab.compat.topi.testing.meaning import meaning
from passlab.op.dtypes import Array, as_array


def dilate_python(input_np: Array, strides: Sequence[int], dilation_value: float = 0.0, out_dtype: Any = None) -> Array:
    """Return an array with stride - 1 times `dilation_value` between neighbours on each axis."""
    shape = [(size - 1) * stride + 1 for size, stride in zip(input_np.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    result[tuple(slice(None, None, stride) for stride in strides)] = input_np
    return result


def batch_matmul(x: Array, y: Array, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True) -> Array:
    """Return the products of matrices; y's are transposed by default."""
    left = x.swapaxes(1, 2) if trans_x else x
    right = y.swapaxes(1, 2) if trans_y else y
    dtype = out_dtype or x.dtype
    return as_array(np.matmul(left.astype(dtype), right.astype(dtype)))


def dense(
    x: Array, y: Array, bias: Any = None, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None
) -> Array:
    """Return x times the transpose of y, optionally with a bias and a relu."""
    dtype = out_dtype or x.dtype
    result = x.astype(dtype) @ y.astype(dtype).T
    if use_bias:
        result = result + bias
    return as_array(np.maximum(result, 0)) if use_relu else result


def gather_python(data: Array, axis: int, indices: Any) -> Array:
    """Return the elements at indices of the same rank along one axis."""
    return np.take_along_axis(data, indices, axis)


def gather_nd_python(a_np: Array, indices_np: Array) -> Array:
    """Return the elements or slices whose indices are the columns of `indices_np`."""
    return as_array(a_np[tuple(indices_np)])


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Array:
    """Return `on_value` where the new axis is the index, and `off_value` elsewhere."""
    hot = np.arange(depth) == np.asarray(indices)[..., None]
    return np.moveaxis(np.where(hot, on_value, off_value).astype(dtype), -1, axis)


def matrix_set_diag(input_np: Array, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Array:
    """Return matrices with their diagonals replaced."""
    return meaning(lambda x, d: relay.matrix_set_diag(x, d, k, align), input_np, diagonal)


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: str) -> Array:
    """Return the insertion indices of values in sorted rows."""
    side: Any = "right" if right else "left"
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    sought = values.reshape(len(rows), -1) if sorted_sequence.ndim > 1 else values.reshape(1, -1)
    positions = [np.searchsorted(row, value, side) for row, value in zip(rows, sought, strict=True)]
    return np.stack(positions).reshape(values.shape).astype(out_dtype)


def sequence_mask(data: Array, valid_length: Any, mask_value: float, axis: int) -> Array:
    """Return sequences with `mask_value` after their ends."""
    positions = np.arange(data.shape[axis]).reshape([-1 if at == axis else 1 for at in range(data.ndim)])
    lengths = valid_length.reshape([-1 if at == 1 - axis else 1 for at in range(data.ndim)])
    return np.where(positions < lengths, data, np.asarray(mask_value, data.dtype))


def slice_axis_python(data: Array, axis: int, begin: int, end: int | None = None) -> Array:
    """Return a slice on one axis."""
    return data[(slice(None),) * (axis % data.ndim) + (slice(begin, end),)]


def strided_slice_python(
    data: Array,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None,
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> Array:
    """Return a slice on the first axes, or on `axes`; with mode "size", `end` holds lengths, and -1 means all."""
    slices = [slice(None)] * data.ndim
    for at, (axis, first) in enumerate(zip(axes if axes is not None else range(len(begin)), begin, strict=True)):
        last = end[at] if at < len(end) else None
        if slice_mode == "size":
            last = None if last is None or last < 0 else first + last
        step = strides[at] if slice_mode == "end" and strides is not None and at < len(strides) else None
        slices[axis] = slice(first, last, step)
    return data[tuple(slices)]


def strided_set_python(
    data: Array, v: Array, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None
) -> Array:
    """Return an array with a slice of it replaced."""
    result = data.copy()
    steps = () if strides is None else strides
    result[tuple(slice(*bounds) for bounds in zip_longest(begin, end, steps))] = v
    return result
