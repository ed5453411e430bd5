"""Transposed convolutions: `nn.conv1d_transpose`, `nn.conv2d_transpose`, `nn.conv3d_transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Relation, Reporter
from passlab.ir.types import ANY, Dim, Shape, TensorType, Type
from passlab.op import layout_rules
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, dtype, integer, integers, text
from passlab.op.layout_names import DATA_LAYOUTS, conversion, forward_shape
from passlab.op.nn import conv_gradients
from passlab.op.nn.arithmetic import result_dtype
from passlab.op.nn.conv import check_window
from passlab.op.nn.convolve import convolve_transposed
from passlab.op.nn.windows import as_list, check_lengths, on_axes, pad
from passlab.op.relations import tensor

KERNEL_LAYOUTS = {1: "IOW", 2: "IOHW", 3: "IODHW"}


def _attrs(rank: int) -> type[Attrs]:
    return attrs(
        f"Conv{rank}DTransposeAttrs",
        integer("channels", None, "number of output channels, None to read it off the weight"),
        integers("kernel_size", None, "size of the window, None to read it off the weight"),
        integers("strides", (1,) * rank, "steps of the window in the result"),
        integers("output_padding", (0,) * rank, "how much larger the result is at the end of each axis"),
        integers(
            "padding",
            (0,) * rank,
            "what is cut off around the result: both sides alike, or all befores then all afters",
        ),
        integers("dilation", (1,) * rank, "distance of the taps of the window"),
        integer("groups", 1, "how many parts the channels are divided into"),
        text("data_layout", DATA_LAYOUTS[rank], "layout of the data"),
        text(
            "kernel_layout",
            KERNEL_LAYOUTS[rank],
            "layout of the weight: I input channels, O output channels of a group",
        ),
        text("out_layout", "", 'layout of the result, "" for that of the data'),
        dtype("out_dtype", "", "dtype of sums and result"),
    )


def _relation(rank: int, name: str) -> Relation:
    standard, kernel_standard = DATA_LAYOUTS[rank], KERNEL_LAYOUTS[rank]

    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        data, weight = tensor(types, 0, "data"), tensor(types, 1, "weight")
        if data is None:
            return None
        window = check_window(attrs, rank)
        check_lengths(rank, spare=True, output_padding=attrs.output_padding)
        into = conversion(attrs.data_layout, standard, "data_layout")
        kernel_way = conversion(attrs.kernel_layout, kernel_standard, "kernel_layout")
        shape = forward_shape(into, data.shape, "data", 0)
        if weight is None:
            if attrs.kernel_size is None or attrs.channels is None:
                return None
            weight_shape = (shape[1], attrs.channels // attrs.groups, *attrs.kernel_size)
            weight = TensorType(kernel_way.backward_shape(weight_shape), data.dtype)
            reporter.assign(1, weight)
        kernel = forward_shape(kernel_way, weight.shape, "weight", 1)
        channels = _check_weight(shape, kernel, attrs, name)
        before, after = window.before, window.after
        size = [
            _size(i, shape[2 + i], (attrs.kernel_size or kernel[2:])[i], attrs, before[i] + after[i], name)
            for i in range(rank)
        ]
        way = conversion(attrs.out_layout or attrs.data_layout, standard, "out_layout")
        return TensorType(way.backward_shape((shape[0], channels, *size)), attrs.out_dtype or data.dtype)

    return relation


def _size(axis: int, size: Dim, kernel: Dim, attrs: Attrs, padding: int, name: str) -> Dim:
    if not isinstance(kernel, int):
        return ANY
    more = (kernel - 1) * attrs.dilation[axis] + attrs.output_padding[axis] - padding
    if not isinstance(size, int):
        return size if attrs.strides[axis] == 1 and more == 0 else ANY
    result: int = (size - 1) * attrs.strides[axis] + 1 + more
    if result < 0:
        raise RelationError(
            Diagnostic(
                f"{name}: the padding is larger than spatial axis {axis} of the result", found=f"padding {padding}"
            ),
            0,
        )
    return result


def _check_weight(data: Shape, kernel: Shape, attrs: Attrs, name: str) -> Dim:
    """Check the weight (I, O / groups, *K) against data and attributes; return the number of output channels."""
    if attrs.kernel_size is not None and any(
        isinstance(k, int) and k != want for want, k in zip(attrs.kernel_size, kernel[2:], strict=True)
    ):
        raise RelationError(
            Diagnostic(
                f"{name}: the weight does not have the kernel_size",
                expected=str(list(attrs.kernel_size)),
                found=str(list(kernel[2:])),
            ),
            1,
        )
    if isinstance(data[1], int) and isinstance(kernel[0], int) and data[1] != kernel[0]:
        raise RelationError(
            Diagnostic(
                f"{name}: the weight does not fit the channels of the data",
                expected=f"{data[1]} input channels",
                found=str(kernel[0]),
                hint="check data_layout and kernel_layout",
            ),
            1,
        )
    if isinstance(data[1], int) and data[1] % attrs.groups:
        raise RelationError(Diagnostic(f"{name}: {data[1]} channels cannot be divided into {attrs.groups} groups"), 0)
    result = kernel[1] * attrs.groups if isinstance(kernel[1], int) else ANY
    if attrs.channels is None:
        return result
    if isinstance(result, int) and result != attrs.channels:
        raise RelationError(
            Diagnostic(
                f"{name}: the weight does not have the output channels",
                expected=f"channels={attrs.channels}",
                found=str(result),
            ),
            1,
        )
    return int(attrs.channels)


def _kernel(rank: int, attrs: Attrs, data: Any, weight: Any, out: Any) -> Any:
    window = check_window(attrs, rank)
    into = conversion(attrs.data_layout, DATA_LAYOUTS[rank], "data_layout")
    way = conversion(attrs.out_layout or attrs.data_layout, DATA_LAYOUTS[rank], "out_layout")
    w = conversion(attrs.kernel_layout, KERNEL_LAYOUTS[rank], "kernel_layout").forward(weight)
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    target = out if way.same else None
    extra = attrs.output_padding[:rank]
    result = convolve_transposed(into.forward(data), w, window, extra, attrs.groups, dtype, target)
    if way.same:
        return result
    output = way.backward(result)
    if out is None:
        return output.copy()
    out[...] = output
    return out


@operator(
    "nn.conv1d_transpose",
    ("data", "weight"),
    attrs=_attrs(1),
    relation=_relation(1, "nn.conv1d_transpose"),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    level=2,
    warns=True,
    python=Python(
        "data, weight, strides=(1,), padding=(0,), dilation=(1,), groups=1, channels=None, "
        "kernel_size=None, data_layout='NCW', kernel_layout='IOW', out_layout='', "
        "output_padding=(0,), out_dtype=''",
        strides=on_axes(1),
        padding=as_list,
        dilation=on_axes(1),
        kernel_size=on_axes(1),
        output_padding=on_axes(1),
    ),
    gradient=conv_gradients.conv_transpose(1),
    shapes=(
        "data (N, C, W), weight (C, O / groups, K) -> (N, O, "
        "(W - 1) strides - padding + dilation (K - 1) + 1 + output_padding)"
    ),
    source="a matrix product in BLAS and col2im; Dumoulin and Visin (2016)",
    edge_cases=(
        "nn.conv1d_transpose(%x: (2, 2, 3), %w: (2, 3, 3), strides=[2], padding=[1], output_padding=[1])",
        "nn.conv1d_transpose(%x: (1, 2, 3), %w: (2, 1, 2), groups=2)",
        "nn.conv1d_transpose(%x: (0, 2, 3), %w: (2, 3, 3))",
    ),
    example="nn.conv1d_transpose(%x, %w, channels=8, kernel_size=[3], strides=[2])",
    layout=layout_rules.TwoLayouts({"NCW": "IOW", "NWC": "WIO"}),
)
def conv1d_transpose(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Any:
    """Add each element times the weight's window into the result, windows `strides` apart, along one axis."""
    return _kernel(1, attrs, data, weight, out)


