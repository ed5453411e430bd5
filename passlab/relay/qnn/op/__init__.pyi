"""The names of `passlab.relay.qnn.op`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import Literal, SupportsFloat, SupportsIndex

from numpy.typing import DTypeLike

from passlab.ir.expr import Call
from passlab.op.declare import Operand
from passlab.op.qnn.quantize import requantize_config as requantize_config

def abs(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The absolute values of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.abs(%q, 0.25f, 1, 0.125f, 3)
    """

def add(
    lhs: Operand,
    rhs: Operand,
    lhs_scale: Operand,
    lhs_zero_point: Operand,
    rhs_scale: Operand,
    rhs_zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    lhs_axis: SupportsIndex = -1,
    rhs_axis: SupportsIndex = -1,
) -> Call:
    """The sums of quantized tensors that broadcast, quantized again.

    Attributes:
      lhs_axis: the dimension along which the scales of lhs vary (int)
      rhs_axis: the dimension along which the scales of rhs vary (int)
    Shapes: lhs and rhs, which broadcast to S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.add(%q, %r, 0.25f, 1, 0.125f, -2, 0.5f, 3)
    """

def avg_pool2d(
    data: Operand,
    input_scale: Operand,
    input_zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex],
    strides: SupportsIndex | Iterable[SupportsIndex],
    padding: SupportsIndex | Iterable[SupportsIndex],
    dilation: SupportsIndex | Iterable[SupportsIndex],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NHWC",
    out_layout: str = "",
) -> Call:
    """The means of windows of a quantized tensor, truncated to integers, in the scale of the result.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
      count_include_pad: whether padding counts in the mean (bool)
    Shapes: (N, C, H, W) -> (N, C, windows).
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.avg_pool2d(%q, 0.5f, 1, 0.5f, 1, pool_size=[2, 2], strides=[2, 2])
    """

def batch_matmul(
    x: Operand,
    y: Operand,
    x_zero_point: Operand,
    y_zero_point: Operand,
    x_scale: Operand,
    y_scale: Operand,
    out_dtype: DTypeLike = "int32",
) -> Call:
    """Multiply quantized matrices, batch by batch.

    Attributes:
      out_dtype: dtype of the result (dtype)
      transpose_a: whether tensor_a is transposed (bool)
      transpose_b: whether tensor_b is transposed (bool)
    Shapes: x (b, m, k), y (b, k, n); with transpose_b (b, n, k) -> (b, m, n).
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.batch_matmul(%x, %y, 1, -2, 0.5f, 0.5f, out_dtype="int32", transpose_b=True)
    """

def concatenate(
    data: Operand,
    input_scales: Operand,
    input_zero_points: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    axis: SupportsIndex,
) -> Call:
    """Join quantized tensors along one dimension, each converted to the scale of the result.

    Attributes:
      axis: the dimension along which to join (int)
    Shapes: quantized tensors, a tuple of scales, a tuple of zero points -> joined along axis.
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.concatenate((%q, %r), (0.5f, 0.25f), (1, 2), 0.25f, 3, axis=-1)
    """

def conv2d(
    data: Operand,
    kernel: Operand,
    input_zero_point: Operand,
    kernel_zero_point: Operand,
    input_scale: Operand,
    kernel_scale: Operand,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None,
    channels: SupportsIndex | None,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "int32",
) -> Call:
    """Convolve quantized `data` with a quantized `weight`; the padding represents zero.

    Attributes:
      strides: steps of the window (list of int)
      padding: zeros around the data: both sides alike, or all befores then all afters (list of int)
      dilation: distance between the taps of the window (list of int)
      groups: number of groups of channels (int)
      channels: number of output channels, None to read it off the weight (int or None)
      kernel_size: size of the window, None to read it off the weight (list of int or None)
      data_layout: layout of the data (str)
      kernel_layout: layout of the weight: O output channels, I input channels of a group (str)
      out_layout: layout of the result, "" for the layout of the data (str)
      out_dtype: dtype of sums and result (dtype)
    Shapes: data (N, C, H, W), weight (O, C / groups, KH, KW) -> (N, O, OH, OW).
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.conv2d(%q, %w, 128, -3, 0.5f, 0.5f, channels=3, kernel_size=[2, 2], padding=[1, 1], out_dtype="int32")
    """

