"""Gradients of neural network operators as Relay programs: each maps a typed call and the gradient of its result to the
gradients of its inputs. The operators that compute them are called by name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, TupleGetItem
from passlab.ir.op import OpCall
from passlab.ir.types import Dim, TensorType
from passlab.op.along_axis import number, pick, reshape_to, through_matrix
from passlab.op.chain import attrs_of, by_definition, sizes_of
from passlab.op.declare import call
from passlab.op.elementwise import constant_like
from passlab.op.relations import product


def _type(expr: Expr) -> TensorType:
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty


def _zero(like: Expr) -> Expr:
    return call("zeros_like", like)


def relu(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient where the input is not negative."""
    x = orig.args[0]
    zeros = _zero(x)
    return [call("where", call("less", x, zeros), zeros, call("ones_like", x) * grad)]


def leaky_relu(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, multiplied by alpha where the input is negative."""
    x = orig.args[0]
    slope = constant_like(attrs_of(orig).alpha, x)
    return [call("where", call("less", x, _zero(x)), slope * grad, grad)]


def prelu(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, multiplied by alpha where the input is negative; for alpha, the sum over those elements."""
    x, alpha = orig.args
    negative, slope = call("less", x, _zero(x)), _along(alpha, attrs_of(orig).axis, x)
    through = call("where", negative, x * grad, _zero(x))
    return [call("where", negative, slope * grad, grad), _over_axis(through, attrs_of(orig).axis)]


def _along(vector: Expr, axis: int, data: Expr) -> Expr:
    """A vector as a tensor that broadcasts along `axis` of the data."""
    rank = len(_type(data).shape)
    return call("expand_dims", vector, axis=1, num_newaxis=rank - 1 - axis % rank)


def _over_axis(data: Expr, axis: int) -> Expr:
    """The sum of the data over all axes but one."""
    return call("sum", data, axis=[axis], exclude=True)


def softmax(orig: OpCall, grad: Expr) -> list[Expr]:
    """(grad - sum(grad * y)) * y."""
    total = call("sum", grad * orig, axis=[attrs_of(orig).axis], keepdims=True)
    return [(grad - total) * orig]


def log_softmax(orig: OpCall, grad: Expr) -> list[Expr]:
    """Grad - sum(grad) * softmax(x)."""
    axis = attrs_of(orig).axis
    return [grad - call("sum", grad, axis=[axis], keepdims=True) * call("exp", orig)]


def bias_add(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient itself, and its sum over all axes but the bias's."""
    return [_like(grad, orig.args[0]), _over_axis(grad, attrs_of(orig).axis)]


def dropout(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of the data result: at inference the data passes unchanged."""
    return [TupleGetItem(grad, 0)]


def batch_flatten(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient in the shape of the data."""
    return [call("reshape_like", grad, orig.args[0])]


def _like(grad: Expr, target: Expr) -> Expr:
    """The gradient summed to the shape of an input that was broadcast."""
    return call("collapse_sum_like", grad, target)


def _turn(matrix: Expr) -> Expr:
    return call("transpose", matrix, axes=None)


def _of_inputs(orig: OpCall, parts: Sequence[Expr]) -> list[Expr]:
    """Convert gradients from the dtype of the result to those of the inputs."""
    want = _type(orig).dtype
    return [
        part if _type(arg).dtype == want else call("cast", part, dtype=_type(arg).dtype)
        for part, arg in zip(parts, orig.args, strict=True)
    ]


def _rows(matrix: Expr, ty: TensorType, units: Dim) -> Expr:
    """All rows of a stack of matrices as one matrix."""
    count = product(ty.shape[:-1])
    return reshape_to(matrix, (count if isinstance(count, int) else -1, units))


def dense(orig: OpCall, grad: Expr) -> list[Expr]:
    """The product grad @ weight, and the transposed gradient @ data; leading dimensions of the data form one batch."""
    data, weight = orig.args
    units, inner = _type(weight).shape
    if len(_type(data).shape) == 2 and isinstance(inner, int):
        for_data = call("nn.dense", grad, _turn(weight), units=inner)
        for_weight = call("nn.dense", _turn(grad), _turn(data), units=inner)
        return _of_inputs(orig, [_like(for_data, data), _like(for_weight, weight)])
    rows, flat = _rows(grad, _type(data), units), _rows(data, _type(data), inner)
    for_data = call("nn.matmul", grad, weight, units=None)
    return _of_inputs(orig, [for_data, call("nn.matmul", rows, flat, units=None, transpose_a=True)])


def matmul(orig: OpCall, grad: Expr) -> list[Expr]:
    """The products of the gradient with the other factor, transposed as the factors are."""
    a, b = orig.args
    ta, tb = attrs_of(orig).transpose_a, attrs_of(orig).transpose_b
    if tb and not ta:
        return dense(orig, grad)
    if len(_type(a).shape) != 2:
        return _stacked_matmul(orig, grad)
    for_a, for_b = _product("nn.matmul", grad, b, tb, ta, True), _product("nn.matmul", a, grad, ta, tb, False)
    return _of_inputs(orig, [_like(for_a, a), _like(for_b, b)])


def _stacked_matmul(orig: OpCall, grad: Expr) -> list[Expr]:
    """A stack of matrices times one matrix: the latter's gradient is that of a product of all rows."""
    a, b = orig.args
    ta, tb = attrs_of(orig).transpose_a, attrs_of(orig).transpose_b
    rank = len(_type(a).shape)

    def transpose_a(x: Expr) -> Expr:
        return call("transpose", x, axes=[*range(rank - 2), rank - 1, rank - 2]) if ta else x

    inner, units = _type(b).shape[::-1] if tb else _type(b).shape
    for_a = transpose_a(call("nn.matmul", grad, b, units=None, transpose_b=not tb))
    rows, flat = _rows(grad, _type(orig), units), _rows(transpose_a(a), _type(orig), inner)
    pair = (rows, flat) if tb else (flat, rows)
    return _of_inputs(orig, [for_a, call("nn.matmul", *pair, units=None, transpose_a=True)])


def batch_matmul(orig: OpCall, grad: Expr) -> list[Expr]:
    """Batched matmul gradient; summed over the batch for a broadcast operand."""
    a, b = orig.args
    ta, tb = attrs_of(orig).transpose_a, attrs_of(orig).transpose_b
    for_a = _product("nn.batch_matmul", grad, b, tb, ta, True)
    for_b = _product("nn.batch_matmul", a, grad, ta, tb, False)
    return _of_inputs(orig, [_like(for_a, a), _like(for_b, b)])


def _product(name: str, x: Expr, y: Expr, flag: bool, turned: bool, first: bool) -> Expr:
    """The gradient for one factor of a product: the product of the gradient and the other factor.

    `flag` says whether the other factor is transposed, `turned` whether the factor itself is.
    """
    units = {"units": None} if name == "nn.matmul" else {}
    left, right = (y, x) if turned else (x, y)
    if first:  # the gradient of a is grad @ b^T, or its transpose
        flags = (flag, True) if turned else (False, not flag)
    else:  # that of b is a^T @ grad
        flags = (True, flag) if turned else (not flag, False)
    return call(name, left, right, **units, transpose_a=flags[0], transpose_b=flags[1])


def pad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient without the border; its sum there for the border's value, or its elements where they came from."""
    attrs, (data, value) = attrs_of(orig), orig.args
    if attrs.pad_mode != "constant":
        return _mirrored(orig, grad)
    shape = _type(data).concrete_shape
    begin = [max(a, 0) for a, _ in attrs.pad_width]
    end = [max(a, 0) + n + min(a, 0) + min(b, 0) for (a, b), n in zip(attrs.pad_width, shape, strict=True)]
    inside = call("strided_slice", grad, begin=begin, end=end, strides=[1] * len(shape), axes=None)
    border = call("sum", grad) - call("sum", inside)
    lost = [(max(-a, 0), max(-b, 0)) for a, b in attrs.pad_width]
    if any(map(any, lost)):  # cropped elements have no gradient
        inside = call("nn.pad", inside, number(0, _type(data).dtype), pad_width=lost)
    return [inside, call("cast", border, dtype=_type(value).dtype) * call("ones_like", value)]


def _add_border(attrs: Attrs, data: Expr, value: Expr | None = None) -> Expr:
    """Add a border of elements of the data, by selection along each axis."""
    mode = attrs.mode.lower() if value is None else attrs.pad_mode
    result = data
    for axis, (before, after) in enumerate(attrs.pad_width):
        if before or after:
            positions = np.arange(_type(data).concrete_shape[axis])
            kept = positions[max(-before, 0) : len(positions) - max(-after, 0)]
            result = pick(result, axis, np.pad(kept, (max(before, 0), max(after, 0)), mode=mode).tolist())
    return result


_mirrored = mirror_pad = by_definition(_add_border)  # each element receives the gradients of its copies


def batch_norm(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients at inference, where mean and variance are inputs like the others."""
    attrs, (data, gamma, beta, mean, var) = attrs_of(orig), orig.args
    gradient = TupleGetItem(grad, 0)
    axis = attrs.axis

    def wide(vector: Expr) -> Expr:
        return _along(vector, axis, data)

    inverse = call("rsqrt", var + constant_like(attrs.epsilon, var))
    scale = inverse * gamma if attrs.scale else inverse
    centred = data - wide(mean)
    for_scale = _over_axis(gradient * centred, axis)
    for_mean = call("negative", scale * _over_axis(gradient, axis)) + TupleGetItem(grad, 1)
    times = for_scale * (gamma if attrs.scale else call("ones_like", gamma))
    for_var = times * constant_like(-0.5, var) * inverse * inverse * inverse + TupleGetItem(grad, 2)
    for_gamma = for_scale * inverse if attrs.scale else _zero(gamma)
    for_beta = _over_axis(gradient, axis) if attrs.center else _zero(beta)
    return [gradient * wide(scale), for_gamma, for_beta, for_mean, for_var]


def _norm_of(orig: OpCall, grad: Expr, axes: Sequence[int]) -> list[Expr]:
    """The gradients of a normalisation by the data's own mean and variance over `axes`."""
    attrs, (data, gamma, beta) = attrs_of(orig), orig.args

    def mean(x: Expr) -> Expr:
        return call("mean", x, axis=list(axes), keepdims=True)

    centred = data - mean(data)
    variance = mean(centred * centred)
    inverse = call("rsqrt", variance + constant_like(attrs.epsilon, data))
    normal = centred * inverse
    inner = grad * _along(gamma, attrs.axis, data) if attrs.scale else grad
    for_data = (inner - mean(inner) - normal * mean(inner * normal)) * inverse
    for_gamma = _over_axis(grad * normal, attrs.axis) if attrs.scale else _zero(gamma)
    return [for_data, for_gamma, _over_axis(grad, attrs.axis) if attrs.center else _zero(beta)]


def layer_norm(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of a normalisation along one axis."""
    return _norm_of(orig, grad, [attrs_of(orig).axis])


def instance_norm(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of a normalisation of each channel of each sample."""
    rank = len(_type(orig.args[0]).shape)
    return _norm_of(orig, grad, [i for i in range(1, rank) if i != attrs_of(orig).axis % rank])


def _group_channels(attrs: Attrs, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    """Group normalisation: over each group of channels and the axes after it."""
    shape, dtype = sizes_of(data, "nn.group_norm"), _type(data).dtype
    rank, axis = len(shape), attrs.axis % len(shape)
    split = (*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :])
    over = list(range(axis + 1, rank + 1))
    grouped = reshape_to(data, split)
    centred = grouped - call("mean", grouped, axis=over, keepdims=True)
    variance = call("mean", centred * centred, axis=over, keepdims=True)
    result: Expr = reshape_to(centred * call("rsqrt", variance + number(attrs.epsilon, dtype)), shape)
    wide = {"axis": 1, "num_newaxis": rank - 1 - axis}
    result = result * call("expand_dims", gamma, **wide) if attrs.scale else result
    return result + call("expand_dims", beta, **wide) if attrs.center else result


group_norm = by_definition(_group_channels)


def _over_length(attrs: Attrs, data: Expr) -> Expr:
    """The data divided by its Euclidean norm, or by that of the least sum of squares."""
    total = call("sum", data * data, axis=attrs.axis, keepdims=True)
    return data / call("sqrt", call("maximum", total, number(attrs.eps, _type(data).dtype)))


l2_normalize = by_definition(_over_length)


def _over_neighbours(attrs: Attrs, data: Expr) -> Expr:
    """The data divided by a power of the sum of squares of its neighbours: a product with a band of ones."""
    dtype, rank = _type(data).dtype, len(_type(data).shape)
    length, half = sizes_of(data, "nn.lrn")[attrs.axis], attrs.size // 2
    apart = np.arange(length) - np.arange(length)[:, None]
    band = (apart >= -half) & (apart < attrs.size - half)
    total = through_matrix(data * data, rank, attrs.axis % rank, band, dtype)
    scaled = number(attrs.bias, dtype) + number(attrs.alpha / attrs.size, dtype) * total
    return data / call("power", scaled, number(attrs.beta, dtype))


lrn = by_definition(_over_neighbours)
