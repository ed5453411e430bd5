"""Move a scale after a convolution or dense layer back into its weight.

before:
    def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) {
      multiply(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]), %s)
    }
after:
    def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) {
      %0 = expand_dims(squeeze(%s, axis=[1, 2]), axis=1, num_newaxis=3);
      nn.conv2d(%x, multiply(%w, %0), channels=4, kernel_size=[3, 3])
    }

keep:
    def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) {
      multiply(nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3])), %s)
    }
"""

from __future__ import annotations

from typing import Any, cast

from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Trait, has_trait, is_op_call, op_name
from passlab.ir.walk import may_rewrite, note_rewrite, post_order, rebuild, result_of, use_counts
from passlab.op import make
from passlab.passes.fold.scale_axis import (
    ABSORBING,
    CONVOLUTIONS,
    SUMS,
    Message,
    accepts,
    along,
    as_scale,
    conv_axes,
    known_shape,
    matches,
    same_dtype,
    tensor_type,
)
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, Rounds, standard_pass


@standard_pass(opt_level=3, required=("InferType",), contract=Rounds(4096) + FINITE, acts_on=ABSORBING)
class BackwardFoldScaleAxis(FunctionPass):
    """Move a channel-wise `multiply` back through add, subtract, bias_add, relu and leaky_relu into the weight before.

    The scale is multiplied into the weight of an `nn.conv2d`, `nn.conv3d` or `nn.dense`, and into every operand that is
    added on the way. Each node on the way must have one use. A scale passes an activation only if it is constant
    without negative values, and a grouped convolution only if that is depthwise. The scale must have the floating dtype
    of the data and weight, and no effects.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        order = post_order(func)
        offers = _offers(order, use_counts(func))
        scales, removed = _scales(order, offers, Movability(mod))
        return _fold(func, order, offers, scales, removed) if removed else func


def _offers(order: list[Expr], uses: dict[Expr, int]) -> dict[Expr, Message]:
    """Return for each node the scales that can be folded into it."""
    offers: dict[Expr, Message] = {}
    for node in order:
        if is_op_call(node) and uses[node] == 1:
            offer = _offer(node, node.op.name, offers)
            if offer is not None:
                offers[node] = offer
    return offers


def _offer(call: Call, name: str, offers: dict[Expr, Message]) -> Message | None:
    if name in CONVOLUTIONS or name == "nn.dense":
        result = tensor_type(call)
        data = tensor_type(call.args[0])
        if result is None or data is None or not same_dtype(call) or result.dtype != data.dtype:
            return None
        if name == "nn.dense":
            return Message((len(result.shape) - 1,))
        axes = conv_axes(call)
        return None if axes is None or (len(axes.result) == 2 and result.dynamic) else Message(axes.result)
    first = offers.get(call.args[0]) if call.args else None  # operators such as `zeros` have no arguments
    if has_trait(call, Trait.HOMOGENEOUS):
        return first and first._replace(positive=True)
    if name == "nn.bias_add":
        data, attrs = tensor_type(call), cast("Any", call.attrs)
        return first if first and data is not None and first.axes == (attrs.axis % len(data.shape),) else None
    if name in SUMS:
        return _sum_offer(call, first, offers.get(call.args[1]))
    return None


def _sum_offer(call: Call, left: Message | None, right: Message | None) -> Message | None:
    a, b = tensor_type(call.args[0]), tensor_type(call.args[1])
    if a is None or b is None or call.args[0] is call.args[1]:
        return None
    if left and right and left.axes == right.axes and a.shape == b.shape:
        return left._replace(positive=left.positive or right.positive)
    if left and matches(a, b, left.axes):
        return left
    return right if right and matches(b, a, right.axes) else None


def _scales(
    order: list[Expr], offers: dict[Expr, Message], is_movable: Movability
) -> tuple[dict[Expr, Expr], dict[Expr, Expr]]:
    """Return the scale that is moved into each node, and the replacement of each removed multiplication."""
    scales: dict[Expr, Expr] = {}
    removed: dict[Expr, Expr] = {}
    for node in reversed(order):
        if not is_op_call(node):
            continue
        name = node.op.name
        if name == "multiply":
            _start_scale(node, offers, is_movable, scales, removed)
        elif node in scales and (has_trait(node, Trait.HOMOGENEOUS) or name in SUMS or name == "nn.bias_add"):
            for arg in _scaled_args(node, name, offers):
                scales[arg] = scales[node]
    return scales, removed


_NAME = "scale into the weight before"  # the name of the rewrite of each folded multiplication


def _start_scale(
    call: Call, offers: dict[Expr, Message], is_movable: Movability, scales: dict[Expr, Expr], removed: dict[Expr, Expr]
) -> None:
    """Remove a multiplication by a scale that its other operand can take."""
    for arg, factor in (call.args, call.args[::-1]):
        offer = offers.get(arg)
        ty = tensor_type(arg)
        if offer is None or ty is None:
            continue
        scale = as_scale(factor, ty, offer.axes) if accepts(offer, factor, ty) and is_movable(factor) else None
        if scale is not None and may_rewrite(_NAME):
            scales[arg] = scale
            removed[call] = arg
        return


def _scaled_args(call: Call, name: str, offers: dict[Expr, Message]) -> list[Expr]:
    """Return the arguments through which the scale of a node is pushed; other added operands are multiplied."""
    first = call.args[0]
    if name not in SUMS:
        return [first]
    second = call.args[1]
    a, b = tensor_type(first), tensor_type(second)
    assert a is not None
    assert b is not None
    left, right = offers.get(first), offers.get(second)
    if left and right and left.axes == right.axes and a.shape == b.shape:
        return [first, second]
    return [first] if left and matches(a, b, left.axes) else [second]


def _fold(
    func: Function, order: list[Expr], offers: dict[Expr, Message], scales: dict[Expr, Expr], removed: dict[Expr, Expr]
) -> Function:
    result: dict[Expr, Expr] = {}

    def new(node: Expr) -> Expr:
        return result.get(node, node)

    for node in order:
        output = new(removed[node]) if node in removed else rebuild(node, new)
        if node in scales and type(node) is Call:
            output = _scale_call(node, output, scales[node], offers)
        if output is not node:
            result[node] = output
            note_rewrite(node, output, _NAME if node in removed else "")
    return result_of(func, result)


def _scale_call(pre: Call, post: Expr, scale: Expr, offers: dict[Expr, Message]) -> Expr:
    """Return a rebuilt node with the scale applied to its added operands or its weight."""
    assert isinstance(post, Call)
    name = op_name(pre)
    if has_trait(pre, Trait.HOMOGENEOUS):
        return post
    first, second = post.args
    if name == "nn.bias_add":
        return post.with_fields(args=(first, make("multiply", second, scale)))
    if name in SUMS:
        scaled = _scaled_args(pre, name, offers)
        if len(scaled) == 2:
            return post
        index = 0 if scaled[0] is pre.args[0] else 1
        factor = along(scale, known_shape(pre.args[index]), offers[pre].axes)
        other = make("multiply", post.args[1 - index], factor)
        return post.with_fields(args=(first, other) if index == 0 else (other, second))
    conv = conv_axes(pre) if name in CONVOLUTIONS else None
    factor = along(scale, known_shape(pre.args[1]), conv.weight_out if conv else (0,))
    return post.with_fields(args=(first, make("multiply", second, factor)))
