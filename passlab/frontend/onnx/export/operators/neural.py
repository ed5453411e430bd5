"""Neural network layers: convolutions, pools, matrix products, normalization, activations, resizing; and reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.operators.shapes import in_layout
from passlab.frontend.onnx.export.table import exports
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall
from passlab.op.nn.recurrent import DIRECTIONS, optional_names

SPATIAL = {3: "W", 4: "HW", 5: "DHW"}


def channels_first(e: GraphEmitter, call: OpCall) -> str:
    """Return ONNX's layout for data of this rank: NCW, NCHW, NCDHW."""
    return f"NC{SPATIAL[e.rank(call.args[0])]}"


def onnx_padding(padding: Any, rank: int) -> list[int]:
    """Return padding in ONNX's order: before all axes, then after all axes."""
    values = [padding] if isinstance(padding, int) else [int(p) for p in padding]
    if len(values) == 1:
        return values * (2 * rank)
    return values * 2 if len(values) == rank else values


def per_axis(value: Any, rank: int) -> list[int]:
    """Return a value for each spatial axis."""
    values = [value] if isinstance(value, int) else [int(v) for v in value]
    return values * rank if len(values) == 1 else values


def cast_to_result(e: GraphEmitter, call: OpCall, name: str) -> str:
    """Return a result in the dtype of a call, which may be wider than the dtype of its data."""
    dtype = e.type(call).dtype
    return name if dtype == e.type(call.args[0]).dtype else e.cast(name, dtype)


def cast_to_sum_dtype(e: GraphEmitter, call: OpCall, *names: str) -> list[str]:
    """Return the operands of a convolution or product cast to its dtype; integers as float64."""
    dtype = e.type(call).dtype
    dtype = dtype if "float" in dtype else "float64"
    kinds = [e.type(arg).dtype for arg in call.args[: len(names)]]
    return [n if kind == dtype else e.cast(n, dtype) for n, kind in zip(names, kinds, strict=True)]


def cast_sum_to_result(e: GraphEmitter, call: OpCall, name: str) -> str:
    """Return the result of a convolution or product cast to its dtype: integers below 2^53 are exact in float64."""
    dtype = e.type(call).dtype
    return name if "float" in dtype else e.cast(name, dtype)


@exports("nn.conv1d", "nn.conv2d", "nn.conv3d")
def conv(e: GraphEmitter, call: OpCall, data: str, weight: str) -> str:
    """Conv, between transposes if the layout differs."""
    return _conv(e, call, data, weight, "Conv", f"OI{channels_first(e, call)[2:]}")


