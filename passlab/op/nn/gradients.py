"""Gradients of neural network operators as Relay programs: each maps a typed call and the gradient of its result to
the gradients of its inputs. The operators that compute them are called by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, PassError
from passlab.ir.expr import Call, Expr, TupleGetItem
from passlab.ir.types import TensorType
from passlab.op.declare import call
from passlab.op.elementwise import constant_like
from passlab.op.nn.windows import full_padding

Gradient = Callable[[Call, Expr], list[Expr]]


def _type(expr: Expr) -> TensorType:
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty


def _attrs(orig: Call) -> Any:
    assert orig.attrs is not None
    return orig.attrs


def _zero(like: Expr) -> Expr:
    return call("zeros_like", like)


def relu(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient passes where the input is not negative."""
    x = orig.args[0]
    zeros = _zero(x)
    return [call("where", call("less", x, zeros), zeros, call("ones_like", x) * grad)]


def leaky_relu(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient, times alpha where the input is negative."""
    x = orig.args[0]
    slope = constant_like(_attrs(orig).alpha, x)
    return [call("where", call("less", x, _zero(x)), slope * grad, grad)]


def prelu(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient, times alpha where the input is negative; for alpha the sum of what passed there."""
    x, alpha = orig.args
    negative, slope = call("less", x, _zero(x)), _along(alpha, _attrs(orig).axis, x)
    through = call("where", negative, x * grad, _zero(x))
    return [call("where", negative, slope * grad, grad), _over_axis(through, _attrs(orig).axis)]


def _along(vector: Expr, axis: int, data: Expr) -> Expr:
    """A vector as a tensor that broadcasts along `axis` of the data."""
    rank = len(_type(data).shape)
    return call("expand_dims", vector, axis=1, num_newaxis=rank - 1 - axis % rank)


def _over_axis(data: Expr, axis: int) -> Expr:
    """The sum of the data over all axes but one."""
    return call("sum", data, axis=[axis], exclude=True)


def softmax(orig: Call, grad: Expr) -> list[Expr]:
    """(grad - sum(grad * y)) * y."""
    total = call("sum", grad * orig, axis=[_attrs(orig).axis], keepdims=True)
    return [(grad - total) * orig]


def log_softmax(orig: Call, grad: Expr) -> list[Expr]:
    """Grad - sum(grad) * softmax(x)."""
    axis = _attrs(orig).axis
    return [grad - call("sum", grad, axis=[axis], keepdims=True) * call("exp", orig)]


def bias_add(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient itself, and its sum over all axes but the bias's."""
    return [_like(grad, orig.args[0]), _over_axis(grad, _attrs(orig).axis)]


def dropout(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient of the data result: at inference the data passes unchanged."""
    return [TupleGetItem(grad, 0)]


def batch_flatten(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient in the shape of the data."""
    return [call("reshape_like", grad, orig.args[0])]


def _like(grad: Expr, target: Expr) -> Expr:
    """The gradient summed up to the shape of an input that was broadcast."""
    return call("collapse_sum_like", grad, target)


def _turned(matrix: Expr) -> Expr:
    return call("transpose", matrix, axes=None)


def dense(orig: Call, grad: Expr) -> list[Expr]:
    """Grad @ weight, and the transposed gradient @ data; leading dimensions of the data count as one batch."""
    data, weight = orig.args
    units, inner = _type(weight).shape
    if len(_type(data).shape) == 2 and isinstance(inner, int):
        for_data = call("nn.dense", grad, _turned(weight), units=inner)
        for_weight = call("nn.dense", _turned(grad), _turned(data), units=inner)
        return [_like(for_data, data), _like(for_weight, weight)]
    rows = call("reshape", grad, newshape=(-1, units))
    flat = call("reshape", data, newshape=(-1, inner))
    return [call("nn.matmul", grad, weight, units=None), call("nn.matmul", rows, flat, units=None, transpose_a=True)]


def matmul(orig: Call, grad: Expr) -> list[Expr]:
    """The products of the gradient with the other factor, transposed as the factors are."""
    a, b = orig.args
    ta, tb = _attrs(orig).transpose_a, _attrs(orig).transpose_b
    if len(_type(a).shape) != 2:
        raise PassError(Diagnostic("the gradient of nn.matmul is known for matrices", found=str(_type(a))))
    if tb and not ta:
        return dense(orig, grad)
    for_a, for_b = _product("nn.matmul", grad, b, tb, ta, True), _product("nn.matmul", a, grad, ta, tb, False)
    return [_like(for_a, a), _like(for_b, b)]


def batch_matmul(orig: Call, grad: Expr) -> list[Expr]:
    """As for matrices, sample by sample; summed up for a factor that serves all samples."""
    a, b = orig.args
    ta, tb = _attrs(orig).transpose_a, _attrs(orig).transpose_b
    for_a = _product("nn.batch_matmul", grad, b, tb, ta, True)
    for_b = _product("nn.batch_matmul", a, grad, ta, tb, False)
    return [_like(for_a, a), _like(for_b, b)]


def _product(name: str, x: Expr, y: Expr, flag: bool, turned: bool, first: bool) -> Expr:
    """The gradient for one factor of a product, itself a product: of the gradient and the other factor.

    `flag` tells whether the other factor is given transposed, `turned` whether the factor itself is.
    """
    units = {"units": None} if name == "nn.matmul" else {}
    left, right = (y, x) if turned else (x, y)
    if first:  # the gradient of a is grad @ b^T, or its transpose
        flags = (flag, True) if turned else (False, not flag)
    else:  # that of b is a^T @ grad
        flags = (True, flag) if turned else (not flag, False)
    return call(name, left, right, **units, transpose_a=flags[0], transpose_b=flags[1])


def _check_layouts(attrs: Any) -> None:
    given = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or attrs.data_layout)
    if given != ("NCHW", "OIHW", "NCHW"):
        raise PassError(
            Diagnostic(
                "the gradient of nn.conv2d is known for data in NCHW and weights in OIHW",
                found=", ".join(given),
                hint="convert the layout first",
            )
        )


def conv2d(orig: Call, grad: Expr) -> list[Expr]:
    """A transposed convolution for the data, and `nn.conv2d_backward_weight` for the weight."""
    attrs, (data, weight) = _attrs(orig), orig.args
    _check_layouts(attrs)
    padding = full_padding(attrs.padding, 2)
    kernel = _type(weight).concrete_shape[2:]
    size, made = _type(data).concrete_shape[2:], _type(orig).concrete_shape[2:]
    reach = [
        (made[i] - 1) * attrs.strides[i] - padding[i] - padding[i + 2] + (kernel[i] - 1) * attrs.dilation[i] + 1
        for i in range(2)
    ]
    shared: dict[str, Any] = {
        "strides": attrs.strides,
        "dilation": attrs.dilation,
        "groups": attrs.groups,
        "out_dtype": attrs.out_dtype or _type(data).dtype,
    }
    extra = (size[0] - reach[0], size[1] - reach[1])
    for_data = call("nn.conv2d_transpose", grad, weight, **shared, padding=padding, output_padding=extra)
    layouts = {"data_layout": "NCHW", "kernel_layout": "NCHW", "out_layout": "OIHW"}  # of gradient, data and weight
    shared |= {"padding": attrs.padding, "channels": attrs.channels, "kernel_size": kernel}
    return [for_data, call("nn.conv2d_backward_weight", grad, data, **shared, **layouts)]


def pool2d(name: str) -> Gradient:
    """Make the gradient of a pooling operator from the operator that computes it."""

    def gradient(orig: Call, grad: Expr) -> list[Expr]:
        attrs = dict(_attrs(orig).items())
        return [call(name, grad, orig.args[0], **attrs)]

    return gradient


def global_avg_pool2d(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient of a mean over a window as large as the image."""
    data, layout = orig.args[0], _attrs(orig).layout
    shape = _type(data).concrete_shape
    size = (shape[layout.index("H")], shape[layout.index("W")])
    return [call("nn.avg_pool2d_grad", grad, data, pool_size=size, layout=layout)]


def global_max_pool2d(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient where the image has its maximum (everywhere it has, when it has it more than once)."""
    data = orig.args[0]
    chosen = call("equal", data, call("broadcast_to_like", orig, data))
    return [call("where", chosen, call("broadcast_to_like", grad, data), _zero(data))]


def pad(orig: Call, grad: Expr) -> list[Expr]:
    """The gradient inside the border, and for the border's value its sum there."""
    attrs, (data, value) = _attrs(orig), orig.args
    if attrs.pad_mode != "constant":
        raise PassError(Diagnostic("the gradient of nn.pad is known for constant borders", found=attrs.pad_mode))
    shape = _type(data).concrete_shape
    begin = [a for a, _ in attrs.pad_width]
    end = [a + n for (a, _), n in zip(attrs.pad_width, shape, strict=True)]
    inside = call("strided_slice", grad, begin=begin, end=end, strides=[1] * len(shape), axes=None)
    border = call("sum", grad) - call("sum", inside)
    return [inside, call("cast", border, dtype=_type(value).dtype) * call("ones_like", value)]


def batch_norm(orig: Call, grad: Expr) -> list[Expr]:
    """The gradients at inference, where mean and variance are inputs like the others."""
    attrs, (data, gamma, beta, mean, var) = _attrs(orig), orig.args
    given = TupleGetItem(grad, 0)
    axis = attrs.axis

    def wide(vector: Expr) -> Expr:
        return _along(vector, axis, data)

    inverse = call("rsqrt", var + constant_like(attrs.epsilon, var))
    scale = inverse * gamma if attrs.scale else inverse
    centred = data - wide(mean)
    for_scale = _over_axis(given * centred, axis)
    for_mean = call("negative", scale * _over_axis(given, axis)) + TupleGetItem(grad, 1)
    times = for_scale * (gamma if attrs.scale else call("ones_like", gamma))
    for_var = times * constant_like(-0.5, var) * inverse * inverse * inverse + TupleGetItem(grad, 2)
    for_gamma = for_scale * inverse if attrs.scale else _zero(gamma)
    for_beta = _over_axis(given, axis) if attrs.center else _zero(beta)
    return [given * wide(scale), for_gamma, for_beta, for_mean, for_var]


def _normed(orig: Call, grad: Expr, axes: Sequence[int]) -> list[Expr]:
    """The gradients of a normalisation by the data's own mean and variance over `axes`."""
    attrs, (data, gamma, beta) = _attrs(orig), orig.args

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


def layer_norm(orig: Call, grad: Expr) -> list[Expr]:
    """The gradients of a normalisation along one axis."""
    return _normed(orig, grad, [_attrs(orig).axis])


def instance_norm(orig: Call, grad: Expr) -> list[Expr]:
    """The gradients of a normalisation of each channel of each sample."""
    rank = len(_type(orig.args[0]).shape)
    return _normed(orig, grad, [i for i in range(1, rank) if i != _attrs(orig).axis % rank])
