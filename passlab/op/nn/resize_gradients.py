"""Gradients of operators that resample axis by axis: each is multiplied by a matrix, the gradient by its transpose.

The matrices result from resampling the unit vectors, so they cover every method, coordinate rule and border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.op.along_axis import matmul_along_axis, number, reshape_to
from passlab.op.autodiff import Gradient, by_definition, dtype_of, shape_of, sizes_of
from passlab.op.declare import call
from passlab.op.nn.resample import Scheme, resample


def _resample_by_matrices(
    data: Expr, axes: Sequence[int], sizes: Sequence[int], scheme: Scheme, roi: Sequence[float] | None, name: str
) -> Expr:
    """Define a resampling by products with matrices; values filled in from outside, without gradient, are zero."""
    linear, rank, result = replace(scheme, fill=0.0), len(shape_of(data)), data
    for i, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        units = np.eye(sizes_of(data, name)[axis])
        region = (roi[i], roi[i + len(axes)]) if roi else None
        matrix = resample(units, (1,), (size,), linear, region, units.dtype).T
        result = matmul_along_axis(result, rank, axis, matrix, dtype_of(data))
    return result


def resampling(name: str, plan: Any) -> Gradient:
    """Return the gradient of a resampling operator; `plan(attrs, shape)` gives axes, sizes, scheme and region."""

    def define(attrs: Attrs, data: Expr) -> Expr:
        axes, sizes, scheme, roi = plan(attrs, shape_of(data))
        result = _resample_by_matrices(data, axes, sizes, scheme, roi, name)
        result_dtype = attrs.out_dtype if "out_dtype" in attrs else ""
        return call("cast", result, dtype=result_dtype) if result_dtype and result_dtype != dtype_of(data) else result

    return by_definition(define)


def _define_affine_grid(attrs: Attrs, data: Expr) -> Expr:
    """Define `image.affine_grid`: affine matrices multiplied by the pixel coordinates of an image in -1..1."""
    batch, dtype = shape_of(data)[0], dtype_of(data)
    height, width = attrs.target_shape
    y, x = (np.arange(n) * 2 / (n - 1) - 1 if n > 1 else np.full(1, np.nan) for n in (height, width))
    ones = np.ones((height, width))
    coordinates = np.stack([ones * x, ones * y[:, None], ones]).reshape(3, -1)
    result = call("nn.dense", data, number(coordinates.T, dtype), units=None)
    return reshape_to(result, (batch if isinstance(batch, int) else -1, 2, height, width))


affine_grid = by_definition(_define_affine_grid)
