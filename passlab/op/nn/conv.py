"""Convolutions: `nn.conv1d`, `nn.conv2d`, `nn.conv3d`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Precision, Relation, Reporter
from passlab.ir.types import ANY, Dim, Shape, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, dtype, integer, integers, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import DATA_LAYOUTS, conversion, forward_shape
from passlab.op.nn import conv_gradients
from passlab.op.nn.accumulation import result_dtype
from passlab.op.nn.conv_kernels import convolve
from passlab.op.nn.window_arrays import Window
from passlab.op.nn.window_sizes import (
    check_lengths,
    check_positive,
    split_padding,
    window_parameters,
    window_size,
)
from passlab.op.relations import refuse, tensor

KERNEL_LAYOUTS = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
KERNEL_DOC = "layout of the weight: O output channels, I input channels of a group"


def conv_attrs(rank: int) -> type[Attrs]:
    """Create the attribute record of a convolution over `rank` spatial axes."""
    return attrs(
        f"Conv{rank}DAttrs",
        integers("strides", (1,) * rank, "steps of the window"),
        integers(
            "padding", (0,) * max(rank, 2), "zeros around the data: both sides alike, or all befores then all afters"
        ),
        integers("dilation", (1,) * rank, "distance between the taps of the window"),
        integer("groups", 1, "number of groups of channels"),
        integer("channels", None, "number of output channels, None to read it off the weight"),
        integers("kernel_size", None, "size of the window, None to read it off the weight"),
        text("data_layout", DATA_LAYOUTS[rank], "layout of the data"),
        text("kernel_layout", KERNEL_LAYOUTS[rank], KERNEL_DOC),
        text("out_layout", "", 'layout of the result, "" for the layout of the data'),
        dtype("out_dtype", "", "dtype of sums and result"),
    )


def conv_signature(
    rank: int, before: str = "data, weight", data_layout: str = "", names: Mapping[str, str] | None = None
) -> Python:
    """Return Relay's Python signature of a convolution; `before` are the parameters before the window's."""
    one, zero = ("1", "0") if rank == 1 else ((1,) * rank, (0,) * rank)
    return Python(
        f"{before}, strides={one}, padding={zero}, dilation={one}, groups=1, channels=None, kernel_size=None, "
        f"data_layout={data_layout or DATA_LAYOUTS[rank]!r}, kernel_layout={KERNEL_LAYOUTS[rank]!r}, out_layout='', "
        "out_dtype=''",
        names,
        **window_parameters(rank),
    )


class ConvGeometry(NamedTuple):
    """The properties of one kind of convolution, for its type relation over `rank` spatial axes.

    `weight_shape(data, attrs)` is the shape of a weight of unknown type, None if the attributes do not determine it.
    `channels(data, weight, attrs)` checks the weight and returns the output channels. `size(axis, length, taps, attrs,
    window)` is the length of a spatial axis of the result.
    """

    rank: int
    kernel_layout: str
    weight_shape: Callable[[Shape, Attrs], Shape | None]
    channels: Callable[[Shape, Shape, Attrs], Dim]
    size: Callable[[int, Dim, Dim, Attrs, Window], Dim]


def conv_type(geometry: ConvGeometry, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """The type relation of convolutions and transposed convolutions."""
    data, weight = tensor(types, 0, "data"), tensor(types, 1, "weight")
    if data is None:
        return None
    window = check_window(attrs, geometry.rank)
    standard = DATA_LAYOUTS[geometry.rank]
    data_conversion = conversion(attrs.data_layout, standard, "data_layout")
    weight_conversion = conversion(attrs.kernel_layout, geometry.kernel_layout, "kernel_layout")
    shape = forward_shape(data_conversion, data.shape, "data", 0)
    if weight is None:
        weight_shape = geometry.weight_shape(shape, attrs)
        if weight_shape is None:
            return None
        weight = TensorType(weight_conversion.backward_shape(weight_shape), data.dtype)
        reporter.assign(1, weight)
    kernel = forward_shape(weight_conversion, weight.shape, "weight", 1)
    channels = geometry.channels(shape, kernel, attrs)
    taps = attrs.kernel_size or kernel[2:]
    size = [geometry.size(i, shape[2 + i], taps[i], attrs, window) for i in range(geometry.rank)]
    output_conversion = conversion(attrs.out_layout or attrs.data_layout, standard, "out_layout")
    return TensorType(output_conversion.backward_shape((shape[0], channels, *size)), attrs.out_dtype or data.dtype)


def conv_relation(rank: int, name: str) -> Relation:
    """Return the type relation of a convolution over `rank` spatial axes."""
    weight_shape, channels = partial(_weight_shape, name), partial(check_weight, name=name)
    return partial(conv_type, ConvGeometry(rank, KERNEL_LAYOUTS[rank], weight_shape, channels, _size))


def _size(axis: int, length: Dim, taps: Dim, attrs: Attrs, window: Window) -> Dim:
    before, after = window.before[axis], window.after[axis]
    return window_size(length, taps, attrs.strides[axis], before, after, attrs.dilation[axis], axis=axis)


def check_window(attrs: Attrs, rank: int) -> Window:
    """Return the window of a convolution. Raises `RelationError` for numbers of wrong count or sign."""
    sizes = (attrs.kernel_size, attrs.groups, attrs.channels)
    return _window(rank, attrs.strides, attrs.padding, attrs.dilation, *sizes)


@lru_cache(maxsize=4096)  # a network has few kinds of windows, and needs each in every run
def _window(
    rank: int,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    kernel_size: tuple[int, ...] | None,
    groups: int,
    channels: int | None,
) -> Window:
    check_lengths(rank, strides=strides, dilation=dilation, kernel_size=kernel_size)
    check_positive(strides=strides, dilation=dilation, kernel_size=kernel_size)
    check_positive(groups=(groups,), channels=None if channels is None else (channels,))
    before, after = split_padding(padding, rank)
    return Window(strides, before, after, dilation)


def _weight_shape(name: str, data: Shape, attrs: Attrs) -> Shape | None:
    """Return the weight's shape (O, I, *K), None if the attributes do not determine it."""
    if attrs.groups > 1:
        hint = "annotate the weight with its type"
        refuse(f"{name} in groups cannot infer its weight", 1, expected="a weight of known shape", hint=hint)
    if attrs.kernel_size is None or attrs.channels is None:
        return None
    return (attrs.channels, data[1], *attrs.kernel_size)


