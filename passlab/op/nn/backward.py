"""Operators that compute gradients: of pooling for its data, and of `nn.conv2d` for its weight."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, is_float
from passlab.op.nn import conv_gradients, pool_gradients, pool_kernels
from passlab.op.nn.accumulation import cast_result, matmul, result_dtype, working_dtype, wrap_result
from passlab.op.nn.conv import check_window, conv_attrs
from passlab.op.nn.pool import PoolPlan, plan_of, pool_attrs, pool_relation
from passlab.op.nn.window_arrays import pad_spatial
from passlab.op.nn.window_sizes import as_list, on_axes, split_padding, window_size
from passlab.op.relations import join_dim, may_agree, on_tensors, refuse, same_dtype, tensor


# ---------------------------------------------------------------- pool_kernels
def _pool_grad_type(name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """The result has the type of the data, the second input; the first is the gradient of the pooled data."""
    grad, data = tensor(types, 0, "grad"), tensor(types, 1, "data")
    if data is None:
        return None
    result = pool_relation(2, name)([data], attrs, reporter)
    if grad is None or not isinstance(result, TensorType):
        return data
    if not may_agree(grad.shape, result.shape):
        refuse(f"{name}: the gradient is not like the pooled data", 0, expected=result, found=grad)
    same_dtype(data, grad, 0)
    return data


def _taps(plan: PoolPlan) -> list[tuple[slice, ...]]:
    """Return, for each tap of the window, the slices of the padded data it reads."""
    steps = list(zip(plan.dilation, plan.strides, plan.counts, strict=True))
    return [
        tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, (d, s, n) in zip(tap, steps, strict=True))
        for tap in itertools.product(*map(range, plan.window))
    ]


def _crop_padding(padded: Any, plan: PoolPlan, data: Array) -> Array:
    slices: list[Any] = [slice(None)] * data.ndim
    for axis, before, length in zip(plan.axes, plan.before, plan.lengths, strict=True):
        slices[axis] = slice(before, before + length)
    return np.ascontiguousarray(padded[tuple(slices)])


def _index_at(plan: PoolPlan, rank: int, position: tuple[slice, ...]) -> tuple[Any, ...]:
    index: list[Any] = [slice(None)] * rank
    for axis, part in zip(plan.axes, position, strict=True):
        index[axis] = part
    return tuple(index)


def _max_pool2d_grad(attrs: Attrs, grad: Array, data: Array, *, out: Array | None = None) -> Array:
    plan = plan_of(attrs, data.shape, 2, "nn.max_pool2d_grad")
    padded = pool_kernels.pad_axes(data, plan.axes, plan.before, plan.after, pool_kernels.lowest(data.dtype))
    windows = [(size, s, d, 0) for size, s, d in zip(plan.window, plan.strides, plan.dilation, strict=True)]
    maxima = pool_kernels.sweep_windows(padded, plan.axes, windows, plan.counts, 0, np.maximum)
    padded_grad = np.zeros(padded.shape, grad.dtype)
    inside = pool_kernels.pad_axes(np.ones(data.shape, np.bool_), plan.axes, plan.before, plan.after, False)
    without_maximum = np.ones(maxima.shape, np.bool_)
    for position in _taps(plan):  # the first maximum of a window takes its gradient
        index = _index_at(plan, data.ndim, position)
        elements = padded[index]
        # NaN is the maximum if there is one
        is_maximum = ((elements == maxima) | (elements != elements)) & without_maximum & inside[index]
        padded_grad[index] += np.where(is_maximum, grad, grad.dtype.type(0))
        without_maximum &= ~is_maximum
    return cast_result(_crop_padding(padded_grad, plan, data), data.dtype, out)


def _avg_pool2d_grad(attrs: Attrs, grad: Array, data: Array, *, out: Array | None = None) -> Array:
    plan = plan_of(attrs, data.shape, 2, "nn.avg_pool2d_grad")
    count: Any = math.prod(plan.window) if plan.full else plan.divisors
    float_grad = grad if is_float(grad.dtype) else grad.astype(np.float64)
    element_grad = float_grad / np.asarray(count).astype(float_grad.dtype)
    shape = list(data.shape)
    for axis, before, after in zip(plan.axes, plan.before, plan.after, strict=True):
        shape[axis] += before + after
    padded_grad = np.zeros(shape, float_grad.dtype)
    for position in _taps(plan):
        padded_grad[_index_at(plan, data.ndim, position)] += element_grad
    return cast_result(_crop_padding(padded_grad, plan, data), data.dtype, out)


_POOL_SIGNATURE = (
    "out_grad, data, pool_size=(1, 1), strides=(1, 1), padding=(0, 0), layout='NCHW', out_layout='', ceil_mode=False"
)


_RECIPIENT = {True: ", shared by its elements", False: " goes to its first maximum"}


def _declare_pool_grad(mean: bool) -> Op:
    name = "nn.avg_pool2d_grad" if mean else "nn.max_pool2d_grad"
    return operator(
        name,
        ("grad", "data"),  # the order in calls; TVM's names are the other way round
        attrs=pool_attrs(2, mean),
        relation=partial(_pool_grad_type, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        level=2,
        silenced=True,
        python=Python(
            _POOL_SIGNATURE + ", count_include_pad=False" * mean,
            names={"out_grad": "grad"},
            pool_size=on_axes(2),
            strides=on_axes(2),
            padding=as_list,
        ),
        gradient=pool_gradients.avg_pool2d_grad if mean else pool_gradients.max_pool2d_grad,
        shapes="gradient (N, C, windows), data (N, C, H, W) -> (N, C, H, W)",
        source="the transpose of the pooling",
        edge_cases=(
            f"{name}(%g: (1, 2, 2, 2), %x: (1, 2, 4, 5), pool_size=[2, 2], strides=[2, 2])",
            f"{name}(%g: (1, 1, 3, 3), %x: (1, 1, 4, 4), pool_size=[2, 2], strides=[2, 2], padding=[1, 1])",
        ),
        doc=f"The gradient of {name[:-5]} for its data: each window's gradient{_RECIPIENT[mean]}.",
    )(_avg_pool2d_grad if mean else _max_pool2d_grad)


max_pool2d_grad, avg_pool2d_grad = _declare_pool_grad(False), _declare_pool_grad(True)


# ---------------------------------------------------------------- conv2d
def _weight_gradient_layouts(attrs: Attrs) -> tuple[str, str, str]:
    """Return the layouts of gradient, data and weight; Relay names them data, weight and result."""
    result = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "OIHW")
    for layout, axes in zip(result, ("NCHW", "NCHW", "OIHW"), strict=True):
        if sorted(layout) != sorted(axes):
            refuse(
                "nn.conv2d_backward_weight takes the layouts of gradient, data and weight",
                expected=f"the axes of {axes}",
                found=f'"{layout}"',
                hint='data_layout="NCHW", kernel_layout="NCHW", out_layout="OIHW"',
            )
    return result


@on_tensors
def _backward_weight_type(attrs: Attrs, grad: TensorType, data: TensorType) -> Type:
    check_window(attrs, 2)
    if attrs.kernel_size is None:
        refuse("nn.conv2d_backward_weight needs the kernel_size")
    for i, ty in enumerate((grad, data)):
        if len(ty.shape) != 4:
            refuse("nn.conv2d_backward_weight takes images", i, expected="four dimensions", found=ty)
    grad_layout, data_layout, kernel_layout = _weight_gradient_layouts(attrs)
    inputs, outputs = data.shape[data_layout.index("C")], grad.shape[grad_layout.index("C")]
    for i, count in ((1, inputs), (0, outputs)):
        if isinstance(count, int) and count % attrs.groups:
            refuse(f"nn.conv2d_backward_weight: {count} channels cannot be divided into {attrs.groups} groups", i)
    if attrs.channels is not None and join_dim(attrs.channels, outputs) is None:
        refuse("nn.conv2d_backward_weight: channels must equal the gradient's", 0, expected=attrs.channels, found=grad)
    _check_windows(grad, data, attrs)
    sizes = {"O": outputs, "I": inputs // attrs.groups if isinstance(inputs, int) else inputs}
    sizes |= {"H": attrs.kernel_size[0], "W": attrs.kernel_size[1]}
    return TensorType(tuple(sizes[a] for a in kernel_layout), attrs.out_dtype or data.dtype)


def _check_windows(grad: TensorType, data: TensorType, attrs: Attrs) -> None:
    """Raise `RelationError` unless the gradient has the size of the convolution's result, or as many samples."""
    before, after = split_padding(attrs.padding, 2)
    grad_layout, data_layout, _ = _weight_gradient_layouts(attrs)
    for i, letter in enumerate("HW"):
        window = (attrs.kernel_size[i], attrs.strides[i], before[i], after[i], attrs.dilation[i])
        size = window_size(data.shape[data_layout.index(letter)], *window, axis=i)
        if join_dim(size, grad.shape[grad_layout.index(letter)]) is None:
            refuse("nn.conv2d_backward_weight: the gradient is not like the result", 0, expected=size, found=grad)
    batch = grad.shape[grad_layout.index("N")]
    if join_dim(batch, data.shape[data_layout.index("N")]) is None:
        refuse("nn.conv2d_backward_weight: different batch sizes", 1, expected=batch, found=data)


