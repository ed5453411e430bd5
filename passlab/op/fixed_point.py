"""Multiplication of integers by fixed-point numbers: the arithmetic of quantized programs.

A multiplier is a number in [0.5, 1) in units of 2^-31, together with a power of two. Halves round up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, integer, integers
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import operator
from passlab.op.dtypes import Array, as_array
from passlab.op.gather import index_tensor
from passlab.op.relations import normal_axes, refuse

FRACTION_BITS = 31


def fixed_point_product(data: Array, multiplier: Any, left: Any, right: Any) -> Array:
    """Return `data * 2^left * multiplier * 2^-31 * 2^-right` in int64, rounded with halves up."""
    wide = np.left_shift(data.astype(np.int64), left) * multiplier
    total = np.add(FRACTION_BITS, right, dtype=np.int64)
    # adding a half before the shift, which rounds down, rounds halves up
    return as_array(np.right_shift(wide + np.left_shift(np.int64(1), total - 1), total))


def _multiply_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    ty: Type | None = index_tensor(types, 0, "data")
    if not 0 < 31 - attrs.shift < 63 or attrs.shift > 31:
        refuse("the shift is too large", expected="-31..30", found=attrs.shift)
    return ty


@operator(
    "fixed_point_multiply",
    ("data",),
    attrs=attrs(
        "FixedPointMultiplyAttrs",
        integer("multiplier", doc="in units of 2^-31"),
        integer("shift", doc="the power of two"),
    ),
    relation=_multiply_type,
    pattern=OpPattern.ELEMWISE,
    gradient=zero_gradient,
    shapes="S -> S",
    source="gemmlowp's fixed-point multiplication, halves rounded up",
    edge_cases=(
        "fixed_point_multiply(%x: (2, 3) int32, multiplier=1073741824, shift=1)",
        "fixed_point_multiply(%x: () int32, multiplier=1395864371, shift=-2)",
        "fixed_point_multiply(%x: (0, 3) int32, multiplier=1, shift=0)",
    ),
    layout=layout_rules.elementwise,
)
def fixed_point_multiply(attrs: Attrs, data: Array) -> Array:
    """`data * multiplier * 2^(shift - 31)`, rounded with halves up."""
    left, right = max(attrs.shift, 0), max(-attrs.shift, 0)
    return fixed_point_product(data, np.int64(attrs.multiplier), left, right).astype(data.dtype)


def _per_axis_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = index_tensor(types, 0, "data")
    if data is None:
        return None
    axes = normal_axes(attrs.axes, len(data.shape), "axes")
    for index, name in enumerate(("fp_multiplier", "left_shift", "right_shift"), start=1):
        factor = index_tensor(types, index, name)
        if factor is not None and len(factor.shape) != len(axes):
            refuse(f"{name} must have one dimension for each of axes", index, expected=len(axes), found=factor)
    ty: Type = data
    return ty


@operator(
    "fixed_point_multiply_per_axis",
    ("data", "fp_multiplier", "left_shift", "right_shift"),
    attrs=attrs(
        "FixedPointMultiplyPerAxisAttrs",
        boolean("is_lshift_required", False, doc="whether any left shift is nonzero"),
        boolean("is_rshift_required", False, doc="whether any right shift is nonzero"),
        integers("axes", doc="the dimensions of data along which multiplier and shifts vary"),
    ),
    relation=_per_axis_type,
    pattern=OpPattern.BROADCAST,
    gradient=zero_gradient,
    shapes="data S, vectors of S[axes] -> S",
    source="gemmlowp's fixed-point multiplication, halves rounded up",
    edge_cases=(
        (
            "fixed_point_multiply_per_axis(%x: (2, 3) int32, %m: (2) int32 = [1073741824, 1395864371], "
            "%l: (2) int32 = [0, 1], %r: (2) int32 = [2, 0], is_lshift_required=True, is_rshift_required=True, "
            "axes=[0])"
        ),
        (
            "fixed_point_multiply_per_axis(%x: (0, 2) int32, %m: (2) int32 = [1, 2], %l: (2) int32 = [0, 1], "
            "%r: (2) int32 = [2, 0], axes=[1])"
        ),
    ),
)
def fixed_point_multiply_per_axis(
    attrs: Attrs, data: Array, fp_multiplier: Array, left_shift: Array, right_shift: Array
) -> Array:
    """`data * 2^left_shift * fp_multiplier * 2^-31 * 2^-right_shift`, halves rounded up, with factors along `axes`."""
    axes = [axis % data.ndim for axis in attrs.axes]
    order = np.argsort(axes)

    def align(factor: Array) -> Array:
        transposed = factor.transpose(order.tolist()).astype(np.int64)
        sizes = iter(transposed.shape)
        return transposed.reshape([next(sizes) if axis in axes else 1 for axis in range(data.ndim)])

    left = align(left_shift) if attrs.is_lshift_required else 0
    right = align(right_shift) if attrs.is_rshift_required else 0
    return fixed_point_product(data, align(fp_multiplier), left, right).astype(data.dtype)
