"""Functions of quantized tensors: each is computed on the represented numbers, and its result is quantized.

For 8-bit data this equals a table of the function's 256 values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Relation, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.declare import Python, attrs_record, raw_kernel
from passlab.op.dtypes import Array, as_array
from passlab.op.nn.windows import on_axes, pad
from passlab.op.qnn.declare import quantized_operator
from passlab.op.qnn.scales import check_parameter, integer_input, quantize_real, real, requantize_array
from passlab.op.relations import normal_axis

Function = Callable[[Array, Any], Any]
_INPUTS = ("data", "scale", "zero_point", "output_scale", "output_zero_point")
_INPUTS_WITH_INPUT_SCALE = ("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point")


def _are_parameters_known(types: Sequence[Type], names: Sequence[str]) -> bool:
    parameters = [check_parameter(types, index, name, None, -1) for index, name in enumerate(names) if index]
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
    facts.setdefault("pattern", OpPattern.OPAQUE)
    return quantized_operator(
        name,
        inputs,
        warns=True,
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
        example=f"{name}(%q, 0.5f, 0, 0.5f, 0)",
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
    example="qnn.leaky_relu(%q, 0.5f, 0, 0.5f, 0, alpha=0.1f)",
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
    example="qnn.softmax(%q, 0.5f, 0, 0.01f, 0)",
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
    example="qnn.avg_pool2d(%q4, 0.5f, 0, 0.5f, 0, pool_size=[2, 2])",
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
