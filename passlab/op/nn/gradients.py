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
from passlab.op.along_axis import matmul_along_axis, number, reshape_to, take_along
from passlab.op.autodiff import attrs_of, by_definition, sizes_of, zeros_of
from passlab.op.declare import call
from passlab.op.elementwise import constant_like
from passlab.op.relations import product


def _tensor_type(expr: Expr) -> TensorType:
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty


def relu(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient where the input is not negative, else zero."""
    x = orig.args[0]
    zeros = zeros_of(x)
    return [call("where", call("less", x, zeros), zeros, call("ones_like", x) * grad)]


def leaky_relu(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, multiplied by alpha where the input is negative."""
    x = orig.args[0]
    slope = constant_like(attrs_of(orig).alpha, x)
    return [call("where", call("less", x, zeros_of(x)), slope * grad, grad)]


def prelu(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, multiplied by alpha where the input is negative; for alpha, the sum over those elements."""
    x, alpha = orig.args
    negative, slope = call("less", x, zeros_of(x)), _along(alpha, attrs_of(orig).axis, x)
    scaled_part = call("where", negative, x * grad, zeros_of(x))
    return [call("where", negative, slope * grad, grad), _sum_except(scaled_part, attrs_of(orig).axis)]


def _along(vector: Expr, axis: int, data: Expr) -> Expr:
    """Return a vector as a tensor that broadcasts along `axis` of the data."""
    rank = len(_tensor_type(data).shape)
    return call("expand_dims", vector, axis=1, num_newaxis=rank - 1 - axis % rank)


def _sum_except(data: Expr, axis: int) -> Expr:
    """Return the sum of the data over all axes but one."""
    return call("sum", data, axis=[axis], exclude=True)


def softmax(orig: OpCall, grad: Expr) -> list[Expr]:
    """`(grad - sum(grad * y)) * y`."""
    total = call("sum", grad * orig, axis=[attrs_of(orig).axis], keepdims=True)
    return [(grad - total) * orig]


def log_softmax(orig: OpCall, grad: Expr) -> list[Expr]:
    """`grad - sum(grad) * softmax(x)`."""
    axis = attrs_of(orig).axis
    return [grad - call("sum", grad, axis=[axis], keepdims=True) * call("exp", orig)]


def bias_add(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient itself, and for the bias its sum over all other axes."""
    return [_sum_to_shape(grad, orig.args[0]), _sum_except(grad, attrs_of(orig).axis)]


def dropout(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of the first result: at inference it is the data unchanged."""
    return [TupleGetItem(grad, 0)]


def _sum_to_shape(grad: Expr, target: Expr) -> Expr:
    """Return the gradient summed to the shape of an input that was broadcast."""
    return call("collapse_sum_like", grad, target)


def _transpose(matrix: Expr) -> Expr:
    return call("transpose", matrix, axes=None)


def _cast_to_inputs(orig: OpCall, gradients: Sequence[Expr]) -> list[Expr]:
    """Convert gradients from the dtype of the result to the dtypes of the inputs."""
    result_dtype = _tensor_type(orig).dtype
    return [
        grad if _tensor_type(arg).dtype == result_dtype else call("cast", grad, dtype=_tensor_type(arg).dtype)
        for grad, arg in zip(gradients, orig.args, strict=True)
    ]


def _as_matrix(matrix: Expr, ty: TensorType, units: Dim) -> Expr:
    """Return a stack of matrices, of type `ty`, as one matrix of all their rows."""
    count = product(ty.shape[:-1])
    return reshape_to(matrix, (count if isinstance(count, int) else -1, units))


def dense(orig: OpCall, grad: Expr) -> list[Expr]:
    """The product grad @ weight, and the transposed gradient @ data; leading dimensions of the data form one batch."""
    data, weight = orig.args
    units, inner = _tensor_type(weight).shape
    if len(_tensor_type(data).shape) == 2 and isinstance(inner, int):
        data_grad = call("nn.dense", grad, _transpose(weight), units=inner)
        weight_grad = call("nn.dense", _transpose(grad), _transpose(data), units=inner)
        return _cast_to_inputs(orig, [_sum_to_shape(data_grad, data), _sum_to_shape(weight_grad, weight)])
    rows, flat = _as_matrix(grad, _tensor_type(data), units), _as_matrix(data, _tensor_type(data), inner)
    data_grad = call("nn.matmul", grad, weight, units=None)
    return _cast_to_inputs(orig, [data_grad, call("nn.matmul", rows, flat, units=None, transpose_a=True)])


def matmul(orig: OpCall, grad: Expr) -> list[Expr]:
    """The products of the gradient with the other factor, transposed as the factors are."""
    a, b = orig.args
    ta, tb = attrs_of(orig).transpose_a, attrs_of(orig).transpose_b
    if tb and not ta:
        return dense(orig, grad)
    if len(_tensor_type(a).shape) != 2:
        return _matmul_of_stack(orig, grad)
    a_grad = _factor_gradient("nn.matmul", grad, b, tb, ta, True)
    b_grad = _factor_gradient("nn.matmul", a, grad, ta, tb, False)
    return _cast_to_inputs(orig, [_sum_to_shape(a_grad, a), _sum_to_shape(b_grad, b)])


def _matmul_of_stack(orig: OpCall, grad: Expr) -> list[Expr]:
    """A stack of matrices times one matrix: the matrix gets the gradient of a product of all rows."""
    a, b = orig.args
    ta, tb = attrs_of(orig).transpose_a, attrs_of(orig).transpose_b
    rank = len(_tensor_type(a).shape)

    def transpose_a(x: Expr) -> Expr:
        return call("transpose", x, axes=[*range(rank - 2), rank - 1, rank - 2]) if ta else x

    inner, units = _tensor_type(b).shape[::-1] if tb else _tensor_type(b).shape
    a_grad = transpose_a(call("nn.matmul", grad, b, units=None, transpose_b=not tb))
    rows, flat = _as_matrix(grad, _tensor_type(orig), units), _as_matrix(transpose_a(a), _tensor_type(orig), inner)
    pair = (rows, flat) if tb else (flat, rows)
    return _cast_to_inputs(orig, [a_grad, call("nn.matmul", *pair, units=None, transpose_a=True)])


def batch_matmul(orig: OpCall, grad: Expr) -> list[Expr]:
    """Batched matmul gradient; summed over the batch for a broadcast operand."""
    a, b = orig.args
    ta, tb = attrs_of(orig).transpose_a, attrs_of(orig).transpose_b
    a_grad = _factor_gradient("nn.batch_matmul", grad, b, tb, ta, True)
    b_grad = _factor_gradient("nn.batch_matmul", a, grad, ta, tb, False)
    return _cast_to_inputs(orig, [_sum_to_shape(a_grad, a), _sum_to_shape(b_grad, b)])


def _factor_gradient(name: str, x: Expr, y: Expr, other_transposed: bool, transposed: bool, is_first: bool) -> Expr:
    """Return the gradient for one factor of a product: the product of the gradient and the other factor.

    `x` and `y` are these two in the order of the original factors. The flags say whether the other factor and the
    factor itself are transposed in the original product, and whether the factor is its first.
    """
    units = {"units": None} if name == "nn.matmul" else {}
    left, right = (y, x) if transposed else (x, y)
    if is_first:  # the gradient of a is grad @ b^T, or its transpose
        flags = (other_transposed, True) if transposed else (False, not other_transposed)
    else:  # that of b is a^T @ grad
        flags = (True, other_transposed) if transposed else (not other_transposed, False)
    return call(name, left, right, **units, transpose_a=flags[0], transpose_b=flags[1])


def pad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient without the border, whose sum is the gradient of the border's value.

    A border of copies of the data adds its gradient to the gradient of the copied elements.
    """
    attrs, (data, value) = attrs_of(orig), orig.args
    if attrs.pad_mode != "constant":
        return _selection_gradient(orig, grad)
    shape = _tensor_type(data).concrete_shape
    begin = [max(a, 0) for a, _ in attrs.pad_width]
    end = [max(a, 0) + n + min(a, 0) + min(b, 0) for (a, b), n in zip(attrs.pad_width, shape, strict=True)]
    inside = call("strided_slice", grad, begin=begin, end=end, strides=[1] * len(shape), axes=None)
    border = call("sum", grad) - call("sum", inside)
    cropped = [(max(-a, 0), max(-b, 0)) for a, b in attrs.pad_width]
    if any(map(any, cropped)):  # cropped elements have no gradient
        inside = call("nn.pad", inside, number(0, _tensor_type(data).dtype), pad_width=cropped)
    return [inside, call("cast", border, dtype=_tensor_type(value).dtype) * call("ones_like", value)]


def _add_border(attrs: Attrs, data: Expr, value: Expr | None = None) -> Expr:
    """Define a border of elements of the data by selection along each axis."""
    mode = attrs.mode.lower() if value is None else attrs.pad_mode
    result = data
    for axis, (before, after) in enumerate(attrs.pad_width):
        if before or after:
            positions = np.arange(_tensor_type(data).concrete_shape[axis])
            remaining = positions[max(-before, 0) : len(positions) - max(-after, 0)]
            result = take_along(result, axis, np.pad(remaining, (max(before, 0), max(after, 0)), mode=mode).tolist())
    return result


_selection_gradient = mirror_pad = by_definition(_add_border)  # each element receives the gradients of its copies


def batch_norm(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients at inference, where mean and variance are inputs like the others."""
    attrs, (data, gamma, beta, mean, var) = attrs_of(orig), orig.args
    result_grad = TupleGetItem(grad, 0)
    axis = attrs.axis

    def broadcast(vector: Expr) -> Expr:
        return _along(vector, axis, data)

    inverse = call("rsqrt", var + constant_like(attrs.epsilon, var))
    scale = inverse * gamma if attrs.scale else inverse
    centred = data - broadcast(mean)
    scale_grad = _sum_except(result_grad * centred, axis)
    mean_grad = call("negative", scale * _sum_except(result_grad, axis)) + TupleGetItem(grad, 1)
    weighted = scale_grad * (gamma if attrs.scale else call("ones_like", gamma))
    var_grad = weighted * constant_like(-0.5, var) * inverse * inverse * inverse + TupleGetItem(grad, 2)
    gamma_grad = scale_grad * inverse if attrs.scale else zeros_of(gamma)
    beta_grad = _sum_except(result_grad, axis) if attrs.center else zeros_of(beta)
    return [result_grad * broadcast(scale), gamma_grad, beta_grad, mean_grad, var_grad]


def _normalization_gradient(orig: OpCall, grad: Expr, axes: Sequence[int]) -> list[Expr]:
    """Return the gradients of a normalisation by the data's own mean and variance over `axes`."""
    attrs, (data, gamma, beta) = attrs_of(orig), orig.args

    def mean(x: Expr) -> Expr:
        return call("mean", x, axis=list(axes), keepdims=True)

    centred = data - mean(data)
    variance = mean(centred * centred)
    inverse = call("rsqrt", variance + constant_like(attrs.epsilon, data))
    normalized = centred * inverse
    normalized_grad = grad * _along(gamma, attrs.axis, data) if attrs.scale else grad
    data_grad = (normalized_grad - mean(normalized_grad) - normalized * mean(normalized_grad * normalized)) * inverse
    gamma_grad = _sum_except(grad * normalized, attrs.axis) if attrs.scale else zeros_of(gamma)
    return [data_grad, gamma_grad, _sum_except(grad, attrs.axis) if attrs.center else zeros_of(beta)]


def layer_norm(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of a normalisation along one axis."""
    return _normalization_gradient(orig, grad, [attrs_of(orig).axis])


def instance_norm(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of a normalisation of each channel of each sample."""
    rank = len(_tensor_type(orig.args[0]).shape)
    return _normalization_gradient(orig, grad, [i for i in range(1, rank) if i != attrs_of(orig).axis % rank])


def _define_group_norm(attrs: Attrs, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    """Define group normalisation: over each group of channels and the axes after it."""
    shape, dtype = sizes_of(data, "nn.group_norm"), _tensor_type(data).dtype
    rank, axis = len(shape), attrs.axis % len(shape)
    grouped_shape = (*shape[:axis], attrs.num_groups, shape[axis] // attrs.num_groups, *shape[axis + 1 :])
    axes = list(range(axis + 1, rank + 1))
    grouped = reshape_to(data, grouped_shape)
    centred = grouped - call("mean", grouped, axis=axes, keepdims=True)
    variance = call("mean", centred * centred, axis=axes, keepdims=True)
    result: Expr = reshape_to(centred * call("rsqrt", variance + number(attrs.epsilon, dtype)), shape)
    expand = {"axis": 1, "num_newaxis": rank - 1 - axis}
    result = result * call("expand_dims", gamma, **expand) if attrs.scale else result
    return result + call("expand_dims", beta, **expand) if attrs.center else result


group_norm = by_definition(_define_group_norm)


def _define_l2_normalize(attrs: Attrs, data: Expr) -> Expr:
    """Define L2 normalisation: the data divided by the root of its sum of squares, which is at least `eps`."""
    total = call("sum", data * data, axis=attrs.axis, keepdims=True)
    return data / call("sqrt", call("maximum", total, number(attrs.eps, _tensor_type(data).dtype)))


l2_normalize = by_definition(_define_l2_normalize)


def _define_lrn(attrs: Attrs, data: Expr) -> Expr:
    """Define `nn.lrn`: the sum of squares of the neighbours is a product with a band matrix of ones."""
    dtype, rank = _tensor_type(data).dtype, len(_tensor_type(data).shape)
    length, half = sizes_of(data, "nn.lrn")[attrs.axis], attrs.size // 2
    distance = np.arange(length) - np.arange(length)[:, None]
    band = (distance >= -half) & (distance < attrs.size - half)
    total = matmul_along_axis(data * data, rank, attrs.axis % rank, band, dtype)
    scaled = number(attrs.bias, dtype) + number(attrs.alpha / attrs.size, dtype) * total
    return data / call("power", scaled, number(attrs.beta, dtype))


lrn = by_definition(_define_lrn)
