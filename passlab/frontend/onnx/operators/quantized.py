"""Quantized operators: integers that represent (integer - zero point) * scale."""

from __future__ import annotations

import numpy as np

from passlab.frontend.formulas import round_half_to_even
from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.operators.convolution import convolve, kernel_of
from passlab.frontend.onnx.operators.elementwise import saturate
from passlab.frontend.onnx.operators.padding import pad_sides
from passlab.frontend.onnx.tensors import dtype_of
from passlab.frontend.onnx.windows import windows_of
from passlab.frontend.pooling import Windows
from passlab.frontend.products import matrix_product
from passlab.ir.expr import Expr

_RANGES = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "uint16": (0, 65535),
    "int16": (-32768, 32767),
    "uint4": (0, 15),
    "int4": (-8, 7),
}


def _axis(n: OnnxNode, x: Expr, scale: Expr) -> int:
    """Return the axis along which scales vary; for a single scale it does not matter."""
    return 0 if n.shape(scale) in ((), (1,)) else n.axis(n.integer("axis", 1), n.rank(x))


def _has_relay_operator(n: OnnxNode, integer: str, number: Expr, scale: Expr, zero: Expr | None, block: int) -> bool:
    """Whether Relay's operator applies: float32 to 8 bits or back, with constant scales, per tensor or per axis.

    Relay rounds halves away from zero, ONNX to even, so such numbers may differ by one. Models with computed scales use
    the formula.
    """
    if n.value(scale) is None or (zero is not None and n.value(zero) is None):
        return False
    return integer in ("int8", "uint8") and n.dtype(number) == n.dtype(scale) == "float32" and not block


def _relay_parameters(n: OnnxNode, scale: Expr, zero: Expr | None) -> tuple[Expr, Expr]:
    """Return scale and zero point for Relay's operators: a single one is a scalar, the zero point is int32."""
    zero = n("zeros_like", n.cast(scale, "int32")) if zero is None else n.cast(zero, "int32")
    if n.shape(scale) == (1,):
        return n("reshape", scale, newshape=[]), n("reshape", zero, newshape=[])
    return scale, zero


def _broadcastable(n: OnnxNode, part: Expr, x: Expr, axis: int, block: int) -> Expr:
    """Return scales or zero points that broadcast against `x`: a single one, along an axis, or per block."""
    if n.rank(part) == 0 or n.shape(part) == (1,):
        return n("reshape", part, newshape=[]) if n.rank(part) else part
    if block:
        result = n("repeat", part, repeats=block, axis=axis)
        (length,) = n.static_shape(x, [axis])
        return n("strided_slice", result, begin=[0], end=[length], strides=[1], axes=[axis])
    trailing_axes = n.rank(x) - axis - 1
    return n("expand_dims", part, axis=1, num_newaxis=trailing_axes) if trailing_axes else part


