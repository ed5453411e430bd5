"""Move a scale before a convolution or dense layer forward into its weight.

before:
    def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %s: Tensor[(3, 1, 1), float32]) {
      nn.conv2d(multiply(%x, %s), %w, channels=4, kernel_size=[3, 3])
    }
after:
    def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %s: Tensor[(3, 1, 1), float32]) {
      %0 = expand_dims(squeeze(%s, axis=[1, 2]), axis=1, num_newaxis=2);
      nn.conv2d(%x, multiply(%w, %0), channels=4, kernel_size=[3, 3])
    }

keep:
    def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %s: Tensor[(3, 1, 1), float32]) {
      %0 = multiply(%x, %s);
      (%0, nn.conv2d(%0, %w, channels=4, kernel_size=[3, 3]))
    }
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Trait, has_trait, is_op_call, op_name
from passlab.ir.walk import CHILDREN, may_rewrite, note_rewrite, post_order, rebuild, result_of
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

Offers = dict[Expr, Message | None]


class _PendingScale(NamedTuple):
    """A value that still has to be multiplied by a scale along some axes."""

    value: Expr
    scale: Expr
    axes: tuple[int, ...]


@standard_pass(opt_level=3, required=("InferType",), contract=Rounds(4096) + FINITE, acts_on=ABSORBING)
class ForwardFoldScaleAxis(FunctionPass):
    """Move a channel-wise `multiply` forward through add, subtract, relu and leaky_relu into the weights after it.

    Operands added on the way are divided by the scale, which must therefore be a constant without zeros (Relay divides
    by any scale). A scale passes an activation only if it is constant without negative values, and a grouped
    convolution only if that is depthwise. All users must take the scale. The scale must have the floating dtype of the
    data and weight, and no effects.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        order = post_order(func)
        offers = _offers(order)
        return _fold(func, order, offers, Movability(mod)) if any(offers.values()) else func


def _offers(order: list[Expr]) -> Offers:
    """Return for each node the axes along which all its users can take a scale."""
    offers: Offers = {}

    def offer(node: Expr, message: Message | None) -> None:
        other = offers.get(node, message)
        if other is None or message is None or other.axes != message.axes:
            offers[node] = None
        else:
            offers[node] = Message(other.axes, other.positive or message.positive, other.nonzero or message.nonzero)

    offer(order[-1], None)
    for node in reversed(order):
        messages = _argument_offers(node, node.op.name, offers.get(node)) if is_op_call(node) else None
        if messages is None or not is_op_call(node):
            for child in CHILDREN[type(node)](node):
                offer(child, None)
            continue
        for arg, message in zip(node.args, messages, strict=True):
            offer(arg, message)
    return offers


def _argument_offers(call: Call, name: str, offer: Message | None) -> list[Message | None] | None:
    """Return the scales that a call can take, one entry for each argument, or None if it can take none."""
    if name in CONVOLUTIONS:
        axes = conv_axes(call) if same_dtype(call) else None
        return axes and [Message(axes.data), None]
    if name == "nn.dense":
        data = tensor_type(call.args[0])
        return [Message((len(data.shape) - 1,)), None] if data is not None and same_dtype(call) else None
    if offer is None:
        return None
    if has_trait(call, Trait.HOMOGENEOUS):
        return [offer._replace(positive=True)]
    if name in SUMS:
        a, b = tensor_type(call.args[0]), tensor_type(call.args[1])
        if a is None or b is None or (len(offer.axes) > 1 and (a.dynamic or b.dynamic)):
            return None
        if matches(a, b, offer.axes):
            return [offer._replace(nonzero=True), None]
        if matches(b, a, offer.axes):
            return [None, offer._replace(nonzero=True)]
    return None


def _fold(func: Function, order: list[Expr], offers: Offers, is_movable: Movability) -> Function:
    result: dict[Expr, Expr] = {}
    pending: dict[Expr, _PendingScale] = {}

    def new(node: Expr) -> Expr:
        return result.get(node, node)

    for node in order:
        scaled = _pending_scale(node, offers.get(node), is_movable, pending, new) if type(node) is Call else None
        if scaled is not None:
            pending[node] = scaled
            note_rewrite(node, scaled.value, _NAME if op_name(node) == "multiply" else "")
            continue
        output = _apply_pending_scale(node, pending, new)
        if output is not node:
            result[node] = output
            note_rewrite(node, output)
    return result_of(func, result)


_NAME = "scale into the next weight"  # the name of the rewrite of each folded multiplication


def _pending_scale(
    call: Call,
    offer: Message | None,
    is_movable: Movability,
    pending: dict[Expr, _PendingScale],
    new: Callable[[Expr], Expr],
) -> _PendingScale | None:
    """Return a multiplication, or an operator on a value with a pending scale, as value and scale; else None."""
    if offer is None:
        return None
    name = op_name(call)
    if name == "multiply":
        return _split_product(call, offer, is_movable, new)
    if has_trait(call, Trait.HOMOGENEOUS) and call.args[0] in pending:
        data = pending[call.args[0]]
        return data._replace(value=call.with_fields(args=(data.value,)))
    if name in SUMS:
        for i in (0, 1):
            summand = pending.get(call.args[i])
            if summand is not None:
                factor = along(summand.scale, known_shape(call.args[i]), summand.axes)
                other = make("divide", new(call.args[1 - i]), factor)
                args = (summand.value, other) if i == 0 else (other, summand.value)
                return summand._replace(value=call.with_fields(args=args))
    return None


def _split_product(
    call: Call, offer: Message, is_movable: Movability, new: Callable[[Expr], Expr]
) -> _PendingScale | None:
    for data, factor in (call.args, call.args[::-1]):
        ty = tensor_type(data)
        if ty is None or ty is not tensor_type(call) or not accepts(offer, factor, ty) or not is_movable(factor):
            continue
        scale = as_scale(factor, ty, offer.axes, new(factor))
        if scale is not None and may_rewrite(_NAME):
            return _PendingScale(new(data), scale, offer.axes)
    return None


def _apply_pending_scale(node: Expr, pending: dict[Expr, _PendingScale], new: Callable[[Expr], Expr]) -> Expr:
    """Return a rebuilt node whose weight is multiplied by the pending scale of its data."""
    if type(node) is not Call or not node.args or node.args[0] not in pending:
        return rebuild(node, new)
    data = pending[node.args[0]]
    conv = conv_axes(node) if op_name(node) in CONVOLUTIONS else None
    factor = along(data.scale, known_shape(node.args[1]), conv.weight_in if conv else (1,))
    return node.with_fields(args=(data.value, make("multiply", new(node.args[1]), factor)))
