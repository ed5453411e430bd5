"""Recognise dilated convolutions written with space_to_batch_nd and batch_to_space_nd.

before:
    def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 1), float32]) {
      %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]]);
      %1 = nn.conv2d(%0, %w, groups=4, channels=4, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI");
      nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
    }
after:
    def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 1), float32]) {
      nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], groups=4, channels=4, kernel_size=[3, 3],
                data_layout="NHWC", kernel_layout="HWOI")
    }

keep:
    def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 1), float32]) {
      %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]], pad_value=1f);
      %1 = nn.conv2d(%0, %w, groups=4, channels=4, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI");
      nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
    }
"""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of, op_name
from passlab.ir.walk import rewrite
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

_ONES, _ZEROS = (1, 1), {(0, 0), (0, 0, 0, 0), (0,)}


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT, acts_on=("nn.batch_to_space_nd",))
class FlattenAtrousConv(FunctionPass):
    """Replace space_to_batch_nd, conv2d (or qnn.conv2d), batch_to_space_nd by one dilated convolution.

    The convolution must be plain in its spatial axes: NHWC data, strides and dilation 1, no padding. The padding value
    of space_to_batch_nd must equal the convolution's (0, or the zero point of the data).
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, _flatten, only=(Call,), name="atrous as dilated")


def _flatten(pre: Call, post: Call) -> Expr:
    if not is_call_of(post, "nn.batch_to_space_nd") or not is_call_of(conv := post.args[0], "nn.conv2d", "qnn.conv2d"):
        return post
    if not is_call_of(to_batch := conv.args[0], "nn.space_to_batch_nd"):
        return post
    split, join = to_batch.attrs, post.attrs
    padding = _padding(split["paddings"], join["crops"])
    if padding is None or not _is_plain(conv.attrs) or split["block_shape"] != join["block_shape"]:
        return post
    if len(split["block_shape"]) != 2 or not _pads_with_zero_point(conv, split["pad_value"]):
        return post
    attrs = conv.attrs.with_fields(padding=padding, dilation=split["block_shape"])
    return conv.with_fields(args=(to_batch.args[0], *conv.args[1:]), attrs=attrs)


def _is_plain(attrs: Any) -> bool:
    """Return whether a convolution is plain in its spatial axes: NHWC, no padding, strides and dilation 1."""
    channels_last = attrs.data_layout == "NHWC" and attrs.out_layout in ("", "NHWC")
    return channels_last and attrs.strides == _ONES and attrs.dilation == _ONES and attrs.padding in _ZEROS


def _padding(paddings: Any, crops: Any) -> tuple[int, ...] | None:
    """Return top, left, bottom, right padding of the dilated convolution, None if more is cropped than was padded."""
    if len(paddings) != 2 or len(crops) != 2:
        return None
    (top, bottom), (left, right) = ((p[0] - c[0], p[1] - c[1]) for p, c in zip(paddings, crops, strict=True))
    return (top, left, bottom, right) if min(top, bottom, left, right) >= 0 else None


def _pads_with_zero_point(conv: Call, value: float) -> bool:
    """Return whether `value` is what the convolution pads with: 0, or the zero point of quantized data."""
    if op_name(conv) == "nn.conv2d":
        return value == 0
    zero_point = conv.args[2]
    return type(zero_point) is Constant and zero_point.data.ndim == 0 and float(zero_point.data) == value
