"""Sums, differences, products and concatenations of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import IncompleteType, TensorType, TupleType, Type
from passlab.op import layout_rules
from passlab.op.declare import Python
from passlab.op.dtypes import Array, as_array
from passlab.op.fields import attrs, integer
from passlab.op.join import CONCATENATE, concatenate_type
from passlab.op.qnn.declare import quantized_operator
from passlab.op.qnn.scales import along, check_parameter, requantize_array, rescale, saturate
from passlab.op.relations import broadcast_shape, refuse, same_dtype, tensor

BROADCAST = attrs(
    "BroadcastAttrs",
    integer("lhs_axis", -1, doc="the dimension along which the scales of lhs vary"),
    integer("rhs_axis", -1, doc="the dimension along which the scales of rhs vary"),
)
INPUTS = (
    "lhs",
    "rhs",
    "lhs_scale",
    "lhs_zero_point",
    "rhs_scale",
    "rhs_zero_point",
    "output_scale",
    "output_zero_point",
)
Combine = Callable[[Array, Array, tuple[Array, ...], Any], Array]


def _binary_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    lhs, rhs = tensor(types, 0, "lhs"), tensor(types, 1, "rhs")  # of any dtype, as in Relay; the kernel is stricter
    scaled_tensors = (lhs, lhs, rhs, rhs, None, None)
    axes = (attrs.lhs_axis, attrs.lhs_axis, attrs.rhs_axis, attrs.rhs_axis, -1, -1)
    parameters = [check_parameter(types, 2 + i, INPUTS[2 + i], scaled_tensors[i], axes[i]) for i in range(6)]
    if lhs is None or rhs is None or not all(parameters):
        return None
    same_dtype(lhs, rhs)
    return TensorType(broadcast_shape(lhs, rhs), lhs.dtype)


def _scale_pairs(parameters: tuple[Array, ...]) -> list[tuple[Array, Array]]:
    """Return the pairs of scale and zero point of lhs, of rhs and of the result."""
    return [(parameters[i], parameters[i + 1]) for i in (0, 2, 4)]


def _sum(sign: int) -> Combine:
    def combine(lhs: Array, rhs: Array, parameters: tuple[Array, ...], attrs: Attrs) -> Array:
        left, right, target = _scale_pairs(parameters)
        parts = (
            requantize_array(lhs, left, target, "int32", attrs.lhs_axis),
            requantize_array(rhs, right, target, "int32", attrs.rhs_axis),
        )
        return as_array(parts[0].astype(np.int64) + sign * parts[1].astype(np.int64) - sign * target[1])

    return combine


def _scaled_product(lhs: Array, rhs: Array, parameters: tuple[Array, ...], attrs: Attrs) -> Array:
    left, right, target = _scale_pairs(parameters)
    centered = (lhs.astype(np.int64) - along(left[1], attrs.lhs_axis, lhs.ndim)) * (
        rhs.astype(np.int64) - along(right[1], attrs.rhs_axis, rhs.ndim)
    )
    ratio = along(left[0], attrs.lhs_axis, lhs.ndim) * along(right[0], attrs.rhs_axis, rhs.ndim) / target[0].reshape(())
    return rescale(centered, as_array(ratio)) + target[1]


def _binary_op(name: str, combine: Combine, doc: str) -> Op:

    def kernel(attrs: Attrs, lhs: Array, rhs: Array, *parameters: Array) -> Array:
        if lhs.dtype.kind not in "iu":
            refuse("lhs must be quantized", 0, expected="an integer dtype", found=lhs.dtype)
        return saturate(combine(lhs, rhs, parameters, attrs), lhs.dtype.name)

    return quantized_operator(
        name,
        INPUTS,
        attrs=BROADCAST,
        layout=layout_rules.rescale_pair,
        relation=_binary_type,
        pattern=OpPattern.BROADCAST,
        doc=doc,
        shapes="lhs and rhs, which broadcast to S -> S; scales and zero points ()",
        edge_cases=(
            f"{name}(%q: (2, 3) int8, %r: (2, 3) int8, 0.25f, 1, 0.125f, -2, 0.5f, 3)",
            f"{name}(%q: (2, 1) uint8, %r: (3) uint8, 0.25f, 128, 0.125f, 7, 0.5f, 30)",
            f"{name}(%q: (0, 3) int8, %r: (0, 3) int8, 0.25f, 1, 0.125f, -2, 0.5f, 3)",
        ),
        example=f"{name}(%q, %q, 0.5f, 0, 0.5f, 0, 0.5f, 0)",
    )(kernel)


add = _binary_op("qnn.add", _sum(1), "The sums of quantized tensors that broadcast, quantized again.")
subtract = _binary_op("qnn.subtract", _sum(-1), "The differences of quantized tensors that broadcast, quantized again.")
mul = _binary_op("qnn.mul", _scaled_product, "The products of quantized tensors that broadcast, quantized again.")


# ---------------------------------------------------------------- concatenate
def _concatenate_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    result = concatenate_type(types, attrs, reporter)
    count = len(types[0].fields) if isinstance(types[0], TupleType) else None
    for index, name in ((1, "input_scales"), (2, "input_zero_points")):
        ty = types[index]
        if isinstance(ty, IncompleteType):
            return None
        if not isinstance(ty, TupleType) or (count is not None and len(ty.fields) != count):
            refuse(f"{name} must be a tuple with one for each tensor", index, expected=count, found=ty)
    outputs = ((3, "output_scale"), (4, "output_zero_point"))
    parameters = [check_parameter(types, index, name, None, -1) for index, name in outputs]
    return result if all(parameters) else None


@quantized_operator(
    "qnn.concatenate",
    ("data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"),
    attrs=CONCATENATE,
    relation=_concatenate_type,
    pattern=OpPattern.INJECTIVE,
    python=Python("data, input_scales, input_zero_points, output_scale, output_zero_point, axis"),
    shapes="quantized tensors, a tuple of scales, a tuple of zero points -> joined along axis",
    edge_cases=(
        "qnn.concatenate((%q: (2, 3) int8, %r: (2, 1) int8), (0.5f, 0.25f), (1, 2), 0.25f, 3, axis=-1)",
        "qnn.concatenate((%q: (0, 3) uint8, %r: (2, 3) uint8), (0.5f, 0.5f), (1, 1), 0.5f, 1)",
    ),
    example="qnn.concatenate((%q, %q), (0.5f, 0.5f), (0, 0), 0.5f, 0)",
    layout=layout_rules.join,
)
def concatenate(
    attrs: Attrs,
    data: tuple[Array, ...],
    input_scales: tuple[Array, ...],
    input_zero_points: tuple[Array, ...],
    output_scale: Array,
    output_zero_point: Array,
) -> Array:
    """Join quantized tensors along one dimension, each converted to the scale of the result."""
    target = (output_scale, output_zero_point)
    sources = zip(data, input_scales, input_zero_points, strict=True)
    return np.concatenate(
        [requantize_array(part, (s, z), target, part.dtype.name) for part, s, z in sources], attrs.axis
    )