def conv2d_transpose(
    data: Operand,
    weight: Operand,
    input_zero_point: Operand,
    kernel_zero_point: Operand,
    input_scale: Operand,
    kernel_scale: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    out_dtype: DTypeLike = "int32",
) -> Call:
    """The transposed convolution of quantized `data` with a quantized `weight`.

    Attributes:
      channels: number of output channels, None to read it off the weight (int or None)
      kernel_size: size of the window, None to read it off the weight (list of int or None)
      strides: strides of the window in the result (list of int)
      output_padding: additional size of the result at the end of each axis (list of int)
      padding: cropping around the result: both sides alike, or all befores then all afters (list of int)
      dilation: distance between the taps of the window (list of int)
      groups: number of groups of channels (int)
      data_layout: layout of the data (str)
      kernel_layout: layout of the weight: I input channels, O output channels of a group (str)
      out_layout: layout of the result, "" for the layout of the data (str)
      out_dtype: dtype of sums and result (dtype)
    Shapes: data (N, C, H, W), weight (C, O / groups, KH, KW) -> (N, O, OH, OW).
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.conv2d_transpose(%q, %w, 128, -3, 0.5f, 0.5f, channels=3, kernel_size=[2, 2], strides=[2, 2], out_dtype="int32")
    """

def dense(
    data: Operand,
    weight: Operand,
    input_zero_point: Operand,
    kernel_zero_point: Operand,
    input_scale: Operand,
    kernel_scale: Operand,
    units: SupportsIndex | None,
    out_dtype: DTypeLike = "int32",
) -> Call:
    """Multiply quantized `data` by the transpose of quantized `weight`.

    Attributes:
      units: rows of the weight, None to read them off (int or None)
    Shapes: data (m, k), weight (units, k) -> (m, units).
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.dense(%q, %w, 1, -2, 0.5f, 0.5f, units=4, out_dtype="int32")
    """

def dequantize(
    data: Operand,
    input_scale: Operand,
    input_zero_point: Operand,
    axis: SupportsIndex = -1,
    out_dtype: DTypeLike = "float32",
) -> Call:
    """The real numbers that integers represent: minus the zero point, times the scale.

    Attributes:
      out_dtype: the dtype of the result (dtype)
      axis: the dimension along which scales vary, if they are vectors (int)
    Shapes: data S, scale and zero point () or (S[axis]) -> S.
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.dequantize(%q, 0.5f, 1, out_dtype="float32")
    """