_COLUMN_BYTES = 2 << 20  # patches of so many samples are multiplied at once


@operator(
    "nn.conv2d_backward_weight",
    ("grad", "data"),
    attrs=conv_attrs(2),
    relation=_backward_weight_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=2,
    silenced=True,
    python=Python(
        "grad, data, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, "
        "kernel_size=None, grad_layout='NCHW', data_layout='NCHW', kernel_layout='OIHW', "
        "out_dtype=''",
        names={"kernel_layout": "out_layout", "data_layout": "kernel_layout", "grad_layout": "data_layout"},
        strides=on_axes(2),
        padding=as_list,
        dilation=on_axes(2),
        kernel_size=on_axes(2),
    ),
    gradient=conv_gradients.conv2d_backward_weight,
    shapes="grad (N, O, OH, OW), data (N, C, H, W) -> (O, C / groups, KH, KW)",
    source="the product of the gradient and the patches of the data",
    edge_cases=(
        (
            "nn.conv2d_backward_weight(%grad: (2, 3, 2, 3), %x: (2, 2, 4, 5), kernel_size=[3, 3], "
            'kernel_layout="NCHW", out_layout="OIHW")'
        ),
        (
            "nn.conv2d_backward_weight(%g: (1, 2, 2, 2), %x: (1, 2, 4, 4), kernel_size=[3, 3], strides=[2, 2], "
            'padding=[1, 1], kernel_layout="NCHW", out_layout="OIHW")'
        ),
    ),
)
def conv2d_backward_weight(attrs: Attrs, grad: Array, data: Array, *, out: Array | None = None) -> Array:
    """The gradient of nn.conv2d with respect to its weight: the product of the gradient and the patches of the data."""
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    work = working_dtype(dtype, grad.dtype, data.dtype)
    layouts = _weight_gradient_layouts(attrs)
    grad, data = (
        array.transpose([layout.index(a) for a in "NCHW"]).astype(work, copy=False)
        for array, layout in zip((grad, data), layouts, strict=False)
    )
    before, after = split_padding(attrs.padding, 2)
    padded = np.ascontiguousarray(pad_spatial(data, before, after, False))
    (n, c, *_), (_, o, height, width) = padded.shape, grad.shape
    groups, (kh, kw) = attrs.groups, attrs.kernel_size
    s0, s1, s2, s3 = padded.strides
    (dy, dx), (ty, tx) = attrs.dilation, attrs.strides
    result = np.zeros((groups, o // groups, c // groups * kh * kw), work)
    samples = max(1, _COLUMN_BYTES // max(1, c * kh * kw * height * width * work.itemsize))
    for i in range(0, n, samples):
        batch = grad[i : i + samples]
        view = as_strided(  # the patches (C, KH, KW, samples, OH, OW), without a copy
            padded[i : i + samples],
            (c, kh, kw, len(batch), height, width),
            (s1, s2 * dy, s3 * dx, s0, s2 * ty, s3 * tx),
            writeable=False,
        )
        columns = view.reshape(groups, c // groups * kh * kw, -1)
        rows = batch.transpose(1, 0, 2, 3).reshape(groups, o // groups, -1)
        result += matmul(rows, columns.transpose(0, 2, 1), work)
    weight = result.reshape(o, c // groups, kh, kw).transpose(tuple("OIHW".index(a) for a in layouts[2]))
    return wrap_result(np.ascontiguousarray(weight), dtype, out)
