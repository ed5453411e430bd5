"""Transposed convolutions: `nn.conv1d_transpose`, `nn.conv2d_transpose`, `nn.conv3d_transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, Relation
from passlab.ir.types import ANY, Dim, Shape
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, dtype, integer, integers, text
from passlab.op.declare import Python
from passlab.op.dtypes import Array
from passlab.op.layout_names import DATA_LAYOUTS, conversion
from passlab.op.nn import conv_gradients
from passlab.op.nn.accumulation import result_dtype
from passlab.op.nn.conv import ConvGeometry, check_kernel_size, check_window, conv_type, convolution
from passlab.op.nn.conv_kernels import convolve_transposed
from passlab.op.nn.window_arrays import Window
from passlab.op.nn.window_sizes import as_list, check_lengths, on_axes, pad
from passlab.op.relations import refuse

KERNEL_LAYOUTS = {1: "IOW", 2: "IOHW", 3: "IODHW"}


def _conv_transpose_attrs(rank: int) -> type[Attrs]:
    return attrs(
        f"Conv{rank}DTransposeAttrs",
        integer("channels", None, "number of output channels, None to read it off the weight"),
        integers("kernel_size", None, "size of the window, None to read it off the weight"),
        integers("strides", (1,) * rank, "strides of the window in the result"),
        integers("output_padding", (0,) * rank, "additional size of the result at the end of each axis"),
        integers(
            "padding", (0,) * rank, "cropping around the result: both sides alike, or all befores then all afters"
        ),
        integers("dilation", (1,) * rank, "distance between the taps of the window"),
        integer("groups", 1, "number of groups of channels"),
        text("data_layout", DATA_LAYOUTS[rank], "layout of the data"),
        text(
            "kernel_layout",
            KERNEL_LAYOUTS[rank],
            "layout of the weight: I input channels, O output channels of a group",
        ),
        text("out_layout", "", 'layout of the result, "" for the layout of the data'),
        dtype("out_dtype", "", "dtype of sums and result"),
    )


def _conv_transpose_relation(rank: int, name: str) -> Relation:
    channels, size = partial(_check_transposed_weight, name), partial(_output_size, name)
    return partial(conv_type, ConvGeometry(rank, KERNEL_LAYOUTS[rank], _weight_shape, channels, size))


def _weight_shape(data: Shape, attrs: Attrs) -> Shape | None:
    if attrs.kernel_size is None or attrs.channels is None:
        return None
    return (data[1], attrs.channels // attrs.groups, *attrs.kernel_size)


def _output_size(name: str, axis: int, length: Dim, taps: Dim, attrs: Attrs, window: Window) -> Dim:
    check_lengths(len(window.before), spare=True, output_padding=attrs.output_padding)
    if not isinstance(taps, int):
        return ANY
    padding = window.before[axis] + window.after[axis]
    extra = (taps - 1) * attrs.dilation[axis] + attrs.output_padding[axis] - padding
    if not isinstance(length, int):
        return length if attrs.strides[axis] == 1 and extra == 0 else ANY
    result: int = (length - 1) * attrs.strides[axis] + 1 + extra
    if result < 0:
        refuse(f"{name}: the padding is larger than spatial axis {axis} of the result", 0, found=f"padding {padding}")
    return result


def _check_transposed_weight(name: str, data: Shape, kernel: Shape, attrs: Attrs) -> Dim:
    """Check the weight (I, O / groups, *K) against data and attributes; return the number of output channels."""
    check_kernel_size(kernel, attrs, name, 1)
    if isinstance(data[1], int) and isinstance(kernel[0], int) and data[1] != kernel[0]:
        refuse(
            f"{name}: the weight does not fit the channels of the data",
            1,
            expected=f"{data[1]} input channels",
            found=kernel[0],
            hint="check data_layout and kernel_layout",
        )
    if isinstance(data[1], int) and data[1] % attrs.groups:
        refuse(f"{name}: {data[1]} channels cannot be divided into {attrs.groups} groups", 0)
    result = kernel[1] * attrs.groups if isinstance(kernel[1], int) else ANY
    if attrs.channels is None:
        return result
    if isinstance(result, int) and result != attrs.channels:
        expected = f"channels={attrs.channels}"
        refuse(f"{name}: the weight does not have the output channels", 1, expected=expected, found=result)
    return int(attrs.channels)


def _conv_transpose_kernel(rank: int, attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    window = check_window(attrs, rank)
    data_conversion = conversion(attrs.data_layout, DATA_LAYOUTS[rank], "data_layout")
    output_conversion = conversion(attrs.out_layout or attrs.data_layout, DATA_LAYOUTS[rank], "out_layout")
    w = conversion(attrs.kernel_layout, KERNEL_LAYOUTS[rank], "kernel_layout").forward(weight)
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    target = out if output_conversion.same else None
    extra = attrs.output_padding[:rank]
    result = convolve_transposed(data_conversion.forward(data), w, window, extra, attrs.groups, dtype, target)
    if output_conversion.same:
        return result
    output = output_conversion.backward(result)
    if out is None:
        return output.copy()
    out[...] = output
    return out


def _declare_conv_transpose(
    rank: int, channels_last: str, shapes: str, axes: str, edge_cases: Sequence[str], example: str
) -> Op:
    """Declare `nn.conv{rank}d_transpose`; `channels_last` is its kernel layout for such data."""
    name, data, kernel = f"nn.conv{rank}d_transpose", DATA_LAYOUTS[rank], KERNEL_LAYOUTS[rank]
    one, zero = (1,) * rank, (0,) * rank
    per_axis = on_axes(rank)
    return convolution(
        name,
        partial(_conv_transpose_kernel, rank),
        python=Python(
            f"data, weight, strides={one}, padding={zero}, dilation={one}, groups=1, channels=None, kernel_size=None, "
            f"data_layout={data!r}, kernel_layout={kernel!r}, out_layout='', output_padding={zero}, out_dtype=''",
            strides=per_axis,
            padding=as_list if rank == 1 else pad(rank),  # on one axis, one number is not doubled: so does Relay
            dilation=per_axis,
            kernel_size=per_axis,
            output_padding=per_axis,
        ),
        attrs=_conv_transpose_attrs(rank),
        relation=_conv_transpose_relation(rank, name),
        gradient=conv_gradients.conv_transpose(rank),
        shapes=shapes,
        source="a matrix product in BLAS and col2im; Dumoulin and Visin (2016)",
        edge_cases=tuple(edge_cases),
        example=f"{name}(%x, %w, channels=8, {example})",
        layout=layout_rules.TwoLayouts({data: kernel, f"N{data[2:]}C": channels_last}),
        doc=f"Add each element times the weight's window into the result, windows `strides` apart, {axes}.",
    )


conv1d_transpose = _declare_conv_transpose(
    1,
    "WIO",
    "data (N, C, W), weight (C, O / groups, K) -> (N, O, "
    "(W - 1) strides - padding + dilation (K - 1) + 1 + output_padding)",
    "along one axis",
    (
        "nn.conv1d_transpose(%x: (2, 2, 3), %w: (2, 3, 3), strides=[2], padding=[1], output_padding=[1])",
        "nn.conv1d_transpose(%x: (1, 2, 3), %w: (2, 1, 2), groups=2)",
        "nn.conv1d_transpose(%x: (0, 2, 3), %w: (2, 3, 3))",
    ),
    "kernel_size=[3], strides=[2]",
)
conv2d_transpose = _declare_conv_transpose(
    2,
    "HWIO",
    "data (N, C, H, W), weight (C, O / groups, KH, KW) -> (N, O, OH, OW)",
    "over two axes",
    (
        "nn.conv2d_transpose(%x: (1, 2, 3, 2), %w: (2, 3, 2, 3), strides=[2, 1], padding=[1, 1])",
        "nn.conv2d_transpose(%x: (1, 2, 2, 2), %w: (2, 1, 2, 2), groups=2, dilation=[2, 1])",
        "nn.conv2d_transpose(%x: (0, 2, 2, 2), %w: (2, 1, 2, 2))",
    ),
    "kernel_size=[4, 4], strides=[2, 2], padding=[1, 1, 1, 1]",
)
conv3d_transpose = _declare_conv_transpose(
    3,
    "DHWIO",
    "data (N, C, D, H, W), weight (C, O / groups, KD, KH, KW) -> (N, O, OD, OH, OW)",
    "over three axes",
    (
        "nn.conv3d_transpose(%x: (1, 2, 2, 2, 2), %w: (2, 1, 2, 2, 2), strides=[2, 1, 1])",
        "nn.conv3d_transpose(%x: (0, 1, 2, 2, 2), %w: (1, 1, 2, 2, 2))",
    ),
    "kernel_size=[2, 2, 2], strides=[2, 2, 2]",
)
