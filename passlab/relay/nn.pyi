"""The names of `passlab.relay.nn`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import Literal, SupportsFloat, SupportsIndex

from numpy.typing import DTypeLike

from passlab.ir.expr import Call
from passlab.ir.expr import Constant as Constant
from passlab.ir.expr import Expr as Expr
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.op.declare import Operand
from passlab.relay.var_const import const as const

def adaptive_avg_pool1d(
    data: Operand,
    output_size: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None,
    layout: str = "NCW",
    out_layout: str = "",
) -> Call:
    """The mean over `output_size` windows an axis, which cover the data: window i reaches from floor(i * length / count) to ceil((i + 1) * length / count).

    Attributes:
      output_size: windows along each axis, none to keep the size (list of int or None)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, W) -> (N, C, output_size).
    Source: PyTorch's adaptive pooling.
    In Relay text: nn.adaptive_avg_pool1d(%x, output_size=[2])
    """

def adaptive_avg_pool2d(
    data: Operand,
    output_size: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None,
    layout: str = "NCHW",
    out_layout: str = "",
) -> Call:
    """The mean over `output_size` windows an axis, which cover the data: window i reaches from floor(i * length / count) to ceil((i + 1) * length / count).

    Attributes:
      output_size: windows along each axis, none to keep the size (list of int or None)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, H, W) -> (N, C, output_size).
    Source: PyTorch's adaptive pooling.
    In Relay text: nn.adaptive_avg_pool2d(%x, output_size=[2, 2])
    """

def adaptive_avg_pool3d(
    data: Operand,
    output_size: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None,
    layout: str = "NCDHW",
    out_layout: str = "",
) -> Call:
    """The mean over `output_size` windows an axis, which cover the data: window i reaches from floor(i * length / count) to ceil((i + 1) * length / count).

    Attributes:
      output_size: windows along each axis, none to keep the size (list of int or None)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, D, H, W) -> (N, C, output_size).
    Source: PyTorch's adaptive pooling.
    In Relay text: nn.adaptive_avg_pool3d(%x, output_size=[2, 2, 2])
    """

def adaptive_max_pool1d(
    data: Operand,
    output_size: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None,
    layout: str = "NCW",
    out_layout: str = "",
) -> Call:
    """The maximum over `output_size` windows an axis, which cover the data: window i reaches from floor(i * length / count) to ceil((i + 1) * length / count).

    Attributes:
      output_size: windows along each axis, none to keep the size (list of int or None)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, W) -> (N, C, output_size).
    Source: PyTorch's adaptive pooling.
    In Relay text: nn.adaptive_max_pool1d(%x, output_size=[2])
    """

def adaptive_max_pool2d(
    data: Operand,
    output_size: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None,
    layout: str = "NCHW",
    out_layout: str = "",
) -> Call:
    """The maximum over `output_size` windows an axis, which cover the data: window i reaches from floor(i * length / count) to ceil((i + 1) * length / count).

    Attributes:
      output_size: windows along each axis, none to keep the size (list of int or None)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, H, W) -> (N, C, output_size).
    Source: PyTorch's adaptive pooling.
    In Relay text: nn.adaptive_max_pool2d(%x, output_size=[2, 2])
    """

def adaptive_max_pool3d(
    data: Operand,
    output_size: SupportsIndex | Iterable[SupportsIndex] | Constant | None = None,
    layout: str = "NCDHW",
    out_layout: str = "",
) -> Call:
    """The maximum over `output_size` windows an axis, which cover the data: window i reaches from floor(i * length / count) to ceil((i + 1) * length / count).

    Attributes:
      output_size: windows along each axis, none to keep the size (list of int or None)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, D, H, W) -> (N, C, output_size).
    Source: PyTorch's adaptive pooling.
    In Relay text: nn.adaptive_max_pool3d(%x, output_size=[2, 2, 2])
    """

def avg_pool1d(
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1,),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1,),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1,),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window sliding over 1 spatial axis.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
      count_include_pad: whether padding counts in the mean (bool)
    Shapes: (N, C, W) -> (N, C, windows), (length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each.
    Source: the maximum or mean over shifted views.
    In Relay text: nn.avg_pool1d(%x, pool_size=[2], strides=[2])
    """