def check_kernel_size(kernel: Shape, attrs: Attrs, name: str, index: int) -> None:
    """Raise `RelationError` if the weight (?, ?, *K), input number `index`, does not have the size `kernel_size`."""
    sizes = zip(attrs.kernel_size or kernel[2:], kernel[2:], strict=True)
    if any(isinstance(length, int) and length != size for size, length in sizes):
        expected, message = list(attrs.kernel_size), f"{name}: the weight does not have the kernel_size"
        refuse(message, index, expected=expected, found=list(kernel[2:]))


def check_weight(data: Shape, kernel: Shape, attrs: Attrs, name: str, index: int = 1) -> Dim:
    """Check the weight (O, I, *K), input number `index`; return the number of output channels."""
    groups, inputs, outputs, depth = attrs.groups, data[1], kernel[0], kernel[1]
    check_kernel_size(kernel, attrs, name, index)
    # Relay also takes a depthwise weight as (C, multiplier, *K): certain if inputs and multiplier are known numbers.
    maybe_depthwise = groups > 1 and depth != 1 and _may_equal(inputs, groups) and _may_equal(outputs, groups)
    is_depthwise = maybe_depthwise and inputs == groups and isinstance(depth, int)
    if isinstance(inputs, int) and inputs % groups:
        refuse(f"{name}: {inputs} channels cannot be divided into {groups} groups", 0)
    if isinstance(inputs, int) and isinstance(depth, int) and depth != inputs // groups and not is_depthwise:
        refuse(
            f"{name}: the weight does not fit the channels of the data",
            index,
            expected=f"{inputs // groups} input channels ({inputs} / {groups} groups)",
            found=depth,
            hint="check data_layout and kernel_layout",
        )
    result = outputs
    if maybe_depthwise:
        result = outputs * depth if is_depthwise and isinstance(outputs, int) and isinstance(depth, int) else ANY
    if attrs.channels is not None:
        if isinstance(result, int) and result != attrs.channels:
            expected = f"channels={attrs.channels}"
            refuse(f"{name}: the weight does not have the output channels", index, expected=expected, found=result)
        result = attrs.channels
    if isinstance(result, int) and result % groups:
        refuse(f"{name}: {result} output channels cannot be divided into {groups} groups", index)
    return result


def _may_equal(dim: Dim, size: int) -> bool:
    return dim == size or not isinstance(dim, int)


