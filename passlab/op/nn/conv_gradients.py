"""Gradients of convolutions and transposed convolutions, as Relay programs.

A convolution, its transpose, and the correlation of data with a gradient as large as the result are one trilinear form
of (data, weight, result): the gradients of each are the other two. Everything is written for data in NC and weights in
OI followed by the spatial axes; other layouts are defined in terms of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall
from passlab.op.along_axis import laid_out, reshape_to
from passlab.op.chain import Gradient, attrs_of, by_definition, dtype_of, sizes_of
from passlab.op.declare import call
from passlab.op.layout_names import DATA_LAYOUTS
from passlab.op.nn.windows import full_padding

_WEIGHTS = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
_TURNED = {1: "IOW", 2: "IOHW", 3: "IODHW"}


@dataclass(frozen=True)
class _Form:
    """The window of a convolution over `size`, the spatial axes of its data, with the spatial axes `made` of its
    result.
    """

    batch: int
    inputs: int
    outputs: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    result_shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @property
    def rank(self) -> int:
        return len(self.size)

    def sliding(self) -> dict[str, Any]:
        """The attributes that convolutions and transposed convolutions share."""
        return {"strides": self.strides, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}


def _form(attrs: Attrs, data: Sequence[int], kernel: Sequence[int], result: Sequence[int]) -> _Form:
    """Return the form of (N, I, *size) and (N, O, *made) with windows of size `kernel`."""
    (batch, inputs, *size), (_, outputs, *windows) = data, result
    padding = full_padding(attrs.padding, len(size))
    sliding = (attrs.strides, padding, attrs.dilation, attrs.groups)
    return _Form(batch, inputs, outputs, tuple(size), tuple(kernel), tuple(windows), *sliding)


def _to_result(form: _Form, data: Expr, weight: Expr, dtype: str) -> Expr:
    """The convolution itself, cropped if the data is larger than the windows of the result need."""
    result = call(f"nn.conv{form.rank}d", data, weight, **form.sliding(), out_dtype=dtype)
    if all(
        (r - 1) * s + 1 <= n < r * s + 1 for n, r, s in zip(_room(form), form.result_shape, form.strides, strict=True)
    ):
        return result
    return _cut(result, form.result_shape)


def _room(form: _Form) -> list[int]:
    """The number of window positions in the padded data along each axis."""
    rank = form.rank
    return [
        n + form.padding[i] + form.padding[rank + i] - (form.kernel[i] - 1) * form.dilation[i]
        for i, n in enumerate(form.size)
    ]


def _cut(data: Expr, size: Sequence[int]) -> Expr:
    """The leading elements along the spatial axes."""
    axes = list(range(2, 2 + len(size)))
    return call("strided_slice", data, begin=[0] * len(size), end=size, strides=[1] * len(size), axes=axes)


def _to_data(form: _Form, grad: Expr, weight: Expr, dtype: str) -> Expr:
    """The gradient distributed over the data: a transposed convolution."""
    extra = [n - (r - 1) * s - 1 for n, r, s in zip(_room(form), form.result_shape, form.strides, strict=True)]
    name = f"nn.conv{form.rank}d_transpose"
    return call(name, grad, weight, **form.sliding(), output_padding=extra, out_dtype=dtype)


def _to_weight(form: _Form, grad: Expr, data: Expr, dtype: str) -> Expr:
    """The products of the gradient and the data, summed for each tap of the weight."""
    if form.rank == 3:
        return _as_convolution(form, grad, data, dtype)
    flat = form.rank == 1
    window = form.sliding() | {"kernel_size": form.kernel}
    if flat:  # as an image of one row
        grad, data = (call("expand_dims", x, axis=2) for x in (grad, data))
        window = {k: (1, *v) if k != "groups" else v for k, v in window.items()}
        window["padding"] = (0, form.padding[0], 0, form.padding[1])
    # the layouts of gradient, data and weight
    layouts = {"data_layout": "NCHW", "kernel_layout": "NCHW", "out_layout": "OIHW"}
    result = call("nn.conv2d_backward_weight", grad, data, **window, **layouts, out_dtype=dtype)
    return call("squeeze", result, axis=[2]) if flat else result


def _as_convolution(form: _Form, grad: Expr, data: Expr, dtype: str) -> Expr:
    """The same if no operator computes it: a convolution of the data by the gradient, with samples as channels.

    Strides of the window become dilation, and dilation becomes strides.
    """
    groups, rank, batch = form.groups, form.rank, form.batch
    inputs, space = form.inputs // groups, list(range(3, 3 + rank))
    parts = reshape_to(data, (batch, groups, inputs, *form.size))
    images = call("transpose", parts, axes=[2, 1, 0, *space])
    images = reshape_to(images, (inputs, groups * batch, *form.size))
    taps = call("transpose", grad, axes=[1, 0, *range(2, 2 + rank)])
    sliding = {"strides": form.dilation, "dilation": form.strides, "padding": form.padding, "groups": groups}
    result = call(f"nn.conv{rank}d", images, taps, **sliding, channels=form.outputs, out_dtype=dtype)
    return call("transpose", _cut(result, form.kernel), axes=[1, 0, *range(2, 2 + rank)])


def _cast(expr: Expr, dtype: str, want: str) -> Expr:
    return expr if dtype == want else call("cast", expr, dtype=want)


# ---------------------------------------------------------------- convolutions
def _plain(attrs: Attrs, weights: str, rank: int) -> bool:
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or attrs.data_layout)
    return layouts == (DATA_LAYOUTS[rank], weights, DATA_LAYOUTS[rank])


def _in_plain_layouts(name: str, weights: str, rank: int) -> Gradient:
    """Return the gradient of a convolution in other layouts from its gradient in plain ones."""
    plain = DATA_LAYOUTS[rank]

    def define(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
        x, w = laid_out(data, attrs.data_layout, plain), laid_out(weight, attrs.kernel_layout, weights)
        layouts = {"data_layout": plain, "kernel_layout": weights, "out_layout": ""}
        result = call(name, x, w, **{**dict(attrs.items()), **layouts, "kernel_size": None, "channels": None})
        return laid_out(result, plain, attrs.out_layout or attrs.data_layout)

    return by_definition(define)


def _one_channel_each(name: str) -> Gradient:
    """Return the gradient of a depthwise convolution whose weight is written (channels, multiplier, window)."""

    def define(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
        channels, multiplier, *window = sizes_of(weight, name)
        plain = reshape_to(weight, (channels * multiplier, 1, *window))
        return call(name, data, plain, **dict(attrs.items()))

    return by_definition(define)


def conv(rank: int) -> Gradient:
    """Return the gradient of `nn.conv{rank}d`: a transposed convolution for the data, a correlation for the weight."""
    name = f"nn.conv{rank}d"
    elsewhere, depthwise = _in_plain_layouts(name, _WEIGHTS[rank], rank), _one_channel_each(name)

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        attrs, (data, weight) = attrs_of(orig), orig.args
        if not _plain(attrs, _WEIGHTS[rank], rank):
            return elsewhere(orig, grad)
        shape, kernel, result = (sizes_of(x, name) for x in (data, weight, orig))
        if kernel[1] * attrs.groups != shape[1]:
            return depthwise(orig, grad)
        form, dtype = _form(attrs, shape, kernel[2:], result), dtype_of(orig)
        parts = (_to_data(form, grad, weight, dtype), _to_weight(form, grad, data, dtype))
        return [_cast(p, dtype, dtype_of(arg)) for p, arg in zip(parts, orig.args, strict=True)]

    return gradient


def conv_transpose(rank: int) -> Gradient:
    """Return the gradient of `nn.conv{rank}d_transpose`: a convolution for the data, a correlation for the weight."""
    name = f"nn.conv{rank}d_transpose"
    elsewhere = _in_plain_layouts(name, _TURNED[rank], rank)

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        attrs, (data, weight) = attrs_of(orig), orig.args
        if not _plain(attrs, _TURNED[rank], rank):
            return elsewhere(orig, grad)
        result, kernel, shape = (sizes_of(x, name) for x in (data, weight, orig))
        form, dtype = _form(attrs, shape, kernel[2:], result), dtype_of(orig)
        wide = _cast(data, dtype_of(data), dtype)
        parts = (_to_result(form, grad, weight, dtype), _to_weight(form, wide, grad, dtype))
        return [_cast(p, dtype, dtype_of(arg)) for p, arg in zip(parts, orig.args, strict=True)]

    return gradient


# ---------------------------------------------------------------- the correlation itself
_BACKWARD = ("NCHW", "NCHW", "OIHW")


def _backward_elsewhere(attrs: Attrs, grad: Expr, data: Expr) -> Expr:
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "OIHW")
    named = dict(zip(("data_layout", "kernel_layout", "out_layout"), _BACKWARD, strict=True))
    g, x = laid_out(grad, layouts[0], "NCHW"), laid_out(data, layouts[1], "NCHW")
    result = call("nn.conv2d_backward_weight", g, x, **{**dict(attrs.items()), **named})
    return laid_out(result, "OIHW", layouts[2])


def conv2d_backward_weight(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of a gradient: a convolution of the data, and a transposed one of the first gradient."""
    attrs, (first, data) = attrs_of(orig), orig.args
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "OIHW") != _BACKWARD:
        return by_definition(_backward_elsewhere)(orig, grad)
    result, shape = (sizes_of(x, "nn.conv2d_backward_weight") for x in (first, data))
    form, dtype = _form(attrs, shape, attrs.kernel_size, result), dtype_of(orig)
    parts = (_to_result(form, data, grad, dtype), _to_data(form, first, grad, dtype))
    return [_cast(p, dtype, dtype_of(arg)) for p, arg in zip(parts, orig.args, strict=True)]
