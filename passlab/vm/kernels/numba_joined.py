"""Images joined along their channels, with the scale, offset and ReLU that follow, compiled by Numba.

Where the channels of images are last in memory, each place of the result is a few runs, one of each image: a batch
normalisation of the result and the activation behind it are computed as the runs are copied. Other images are left to
NumPy. Needs the package numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from passlab.ir.op import op_name
from passlab.ir.walk import post_order
from passlab.vm.kernels.fused_product import CHANNELS, Array, FusedProduct, is_float32, is_relu, shape_of, users_in
from passlab.vm.kernels.numba_channels import is_last, last, write
from passlab.vm.kernels.numba_convolution import threads_for
from passlab.vm.kernels.numba_images import join
from passlab.vm.kernels.numba_waiting import share_pieces

IMAGE = 4  # axes


@dataclass(frozen=True)
class Joined:
    """Images (or one) that are joined, then multiplied by `factor`, added to `offset` and limited by a ReLU."""

    parts: tuple[Expr, ...]
    factor: Expr | None
    offset: Expr | None
    relu: bool


def joined_images(function: Function) -> Joined | None:
    """Return the images that a function joins, with what follows; None for all other functions."""
    chain, node = [], function.body
    while isinstance(node, Call) and op_name(node) != "concatenate":
        inner = [a for a in node.args if not _is_channels(a, node)]
        if len(inner) != 1 or not is_float32(node, *node.args):
            return None
        chain.append(node)
        (node,) = inner
    if not chain and not isinstance(node, Call):
        return None
    parts: tuple[Expr, ...] = (node,)
    if isinstance(node, Call):
        (fields,) = node.args
        attrs: Any = node.attrs
        if not isinstance(fields, Tuple) or attrs.axis % IMAGE != CHANNELS:
            return None
        parts = tuple(fields.fields)
    users = users_in(function)
    if not all(isinstance(p, Var) and is_float32(p) and len(shape_of(p)) == IMAGE for p in parts):
        return None
    if any(len(users.get(n, ())) > 1 for n in (node, *chain)):
        return None
    return _with_ends(parts, chain[::-1])


def scaled_after(product: FusedProduct, function: Function) -> Joined | None:
    """Return the scale, offset and ReLU that a function has besides a product; None for all other functions."""
    chain, node, users = list[Call](), function.body, users_in(function)
    while node is not product.last:
        inner = [a for a in node.args if not _is_channels(a, node)] if isinstance(node, Call) else []
        if len(inner) != 1 or not is_float32(node, inner[0]) or len(users.get(inner[0], ())) > 1:
            return None
        assert isinstance(node, Call)
        chain.append(node)
        (node,) = inner
    calls = {n for n in post_order(function.body) if isinstance(n, Call)}
    return _with_ends((product.last,), chain[::-1]) if calls == {*product.inside, product.last, *chain} else None


def _with_ends(parts: tuple[Expr, ...], chain: list[Call]) -> Joined | None:
    """Return joined images with the calls that follow: a product, a sum and a ReLU, each at most once."""
    factor, offset, relu, place = None, None, False, 0
    for call in chain:
        number = 3 if is_relu(call) else {"multiply": 1, "add": 2, "nn.bias_add": 2}.get(op_name(call), 0)
        if number <= place:
            return None
        place, operand = number, [a for a in call.args if _is_channels(a, call)]
        if number == 1:
            (factor,) = operand
        elif number == 2:
            (offset,) = operand
        else:
            relu = True
    return Joined(parts, factor, offset, relu)


def _is_channels(node: Expr, call: Call) -> bool:
    """Whether an operand is one number for each channel of an image."""
    if not isinstance(node, (Var, Constant)) or not is_float32(node, call):
        return False
    attrs: Any = call.attrs
    shape, whole = shape_of(node), shape_of(call)
    if len(whole) != IMAGE or math.prod(shape) != whole[CHANNELS]:
        return False
    if op_name(call) == "nn.bias_add":
        return node is call.args[1] and attrs.axis % IMAGE == CHANNELS
    return shape in ((1, whole[CHANNELS], 1, 1), (whole[CHANNELS], 1, 1))


def joiner(joined: Joined, shape: tuple[int, ...]) -> Callable[[Sequence[Array], Any, Any, Any], Array]:
    """Return the function (images, factor, offset, out) of arrays, of which the last three may be None."""
    channels, floor = shape[CHANNELS], np.float32(0 if joined.relu else -np.inf)
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    plain = joined.factor is None and joined.offset is None and not joined.relu
    threads = threads_for(math.prod(shape), depthwise=True)

    def compute(images: Sequence[Array], factor: Any, offset: Any, out: Any) -> Array:
        factors = ones if factor is None else np.ascontiguousarray(factor).reshape(-1)
        offsets = zeros if offset is None else np.ascontiguousarray(offset).reshape(-1)

        def copy(image: Array, first: int, places: Array) -> None:
            x = last(image).reshape(len(places), -1)
            share_pieces(lambda counter: join(x, factors, offsets, plain, floor, first, counter, places), threads)

        def fill(result: Array) -> None:
            first = 0
            for image in images:
                copy(image, first, result.reshape(-1, channels))
                first += image.shape[CHANNELS]

        return write(shape, out, fill)

    return compute


def are_last(images: Sequence[Array]) -> bool:
    """Whether the channels of an image are last in memory, and are not only one number each."""
    return any(is_last(image) and image.shape[2] * image.shape[3] > 1 and image.shape[1] > 1 for image in images)