def erf(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The error function of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.erf(%q, 0.25f, 1, 0.125f, 3)
    """

def exp(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The exponentials of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.exp(%q, 0.25f, 1, 0.125f, 3)
    """

def hardswish(
    x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand
) -> Call:
    """x * min(max(x + 3, 0), 6) / 6 of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.hardswish(%q, 0.25f, 1, 0.125f, 3)
    """

def leaky_relu(
    x: Operand,
    alpha: SupportsFloat,
    input_scale: Operand,
    input_zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
) -> Call:
    """Quantized numbers, those below zero times `alpha`, quantized again.

    Attributes:
      alpha: factor of negative elements (float)
    Shapes: S -> S, scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.leaky_relu(%q, 0.25f, 1, 0.125f, 3, alpha=0.1f)
    """

def log(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The natural logarithms of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.log(%q, 0.25f, 1, 0.125f, 3)
    """

def mul(
    lhs: Operand,
    rhs: Operand,
    lhs_scale: Operand,
    lhs_zero_point: Operand,
    rhs_scale: Operand,
    rhs_zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    lhs_axis: SupportsIndex = -1,
    rhs_axis: SupportsIndex = -1,
) -> Call:
    """The products of quantized tensors that broadcast, quantized again.

    Attributes:
      lhs_axis: the dimension along which the scales of lhs vary (int)
      rhs_axis: the dimension along which the scales of rhs vary (int)
    Shapes: lhs and rhs, which broadcast to S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.mul(%q, %r, 0.25f, 1, 0.125f, -2, 0.5f, 3)
    """

def quantize(
    data: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    axis: SupportsIndex = -1,
    out_dtype: DTypeLike = "int8",
) -> Call:
    """Quantize numbers: divide by the scale, round, add the zero point, and saturate to the dtype's range.

    Attributes:
      out_dtype: the integer dtype of the result (dtype)
      axis: the dimension along which scales vary, if they are vectors (int)
    Shapes: data S, scale and zero point () or (S[axis]) -> S.
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.quantize(%x, 0.5f, 1, out_dtype="int8")
    """

def requantize(
    data: Operand,
    input_scale: Operand,
    input_zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    axis: SupportsIndex = -1,
    rounding: Literal["None", "UPWARD", "TONEAREST"] = "None",
    compute_dtype: Literal["None", "int64", "float32", "float64"] = "None",
    out_dtype: DTypeLike = "int8",
) -> Call:
    """Convert integers to another scale and zero point, in integer arithmetic.

    Attributes:
      axis: the dimension along which scales vary, if they are vectors (int)
      rounding: the rounding of halves; "None" is "UPWARD" ('None' | 'UPWARD' | 'TONEAREST')
      compute_dtype: the dtype of the computation; "None" is "int64", in fixed point ('None' | 'int64' | 'float32' | 'float64')
      out_dtype: the dtype of the result, by default the dtype of the data (dtype)
    Shapes: data S, scales and zero points () or (S[axis]) -> S.
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.requantize(%q, 0.5f, 1, 0.25f, 2, out_dtype="int8")
    """

def rsqrt(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """One over the square roots of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.rsqrt(%q, 0.25f, 1, 0.125f, 3)
    """

def sigmoid(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The logistic function of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.sigmoid(%q, 0.25f, 1, 0.125f, 3)
    """

def simulated_dequantize(
    data: Operand,
    input_scale: Operand,
    input_zero_point: Operand,
    axis: SupportsIndex = -1,
    in_dtype: Operand | SupportsFloat | Iterable[SupportsFloat] | str = "int8",
) -> Call:
    """The real numbers that simulated integers represent; code 0 leaves the data as it is.

    Attributes:
      out_dtype: the dtype of the result (dtype)
      axis: the dimension along which scales vary, if they are vectors (int)
    Shapes: data S, in_dtype (), scale and zero point () or (S[axis]) -> S.
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.simulated_dequantize(%x, 2, 0.5f, 1, out_dtype="float32")
    """

def simulated_quantize(
    data: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    axis: SupportsIndex = -1,
    out_dtype: Operand | SupportsFloat | Iterable[SupportsFloat] | str = "int8",
) -> Call:
    """The integers that numbers would become, as floats; the dtype is a code: 0 none, 1 int8, 2 uint8, 3 int32.

    Attributes:
      axis: the dimension along which scales vary, if they are vectors (int)
    Shapes: data S, out_dtype (), scale and zero point () or (S[axis]) -> S.
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.simulated_quantize(%x, 2, 0.5f, 1)
    """

def softmax(
    x: Operand,
    scale: Operand,
    zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    axis: SupportsIndex = -1,
) -> Call:
    """The softmax of quantized numbers along one dimension, quantized again.

    Attributes:
      axis: the axis that sums to one (int)
    Shapes: S -> S, scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.softmax(%q, 0.25f, 1, 0.125f, 3, axis=-1)
    """

def sqrt(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The square roots of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.sqrt(%q, 0.25f, 1, 0.125f, 3)
    """

def subtract(
    lhs: Operand,
    rhs: Operand,
    lhs_scale: Operand,
    lhs_zero_point: Operand,
    rhs_scale: Operand,
    rhs_zero_point: Operand,
    output_scale: Operand,
    output_zero_point: Operand,
    lhs_axis: SupportsIndex = -1,
    rhs_axis: SupportsIndex = -1,
) -> Call:
    """The differences of quantized tensors that broadcast, quantized again.

    Attributes:
      lhs_axis: the dimension along which the scales of lhs vary (int)
      rhs_axis: the dimension along which the scales of rhs vary (int)
    Shapes: lhs and rhs, which broadcast to S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.subtract(%q, %r, 0.25f, 1, 0.125f, -2, 0.5f, 3)
    """

def tanh(x: Operand, scale: Operand, zero_point: Operand, output_scale: Operand, output_zero_point: Operand) -> Call:
    """The hyperbolic tangents of quantized numbers, quantized again.

    Shapes: S -> S; scales and zero points ().
    Source: Jacob et al., Quantization and training of neural networks (2018).
    In Relay text: qnn.tanh(%q, 0.25f, 1, 0.125f, 3)
    """
