"""Convolution with windows whose taps are moved by offsets (Dai et al., "Deformable convolutional networks", 2017)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import Dim, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, dtype, integer, integers, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import conversion, forward_shape
from passlab.op.nn import sampling_gradients
from passlab.op.nn.accumulation import matmul, result_dtype, working_dtype, wrap_result
from passlab.op.nn.conv import check_weight, check_window
from passlab.op.nn.sampling import linear
from passlab.op.nn.window_sizes import check_positive, window_parameters, window_size
from passlab.op.relations import may_agree, refuse, tensor

NAME = "nn.deformable_conv2d"


def _deformable_conv2d_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, offset, weight = (tensor(types, i, name) for i, name in enumerate(("data", "offset", "weight")))
    if data is None:
        return None
    window = check_window(attrs, 2)
    check_positive(deformable_groups=(attrs.deformable_groups,))
    data_conversion, weight_conversion = (
        conversion(attrs.data_layout, "NCHW", "data_layout"),
        conversion(attrs.kernel_layout, "OIHW", "kernel_layout"),
    )
    shape = forward_shape(data_conversion, data.shape, "data", 0)
    if weight is None:
        if attrs.kernel_size is None or attrs.channels is None or not isinstance(shape[1], int):
            return None
        weight_shape = (attrs.channels, shape[1] // attrs.groups, *attrs.kernel_size)
        weight = TensorType(weight_conversion.backward_shape(weight_shape), data.dtype)
        reporter.assign(2, weight)
    kernel = forward_shape(weight_conversion, weight.shape, "weight", 2)
    channels = check_weight(shape, kernel, attrs, NAME, 2)
    before, after = window.before, window.after
    size = [
        window_size(shape[2 + i], kernel[2 + i], attrs.strides[i], before[i], after[i], attrs.dilation[i], axis=i)
        for i in range(2)
    ]
    _check_offset(offset, shape, kernel, size, attrs, reporter, data.dtype)
    output_conversion = conversion(attrs.out_layout or attrs.data_layout, "NCHW", "out_layout")
    return TensorType(output_conversion.backward_shape((shape[0], channels, *size)), attrs.out_dtype or data.dtype)


def _check_offset(
    offset: TensorType | None,
    data: Sequence[Dim],
    kernel: Sequence[Dim],
    size: Sequence[Dim],
    attrs: Attrs,
    reporter: Reporter,
    dtype: str,
) -> None:
    """Check the offsets, two numbers for each tap and group at each position of the result, or infer their type."""
    if isinstance(data[1], int) and data[1] % attrs.deformable_groups:
        refuse(f"{NAME}: {data[1]} channels cannot be divided into {attrs.deformable_groups} deformable groups", 0)
    height, width = kernel[2], kernel[3]
    if not isinstance(height, int) or not isinstance(width, int):
        return
    count = 2 * height * width * attrs.deformable_groups
    expected = TensorType(
        conversion(attrs.data_layout, "NCHW", "data_layout").backward_shape((data[0], count, *size)), dtype
    )
    if offset is None:
        reporter.assign(1, expected)
        return
    if not may_agree(offset.shape, expected.shape):
        refuse(f"{NAME}: the offsets do not fit the windows", 1, expected=expected, found=offset)


_POSITIONS_PER_STEP = 1 << 14  # positions: this many at a time need few calls, and stay in cache


def _columns(image: Array, offset: Any, kernel: tuple[int, int], attrs: Attrs, before: Sequence[int]) -> Array:
    """Return the patches (C, taps, H, W) of one image (C, H, W), read at positions moved by (G, taps, 2, H, W)."""
    groups, taps, _, height, width = offset.shape
    group_channels = image.shape[0] // groups
    rows = (np.arange(height) * attrs.strides[0] - before[0]).astype(image.dtype)[:, None]
    columns = (np.arange(width) * attrs.strides[1] - before[1]).astype(image.dtype)[None, :]
    tap_y, tap_x = (np.array([divmod(tap, kernel[1])[i] for tap in range(taps)]) * attrs.dilation[i] for i in (0, 1))
    rows, columns = rows + tap_y[:, None, None], columns + tap_x[:, None, None]
    result = np.empty((groups, group_channels, taps, height, width), image.dtype)
    limits = image.shape[1:]
    step = max(1, _POSITIONS_PER_STEP // max(1, height * width))
    for group, tap in itertools.product(range(groups), range(0, taps, step)):
        taps_of_step = slice(tap, tap + step)
        y = rows[taps_of_step] + offset[group, taps_of_step, 0]
        x = columns[taps_of_step] + offset[group, taps_of_step, 1]
        inside = (y >= 0) & (x >= 0) & (y < limits[0]) & (x < limits[1])
        channels = image[group * group_channels : (group + 1) * group_channels]
        result[group, :, taps_of_step] = np.where(inside, linear(channels, (y, x), "zeros"), image.dtype.type(0))
    return result.reshape(groups * group_channels, taps, height, width)


@operator(
    NAME,
    ("data", "offset", "weight"),
    layout=layout_rules.TwoLayouts({"NCHW": "OIHW", "NHWC": "HWIO"}, images=2),
    attrs=attrs(
        "DeformableConv2DAttrs",
        integers("strides", (1, 1), "steps of the window"),
        integers("padding", (0, 0), "zeros around the data"),
        integers("dilation", (1, 1), "distance between the taps of the window"),
        integer("deformable_groups", 1, "number of groups of channels with separate offsets"),
        integer("groups", 1, "number of groups of channels"),
        integer("channels", None, "number of output channels, None to read it off the weight"),
        integers("kernel_size", None, "size of the window, None to read it off the weight"),
        text("data_layout", "NCHW", "layout of the data"),
        text("kernel_layout", "OIHW", "layout of the weight"),
        text("out_layout", "", 'layout of the result, "" for the layout of the data'),
        dtype("out_dtype", "", "dtype of sums and result"),
    ),
    relation=_deformable_conv2d_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=5,
    silenced=True,
    python=Python(
        **window_parameters(2),
    ),
    gradient=sampling_gradients.deformable_conv2d,
    shapes=(
        "data (N, C, H, W), offset (N, 2 deformable_groups KH KW, OH, OW), weight (O, C / groups, KH, "
        "KW) -> (N, O, OH, OW)"
    ),
    source="Dai et al., Deformable convolutional networks (2017)",
    edge_cases=(
        "nn.deformable_conv2d(%x: (1, 2, 4, 4), %o: (1, 8, 3, 3), %w: (2, 2, 2, 2), kernel_size=[2, 2], channels=2)",
        (
            "nn.deformable_conv2d(%x: (1, 2, 3, 3), %o: (1, 16, 2, 2), %w: (2, 1, 2, 2), kernel_size=[2, 2], "
            "channels=2, groups=2, deformable_groups=2)"
        ),
    ),
    example="nn.deformable_conv2d(%x, %offset, %w, channels=8, kernel_size=[3, 3])",
)
def deformable_conv2d(attrs: Attrs, data: Array, offset: Array, weight: Array, *, out: Array | None = None) -> Array:
    """A convolution that reads each tap at a position moved by an offset (row, column), interpolated; zero outside."""
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    work = working_dtype(dtype, np.dtype("float32"), weight.dtype)  # samples between pixels are not integers
    nchw = conversion(attrs.data_layout, "NCHW", "data_layout")
    x, offsets = (nchw.forward(data).astype(work, copy=False), nchw.forward(offset).astype(work, copy=False))
    w = conversion(attrs.kernel_layout, "OIHW", "kernel_layout").forward(weight).astype(work, copy=False)
    kernel, size, groups = w.shape[2:], offsets.shape[2:], attrs.groups
    taps = kernel[0] * kernel[1]
    before = check_window(attrs, 2).before
    offsets = offsets.reshape(len(x), attrs.deformable_groups, taps, 2, *size)
    matrix = w.reshape(groups, w.shape[0] // groups, w.shape[1] * taps)
    products = np.empty((len(x), groups, w.shape[0] // groups, size[0] * size[1]), work)
    for i in range(len(x)):
        columns = _columns(x[i], offsets[i], kernel, attrs, before)
        products[i] = matmul(matrix, columns.reshape(groups, matrix.shape[2], -1), work)
    output_conversion = conversion(attrs.out_layout or attrs.data_layout, "NCHW", "out_layout")
    result = output_conversion.backward(products.reshape(len(x), w.shape[0], *size))
    return wrap_result(np.ascontiguousarray(result), dtype, out)