@onnx_operator("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def quantize(n: OnnxNode, x: Expr, scale: Expr, zero: Expr | None = None) -> Expr:
    """`qnn.quantize` to 8 bits; to other widths, or block by block, division by the scale, `round`, and `clip`."""
    if zero is not None:
        dtype = n.dtype(zero)
    else:
        dtype = dtype_of(n.integer("output_dtype", 0) or 2)
    axis, block = _axis(n, x, scale), n.integer("block_size", 0)
    if _has_relay_operator(n, dtype, x, scale, zero, block) and not n.integer("precision", 0):
        scales, zeros = _relay_parameters(n, scale, zero)
        return n("qnn.quantize", x, output_scale=scales, output_zero_point=zeros, axis=axis, out_dtype=dtype)
    wide = _ratio_dtype(n, x, scale)
    ratio = n("divide", n.cast(x, wide), n.cast(_broadcastable(n, scale, x, axis, block), wide))
    if dtype not in _RANGES:
        return n.cast(saturate(n, ratio, dtype), dtype)  # 8-bit floats: the cast rounds
    result = round_half_to_even(n, ratio)
    if zero is not None:
        result = n("add", result, n.cast(_broadcastable(n, zero, x, axis, block), wide))
    low, high = _RANGES[dtype]
    return n.cast(n("clip", result, a_min=float(low), a_max=float(high)), dtype)


def _ratio_dtype(n: OnnxNode, x: Expr, scale: Expr) -> str:
    dtype = dtype_of(n.integer("precision", 0) or 1) if n.has("precision") else "float32"
    return "float64" if "float64" in (n.dtype(x), n.dtype(scale)) else dtype


@onnx_operator("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def dequantize(n: OnnxNode, x: Expr, scale: Expr, zero: Expr | None = None) -> Expr:
    """`qnn.dequantize` of 8 bits; otherwise the difference from the zero point, times the scale."""
    axis, block = _axis(n, x, scale), n.integer("block_size", 0)
    out = dtype_of(n.integer("output_dtype", 0)) if n.integer("output_dtype", 0) else n.dtype(scale)
    if _has_relay_operator(n, n.dtype(x), scale, scale, zero, block) and out == "float32":
        scales, zeros = _relay_parameters(n, scale, zero)
        return n("qnn.dequantize", x, input_scale=scales, input_zero_point=zeros, axis=axis, out_dtype=out)
    wide = "float32" if out in ("float16", "bfloat16") else out
    result = n.cast(x, wide)
    if zero is not None:
        result = n("subtract", result, n.cast(_broadcastable(n, zero, x, axis, block), wide))
    return n.cast(n("multiply", result, n.cast(_broadcastable(n, scale, x, axis, block), wide)), out)


@onnx_operator("DynamicQuantizeLinear", 11)
def dynamic_quantize(n: OnnxNode, x: Expr) -> list[Expr]:
    """Division, `round` and `clip`, with the scale and zero point of the extremes of the tensor.

    The scale of a tensor of zeros is 1, as in onnxruntime: by a scale of 0 they would not be numbers.
    """
    axes = list(range(n.rank(x)))
    high = n("maximum", n("max", x, axis=axes) if axes else x, 0)
    low = n("minimum", n("min", x, axis=axes) if axes else x, 0)
    width = n("subtract", high, low)
    scale = n("where", n("equal", width, 0), n.constant(1, x), n("divide", width, 255))
    start = n("clip", round_half_to_even(n, n("divide", n("negative", low), scale)), a_min=0.0, a_max=255.0)
    zero = n.cast(start, "uint8")
    result = n("add", round_half_to_even(n, n("divide", x, scale)), start)
    return [n.cast(n("clip", result, a_min=0.0, a_max=255.0), "uint8"), scale, zero]


def _subtract_zero(n: OnnxNode, x: Expr, zero: Expr | None, axis: int) -> Expr:
    """Return 8-bit integers minus their zero point, in int32."""
    result = n.cast(x, "int32")
    if zero is None:
        return result
    return n("subtract", result, n.cast(_broadcastable(n, zero, x, axis, 0), "int32"))


@onnx_operator("MatMulInteger", 10)
def matmul_integer(n: OnnxNode, a: Expr, b: Expr, a_zero: Expr | None = None, b_zero: Expr | None = None) -> Expr:
    """The product in int32 of the differences from the zero points."""
    rows = _subtract_zero(n, a, a_zero, max(n.rank(a) - 2, 0))
    return matrix_product(n, rows, _subtract_zero(n, b, b_zero, n.rank(b) - 1), "int32")


def _integer_conv(n: OnnxNode, x: Expr, w: Expr, x_zero: Expr | None, w_zero: Expr | None) -> Expr:
    """Return a convolution in int32. Padding has the value of the zero point, so it is 0 after the subtraction."""
    image, kernel = _subtract_zero(n, x, x_zero, 1), _subtract_zero(n, w, w_zero, 0)
    image, windows = windows_of(n, image, kernel_of(n, w))
    rank = windows.rank
    sides = [[0, 0], [0, 0], *([windows.pads[at], windows.pads[at + rank]] for at in range(rank))]
    image = pad_sides(n, image, sides, n.constant(0, "int32"), "constant")
    return convolve(
        n, image, kernel, Windows(windows.kernel, windows.strides, windows.dilations, [0] * 2 * rank), "int32"
    )


@onnx_operator("ConvInteger", 10)
def conv_integer(n: OnnxNode, x: Expr, w: Expr, x_zero: Expr | None = None, w_zero: Expr | None = None) -> Expr:
    """The convolution in int32 of the differences from the zero points."""
    return _integer_conv(n, x, w, x_zero, w_zero)


@onnx_operator("QLinearConv", 10)
def quantized_conv(
    n: OnnxNode,
    x: Expr,
    x_scale: Expr,
    x_zero: Expr,
    w: Expr,
    w_scale: Expr,
    w_zero: Expr,
    y_scale: Expr,
    y_zero: Expr,
    bias: Expr | None = None,
) -> Expr:
    """The convolution in 32 bits, `nn.bias_add`, and `round` to the scale of the result, half to even as ONNX does."""
    result = _integer_conv(n, x, w, x_zero, w_zero)
    result = result if bias is None else n("nn.bias_add", result, bias, axis=1)
    return _requantize(n, result, n("multiply", x_scale, w_scale), y_scale, y_zero, 1)


@onnx_operator("QLinearMatMul", 10, 21)
def quantized_matmul(
    n: OnnxNode, a: Expr, a_scale: Expr, a_zero: Expr, b: Expr, b_scale: Expr, b_zero: Expr, y_scale: Expr, y_zero: Expr
) -> Expr:
    """The product in 32 bits, brought to the scale of the result."""
    rows, columns = _subtract_zero(n, a, a_zero, max(n.rank(a) - 2, 0)), _subtract_zero(n, b, b_zero, n.rank(b) - 1)
    result = matrix_product(n, rows, columns, "int32")
    return _requantize(n, result, n("multiply", a_scale, b_scale), y_scale, y_zero, n.rank(result) - 1)


def _requantize(n: OnnxNode, x: Expr, scale: Expr, y_scale: Expr, y_zero: Expr, axis: int) -> Expr:
    """Return 32-bit numbers of one scale as 8-bit numbers of another, rounding halves to even as ONNX does."""
    ratio = n.cast(n("divide", n.cast(scale, "float32"), n.cast(y_scale, "float32")), "float32")
    result = round_half_to_even(n, n("multiply", n.cast(x, "float32"), _broadcastable(n, ratio, x, axis, 0)))
    result = n("add", result, n.cast(_broadcastable(n, y_zero, x, axis, 0), "float32"))
    low, high = _RANGES.get(n.dtype(y_zero), (-np.inf, np.inf))
    return n.cast(n("clip", result, a_min=float(low), a_max=float(high)), n.dtype(y_zero))