def conv_kernel(rank: int, attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """Compute a convolution in any layout."""
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    window = check_window(attrs, rank)
    data_conversion = conversion(attrs.data_layout, DATA_LAYOUTS[rank], "data_layout")
    weight_conversion = conversion(attrs.kernel_layout, KERNEL_LAYOUTS[rank], "kernel_layout")
    out_layout = attrs.out_layout or attrs.data_layout
    w = weight_conversion.forward(weight)
    if attrs.groups > 1 and w.shape[1] * attrs.groups != data_conversion.forward_shape(data.shape)[1]:
        w = w.reshape(-1, 1, *w.shape[2:])  # depthwise, written (C, multiplier, *K)
    spatial = DATA_LAYOUTS[rank][2:]
    if attrs.data_layout == f"N{spatial}C":
        w = w.transpose(*range(2, rank + 2), 1, 0)
        if out_layout == attrs.data_layout:
            return convolve(data, w, window, attrs.groups, dtype, last=True, out=out)
        result = convolve(data, w, window, attrs.groups, dtype, last=True)
        result = result.transpose(0, rank + 1, *range(1, rank + 1))
    elif data_conversion.same and out_layout == attrs.data_layout:
        return convolve(data, w, window, attrs.groups, dtype, out=out)
    else:
        result = convolve(data_conversion.forward(data), w, window, attrs.groups, dtype)
    output = conversion(out_layout, DATA_LAYOUTS[rank], "out_layout").backward(result)
    if out is None:
        return output.copy()
    out[...] = output
    return out


def convolution(name: str, kernel: Callable[..., Array], **facts: Any) -> Op:
    """Declare a convolution, transposed or not; `facts` are the parameters of `operator` that differ."""
    return operator(
        name,
        ("data", "weight"),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        precision=Precision.ALWAYS,
        level=2,
        silenced=True,
        **facts,
    )(kernel)


def _conv_op(rank: int, channels_last: str, shapes: str, edge_cases: Sequence[str], doc: str, **layouts: str) -> Op:
    """Declare `nn.conv{rank}d`; `channels_last` is its kernel layout for such data, `layouts` are further pairs."""
    name, data, kernel = f"nn.conv{rank}d", DATA_LAYOUTS[rank], KERNEL_LAYOUTS[rank]
    return convolution(
        name,
        partial(conv_kernel, rank),
        python=conv_signature(rank),
        attrs=conv_attrs(rank),
        relation=conv_relation(rank, name),
        gradient=conv_gradients.conv(rank),
        shapes=shapes,
        source="im2col and a matrix product in BLAS, panel by panel",
        edge_cases=tuple(edge_cases),
        example=f"{name}(%x, %w, padding={[1] * max(2, 2 * rank)}, channels=8, kernel_size={[3] * rank})",
        layout=layout_rules.TwoLayouts({data: kernel, f"N{data[2:]}C": channels_last, **layouts}),
        doc=doc,
    )


conv1d = _conv_op(
    1,
    "WIO",
    "data (N, C, W), weight (O, C / groups, K) -> (N, O, (W + padding - dilation (K - 1) - 1) / strides + 1)",
    (
        "nn.conv1d(%x: (2, 2, 5), %w: (3, 2, 3), padding=[1, 1])",
        "nn.conv1d(%x: (1, 4, 6), %w: (4, 2, 2), strides=[2], dilation=[2], groups=2)",
        'nn.conv1d(%x: (1, 5, 2), %w: (3, 2, 3), data_layout="NWC", kernel_layout="WIO")',
        "nn.conv1d(%x: (0, 2, 5), %w: (3, 2, 3))",
    ),
    "Slide windows along one axis; each result is the sum of a window's elements times the weight.",
)
conv2d = _conv_op(
    2,
    "HWIO",
    "data (N, C, H, W), weight (O, C / groups, KH, KW) -> (N, O, OH, OW), "
    "OH = (H + padding - dilation (KH - 1) - 1) / strides + 1",
    (
        "nn.conv2d(%x: (2, 2, 4, 5), %w: (3, 2, 3, 2), padding=[1, 0, 1, 1])",
        "nn.conv2d(%x: (1, 4, 5, 5), %w: (4, 2, 3, 3), strides=[2, 1], dilation=[1, 2], groups=2)",
        "nn.conv2d(%x: (1, 3, 4, 4), %w: (3, 1, 3, 3), groups=3, padding=[1, 1])",
        'nn.conv2d(%x: (1, 4, 4, 2), %w: (3, 3, 2, 3), data_layout="NHWC", kernel_layout="HWIO")',
        'nn.conv2d(%x: (4, 4, 2, 1), %w: (1, 1, 2, 3), data_layout="HWCN", kernel_layout="HWIO")',
        "nn.conv2d(%x: (0, 2, 4, 4), %w: (3, 2, 3, 3))",
        'nn.conv2d(%x: (1, 2, 3, 3) int8, %w: (3, 2, 2, 2) int8, out_dtype="int32")',
    ),
    """Slide windows over two axes; each result is the sum of a window's elements times the weight.

    `out[n, o, y, x] = sum(data[n, i, y * stride + ky * dilation, x * stride + kx * dilation] * weight[o, i, ky, kx])`
    """,
    HWNC="HWOI",
)
conv3d = _conv_op(
    3,
    "DHWIO",
    "data (N, C, D, H, W), weight (O, C / groups, KD, KH, KW) -> (N, O, OD, OH, OW)",
    (
        "nn.conv3d(%x: (1, 2, 3, 3, 4), %w: (2, 2, 2, 2, 3), padding=[1, 0, 1])",
        "nn.conv3d(%x: (1, 2, 3, 3, 3), %w: (2, 1, 2, 2, 2), groups=2, strides=[1, 1, 2])",
        'nn.conv3d(%x: (1, 3, 3, 3, 2), %w: (2, 2, 2, 2, 1), data_layout="NDHWC", kernel_layout="DHWIO")',
        "nn.conv3d(%x: (0, 1, 2, 2, 2), %w: (1, 1, 1, 1, 1))",
    ),
    "Slide windows over three axes; each result is the sum of a window's elements times the weight.",
)