@exports("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def conv_transpose(e: GraphEmitter, call: OpCall, data: str, weight: str) -> str:
    """ConvTranspose, whose weights have the input channels first."""
    layout, kernel = channels_first(e, call), call.attrs.kernel_layout
    # Relay's IO.. and OI.. for transposed convolutions both name the data's axis first.
    weight_layout = f"IO{layout[2:]}" if kernel.startswith("I") else kernel
    output_padding = per_axis(call.attrs.output_padding, len(layout) - 2)
    return _conv(e, call, data, weight, "ConvTranspose", weight_layout, output_padding=output_padding)


def _conv(e: GraphEmitter, call: OpCall, data: str, weight: str, op_type: str, weight_layout: str, **more: Any) -> str:
    attrs = call.attrs
    layout, kernel = channels_first(e, call), attrs.kernel_layout
    rank = len(layout) - 2
    data, weight = cast_to_sum_dtype(e, call, data, weight)
    data = in_layout(e, data, attrs.data_layout, layout)
    weight = in_layout(e, weight, kernel, weight_layout)
    window = e.shape(call.args[1])
    result = e.node(
        op_type,
        [data, weight],
        kernel_shape=[window[kernel.index(axis)] for axis in layout[2:]],
        pads=onnx_padding(attrs.padding, rank),
        strides=per_axis(attrs.strides, rank),
        dilations=per_axis(attrs.dilation, rank),
        **more,
        group=attrs.groups,
    )
    return in_layout(e, cast_sum_to_result(e, call, result), layout, attrs.out_layout or attrs.data_layout)


def _pool(e: GraphEmitter, call: OpCall, data: str, op_type: str, **more: Any) -> str:
    attrs = call.attrs
    layout = channels_first(e, call)
    rank = len(layout) - 2
    dilations = per_axis(attrs.dilation, rank)
    result = e.node(
        op_type,
        [in_layout(e, data, attrs.layout, layout)],
        kernel_shape=per_axis(attrs.pool_size, rank),
        pads=onnx_padding(attrs.padding, rank),
        strides=per_axis(attrs.strides, rank),
        # AveragePool has dilations from opset 19 on only, so they are left out where possible.
        dilations=dilations if op_type == "MaxPool" or set(dilations) != {1} else None,
        ceil_mode=int(bool(attrs.ceil_mode)),
        **more,
    )
    return in_layout(e, result, layout, attrs.out_layout or attrs.layout)


@exports("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def max_pool(e: GraphEmitter, call: OpCall, data: str) -> str:
    """MaxPool."""
    return _pool(e, call, data, "MaxPool")


@exports("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def avg_pool(e: GraphEmitter, call: OpCall, data: str) -> str:
    """AveragePool."""
    if e.opset < 19 and set(per_axis(call.attrs.dilation, 1)) != {1}:
        e.refuse("windows with gaps need opset 19")
    return _pool(e, call, data, "AveragePool", count_include_pad=int(bool(call.attrs.count_include_pad)))


@exports("nn.global_avg_pool2d", "nn.global_max_pool2d")
def global_pool(e: GraphEmitter, call: OpCall, data: str) -> str:
    """GlobalAveragePool, GlobalMaxPool."""
    attrs = call.attrs
    op_type = "GlobalAveragePool" if "avg" in op_name(call) else "GlobalMaxPool"
    result = e.node(op_type, [in_layout(e, data, attrs.layout, "NCHW")])
    return in_layout(e, result, "NCHW", attrs.out_layout or attrs.layout)


@exports(*(f"nn.adaptive_{kind}_pool{rank}d" for kind in ("avg", "max") for rank in (1, 2, 3)))
def adaptive_pool(e: GraphEmitter, call: OpCall, data: str) -> str:
    """A pool with windows of equal size, if the result's size divides the size of the data; else products for means."""
    attrs = call.attrs
    layout = channels_first(e, call)
    average = "avg" in op_name(call)
    result = in_layout(e, data, attrs.layout, layout)
    sizes = per_axis(attrs.output_size, len(layout) - 2) if attrs.output_size else []
    if sizes and set(sizes) == {1}:
        result = e.node("GlobalAveragePool" if average else "GlobalMaxPool", [result])
    else:
        shape = e.type(call.args[0]).shape
        extents: list[int] = []
        for axis in layout[2:]:  # the batch and the channels may be open
            extent = shape[attrs.layout.index(axis)]
            if not isinstance(extent, int):
                e.refuse(f"the sizes of the image must be known, not {e.type(call.args[0])}")
            extents.append(extent)
        sizes = sizes or extents
        if not any(extent % size for extent, size in zip(extents, sizes, strict=True)):
            window = [extent // size for extent, size in zip(extents, sizes, strict=True)]
            result = e.node("AveragePool" if average else "MaxPool", [result], kernel_shape=window, strides=window)
        elif average and "float" in e.type(call).dtype:
            result = _means_of_windows(e, result, [*zip(extents, sizes, strict=True)], e.type(call).dtype)
        else:
            e.refuse("ONNX has no windows of several sizes")
    return in_layout(e, result, layout, attrs.out_layout or attrs.layout)


def _means_of_windows(e: GraphEmitter, data: str, axes: list[tuple[int, int]], dtype: str) -> str:
    """Return means over windows of several sizes: along each spatial axis a product with a matrix.

    `axes` has the old and the new size of each. The last axis is multiplied and becomes the first spatial one, until
    all are in their order again.
    """
    for extent, size in reversed(axes):
        matrix = np.zeros((extent, size))
        for at in range(size):
            start, end = at * extent // size, -(-(at + 1) * extent // size)
            matrix[start:end, at] = 1 / (end - start)
        data = e.node("MatMul", [data, e.constant(matrix, dtype)])
        if len(axes) > 1:
            data = e.transpose(data, [0, 1, len(axes) + 1, *range(2, len(axes) + 1)])
    return data


@exports("nn.dense")
def dense(e: GraphEmitter, call: OpCall, data: str, weight: str) -> str:
    """Gemm of matrices, otherwise MatMul with the transposed weight."""
    data, weight = cast_to_sum_dtype(e, call, data, weight)
    if e.rank(call.args[0]) == 2 and "float" in e.type(call).dtype:  # Gemm takes matrices, and no batches
        return e.node("Gemm", [data, weight], transB=1)
    return cast_sum_to_result(e, call, e.node("MatMul", [data, e.transpose(weight, [1, 0])]))


@exports("nn.matmul", "nn.batch_matmul")
def matmul(e: GraphEmitter, call: OpCall, a: str, b: str) -> str:
    """Gemm of matrices, otherwise MatMul after transposes; flattened batches are restored."""
    a, b = cast_to_sum_dtype(e, call, a, b)
    transposed = (call.attrs.transpose_a, call.attrs.transpose_b)
    if e.rank(call.args[0]) == e.rank(call.args[1]) == 2 and "float" in e.type(call).dtype:
        return e.node("Gemm", [a, b], transA=int(transposed[0]) or None, transB=int(transposed[1]) or None)
    if not any(transposed) and not e.type(call).dynamic:
        # `nn.batch_matmul` takes one batch axis, MatMul any number: reshapes before it are not needed.
        batches = [e.before_reshape(name) for name in (a, b)]
        shapes = [shape for _, shape in batches]
        matrices = [tuple(e.type(arg).shape[-2:]) for arg in call.args]
        static = all(isinstance(dim, int) for shape in shapes for dim in shape)
        if static and shapes[0][:-2] == shapes[1][:-2] and [shape[-2:] for shape in shapes] == matrices:
            result = e.node("MatMul", [name for name, _ in batches])
            return cast_sum_to_result(e, call, e.reshape(result, e.shape(call), (*shapes[0][:-1], shapes[1][-1])))
    names = []
    for name, arg, flip in zip((a, b), call.args, transposed, strict=True):
        rank = e.rank(arg)
        names.append(e.transpose(name, [*range(rank - 2), rank - 1, rank - 2]) if flip else name)
    return cast_sum_to_result(e, call, e.node("MatMul", names))


def along_axis(e: GraphEmitter, name: str, axis: int, rank: int) -> str:
    """Return a vector as a tensor that broadcasts along one axis."""
    shape = [-1 if i == axis % rank else 1 for i in range(rank)]
    return name if shape[-1] == -1 else e.node("Reshape", [name, e.ints(*shape)])


@exports("nn.bias_add")
def bias_add(e: GraphEmitter, call: OpCall, data: str, bias: str) -> str:
    """Add, with the bias along its axis."""
    rank = e.rank(call.args[0])
    if e.rank(call.args[1]) == 1:
        bias = along_axis(e, bias, call.attrs.axis, rank)
    return e.node("Add", [data, bias])


@exports("nn.batch_norm")
def batch_norm(e: GraphEmitter, call: OpCall, data: str, gamma: str, beta: str, mean: str, var: str) -> list[str]:
    """BatchNormalization at inference, between transposes if the channels are not the second axis."""
    attrs = call.attrs
    rank = e.rank(call.args[0])
    axis = attrs.axis % rank
    dtype = e.type(call.args[0]).dtype
    if not attrs.scale:
        gamma = e.node("Expand", [e.constant(1, dtype), e.node("Shape", [mean])])
    if not attrs.center:
        beta = e.node("Expand", [e.constant(0, dtype), e.node("Shape", [mean])])
    perm = [0, axis, *(i for i in range(1, rank) if i != axis)]
    moved = data if axis == 1 or rank == 1 else e.transpose(data, perm)
    out = e.node("BatchNormalization", [moved, gamma, beta, mean, var], epsilon=attrs.epsilon)
    if moved != data:
        out = e.transpose(out, [perm.index(i) for i in range(rank)])
    return [out, mean, var]


def _normalize(e: GraphEmitter, call: OpCall, data: str, axes: list[int]) -> str:
    """Return data minus its mean, divided by its standard deviation along some axes."""
    mean = e.node("ReduceMean", [data, e.ints(*axes)], keepdims=1)
    difference = e.node("Sub", [data, mean])
    squares = e.node("Mul", [difference, difference])
    variance = e.node("ReduceMean", [squares, e.ints(*axes)], keepdims=1)
    epsilon = e.constant(call.attrs.epsilon, e.type(call).dtype)
    name: str = e.node("Div", [difference, e.node("Sqrt", [e.node("Add", [variance, epsilon])])])
    return name


def _scale_and_shift(e: GraphEmitter, call: OpCall, name: str, gamma: str, beta: str, axis: int) -> str:
    rank = e.rank(call.args[0])
    if call.attrs.scale:
        name = e.node("Mul", [name, along_axis(e, gamma, axis, rank)])
    if call.attrs.center:
        name = e.node("Add", [name, along_axis(e, beta, axis, rank)])
    return name


@exports("nn.layer_norm")
def layer_norm(e: GraphEmitter, call: OpCall, data: str, gamma: str, beta: str) -> str:
    """LayerNormalization along the last axis, its formula along another."""
    attrs = call.attrs
    rank = e.rank(call.args[0])
    axis = attrs.axis % rank
    if axis == rank - 1 and attrs.scale and attrs.center:
        return e.node("LayerNormalization", [data, gamma, beta], axis=-1, epsilon=attrs.epsilon)
    return _scale_and_shift(e, call, _normalize(e, call, data, [axis]), gamma, beta, axis)


@exports("nn.instance_norm")
def instance_norm(e: GraphEmitter, call: OpCall, data: str, gamma: str, beta: str) -> str:
    """InstanceNormalization with channels in the second axis, otherwise its formula."""
    attrs = call.attrs
    rank = e.rank(call.args[0])
    axis = attrs.axis % rank
    if axis == 1 and rank > 2 and attrs.scale and attrs.center:
        return e.node("InstanceNormalization", [data, gamma, beta], epsilon=attrs.epsilon)
    axes = [i for i in range(1, rank) if i != axis]
    return _scale_and_shift(e, call, _normalize(e, call, data, axes), gamma, beta, axis)


@exports("nn.group_norm")
def group_norm(e: GraphEmitter, call: OpCall, data: str, gamma: str, beta: str) -> str:
    """The formula, over groups of channels."""
    attrs = call.attrs
    axis = attrs.axis % e.rank(call.args[0])
    if e.type(call.args[0]).dynamic and axis == 1:
        groups = _normalize(e, call, e.node("Reshape", [data, e.ints(0, attrs.num_groups, -1)]), [2])
        whole = e.node("Reshape", [groups, e.node("Shape", [data])], allowzero=1)
        return _scale_and_shift(e, call, whole, gamma, beta, axis)
    shape = e.shape(call.args[0])
    split_shape = [*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :]]
    split = e.node("Reshape", [data, e.ints(*split_shape)])
    axes = [axis + 1, *(i for i in range(axis + 2, len(split_shape)))]
    as_int64 = e.node("Reshape", [_normalize(e, call, split, axes), e.ints(*shape)])
    return _scale_and_shift(e, call, as_int64, gamma, beta, axis)


@exports("nn.l2_normalize")
def l2_normalize(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Division by the root of the sum of squares, which is at least epsilon."""
    attrs = call.attrs
    axes = range(e.rank(call.args[0])) if attrs.axis is None else attrs.axis
    total = reduce_over(e, "ReduceSum", e.node("Mul", [data, data]), list(axes), True)
    return e.node("Div", [data, e.node("Sqrt", [e.node("Max", [total, e.constant(attrs.eps, e.type(call).dtype)])])])


@exports("nn.lrn")
def lrn(e: GraphEmitter, call: OpCall, data: str) -> str:
    """LRN over the channels of the second axis."""
    attrs = call.attrs
    if attrs.axis != 1:
        e.refuse("ONNX sums over the second axis")
    return e.node("LRN", [data], alpha=attrs.alpha, beta=attrs.beta, bias=attrs.bias, size=attrs.size)


@exports("nn.relu")
def relu(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Relu."""
    return e.node("Relu", [data])


@exports("nn.leaky_relu")
def leaky_relu(e: GraphEmitter, call: OpCall, data: str) -> str:
    """LeakyRelu."""
    return e.node("LeakyRelu", [data], alpha=call.attrs.alpha)


@exports("nn.prelu")
def prelu(e: GraphEmitter, call: OpCall, data: str, alpha: str) -> str:
    """PRelu, with slopes along their axis."""
    return e.node("PRelu", [data, along_axis(e, alpha, call.attrs.axis, e.rank(call.args[0]))])


@exports("hardswish")
def hardswish(e: GraphEmitter, call: OpCall, data: str) -> str:
    """HardSwish."""
    return e.node("HardSwish", [data])


@exports("nn.softmax", "nn.fast_softmax", "nn.log_softmax")
def softmax(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Softmax, LogSoftmax."""
    op_type = "LogSoftmax" if "log" in op_name(call) else "Softmax"
    return e.node(op_type, [data], axis=call.attrs.axis)


@exports("nn.dropout")
def dropout(e: GraphEmitter, call: OpCall, data: str) -> list[str]:
    """The input: programs are for inference. The mask is all ones."""
    mask = e.node("Expand", [e.constant(1, e.type(call.args[0]).dtype), e.node("Shape", [data])])
    return [data, mask]


@exports("nn.nll_loss")
def nll_loss(e: GraphEmitter, call: OpCall, predictions: str, targets: str, weights: str) -> str:
    """NegativeLogLikelihoodLoss."""
    inputs = [predictions, e.cast(targets, "int64"), weights]
    ignored = call.attrs.ignore_index
    return e.node("NegativeLogLikelihoodLoss", inputs, reduction=call.attrs.reduction, ignore_index=ignored)


# ---------------------------------------------------------------- reductions, running sums, and sorting
REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}


def axes_of(e: GraphEmitter, data: Expr, attrs: Any) -> list[int]:
    """Return the axes of a reduction, counted from 0."""
    rank = e.rank(data)
    axis = attrs.axis
    listed = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted({int(a) % rank for a in listed}) if rank else []
    return [a for a in range(rank) if a not in axes] if attrs.exclude else axes


def reduce_over(e: GraphEmitter, op_type: str, data: str, axes: list[int], keepdims: bool) -> str:
    """Return a reduction; one over no axes is the tensor itself."""
    if not axes:
        return e.node("Identity", [data])
    return e.node(op_type, [data, e.ints(*axes)], keepdims=int(keepdims))


@exports(*REDUCTIONS)
def reduction(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The reduction with the same meaning."""
    attrs = call.attrs
    return reduce_over(e, REDUCTIONS[op_name(call)], data, axes_of(e, call.args[0], attrs), attrs.keepdims)


@exports("all", "any")
def logical(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The minimum or maximum of zeros and ones, for values that are not zero."""
    attrs = call.attrs
    op_type = "ReduceMin" if op_name(call) == "all" else "ReduceMax"
    bits = e.cast(e.cast(data, "bool"), "int32")
    name = reduce_over(e, op_type, bits, axes_of(e, call.args[0], attrs), attrs.keepdims)
    return e.node("Greater", [name, e.constant(0, "int32")])  # the maximum over no elements is below 0


@exports("argmax", "argmin")
def arg_extreme(e: GraphEmitter, call: OpCall, data: str) -> str:
    """ArgMax or ArgMin along one axis, or of the flattened tensor."""
    attrs = call.attrs
    axes = axes_of(e, call.args[0], attrs)
    op_type = "ArgMax" if op_name(call) == "argmax" else "ArgMin"
    last = int(bool(attrs.select_last_index))
    if len(axes) == 1:
        name = e.node(op_type, [data], axis=axes[0], keepdims=int(attrs.keepdims), select_last_index=last)
    elif len(axes) == e.rank(call.args[0]) and not attrs.keepdims:
        flattened = e.node("Reshape", [data, e.ints(-1)])
        name = e.node(op_type, [flattened], axis=0, keepdims=0, select_last_index=last)
    else:
        e.refuse("ONNX looks along one axis, or through the whole tensor")
    return e.cast(name, e.type(call).dtype)


@exports("variance")
def variance(e: GraphEmitter, call: OpCall, data: str, mean: str) -> str:
    """The mean of the squared differences."""
    attrs = call.attrs
    axes = axes_of(e, call.args[0], attrs)
    difference = e.node("Sub", [data, mean])
    name = reduce_over(e, "ReduceMean", e.node("Mul", [difference, difference]), axes, attrs.keepdims)
    if not attrs.unbiased:
        return name
    shape = e.shape(call.args[0])
    count = 1
    for axis in axes:
        count *= shape[axis]
    if "float" not in e.type(call).dtype:
        e.refuse("the unbiased variance of integers has a fraction as factor")
    return e.node("Mul", [name, e.constant(count / (count - 1), e.type(call).dtype)])


@exports("cumsum")
def cumsum(e: GraphEmitter, call: OpCall, data: str) -> str:
    """CumSum, of the flattened tensor if there is no axis."""
    attrs = call.attrs
    dtype = e.type(call).dtype
    if attrs.axis is None:
        data = e.node("Reshape", [data, e.ints(-1)])
    if dtype != e.type(call.args[0]).dtype:
        data = e.cast(data, dtype)
    axis = e.constant(attrs.axis or 0, "int64")
    return e.node("CumSum", [data, axis], exclusive=int(bool(attrs.exclusive)))


@exports("cumprod")
def cumprod(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Products with the elements 1, 2, 4, ... positions before, which include all elements after log2(n) steps."""
    attrs = call.attrs
    dtype, shape = e.type(call).dtype, list(e.shape(call.args[0]))
    if attrs.axis is None:
        data, shape = e.node("Reshape", [data, e.ints(-1)]), [math.prod(shape)]
    data, axis = e.cast(data, dtype), (attrs.axis or 0) % max(len(shape), 1)
    one = e.constant(1, dtype)

    def shift(name: str, positions: int) -> str:
        sides = [positions if at == axis else 0 for at in range(len(shape))]
        prefix = e.node("Slice", [name, e.ints(0), e.ints(shape[axis] - positions), e.ints(axis)])
        result: str = e.node("Pad", [prefix, e.ints(*sides, *[0] * len(shape)), one])
        return result

    if attrs.exclusive and shape[axis]:
        data = shift(data, 1)
    positions = 1
    while positions < shape[axis]:
        data = e.node("Mul", [data, shift(data, positions)])
        positions *= 2
    return data


@exports("dft")
def dft(e: GraphEmitter, call: OpCall, real: str, imaginary: str) -> list[str]:
    """DFT along the last axis, with both parts in a new axis."""
    rank = e.rank(call.args[0])
    parts = [e.node("Unsqueeze", [part, e.ints(rank)]) for part in (real, imaginary)]
    both = e.node("Concat", parts, axis=rank)
    lines = e.node("Unsqueeze", [both, e.ints(0)]) if rank == 1 else both  # DFT needs a batch
    axis = rank - 1 + (rank == 1)
    if e.opset >= 20:
        spectrum = e.node("DFT", [lines, "", e.constant(axis, "int64")], inverse=int(call.attrs.inverse))
    else:
        spectrum = e.node("DFT", [lines], axis=axis, inverse=int(call.attrs.inverse))
    spectrum = e.node("Squeeze", [spectrum, e.ints(0)]) if rank == 1 else spectrum
    return [e.node("Gather", [spectrum, e.constant(at, "int64")], axis=rank) for at in (0, 1)]


@exports("topk")
def topk(e: GraphEmitter, call: OpCall, data: str) -> str | list[str]:
    """TopK."""
    attrs = call.attrs
    k = attrs.k if attrs.k > 0 else e.shape(call.args[0])[attrs.axis]
    return _top(e, call, data, e.ints(k))


@exports("dyn.topk")
def dyn_topk(e: GraphEmitter, call: OpCall, data: str, k: str) -> str | list[str]:
    """TopK."""
    return _top(e, call, data, e.node("Reshape", [e.cast(k, "int64"), e.ints(1)]))


def _top(e: GraphEmitter, call: OpCall, data: str, k: str) -> str | list[str]:
    attrs = call.attrs
    values, indices = e.node_with(2, "TopK", [data, k], axis=attrs.axis, largest=int(not attrs.is_ascend))
    if attrs.ret_type == "values":
        return values
    return indices if attrs.ret_type == "indices" else [values, indices]


@exports("sort", "argsort")
def sort(e: GraphEmitter, call: OpCall, data: str) -> str:
    """TopK of all elements."""
    attrs = call.attrs
    axis = attrs.axis % e.rank(call.args[0])
    size = e.type(call.args[0]).shape[axis]
    count = e.ints(size) if isinstance(size, int) else e.node("Shape", [data], start=axis, end=axis + 1)
    values, indices = e.node_with(2, "TopK", [data, count], axis=attrs.axis, largest=int(not attrs.is_ascend))
    return values if op_name(call) == "sort" else indices


@exports("contrib.recurrent")
def recurrent(e: GraphEmitter, call: OpCall, data: str, weight: str, recurrent_weight: str, optional: list[str]) -> Any:
    """LSTM, GRU, RNN."""
    attrs = call.attrs
    given = dict(zip(optional_names(attrs), optional, strict=True))
    if e.type(call.args[0]).shape[0] == 0:
        e.refuse("ONNX Runtime ends an empty sequence in zeros, Relay in the state before it")
    if "lengths" in given:
        given["lengths"] = e.cast(given["lengths"], "int32")
    names = [given.get(name, "") for name in ("bias", "lengths", "state", "cell")]
    while names and not names[-1]:
        names.pop()
    op_type = attrs.mode.partition("_")[0].upper()
    count = len(DIRECTIONS[attrs.direction])
    return e.node_with(
        3 if op_type == "LSTM" else 2,
        op_type,
        [data, weight, recurrent_weight, *names],
        hidden_size=e.shape(call.args[2])[2],
        direction=None if attrs.direction == "forward" else attrs.direction,
        activations=["Relu"] * count if attrs.mode == "rnn_relu" else None,
        linear_before_reset=1 if attrs.mode == "gru" and attrs.linear_before_reset else None,
    )
