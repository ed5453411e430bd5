"""The common part of both directions of scale folding: the axes along which an operator can be scaled, and scaling it.

A scale is a tensor with one value per channel; it multiplies a tensor along `axes` (the channel axis, or the outer and
inner parts of it in a packed layout).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import Trait, has_trait
from passlab.ir.types import TensorType
from passlab.op import make
from passlab.op.layout_names import parse_layout

CONVOLUTIONS = frozenset({"nn.conv2d", "nn.conv3d"})
ABSORBING = (*sorted(CONVOLUTIONS), "nn.dense")  # operators into whose weight a scale is folded
SUMS = frozenset({"add", "subtract"})


class Message(NamedTuple):
    """The scales that a node accepts: along `axes`, `positive` without negative values, `nonzero` without zeros.

    A scale is `nonzero` because operands that are added on the way are divided by it.
    """

    axes: tuple[int, ...]
    positive: bool = False
    nonzero: bool = False


def tensor_type(expr: Expr) -> TensorType | None:
    """Return the type of an expression if that is a tensor, else None."""
    ty = expr.checked_type_
    return ty if type(ty) is TensorType else None


def _axes(layout: str, letter: str) -> tuple[int, ...] | None:
    """Return the index of an axis in a layout, and of the part split off it if the layout is packed."""
    parsed = parse_layout(layout)
    if parsed is None:
        return None
    axes = [i for i, (axis, _) in enumerate(parsed.parts) if axis == letter]
    whole = [i for i in axes if not parsed.parts[i][1]]
    return tuple(axes) if len(whole) == 1 and len(axes) <= 2 and axes[0] == whole[0] else None


class ConvAxes(NamedTuple):
    """The channel axes of a convolution: of its data, of its result, and the axes of its weight for both."""

    data: tuple[int, ...]
    result: tuple[int, ...]
    weight_in: tuple[int, ...]
    weight_out: tuple[int, ...]


def conv_axes(call: Call) -> ConvAxes | None:
    """Return the channel axes of a convolution that can be scaled, else None.

    The convolution must be full or depthwise, and its layouts simple, or packed in data, input and output channels
    alike.
    """
    attrs: Any = call.attrs
    data = _axes(attrs.data_layout, "C")
    result = _axes(attrs.out_layout or attrs.data_layout, "C")
    inputs, outputs = _axes(attrs.kernel_layout, "I"), _axes(attrs.kernel_layout, "O")
    weight = tensor_type(call.args[1])
    if data is None or result is None or inputs is None or outputs is None or weight is None:
        return None
    if not len(data) == len(result) == len(inputs) == len(outputs):
        return None
    depthwise = _size(weight, outputs) == attrs.groups and _size(weight, inputs) == 1
    if attrs.groups != 1 and not depthwise:
        return None
    if len(data) == 2 and weight.dynamic:
        return None
    return ConvAxes(data, result, outputs if depthwise else inputs, outputs)


def _size(ty: TensorType, axes: Sequence[int]) -> int | None:
    dims = [ty.shape[a] for a in axes]
    return int(np.prod(dims)) if all(type(d) is int for d in dims) else None  # type: ignore[arg-type]


def matches(data: TensorType, other: TensorType, axes: Sequence[int]) -> bool:
    """Return whether `other` broadcasts against `data` with the full size along `axes` and 1 along all other axes."""
    base = len(data.shape) - len(other.shape)
    if base < 0 or any(a < base for a in axes):
        return False
    return all(
        dim == data.shape[base + i] if base + i in axes else type(dim) is int and dim == 1
        for i, dim in enumerate(other.shape)
    )


def as_scale(factor: Expr, data: TensorType, axes: Sequence[int], now: Expr | None = None) -> Expr | None:
    """Return a factor of `data` as a scale along `axes`, or None if it has another shape.

    A scalar counts as a scale, repeated along the axis. `now` is the rewritten factor, if it was rewritten.
    """
    ty = tensor_type(factor)
    scale = factor if now is None else now
    if ty is None:
        return None
    if not ty.shape:
        size = data.shape[axes[0]]
        if len(axes) != 1 or type(size) is not int:
            return None
        return make("repeat", make("expand_dims", scale, axis=0), repeats=size, axis=0)
    if not matches(data, ty, axes):
        return None
    base = len(data.shape) - len(ty.shape)
    ones = [i for i in range(len(ty.shape)) if base + i not in axes]
    return make("squeeze", scale, axis=ones) if ones else scale


def known_shape(expr: Expr) -> tuple[Any, ...]:
    """Return the shape of an expression whose type is a tensor."""
    ty = tensor_type(expr)
    assert ty is not None
    return ty.shape


def along(scale: Expr, shape: Sequence[Any], axes: Sequence[int]) -> Expr:
    """Return a scale shaped so that it broadcasts along `axes` of a tensor of `shape`, static if there are two axes."""
    if len(axes) == 1:
        after = len(shape) - 1 - axes[0]
        return make("expand_dims", scale, axis=1, num_newaxis=after) if after else scale
    return make("reshape", scale, newshape=[d if i in axes else 1 for i, d in enumerate(shape)])


def accepts(message: Message, scale: Expr, data: TensorType) -> bool:
    """Return whether the values of a factor satisfy a message; they must be known if the message restricts them."""
    ty = tensor_type(scale)
    if ty is None or ty.dtype != data.dtype or not _floating(ty.dtype):
        return False
    if not (message.positive or message.nonzero):
        return True
    while type(scale) is Call and has_trait(scale, Trait.MOVES):
        scale = scale.args[0]
    if type(scale) is not Constant:
        return False
    values = scale.data
    if not np.isfinite(values.astype("float64")).all():
        return False
    return bool((not message.positive or (values >= 0).all()) and (not message.nonzero or (values != 0).all()))


def _floating(dtype: str) -> bool:
    return dtype_name(dtype).startswith(("float", "bfloat"))


def same_dtype(call: Call) -> bool:
    """Return whether data and weight of an operator have one floating dtype, so that the weight can take the scale."""
    data, weight = tensor_type(call.args[0]), tensor_type(call.args[1])
    return data is not None and weight is not None and data.dtype == weight.dtype and _floating(data.dtype)
