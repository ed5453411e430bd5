"""Correlation of two images around each pixel, as in FlowNet (Dosovitskiy et al., 2015)."""

from __future__ import annotations

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op.attr_fields import attrs, boolean, integer, integers, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, is_float
from passlab.op.nn import window_gradients
from passlab.op.nn.accumulation import cast_result
from passlab.op.nn.pool_kernels import divide_sums, sum_dtype
from passlab.op.nn.window_sizes import on_axes, split_padding
from passlab.op.relations import may_agree, on_tensors, refuse, same_dtype


@on_tensors
def _correlation_type(attrs: Attrs, data1: TensorType, data2: TensorType) -> Type:
    for i, ty in enumerate((data1, data2)):
        if len(ty.shape) != 4:
            refuse("nn.correlation takes images in NCHW", i, expected="four dimensions", found=ty)
    if not may_agree(data1.shape, data2.shape):
        refuse("nn.correlation compares tensors of one shape", 1, expected=data1, found=data2)
    same_dtype(data1, data2)
    if attrs.kernel_size < 1 or attrs.kernel_size % 2 == 0:
        refuse("nn.correlation: kernel_size must be odd", found=attrs.kernel_size)
    if min(attrs.stride1, attrs.stride2) < 1 or attrs.max_displacement < 0:
        refuse("nn.correlation: strides must be positive, and max_displacement not negative")
    before, after = split_padding(attrs.padding, 2)
    border = attrs.max_displacement + (attrs.kernel_size - 1) // 2
    size: list[Dim] = []
    for dim, first, last in zip(data1.shape[2:], before, after, strict=True):
        if not isinstance(dim, int):
            size.append(ANY)
            continue
        extent = dim + first + last - 2 * border
        if extent < 1:
            refuse("nn.correlation: the window and its displacement are larger than the image", 0, found=data1)
        size.append(-(-extent // attrs.stride1))
    width = 2 * (attrs.max_displacement // attrs.stride2) + 1
    return TensorType((data1.shape[0], width * width, *size), data1.dtype)


@operator(
    "nn.correlation",
    ("data1", "data2"),
    attrs=attrs(
        "CorrelationAttrs",
        integer("kernel_size", 1, "size of the compared windows, odd"),
        integer("max_displacement", 1, "largest displacement of windows of data2"),
        integer("stride1", 1, "steps in data1"),
        integer("stride2", 1, "steps of the displacement"),
        integers("padding", (0, 0), "zeros around both images"),
        boolean("is_multiply", True, "whether elements are multiplied, or their distances added"),
        text("layout", "NCHW", "layout of data and result", choices=("NCHW",)),
    ),
    relation=_correlation_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=2,
    silenced=True,
    python=Python(
        "data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply, layout",
        padding=on_axes(2),
    ),
    gradient=window_gradients.correlation,
    shapes="data1, data2 (N, C, H, W) -> (N, displacements², OH, OW)",
    source="Dosovitskiy et al., FlowNet (2015)",
    edge_cases=(
        "nn.correlation(%x: (1, 2, 4, 4), %y: (1, 2, 4, 4), max_displacement=1, padding=[1, 1])",
        (
            "nn.correlation(%x: (1, 2, 5, 5), %y: (1, 2, 5, 5), kernel_size=3, max_displacement=1, stride2=1, "
            "padding=[2, 2], is_multiply=False)"
        ),
    ),
)
def correlation(attrs: Attrs, data1: Array, data2: Array, *, out: Array | None = None) -> Array:
    """For each pixel of data1 and each displacement: the mean product (or distance) of two windows."""
    (top, left), (bottom, right) = split_padding(attrs.padding, 2)
    widths = ((0, 0), (0, 0), (top, bottom), (left, right))
    # Differences of integers would wrap before they are compared.
    dtype = data1.dtype if is_float(data1.dtype) else np.dtype(np.float64)
    a, b = (np.pad(x.astype(dtype, copy=False), widths) for x in (data1, data2))
    reach, kernel, step = attrs.max_displacement, attrs.kernel_size, attrs.stride1
    border = reach + (kernel - 1) // 2
    height, width = (-(-(n - 2 * border) // step) for n in a.shape[2:])

    def window(x: Array, y0: int, x0: int) -> Array:
        rows, columns = slice(y0, y0 + (height - 1) * step + 1, step), slice(x0, x0 + (width - 1) * step + 1, step)
        return x[:, :, rows, columns]

    radius = reach // attrs.stride2
    shifts = [i * attrs.stride2 for i in range(-radius, radius + 1)]
    work = sum_dtype(dtype)
    result = np.zeros((a.shape[0], len(shifts) ** 2, height, width), work)
    for channel, (dy, dx) in enumerate((y, x) for y in shifts for x in shifts):
        for ky in range(kernel):
            for kx in range(kernel):
                first, second = (window(a, reach + ky, reach + kx), window(b, reach + dy + ky, reach + dx + kx))
                products = first * second if attrs.is_multiply else np.abs(first - second)
                result[:, channel] += products.sum(axis=1, dtype=work)
    count = kernel * kernel * a.shape[1]  # without channels the mean is NaN
    return cast_result(divide_sums(result, count, dtype), data1.dtype, out)
