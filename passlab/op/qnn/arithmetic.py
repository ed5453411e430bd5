"""Sums, differences, products and concatenations of quantized tensors, and functions of one such tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Relation, Reporter
from passlab.ir.types import IncompleteType, TensorType, TupleType, Type, tensor_types
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, integer
from passlab.op.concatenate import CONCATENATE, concatenate_type
from passlab.op.declare import Python, attrs_record, raw_kernel
from passlab.op.dtypes import Array, as_array
from passlab.op.nn.window_sizes import on_axes, pad
from passlab.op.qnn.declare import quantized_operator
from passlab.op.qnn.scales import (
    along,
    check_parameter,
    check_scale,
    integer_input,
    quantize_real,
    real,
    requantize_array,
    rescale,
    saturate,
)
from passlab.op.relations import broadcast_shape, normal_axis, refuse, same_dtype, tensor

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
    axes = (attrs.lhs_axis, attrs.lhs_axis, attrs.rhs_axis, attrs.rhs_axis, None, None)
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
        for field in tensor_types(ty):
            check_scale(field, index, name.removesuffix("s"))
    outputs = ((3, "output_scale"), (4, "output_zero_point"))
    parameters = [check_parameter(types, index, name) for index, name in outputs]
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


# ---------------------------------------------------------------- functions
# Functions of quantized tensors: each is computed on the represented numbers, and its result is quantized. For 8-bit
# data this equals a table of the function's 256 values.
Function = Callable[[Array, Any], Any]
_INPUTS = ("data", "scale", "zero_point", "output_scale", "output_zero_point")
_INPUTS_WITH_INPUT_SCALE = ("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point")


def _are_parameters_known(types: Sequence[Type], names: Sequence[str]) -> bool:
    parameters = [check_parameter(types, index, name) for index, name in enumerate(names) if index]
    return all(parameters)


def _identity(names: Sequence[str]) -> Relation:
    """Return the relation whose result has the type of the data, once the types of all inputs are known."""

    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        data = integer_input(types, 0)
        return data if _are_parameters_known(types, names) else None

    return relation


def _quantized_kernel(function: Function) -> Callable[..., Any]:
    def kernel(attrs: Attrs, data: Array, *parameters: Array) -> Array:
        scale, zero_point, output_scale, output_zero_point = parameters
        result = as_array(function(real(data, scale, zero_point), attrs)).astype(np.float32)
        return quantize_real(result, output_scale, output_zero_point, data.dtype.name)

    return kernel


def _quantized(name: str, inputs: Sequence[str], function: Function, signature: str, **facts: Any) -> Op:
    """Declare the quantized form of a function of real numbers."""
    return quantized_operator(
        name,
        inputs,
        silenced=True,
        python=Python(signature, names={"x": "data"}),
        **facts,
    )(_quantized_kernel(function))


def _pointwise(name: str, function: Function, doc: str, pattern: OpPattern = OpPattern.OPAQUE) -> Op:
    return _quantized(
        name,
        _INPUTS,
        function,
        "x, scale, zero_point, output_scale, output_zero_point",
        relation=_identity(_INPUTS),
        layout=layout_rules.rescale,
        pattern=pattern,
        doc=doc,
        shapes="S -> S; scales and zero points ()",
        edge_cases=(
            *(f"{name}(%q: ({dims}) int8, 0.25f, 1, 0.125f, 3)" for dims in ("2, 3", "", "0, 3")),
            f"{name}(%q: (2, 3) uint8, 0.25f, 128, 0.125f, 7)",
        ),
    )


def _on_real(name: str) -> Function:
    """Return the function that the operator `name` computes on floats."""
    return lambda data, attrs: raw_kernel(name)(attrs, data)


abs_ = _pointwise("qnn.abs", _on_real("abs"), "The absolute values of quantized numbers, quantized again.")
exp = _pointwise("qnn.exp", _on_real("exp"), "The exponentials of quantized numbers, quantized again.")
log = _pointwise("qnn.log", _on_real("log"), "The natural logarithms of quantized numbers, quantized again.")
sqrt = _pointwise("qnn.sqrt", _on_real("sqrt"), "The square roots of quantized numbers, quantized again.")
rsqrt = _pointwise("qnn.rsqrt", _on_real("rsqrt"), "One over the square roots of quantized numbers, quantized again.")
erf = _pointwise("qnn.erf", _on_real("erf"), "The error function of quantized numbers, quantized again.")
sigmoid = _pointwise("qnn.sigmoid", _on_real("sigmoid"), "The logistic function of quantized numbers, quantized again.")
tanh = _pointwise(
    "qnn.tanh", _on_real("tanh"), "The hyperbolic tangents of quantized numbers, quantized again.", OpPattern.ELEMWISE
)
hardswish = _pointwise(
    "qnn.hardswish",
    lambda data, attrs: data * np.clip(data + 3, 0, 6) / 6,
    "x * min(max(x + 3, 0), 6) / 6 of quantized numbers, quantized again.",
)


# ---------------------------------------------------------------- functions with attributes
leaky_relu = _quantized(
    "qnn.leaky_relu",
    _INPUTS_WITH_INPUT_SCALE,
    lambda data, attrs: np.where(data < 0, data * np.float32(attrs.alpha), data),
    "x, alpha, input_scale, input_zero_point, output_scale, output_zero_point",
    attrs=attrs_record("nn.leaky_relu"),
    relation=_identity(_INPUTS_WITH_INPUT_SCALE),
    doc="Quantized numbers, those below zero times `alpha`, quantized again.",
    shapes="S -> S, scales and zero points ()",
    edge_cases=(
        "qnn.leaky_relu(%q: (2, 3) int8, 0.25f, 1, 0.125f, 3, alpha=0.1f)",
        "qnn.leaky_relu(%q: (2, 3) uint8, 0.25f, 128, 0.125f, 7, alpha=0.1f)",
        "qnn.leaky_relu(%q: () int8, 0.25f, 1, 0.125f, 3, alpha=0.1f)",
        "qnn.leaky_relu(%q: (0, 3) int8, 0.25f, 1, 0.125f, 3, alpha=0.1f)",
    ),
    layout=layout_rules.rescale,
)


def _softmax_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = integer_input(types, 0)
    if data is not None:
        normal_axis(attrs.axis, len(data.shape))
    return data if _are_parameters_known(types, _INPUTS) else None


softmax = _quantized(
    "qnn.softmax",
    _INPUTS,
    _on_real("nn.softmax"),
    "x, scale, zero_point, output_scale, output_zero_point, axis=-1",
    attrs=attrs_record("nn.softmax"),
    relation=_softmax_type,
    doc="The softmax of quantized numbers along one dimension, quantized again.",
    shapes="S -> S, scales and zero points ()",
    edge_cases=(
        "qnn.softmax(%q: (2, 3) int8, 0.25f, 1, 0.125f, 3, axis=-1)",
        "qnn.softmax(%q: (2, 3) uint8, 0.25f, 128, 0.125f, 7, axis=-1)",
        "qnn.softmax(%q: (0, 3) int8, 0.25f, 1, 0.125f, 3, axis=-1)",
    ),
    layout=layout_rules.along(),
)


# ---------------------------------------------------------------- avg_pool2d
def _pool_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = integer_input(types, 0)
    if data is None or not _are_parameters_known(types, _INPUTS_WITH_INPUT_SCALE):
        return None
    result = Op.get("nn.avg_pool2d").spec.relation([TensorType(data.shape, "int32")], attrs, reporter)
    return TensorType(result.shape, data.dtype) if isinstance(result, TensorType) else None


@quantized_operator(
    "qnn.avg_pool2d",
    _INPUTS_WITH_INPUT_SCALE,
    attrs=attrs_record("nn.avg_pool2d"),
    relation=_pool_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    non_computational=False,
    python=Python(
        "data, input_scale, input_zero_point, output_scale, output_zero_point, pool_size, "
        "strides, padding, dilation, ceil_mode=False, count_include_pad=True, layout='NHWC', "
        "out_layout=''",
        pool_size=on_axes(2),
        strides=on_axes(2),
        padding=pad(2),
        dilation=on_axes(2),
    ),
    shapes="(N, C, H, W) -> (N, C, windows)",
    edge_cases=(
        "qnn.avg_pool2d(%q: (1, 2, 4, 4) int8, 0.5f, 1, 0.5f, 1, pool_size=[2, 2], strides=[2, 2])",
        "qnn.avg_pool2d(%q: (1, 2, 4, 4) uint8, 0.5f, 128, 0.25f, 3, pool_size=[2, 2])",
    ),
    layout=layout_rules.OneLayout(),
)
def avg_pool2d(
    attrs: Attrs,
    data: Array,
    input_scale: Array,
    input_zero_point: Array,
    output_scale: Array,
    output_zero_point: Array,
) -> Array:
    """The means of windows of a quantized tensor, truncated to integers, in the scale of the result."""
    means = raw_kernel("nn.avg_pool2d")(attrs, data.astype(np.int32))
    source, target = (input_scale, input_zero_point), (output_scale, output_zero_point)
    return requantize_array(means, source, target, data.dtype.name)