@operator(
    "nn.conv2d_transpose",
    ("data", "weight"),
    attrs=_attrs(2),
    relation=_relation(2, "nn.conv2d_transpose"),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    level=2,
    warns=True,
    python=Python(
        "data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, "
        "kernel_size=None, data_layout='NCHW', kernel_layout='IOHW', out_layout='', "
        "output_padding=(0, 0), out_dtype=''",
        strides=on_axes(2),
        padding=pad(2),
        dilation=on_axes(2),
        kernel_size=on_axes(2),
        output_padding=on_axes(2),
    ),
    gradient=conv_gradients.conv_transpose(2),
    shapes="data (N, C, H, W), weight (C, O / groups, KH, KW) -> (N, O, OH, OW)",
    source="a matrix product in BLAS and col2im; Dumoulin and Visin (2016)",
    edge_cases=(
        "nn.conv2d_transpose(%x: (1, 2, 3, 2), %w: (2, 3, 2, 3), strides=[2, 1], padding=[1, 1])",
        "nn.conv2d_transpose(%x: (1, 2, 2, 2), %w: (2, 1, 2, 2), groups=2, dilation=[2, 1])",
        "nn.conv2d_transpose(%x: (0, 2, 2, 2), %w: (2, 1, 2, 2))",
    ),
    example="nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[4, 4], strides=[2, 2], padding=[1, 1, 1, 1])",
    layout=layout_rules.TwoLayouts({"NCHW": "IOHW", "NHWC": "HWIO"}),
)
def conv2d_transpose(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Any:
    """Add each element times the weight's window into the result, windows `strides` apart, over two axes."""
    return _kernel(2, attrs, data, weight, out)


@operator(
    "nn.conv3d_transpose",
    ("data", "weight"),
    attrs=_attrs(3),
    relation=_relation(3, "nn.conv3d_transpose"),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    level=2,
    warns=True,
    python=Python(
        "data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1, "
        "channels=None, kernel_size=None, data_layout='NCDHW', kernel_layout='IODHW', out_layout='', "
        "output_padding=(0, 0, 0), out_dtype=''",
        strides=on_axes(3),
        padding=pad(3),
        dilation=on_axes(3),
        kernel_size=on_axes(3),
        output_padding=on_axes(3),
    ),
    gradient=conv_gradients.conv_transpose(3),
    shapes="data (N, C, D, H, W), weight (C, O / groups, KD, KH, KW) -> (N, O, OD, OH, OW)",
    source="a matrix product in BLAS and col2im; Dumoulin and Visin (2016)",
    edge_cases=(
        "nn.conv3d_transpose(%x: (1, 2, 2, 2, 2), %w: (2, 1, 2, 2, 2), strides=[2, 1, 1])",
        "nn.conv3d_transpose(%x: (0, 1, 2, 2, 2), %w: (1, 1, 2, 2, 2))",
    ),
    example="nn.conv3d_transpose(%x, %w, channels=8, kernel_size=[2, 2, 2], strides=[2, 2, 2])",
    layout=layout_rules.TwoLayouts({"NCDHW": "IODHW", "NDHWC": "DHWIO"}),
)
def conv3d_transpose(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Any:
    """Add each element times the weight's window into the result, windows `strides` apart, over three axes."""
    return _kernel(3, attrs, data, weight, out)
