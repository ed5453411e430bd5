"""Quantized operators: integers with scales and zero points; some are computed on floats between conversions."""

from __future__ import annotations

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.operators.neural import along_axis, onnx_padding, per_axis
from passlab.frontend.onnx.export.table import exports
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall

FLOAT_OPERATORS = {
    "qnn.add": "Add",
    "qnn.subtract": "Sub",
    "qnn.mul": "Mul",
    "qnn.sigmoid": "Sigmoid",
    "qnn.tanh": "Tanh",
    "qnn.exp": "Exp",
    "qnn.sqrt": "Sqrt",
    "qnn.erf": "Erf",
    "qnn.log": "Log",
    "qnn.abs": "Abs",
    "qnn.hardswish": "HardSwish",
}


def _axis(e: GraphEmitter, data: Expr, scale: Expr, axis: int) -> int | None:
    """Return the axis along which scales vary, None for a single scale."""
    return None if e.rank(scale) == 0 else axis % max(e.rank(data), 1)


@exports("qnn.quantize")
def quantize(e: GraphEmitter, call: OpCall, data: str, scale: str, zero: str) -> str:
    """QuantizeLinear."""
    attrs = call.attrs
    return quantize_floats(e, data, scale, zero, attrs.out_dtype, _axis(e, call.args[0], call.args[1], attrs.axis))


def quantize_floats(e: GraphEmitter, data: str, scale: str, zero: str, dtype: str, axis: int | None) -> str:
    """Return floats as integers of a dtype."""
    if dtype == "int32":
        e.refuse("ONNX quantizes to 8 or 16 bits")
    return e.node("QuantizeLinear", [data, scale, e.cast(zero, dtype)], axis=axis)


@exports("qnn.dequantize")
def dequantize(e: GraphEmitter, call: OpCall, data: str, scale: str, zero: str) -> str:
    """DequantizeLinear."""
    axis = _axis(e, call.args[0], call.args[1], call.attrs.axis)
    return dequantize_integers(e, data, e.type(call.args[0]).dtype, scale, zero, axis)


def dequantize_integers(e: GraphEmitter, data: str, dtype: str, scale: str, zero: str, axis: int | None) -> str:
    """Return integers of a dtype as floats; ONNX requires the zero point 0 for int32, so it is subtracted before."""
    if dtype == "int32":
        if axis is not None:
            e.refuse("int32 with a zero point for each channel has no counterpart")
        return e.node("DequantizeLinear", [e.node("Sub", [data, zero]), scale])
    return e.node("DequantizeLinear", [data, scale, e.cast(zero, dtype)], axis=axis)


@exports("qnn.requantize")
def requantize(e: GraphEmitter, call: OpCall, data: str, scale: str, zero: str, out_scale: str, out_zero: str) -> str:
    """Through floats."""
    axis = _axis(e, call.args[0], call.args[1], call.attrs.axis)
    if axis is None:
        wide = dequantize_integers(e, data, e.type(call.args[0]).dtype, scale, zero, None)
    else:
        difference = e.cast(e.node("Sub", [e.cast(data, "int32"), e.cast(zero, "int32")]), "float32")
        wide = e.node("Mul", [difference, along_axis(e, scale, axis, e.rank(call.args[0]))])
    return quantize_floats(e, wide, out_scale, out_zero, call.attrs.out_dtype, None)


@exports(*FLOAT_OPERATORS)
def through_floats(e: GraphEmitter, call: OpCall, *inputs: str) -> str:
    """The operator on floats, between DequantizeLinear and QuantizeLinear."""
    count = 2 if op_name(call) in ("qnn.add", "qnn.subtract", "qnn.mul") else 1
    attrs = call.attrs
    axes = (getattr(attrs, "lhs_axis", -1), getattr(attrs, "rhs_axis", -1))
    operands = []
    # Relay's inputs: the operands, the scale and zero point of each, and those of the result.
    for i in range(count):
        scale, zero = inputs[count + 2 * i : count + 2 * i + 2]
        axis = _axis(e, call.args[i], call.args[count + 2 * i], axes[i])
        operands.append(dequantize_integers(e, inputs[i], e.type(call.args[i]).dtype, scale, zero, axis))
    result = e.node(FLOAT_OPERATORS[op_name(call)], operands)
    return quantize_floats(e, result, inputs[-2], inputs[-1], e.type(call).dtype, None)


@exports("qnn.concatenate")
def concatenate(e: GraphEmitter, call: OpCall, data: list[str], scales: list[str], zeros: list[str], *out: str) -> str:
    """Concat of floats, between DequantizeLinear and QuantizeLinear."""
    dtype = e.type(call).dtype
    parts = [dequantize_integers(e, part, dtype, s, z, None) for part, s, z in zip(data, scales, zeros, strict=True)]
    return quantize_floats(e, e.node("Concat", parts, axis=call.attrs.axis), out[0], out[1], dtype, None)


def _zero_points(e: GraphEmitter, call: OpCall, *zeros: str) -> list[str]:
    """Return the zero points in the dtypes of the operands, which must have 8 bits."""
    dtypes = [e.type(arg).dtype for arg in call.args[:2]]
    if any(dtype not in ("int8", "uint8") for dtype in dtypes):
        e.refuse("ONNX multiplies integers of 8 bits")
    return [e.cast(zero, dtype) for zero, dtype in zip(zeros, dtypes, strict=True)]


@exports("qnn.conv2d")
def conv(e: GraphEmitter, call: OpCall, data: str, weight: str, zero: str, weight_zero: str, *scales: str) -> str:
    """ConvInteger."""
    attrs = call.attrs
    zeros = _zero_points(e, call, zero, weight_zero)
    if attrs.data_layout != "NCHW" or attrs.kernel_layout != "OIHW":
        e.refuse("quantized convolutions are written for the layouts NCHW and OIHW")
    return e.node(
        "ConvInteger",
        [data, weight, *zeros],
        pads=onnx_padding(attrs.padding, 2),
        strides=per_axis(attrs.strides, 2),
        dilations=per_axis(attrs.dilation, 2),
        group=attrs.groups,
    )


@exports("qnn.dense")
def dense(e: GraphEmitter, call: OpCall, data: str, weight: str, zero: str, weight_zero: str, *scales: str) -> str:
    """MatMulInteger, of the transposed weight."""
    zeros = _zero_points(e, call, zero, weight_zero)
    return e.node("MatMulInteger", [data, e.transpose(weight, [1, 0]), *zeros])


@exports("qnn.batch_matmul")
def batch_matmul(e: GraphEmitter, call: OpCall, x: str, y: str, zero: str, y_zero: str, *scales: str) -> str:
    """MatMulInteger, after transposes."""
    if call.attrs.transpose_a:
        x = e.transpose(x, [0, 2, 1])
    if call.attrs.transpose_b:
        y = e.transpose(y, [0, 2, 1])
    return e.node("MatMulInteger", [x, y, *_zero_points(e, call, zero, y_zero)])
