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
from passlab.op.along_axis import reshape_to, to_layout
from passlab.op.autodiff import Gradient, attrs_of, by_definition, dtype_of, sizes_of
from passlab.op.declare import call
from passlab.op.layout_names import DATA_LAYOUTS
from passlab.op.nn.window_sizes import full_padding

_WEIGHTS = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
_TRANSPOSED_WEIGHTS = {1: "IOW", 2: "IOHW", 3: "IODHW"}


@dataclass(frozen=True)
class _TrilinearForm:
    """The sizes and the window of a convolution from (batch, inputs, *size) to (batch, outputs, *result_shape)."""

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
    channels: int | None = None  # what the call states

    @property
    def rank(self) -> int:
        return len(self.size)

    def sliding(self) -> dict[str, Any]:
        """The attributes that convolutions and transposed convolutions share."""
        return {"strides": self.strides, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}


def _trilinear_form(attrs: Attrs, data: Sequence[int], kernel: Sequence[int], result: Sequence[int]) -> _TrilinearForm:
    """Return the form for the shapes of data (N, I, *size) and result (N, O, *size) and windows of size `kernel`."""
    (batch, inputs, *size), (_, outputs, *windows) = data, result
    padding = full_padding(attrs.padding, len(size))
    stated = getattr(attrs, "channels", None)
    window = (attrs.strides, padding, attrs.dilation, attrs.groups, stated if stated == outputs else None)
    return _TrilinearForm(batch, inputs, outputs, tuple(size), tuple(kernel), tuple(windows), *window)


def _form_of_result(form: _TrilinearForm, data: Expr, weight: Expr, dtype: str) -> Expr:
    """Return the convolution itself, cropped if the data is larger than the windows of the result need."""
    result = call(f"nn.conv{form.rank}d", data, weight, **form.sliding(), out_dtype=dtype)
    if all(
        (r - 1) * s + 1 <= n < r * s + 1
        for n, r, s in zip(_positions(form), form.result_shape, form.strides, strict=True)
    ):
        return result
    return _crop(result, form.result_shape)


def _positions(form: _TrilinearForm) -> list[int]:
    """Return the number of window positions in the padded data along each axis."""
    rank = form.rank
    return [
        n + form.padding[i] + form.padding[rank + i] - (form.kernel[i] - 1) * form.dilation[i]
        for i, n in enumerate(form.size)
    ]


def _crop(data: Expr, size: Sequence[int]) -> Expr:
    """Return the leading elements along the spatial axes."""
    axes = list(range(2, 2 + len(size)))
    return call("strided_slice", data, begin=[0] * len(size), end=size, strides=[1] * len(size), axes=axes)


def _form_of_data(form: _TrilinearForm, grad: Expr, weight: Expr, dtype: str) -> Expr:
    """Return the gradient distributed over the data: a transposed convolution."""
    extra = [n - (r - 1) * s - 1 for n, r, s in zip(_positions(form), form.result_shape, form.strides, strict=True)]
    name = f"nn.conv{form.rank}d_transpose"
    return call(name, grad, weight, **form.sliding(), output_padding=extra, out_dtype=dtype)


def _form_of_weight(form: _TrilinearForm, grad: Expr, data: Expr, dtype: str) -> Expr:
    """Return the products of the gradient and the data, summed for each tap of the weight."""
    if form.rank == 3:
        return _weight_gradient_by_convolution(form, grad, data, dtype)
    is_1d = form.rank == 1
    window = form.sliding() | {"kernel_size": form.kernel}
    if is_1d:  # as an image of one row
        grad, data = (call("expand_dims", x, axis=2) for x in (grad, data))
        window = {k: (1, *v) if k != "groups" else v for k, v in window.items()}
        window["padding"] = (0, form.padding[0], 0, form.padding[1])
    # the layouts of gradient, data and weight
    layouts = {"data_layout": "NCHW", "kernel_layout": "NCHW", "out_layout": "OIHW"}
    facts = {**window, **layouts, "channels": form.channels, "out_dtype": dtype}
    result = call("nn.conv2d_backward_weight", grad, data, **facts)
    return call("squeeze", result, axis=[2]) if is_1d else result


def _weight_gradient_by_convolution(form: _TrilinearForm, grad: Expr, data: Expr, dtype: str) -> Expr:
    """Return the same as a convolution of the data by the gradient, with samples as channels.

    Strides and dilation of the window exchange their roles.
    """
    groups, rank, batch = form.groups, form.rank, form.batch
    inputs, spatial = form.inputs // groups, list(range(3, 3 + rank))
    grouped = reshape_to(data, (batch, groups, inputs, *form.size))
    images = call("transpose", grouped, axes=[2, 1, 0, *spatial])
    images = reshape_to(images, (inputs, groups * batch, *form.size))
    taps = call("transpose", grad, axes=[1, 0, *range(2, 2 + rank)])
    sliding = {"strides": form.dilation, "dilation": form.strides, "padding": form.padding, "groups": groups}
    result = call(f"nn.conv{rank}d", images, taps, **sliding, channels=form.outputs, out_dtype=dtype)
    return call("transpose", _crop(result, form.kernel), axes=[1, 0, *range(2, 2 + rank)])