def avg_pool2d(
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window sliding over 2 spatial axes.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
      count_include_pad: whether padding counts in the mean (bool)
    Shapes: (N, C, H, W) -> (N, C, windows), (length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each.
    Source: the maximum or mean over shifted views.
    In Relay text: nn.avg_pool2d(%x, pool_size=[2, 2], strides=[2, 2])
    """

def avg_pool2d_grad(
    out_grad: Operand,
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The gradient of nn.avg_pool2d for its data: each window's gradient, shared by its elements.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
      count_include_pad: whether padding counts in the mean (bool)
    Shapes: gradient (N, C, windows), data (N, C, H, W) -> (N, C, H, W).
    Source: the transpose of the pooling.
    In Relay text: nn.avg_pool2d_grad(%g, %x, pool_size=[2, 2], strides=[2, 2])
    """

def avg_pool3d(
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window sliding over 3 spatial axes.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
      count_include_pad: whether padding counts in the mean (bool)
    Shapes: (N, C, D, H, W) -> (N, C, windows), (length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each.
    Source: the maximum or mean over shifted views.
    In Relay text: nn.avg_pool3d(%x, pool_size=[2, 2, 2], strides=[2, 2, 2])
    """

def batch_flatten(data: Operand) -> Call:
    """Join all dimensions after the first.

    Shapes: (n, ...) -> (n, size of the rest).
    Source: np.reshape.
    In Relay text: nn.batch_flatten(%x)
    """

def batch_matmul(
    tensor_a: Operand, tensor_b: Operand, out_dtype: DTypeLike = "", transpose_a: bool = False, transpose_b: bool = True
) -> Call:
    """Multiply (b, m, k) by (b, k, n) sample by sample, giving (b, m, n); a batch of 1 is broadcast.

    The result has `out_dtype`, or else the dtype of `tensor_a`.

    Attributes:
      out_dtype: dtype of the result (dtype)
      transpose_a: whether tensor_a is transposed (bool)
      transpose_b: whether tensor_b is transposed (bool)
    Shapes: (b, m, k), (b, k, n) -> (b, m, n); with transpose_b (b, n, k).
    Source: a matrix product in BLAS for each sample.
    In Relay text: nn.batch_matmul(%x, %y, transpose_b=True)
    """

def batch_norm(
    data: Operand,
    gamma: Operand,
    beta: Operand,
    moving_mean: Operand,
    moving_var: Operand,
    axis: SupportsIndex = 1,
    epsilon: SupportsFloat = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> TupleWrapper:
    """Normalise each channel with the moving mean and variance; these are returned, unchanged, with the result.

    Attributes:
      axis: the channel axis (int)
      epsilon: added to the variance (float)
      center: whether beta is added (bool)
      scale: whether gamma multiplies (bool)
    Shapes: data S, four vectors (S[axis]) -> S, and the two moving vectors.
    Source: Ioffe and Szegedy (2015), at inference.
    In Relay text: nn.batch_norm(%x, %gamma, %beta, %mean, %var)
    """

def batch_to_space_nd(
    data: Operand, block_shape: Iterable[SupportsIndex], crops: Iterable[Iterable[SupportsIndex]]
) -> Call:
    """Assemble the samples of a batch as blocks, and crop the result: the inverse of `nn.space_to_batch_nd`.

    Attributes:
      block_shape: size of a block along the axes after the batch (list of int)
      crops: cropping before and after each of these axes (list of lists of int)
    Shapes: (N, S, ...) -> (N / product of blocks, cropped S * block, ...).
    Source: TensorFlow's batch_to_space_nd.
    In Relay text: nn.batch_to_space_nd(%x, block_shape=[2, 2], crops=[[0, 1], [0, 0]])
    """

def bias_add(data: Operand, bias: Operand, axis: SupportsIndex = 1) -> Call:
    """Add a vector along one axis.

    Attributes:
      axis: the axis of the data the bias runs along (int)
    Shapes: data S, bias (S[axis]) -> S.
    Source: np.add.
    In Relay text: nn.bias_add(%x, %b)
    """

def contrib_conv2d_NCHWc(
    data: Operand,
    kernel: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """`nn.conv2d` on data and weights whose channels are in blocks.

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
    Shapes: data (N, C / c, H, W, c), weight (O / o, C / i, KH, KW, i, o) -> (N, O / o, OH, OW, o).
    Source: im2col and a matrix product in BLAS, panel by panel.
    In Relay text: nn.contrib_conv2d_NCHWc(%x, %w, channels=3, kernel_size=[2, 2], data_layout="NCHW2c", kernel_layout="OIHW2i3o", out_layout="NCHW3c")
    """

def contrib_conv2d_nchwc(
    data: Operand,
    kernel: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """`nn.conv2d` on data and weights whose channels are in blocks.

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
    Shapes: data (N, C / c, H, W, c), weight (O / o, C / i, KH, KW, i, o) -> (N, O / o, OH, OW, o).
    Source: im2col and a matrix product in BLAS, panel by panel.
    In Relay text: nn.contrib_conv2d_NCHWc(%x, %w, channels=3, kernel_size=[2, 2], data_layout="NCHW2c", kernel_layout="OIHW2i3o", out_layout="NCHW3c")
    """

def contrib_dense_pack(
    data: Operand,
    weight: Operand,
    weight_layout: str = "NC",
    units: SupportsIndex | None = None,
    out_dtype: DTypeLike = "",
) -> Call:
    """Multiply `data` (m, k) by the transpose of a weight (units, k) packed in blocks of rows.

    Attributes:
      units: rows of the weight, None to read them off (int or None)
      out_dtype: dtype of sums and result (dtype)
      weight_layout: layout of the weight: N its rows, C the summed dimension, in blocks (str)
    Shapes: data (m, k), weight (units / b, k, b) -> (m, units).
    Source: a matrix product in BLAS.
    In Relay text: nn.contrib_dense_pack(%x, %w, units=None, weight_layout="NC2n")
    """

def contrib_depthwise_conv2d_NCHWc(
    data: Operand,
    kernel: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """`nn.conv2d` with as many groups as channels, on data and weights whose channels are in blocks.

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
    Shapes: data (N, C / c, H, W, c), weight (C / c, 1, KH, KW, 1, c) -> (N, C / c, OH, OW, c).
    Source: one product per tap of the window.
    In Relay text: nn.contrib_depthwise_conv2d_NCHWc(%x, %w, groups=4, channels=4, kernel_size=[2, 2], data_layout="NCHW2c", kernel_layout="OIHW1i2o", out_layout="NCHW2c")
    """

def contrib_depthwise_conv2d_nchwc(
    data: Operand,
    kernel: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """`nn.conv2d` with as many groups as channels, on data and weights whose channels are in blocks.

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
    Shapes: data (N, C / c, H, W, c), weight (C / c, 1, KH, KW, 1, c) -> (N, C / c, OH, OW, c).
    Source: one product per tap of the window.
    In Relay text: nn.contrib_depthwise_conv2d_NCHWc(%x, %w, groups=4, channels=4, kernel_size=[2, 2], data_layout="NCHW2c", kernel_layout="OIHW1i2o", out_layout="NCHW2c")
    """

def conv1d(
    data: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """Slide windows along one axis; each result is the sum of a window's elements times the weight.

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
    Shapes: data (N, C, W), weight (O, C / groups, K) -> (N, O, (W + padding - dilation (K - 1) - 1) / strides + 1).
    Source: im2col and a matrix product in BLAS, panel by panel.
    In Relay text: nn.conv1d(%x, %w, padding=[1, 1], channels=8, kernel_size=[3])
    """

def conv1d_transpose(
    data: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1,),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0,),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1,),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str = "",
    output_padding: SupportsIndex | Iterable[SupportsIndex] = (0,),
    out_dtype: DTypeLike = "",
) -> Call:
    """Add each element times the weight's window into the result, windows `strides` apart, along one axis.

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
    Shapes: data (N, C, W), weight (C, O / groups, K) -> (N, O, (W - 1) strides - padding + dilation (K - 1) + 1 + output_padding).
    Source: a matrix product in BLAS and col2im; Dumoulin and Visin (2016).
    In Relay text: nn.conv1d_transpose(%x, %w, channels=8, kernel_size=[3], strides=[2])
    """

def conv2d(
    data: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """Slide windows over two axes; each result is the sum of a window's elements times the weight.

    `out[n, o, y, x] = sum(data[n, i, y * stride + ky * dilation, x * stride + kx * dilation] * weight[o, i, ky, kx])`

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
    Shapes: data (N, C, H, W), weight (O, C / groups, KH, KW) -> (N, O, OH, OW), OH = (H + padding - dilation (KH - 1) - 1) / strides + 1.
    Source: im2col and a matrix product in BLAS, panel by panel.
    In Relay text: nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])
    """

def conv2d_backward_weight(
    grad: Operand,
    data: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    grad_layout: str = "NCHW",
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_dtype: DTypeLike = "",
) -> Call:
    """The gradient of nn.conv2d with respect to its weight: the product of the gradient and the patches of the data.

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
    Shapes: grad (N, O, OH, OW), data (N, C, H, W) -> (O, C / groups, KH, KW).
    Source: the product of the gradient and the patches of the data.
    In Relay text: nn.conv2d_backward_weight(%grad, %x, kernel_size=[3, 3], kernel_layout="NCHW", out_layout="OIHW")
    """

def conv2d_transpose(
    data: Operand,
    weight: Operand,
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
    out_dtype: DTypeLike = "",
) -> Call:
    """Add each element times the weight's window into the result, windows `strides` apart, over two axes.

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
    Source: a matrix product in BLAS and col2im; Dumoulin and Visin (2016).
    In Relay text: nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[4, 4], strides=[2, 2], padding=[1, 1, 1, 1])
    """

def conv3d(
    data: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """Slide windows over three axes; each result is the sum of a window's elements times the weight.

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
    Shapes: data (N, C, D, H, W), weight (O, C / groups, KD, KH, KW) -> (N, O, OD, OH, OW).
    Source: im2col and a matrix product in BLAS, panel by panel.
    In Relay text: nn.conv3d(%x, %w, padding=[1, 1, 1, 1, 1, 1], channels=8, kernel_size=[3, 3, 3])
    """

def conv3d_transpose(
    data: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCDHW",
    kernel_layout: str = "IODHW",
    out_layout: str = "",
    output_padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0, 0),
    out_dtype: DTypeLike = "",
) -> Call:
    """Add each element times the weight's window into the result, windows `strides` apart, over three axes.

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
    Shapes: data (N, C, D, H, W), weight (C, O / groups, KD, KH, KW) -> (N, O, OD, OH, OW).
    Source: a matrix product in BLAS and col2im; Dumoulin and Visin (2016).
    In Relay text: nn.conv3d_transpose(%x, %w, channels=8, kernel_size=[2, 2, 2], strides=[2, 2, 2])
    """

def correlation(
    data1: Operand,
    data2: Operand,
    kernel_size: SupportsIndex,
    max_displacement: SupportsIndex,
    stride1: SupportsIndex,
    stride2: SupportsIndex,
    padding: SupportsIndex | Iterable[SupportsIndex],
    is_multiply: bool,
    layout: Literal["NCHW"],
) -> Call:
    """For each pixel of data1 and each displacement: the mean product (or distance) of two windows.

    Attributes:
      kernel_size: size of the compared windows, odd (int)
      max_displacement: largest displacement of windows of data2 (int)
      stride1: steps in data1 (int)
      stride2: steps of the displacement (int)
      padding: zeros around both images (list of int)
      is_multiply: whether elements are multiplied, or their distances added (bool)
      layout: layout of data and result ('NCHW')
    Shapes: data1, data2 (N, C, H, W) -> (N, displacements², OH, OW).
    Source: Dosovitskiy et al., FlowNet (2015).
    In Relay text: nn.correlation(%x, %y, max_displacement=1, padding=[1, 1])
    """

def cross_entropy(predictions: Operand, targets: Operand) -> Call:
    """The mean over the batch of -sum(y * log(x)), for predicted probabilities `x` and target probabilities `y`.

    Shapes: x, y (batch, classes) -> ().
    Source: Shannon's cross entropy.
    In Relay text: nn.cross_entropy(%x, %y)
    """

def cross_entropy_with_logits(predictions: Operand, targets: Operand) -> Call:
    """The mean over the batch of -sum(y * x), for logarithms of probabilities `x` and target probabilities `y`.

    Shapes: x, y (batch, classes) -> ().
    Source: Shannon's cross entropy.
    In Relay text: nn.cross_entropy_with_logits(%x, %y)
    """

def deformable_conv2d(
    data: Operand,
    offset: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    deformable_groups: SupportsIndex = 1,
    groups: SupportsIndex = 1,
    channels: SupportsIndex | None = None,
    kernel_size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: DTypeLike = "",
) -> Call:
    """A convolution that reads each tap at a position moved by an offset (row, column), interpolated; zero outside.

    Attributes:
      strides: steps of the window (list of int)
      padding: zeros around the data (list of int)
      dilation: distance between the taps of the window (list of int)
      deformable_groups: number of groups of channels with separate offsets (int)
      groups: number of groups of channels (int)
      channels: number of output channels, None to read it off the weight (int or None)
      kernel_size: size of the window, None to read it off the weight (list of int or None)
      data_layout: layout of the data (str)
      kernel_layout: layout of the weight (str)
      out_layout: layout of the result, "" for the layout of the data (str)
      out_dtype: dtype of sums and result (dtype)
    Shapes: data (N, C, H, W), offset (N, 2 deformable_groups KH KW, OH, OW), weight (O, C / groups, KH, KW) -> (N, O, OH, OW).
    Source: Dai et al., Deformable convolutional networks (2017).
    In Relay text: nn.deformable_conv2d(%x, %offset, %w, channels=8, kernel_size=[3, 3])
    """

def dense(data: Operand, weight: Operand, units: SupportsIndex | None = None, out_dtype: DTypeLike = "") -> Call:
    """Multiply `data` (..., k) by the transpose of `weight` (units, k), giving (..., units).

    The result has `out_dtype`, or else the dtype of `data`.

    Attributes:
      units: rows of the weight, None to read them off (int or None)
    Shapes: data (..., k), weight (units, k) -> (..., units).
    Source: a matrix product in BLAS.
    In Relay text: nn.dense(%x, %w, units=16)
    """

def depth_to_space(data: Operand, block_size: SupportsIndex, layout: str = "NCHW", mode: str = "DCR") -> Call:
    """Move channels into blocks of pixels; by `mode` the position in the block is before or after the channel.

    Attributes:
      block_size: size of a block along height and width (int)
      layout: layout of data and result (str)
      mode: order of the depth: position in the block before the channel (DCR), or after (any other value) (str)
    Shapes: (N, C, H, W) -> (N, C / b², H b, W b).
    Source: ONNX's DepthToSpace.
    In Relay text: nn.depth_to_space(%x, block_size=2)
    """

def dilate(data: Operand, strides: Iterable[SupportsIndex], dilation_value: SupportsFloat = 0.0) -> Call:
    """Spread the elements apart, with a constant value between them.

    Attributes:
      strides: distance between the elements in the result, for each dimension (list of int)
      dilation_value: the value between them (float)
    Shapes: (d0, ...) -> ((d0 - 1) * strides[0] + 1, ...).
    Source: np.full with every stride-th element set.
    In Relay text: nn.dilate(%x, strides=[1, 2])
    """

def dropout(data: Operand, rate: SupportsFloat = 0.5) -> Expr:
    """The data unchanged, as at inference, with a mask of ones.

    Attributes:
      rate: the share of elements dropped in training (float)
    Shapes: S -> S, mask S.
    Source: Srivastava et al. (2014), at inference.
    In Relay text: nn.dropout(%x, rate=0.5f)
    """

def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Return both results of `nn.dropout`: the data and the mask."""

def fast_softmax(data: Operand, axis: SupportsIndex = -1) -> Call:
    """The softmax that FastMath inserts: here the exact one, since NumPy's `exp` is as fast as the approximation.

    Attributes:
      axis: the axis that sums to one (int)
    Shapes: S -> S.
    Source: exponentials after subtracting the maximum, so that exp does not overflow.
    In Relay text: nn.fast_softmax(%x, axis=-1)
    """

def fifo_buffer(data: Operand, buffer: Operand, axis: SupportsIndex) -> Call:
    """Push data into a queue: the buffer shifted by the length of the data, with the data at its end.

    Attributes:
      axis: the axis of the queue (int)
    Shapes: data (..., n, ...), buffer (..., length, ...) -> (..., length, ...).
    Source: the last elements of buffer and data.
    In Relay text: nn.fifo_buffer(%x, %buffer, axis=0)
    """

def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Expr:
    """Return the mean over the one spatial axis, which is kept with size 1."""

def global_avg_pool2d(data: Operand, layout: str = "NCHW", out_layout: str = "") -> Call:
    """The mean of each channel over the whole image.

    Attributes:
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, H, W) -> (N, C, 1, 1).
    Source: NumPy.
    In Relay text: nn.global_avg_pool2d(%x)
    """

def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """Return the mean over the three spatial axes, which are kept with size 1."""

def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Expr:
    """Return the maximum over the one spatial axis, which is kept with size 1."""

def global_max_pool2d(data: Operand, layout: str = "NCHW", out_layout: str = "") -> Call:
    """The maximum of each channel over the whole image.

    Attributes:
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
    Shapes: (N, C, H, W) -> (N, C, 1, 1).
    Source: NumPy.
    In Relay text: nn.global_max_pool2d(%x)
    """

def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """Return the maximum over the three spatial axes, which are kept with size 1."""

def group_norm(
    data: Operand,
    gamma: Operand,
    beta: Operand,
    num_groups: SupportsIndex,
    axis: SupportsIndex = 1,
    epsilon: SupportsFloat = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalise each group of channels, and the axes after them, of each sample (Wu and He, 2018).

    Attributes:
      num_groups: number of groups of channels (int)
      axis: the channel axis (int)
      epsilon: added to the variance (float)
      center: whether beta is added (bool)
      scale: whether gamma multiplies (bool)
    Shapes: data (N, C, ...), gamma, beta (C) -> the same.
    Source: Wu and He (2018).
    In Relay text: nn.group_norm(%x, %gamma, %beta, num_groups=2)
    """

def instance_norm(
    data: Operand,
    gamma: Operand,
    beta: Operand,
    axis: SupportsIndex = 1,
    epsilon: SupportsFloat = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalise each channel of each sample with its own mean and variance (Ulyanov et al., 2016).

    Attributes:
      axis: the channel axis (int)
      epsilon: added to the variance (float)
      center: whether beta is added (bool)
      scale: whether gamma multiplies (bool)
    Shapes: data (N, C, ...), gamma, beta (C) -> the same.
    Source: Ulyanov et al. (2016).
    In Relay text: nn.instance_norm(%x, %gamma, %beta)
    """

def l2_normalize(
    data: Operand, eps: SupportsFloat, axis: SupportsIndex | Iterable[SupportsIndex] | None = None
) -> Call:
    """`x / sqrt(max(sum(x * x), eps))` along `axis`.

    Attributes:
      eps: the least sum of squares (float)
      axis: axes to sum over, None for all (list of int or None)
    Shapes: S -> S.
    Source: x over its Euclidean norm.
    In Relay text: nn.l2_normalize(%x, eps=0.001f, axis=[-1])
    """

def layer_norm(
    data: Operand,
    gamma: Operand,
    beta: Operand,
    axis: SupportsIndex = -1,
    epsilon: SupportsFloat = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalise along `axis` with the data's own mean and variance (Ba et al., 2016).

    Attributes:
      axis: the channel axis (int)
      epsilon: added to the variance (float)
      center: whether beta is added (bool)
      scale: whether gamma multiplies (bool)
    Shapes: data S, gamma, beta (S[axis]) -> S.
    Source: Ba et al. (2016).
    In Relay text: nn.layer_norm(%x, %gamma, %beta)
    """

def leaky_relu(data: Operand, alpha: SupportsFloat = 0.01) -> Call:
    """Multiply negative elements by `alpha`.

    Attributes:
      alpha: factor of negative elements (float)
    Shapes: S -> S.
    Source: Maas et al. (2013).
    In Relay text: nn.leaky_relu(%x, alpha=0.1f)
    """

def log_softmax(data: Operand, axis: SupportsIndex = -1) -> Call:
    """`x - log(sum(exp(x)))` along one axis, computed from x minus its maximum.

    Attributes:
      axis: the axis that sums to one (int)
    Shapes: S -> S.
    Source: exponentials after subtracting the maximum, so that exp does not overflow.
    In Relay text: nn.log_softmax(%x, axis=-1)
    """

def lrn(
    data: Operand,
    size: SupportsIndex = 5,
    axis: SupportsIndex = 1,
    bias: SupportsFloat = 2,
    alpha: SupportsFloat = 1e-05,
    beta: SupportsFloat = 0.75,
) -> Call:
    """Local response normalisation: x / (bias + alpha / size * (sum of squares of `size` neighbours)) ** beta.

    See Krizhevsky et al., "ImageNet classification with deep convolutional neural networks" (2012).

    Attributes:
      size: number of neighbours to sum (int)
      axis: the axis of the neighbours (int)
    Shapes: S -> S.
    Source: Krizhevsky et al. (2012).
    In Relay text: nn.lrn(%x, size=3)
    """

def matmul(
    tensor_a: Operand,
    tensor_b: Operand,
    units: SupportsIndex | None = None,
    out_dtype: DTypeLike = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """Multiply (..., m, k) by (k, n), with the result (..., m, n); either factor may be transposed.

    The result has `out_dtype`, or else the dtype of `tensor_a`.

    Attributes:
      units: columns of the result, None to read them off (int or None)
      out_dtype: dtype of the result (dtype)
      transpose_a: whether tensor_a is transposed (bool)
      transpose_b: whether tensor_b is transposed (bool)
    Shapes: (..., m, k), (k, n) -> (..., m, n).
    Source: a matrix product in BLAS.
    In Relay text: nn.matmul(%x, %w, units=16)
    """

def max_pool1d(
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1,),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1,),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1,),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The maximum of each window sliding over 1 spatial axis.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
    Shapes: (N, C, W) -> (N, C, windows), (length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each.
    Source: the maximum or mean over shifted views.
    In Relay text: nn.max_pool1d(%x, pool_size=[2], strides=[2])
    """

def max_pool2d(
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The maximum of each window sliding over 2 spatial axes.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
    Shapes: (N, C, H, W) -> (N, C, windows), (length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each.
    Source: the maximum or mean over shifted views.
    In Relay text: nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])
    """

def max_pool2d_grad(
    out_grad: Operand,
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The gradient of nn.max_pool2d for its data: each window's gradient goes to its first maximum.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
    Shapes: gradient (N, C, windows), data (N, C, H, W) -> (N, C, H, W).
    Source: the transpose of the pooling.
    In Relay text: nn.max_pool2d_grad(%g, %x, pool_size=[2, 2], strides=[2, 2])
    """

def max_pool3d(
    data: Operand,
    pool_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    dilation: SupportsIndex | Iterable[SupportsIndex] = (1, 1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The maximum of each window sliding over 3 spatial axes.

    Attributes:
      pool_size: size of the window (list of int)
      strides: steps of the window (list of int)
      dilation: distance between the taps of the window (list of int)
      padding: padding: both sides alike, or all befores then all afters (list of int)
      layout: layout of data and result (str)
      out_layout: layout of the result, as `layout` (str)
      ceil_mode: whether a last window may reach beyond the padding (bool)
    Shapes: (N, C, D, H, W) -> (N, C, windows), (length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each.
    Source: the maximum or mean over shifted views.
    In Relay text: nn.max_pool3d(%x, pool_size=[2, 2, 2], strides=[2, 2, 2])
    """

def mirror_pad(
    data: Operand, pad_width: Iterable[Iterable[SupportsIndex]], mode: Literal["SYMMETRIC", "REFLECT"] = "SYMMETRIC"
) -> Call:
    """Put the tensor's mirror image around it, with (SYMMETRIC) or without (REFLECT) its edge.

    Attributes:
      mode: whether the edge itself is repeated ('SYMMETRIC' | 'REFLECT')
      pad_width: for each dimension the width before and after (list of lists of int)
    Shapes: (d0, ...) -> (before + d0 + after, ...).
    Source: np.pad.
    In Relay text: nn.mirror_pad(%x, pad_width=[[1, 0], [0, 2]])
    """

def nll_loss(
    predictions: Operand,
    targets: Operand,
    weights: Operand,
    reduction: Literal["mean", "sum", "none"] = "mean",
    ignore_index: SupportsIndex = -100,
) -> Call:
    """Minus the weighted logarithm of the probability of each target: their mean by weight, their sum, or each.

    Attributes:
      reduction: mean (by weight), sum, or none ('mean' | 'sum' | 'none')
      ignore_index: targets of this class do not count (int)
    Shapes: predictions (N, C, ...), targets (N, ...), weights (C) -> (), or (N, ...) unreduced.
    Source: PyTorch's nll_loss.
    In Relay text: nn.nll_loss(%logp, %t, %w, ignore_index=-100)
    """

def pad(
    data: Operand,
    pad_width: Iterable[Iterable[SupportsIndex]] | Expr,
    pad_value: Operand | SupportsFloat | Iterable[SupportsFloat] = 0,
    pad_mode: Literal["constant", "edge", "reflect"] = "constant",
) -> Call:
    """Put a border around a tensor: a constant, its edge, or its reflection. Negative widths crop.

    Attributes:
      pad_width: for each dimension the width before and after (list of lists of int)
      pad_mode: what the border holds ('constant' | 'edge' | 'reflect')
    Shapes: (d0, ...), pad_val () -> (before + d0 + after, ...).
    Source: np.pad.
    In Relay text: nn.pad(%x, %v, pad_width=[[1, 0], [0, 2]])
    """

def prelu(data: Operand, alpha: Operand, axis: SupportsIndex = 1) -> Call:
    """Multiply negative elements by the `alpha` of their channel.

    Attributes:
      axis: the axis of the data alpha runs along (int)
    Shapes: data S, alpha (S[axis]) -> S.
    Source: He et al., Delving deep into rectifiers (2015).
    In Relay text: nn.prelu(%x, %a)
    """

def relu(data: Operand) -> Call:
    """Replace negative elements by zero.

    Shapes: S -> S.
    Source: Nair and Hinton (2010).
    In Relay text: nn.relu(%x)
    """

def softmax(data: Operand, axis: SupportsIndex = -1) -> Call:
    """exp(x) / sum(exp(x)) along one axis, computed from x minus its maximum.

    Attributes:
      axis: the axis that sums to one (int)
    Shapes: S -> S.
    Source: exponentials after subtracting the maximum, so that exp does not overflow.
    In Relay text: nn.softmax(%x, axis=-1)
    """

def space_to_batch_nd(
    data: Operand,
    block_shape: Iterable[SupportsIndex],
    paddings: Iterable[Iterable[SupportsIndex]],
    pad_value: SupportsFloat = 0,
) -> Call:
    """Divide padded data into blocks; each position in a block becomes a sample, with the batch varying fastest.

    Attributes:
      block_shape: size of a block along the axes after the batch (list of int)
      paddings: padding before and after each of these axes (list of lists of int)
      pad_value: the value of the padding (float)
    Shapes: (N, S, ...) -> (N * product of blocks, padded S / block, ...).
    Source: TensorFlow's space_to_batch_nd.
    In Relay text: nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[0, 1], [0, 0]])
    """

def space_to_depth(data: Operand, block_size: SupportsIndex, layout: str = "NCHW") -> Call:
    """Move blocks of pixels into the channels, the position in the block before the channel.

    Attributes:
      block_size: size of a block along height and width (int)
      layout: layout of data and result (str)
      mode: order of the depth: position in the block before the channel (DCR), or after (any other value) (str)
    Shapes: (N, C, H, W) -> (N, C b², H / b, W / b).
    Source: ONNX's SpaceToDepth.
    In Relay text: nn.space_to_depth(%x, block_size=2)
    """

def sparse_add(dense_mat: Operand, sparse_mat: object) -> Call:
    """Add a matrix and one in compressed rows.

    Shapes: dense_data (m, n), a sparse matrix (m, n) -> (m, n).
    Source: SciPy's compressed rows.
    In Relay text: nn.sparse_add(%x, %data, %indices, %indptr)
    """

def sparse_conv2d(
    dense_mat: Operand,
    sparse_mat: object,
    layout: Literal["NHWC", "NCHW"] = "NHWC",
    kernel_size: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
) -> Call:
    """A convolution whose weight is a sparse matrix of outputs by (tap, input channel); the image keeps its size.

    Attributes:
      layout: layout of data and result ('NHWC' | 'NCHW')
      kernel_size: size of the window: 1x1, or 3x3 with padding 1 (list of int)
    Shapes: dense_data (N, H, W, C), a sparse matrix (O, KH KW C) -> (N, H, W, O).
    Source: a convolution by a sparse matrix product.
    In Relay text: nn.sparse_conv2d(%x, %data, %indices, %indptr)
    """

def sparse_dense(dense_mat: Operand, sparse_mat: object, sparse_lhs: bool = False) -> Call:
    """Multiply a dense matrix by a transposed sparse one; with `sparse_lhs` a sparse one by a transposed dense one.

    Attributes:
      sparse_lhs: whether the sparse matrix is the left factor (bool)
    Shapes: dense_data (m, k), a sparse matrix (n, k) -> (m, n).
    Source: SciPy's compressed rows.
    In Relay text: nn.sparse_dense(%x, %data, %indices, %indptr)
    """

def sparse_transpose(x: object) -> TupleWrapper:
    """Transpose a square matrix in compressed rows.

    Shapes: a sparse matrix (n, n) -> its transpose, as data, indices and indptr.
    Source: SciPy's compressed rows.
    In Relay text: nn.sparse_transpose(%data, %indices, %indptr)
    """

def upsampling(
    data: Operand,
    scale_h: SupportsFloat | Expr = 1,
    scale_w: SupportsFloat | Expr = 1,
    layout: str = "NCHW",
    method: Literal["nearest_neighbor", "bilinear", "bicubic"] = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Enlarge images, repeating elements or interpolating between them.

    Attributes:
      scale_h: factor of the height (float)
      scale_w: factor of the width (float)
      layout: layout of data and result (str)
      method: the interpolation of new elements ('nearest_neighbor' | 'bilinear' | 'bicubic')
      align_corners: whether the corners of data and result coincide (bool)
    Shapes: (N, C, H, W) -> (N, C, H scale_h, W scale_w).
    Source: image.resize2d.
    In Relay text: nn.upsampling(%x, scale_h=2f, scale_w=2f)
    """

def upsampling3d(
    data: Operand,
    scale_d: SupportsFloat | Expr = 1,
    scale_h: SupportsFloat | Expr = 1,
    scale_w: SupportsFloat | Expr = 1,
    layout: str = "NCDHW",
    method: Literal["nearest_neighbor", "trilinear"] = "nearest_neighbor",
    coordinate_transformation_mode: Literal[
        "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"
    ] = "half_pixel",
) -> Call:
    """Enlarge volumes, repeating elements or interpolating between them.

    Attributes:
      scale_d: factor of the depth (float)
      scale_h: factor of the height (float)
      scale_w: factor of the width (float)
      layout: layout of data and result (str)
      method: the interpolation of new elements ('nearest_neighbor' | 'trilinear')
      coordinate_transformation_mode: where new elements lie ('half_pixel' | 'align_corners' | 'asymmetric' | 'pytorch_half_pixel' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize')
    Shapes: (N, C, D, H, W) -> (N, C, D scale_d, H scale_h, W scale_w).
    Source: image.resize3d.
    In Relay text: nn.upsampling3d(%x, scale_d=2f, scale_h=1f, scale_w=2f)
    """

class internal:
    @staticmethod
    def sparse_dense_padded(
        data: Operand, weight_data: Operand, weight_indices: Operand, weight_indptr: Operand, sparse_lhs: bool = False
    ) -> Call:
        """`nn.sparse_dense` on a weight whose rows were padded to equal length for a GPU.

        Attributes:
          sparse_lhs: whether the sparse matrix is the left factor (bool)
        Shapes: data (m, k), a sparse matrix (n, k) -> (m, n).
        Source: SciPy's compressed rows.
        In Relay text: nn.internal.sparse_dense_padded(%x, %data, %indices, %indptr)
        """
