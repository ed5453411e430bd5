"""Merge explicit padding into convolutions and pooling.

before:
    def @main(%x: Tensor[(1, 3, 10, 10), float32], %w: Tensor[(8, 3, 3, 3), float32]) {
      nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 0], [1, 0]]), %w, padding=[2, 0, 2, 0])
    }
after:
    def @main(%x: Tensor[(1, 3, 10, 10), float32], %w: Tensor[(8, 3, 3, 3), float32]) {
      nn.conv2d(%x, %w, padding=[3, 1, 2, 0])
    }

before:
    def @main(%x: Tensor[(1, 3, 8, 8), float32]) {
      nn.avg_pool2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), pool_size=[2, 2])
    }
after:
    def @main(%x: Tensor[(1, 3, 8, 8), float32]) {
      nn.avg_pool2d(%x, pool_size=[2, 2], padding=[1, 1, 1, 1], count_include_pad=True)
    }

before:
    def @main(%x: Tensor[(1, 1, 6, 6), int8], %w: Tensor[(2, 1, 3, 3), int8]) {
      %0 = nn.pad(%x, 7, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]);
      qnn.conv2d(%0, %w, 7, 2, 1f, 1f, channels=2, kernel_size=[3, 3])
    }
after:
    def @main(%x: Tensor[(1, 1, 6, 6), int8], %w: Tensor[(2, 1, 3, 3), int8]) {
      qnn.conv2d(%x, %w, 7, 2, 1f, 1f, padding=[1, 1, 1, 1], channels=2, kernel_size=[3, 3])
    }

keep:
    def @main(%x: Tensor[(1, 1, 6, 6), int8], %w: Tensor[(2, 1, 3, 3), int8]) {
      %0 = nn.pad(%x, 7, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]);
      qnn.conv2d(%0, %w, 2, 7, 1f, 1f, channels=2, kernel_size=[3, 3])
    }

keep:
    def @main(%x: Tensor[(1, 3, 10, 10), float32], %w: Tensor[(8, 3, 3, 3), float32]) {
      nn.conv2d(nn.pad(%x, 1f, pad_width=[[0, 0], [0, 0], [1, 0], [1, 0]]), %w)
    }

keep:
    def @main(%x: Tensor[(1, 3, 10, 10), float32], %w: Tensor[(8, 3, 3, 3), float32]) {
      nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [-1, 1], [0, 0]]), %w, padding=[1, 1])
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of, is_op_call
from passlab.ir.types import TensorType
from passlab.ir.walk import rewrite
from passlab.op.dtypes import array_dtype, float_info, integer_info, is_float_name
from passlab.op.layout_names import parse_layout
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, standard_pass

_CONVS = frozenset({"nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.contrib_conv2d_NCHWc"})
_MAX = frozenset({"nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"})
_AVG = frozenset({"nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"})


@standard_pass(
    opt_level=0,
    required=("InferType",),
    contract=FINITE,
    name=" FoldExplicitPadding",
    acts_on=("nn.pad",),
)
class FoldExplicitPadding(FunctionPass):
    """Merge `nn.pad` into the padding attribute of the convolution or pooling that uses its result.

    Only constant padding of spatial axes is merged, with the value that the operator itself pads with: 0 for
    convolutions, the zero point for `qnn.conv2d`, the lowest number for maximum pooling. An average counts the zeros of
    `nn.pad`, so average pooling must also count its own padding, or have none. Negative widths, which crop, stay (Relay
    adds them to the padding, which restores the cropped elements).
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, _merge, only=(Call,), name="pad into operator")


def _merge(pre: Call, post: Call) -> Expr:
    pad = post.args[0] if post.args else None
    if not is_op_call(post) or not is_call_of(pad, "nn.pad") or pad.attrs.pad_mode != "constant":
        return post
    name = post.op.name
    value = pad.args[1]
    if type(value) is not Constant or value.data.size != 1 or not _neutral(post, name, value.data.reshape(())):
        return post
    attrs: Any = post.attrs
    padding = _padding(pad.attrs.pad_width, attrs)
    if padding is None:
        return post
    changes: dict[str, Any] = {"padding": padding}
    if name in _AVG:
        if attrs.ceil_mode or (any(attrs.padding) and not attrs.count_include_pad):
            return post
        changes["count_include_pad"] = True
    return post.with_fields(args=(pad.args[0], *post.args[1:]), attrs=attrs.with_fields(**changes))


def _neutral(call: Call, name: str, value: Any) -> bool:
    """Return whether an operator itself pads with `value`."""
    if name in _CONVS or name in _AVG:
        return bool(value == 0)
    if name == "qnn.conv2d":
        zero_point = call.args[2]
        return type(zero_point) is Constant and zero_point.data.size == 1 and bool(zero_point.data.reshape(()) == value)
    if name not in _MAX:
        return False
    ty = call.args[0].checked_type_
    dtype = ty.dtype if isinstance(ty, TensorType) else value.dtype.name
    if is_float_name(dtype):
        return bool(value <= float_info(array_dtype(dtype)).min)
    return bool(value == integer_info(array_dtype(dtype)).min)


def _padding(widths: Sequence[Sequence[int]], attrs: Any) -> tuple[int, ...] | None:
    """Return the merged padding, before all spatial axes and then after; None if other axes are padded, or any
    cropped.
    """
    layout = parse_layout(attrs.get("data_layout") or attrs.get("layout"))
    if layout is None or len(layout.parts) != len(widths):
        return None
    spatial = [i for i, (letter, factor) in enumerate(layout.parts) if letter in "DHW" and not factor]
    if any(a or b if i not in spatial else a < 0 or b < 0 for i, (a, b) in enumerate(widths)):
        return None
    rank = len(spatial)
    own = tuple(attrs.padding)
    if len(own) in (1, rank):
        own = own * rank * 2 if len(own) == 1 else own * 2
    if len(own) != 2 * rank:
        return None
    order = [i for letter in "DHW" for i in spatial if layout.parts[i][0] == letter]
    before, after = [widths[i][0] for i in order], [widths[i][1] for i in order]
    return tuple(a + b for a, b in zip(own, [*before, *after], strict=True))