def _cast(expr: Expr, dtype: str, target: str) -> Expr:
    return expr if dtype == target else call("cast", expr, dtype=target)


def _cast_to_args(orig: OpCall, *gradients: Expr) -> list[Expr]:
    """Return gradients, computed in the dtype of the result, in the dtypes of the arguments."""
    return [_cast(grad, dtype_of(orig), dtype_of(arg)) for grad, arg in zip(gradients, orig.args, strict=True)]


# ---------------------------------------------------------------- convolutions
def _has_standard_layouts(attrs: Attrs, weights: str, rank: int) -> bool:
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or attrs.data_layout)
    return layouts == (DATA_LAYOUTS[rank], weights, DATA_LAYOUTS[rank])


def _gradient_in_layouts(name: str, weights: str, rank: int) -> Gradient:
    """Return the gradient of a convolution in other layouts from its gradient in plain ones."""
    standard = DATA_LAYOUTS[rank]

    def define(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
        x, w = (to_layout(data, attrs.data_layout, standard), to_layout(weight, attrs.kernel_layout, weights))
        layouts = {"data_layout": standard, "kernel_layout": weights, "out_layout": ""}
        result = call(name, x, w, **{**dict(attrs.items()), **layouts, "kernel_size": None, "channels": None})
        return to_layout(result, standard, attrs.out_layout or attrs.data_layout)

    return by_definition(define)


def _depthwise_gradient(name: str) -> Gradient:
    """Return the gradient of a depthwise convolution whose weight is written (channels, multiplier, window)."""

    def define(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
        channels, multiplier, *window = sizes_of(weight, name)
        grouped = reshape_to(weight, (channels * multiplier, 1, *window))
        return call(name, data, grouped, **dict(attrs.items()))

    return by_definition(define)


def conv(rank: int) -> Gradient:
    """Return the gradient of `nn.conv{rank}d`: a transposed convolution for the data, a correlation for the weight."""
    name = f"nn.conv{rank}d"
    in_other_layouts, depthwise = _gradient_in_layouts(name, _WEIGHTS[rank], rank), _depthwise_gradient(name)

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        attrs, (data, weight) = attrs_of(orig), orig.args
        if not _has_standard_layouts(attrs, _WEIGHTS[rank], rank):
            return in_other_layouts(orig, grad)
        shape, kernel, result = (sizes_of(x, name) for x in (data, weight, orig))
        if kernel[1] * attrs.groups != shape[1]:
            return depthwise(orig, grad)
        form, dtype = _trilinear_form(attrs, shape, kernel[2:], result), dtype_of(orig)
        return _cast_to_args(orig, _form_of_data(form, grad, weight, dtype), _form_of_weight(form, grad, data, dtype))

    return gradient


def conv_transpose(rank: int) -> Gradient:
    """Return the gradient of `nn.conv{rank}d_transpose`: a convolution for the data, a correlation for the weight."""
    name = f"nn.conv{rank}d_transpose"
    in_other_layouts = _gradient_in_layouts(name, _TRANSPOSED_WEIGHTS[rank], rank)

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        attrs, (data, weight) = attrs_of(orig), orig.args
        if not _has_standard_layouts(attrs, _TRANSPOSED_WEIGHTS[rank], rank):
            return in_other_layouts(orig, grad)
        result, kernel, shape = (sizes_of(x, name) for x in (data, weight, orig))
        form, dtype = _trilinear_form(attrs, shape, kernel[2:], result), dtype_of(orig)
        x = _cast(data, dtype_of(data), dtype)
        return _cast_to_args(orig, _form_of_result(form, grad, weight, dtype), _form_of_weight(form, x, grad, dtype))

    return gradient


# ---------------------------------------------------------------- the correlation itself
_BACKWARD = ("NCHW", "NCHW", "OIHW")


def _backward_weight_in_layouts(attrs: Attrs, grad: Expr, data: Expr) -> Expr:
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "OIHW")
    standard = dict(zip(("data_layout", "kernel_layout", "out_layout"), _BACKWARD, strict=True))
    g, x = to_layout(grad, layouts[0], "NCHW"), to_layout(data, layouts[1], "NCHW")
    result = call("nn.conv2d_backward_weight", g, x, **{**dict(attrs.items()), **standard})
    return to_layout(result, "OIHW", layouts[2])


def conv2d_backward_weight(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of a gradient: a convolution of the data, and a transposed one of the first gradient."""
    attrs, (first_grad, data) = attrs_of(orig), orig.args
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "OIHW") != _BACKWARD:
        return by_definition(_backward_weight_in_layouts)(orig, grad)
    result, shape = (sizes_of(x, "nn.conv2d_backward_weight") for x in (first_grad, data))
    form, dtype = _trilinear_form(attrs, shape, attrs.kernel_size, result), dtype_of(orig)
    return _cast_to_args(orig, _form_of_result(form, data, grad, dtype), _form_of_data(form, first_grad, grad, dtype))
