"""Convolutions and products of float32 by oneDNN, which PyTorch carries for processors.

oneDNN wants a weight in an order of its own. A weight that cannot change - a constant of the program - is brought into
it once and remembered for as long as the array lives. What follows a product (a bias for each channel, a tensor to be
added, a relu) is computed while the sums are in registers. Images have their channels last in memory: then nothing is
turned between one convolution and the next. Their shapes do not tell, so NumPy sees nothing but other strides.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as fn

from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.op import op_name
from passlab.ir.types import TensorType
from passlab.ir.walk import children, post_order
from passlab.op.nn.windows import full_padding

Array = np.ndarray[Any, Any]
Compute = Callable[[torch.Tensor, Array, Array | None, torch.Tensor | None], torch.Tensor]
ops: Any = torch.ops.mkldnn
NEEDED = (
    "_convolution_pointwise",
    "_convolution_transpose_pointwise",
    "_reorder_convolution_transpose_weight",
    "_linear_pointwise",
    "_reorder_linear_weight",
)
THERE = torch.backends.mkldnn.is_available() and all(hasattr(ops, name) for name in NEEDED)
CHANNELS = 1  # the axis of the channels, of images and of rows of numbers


@dataclass(frozen=True)
class Product:
    """A convolution or product with what follows it. `last` is the call whose value `compute` gives.

    `compute` takes the data and `other` as tensors, the weight and `bias` as NumPy arrays.
    """

    call: Call
    bias: Expr | None
    other: Expr | None
    last: Call
    inside: frozenset[Expr]  # calls whose values nobody else needs
    compute: Compute

    @property
    def arrays(self) -> tuple[Expr, ...]:
        """What is taken as a NumPy array."""
        return (self.call.args[1], *([self.bias] if self.bias is not None else []))


class Remembered:
    """What was made of arrays that cannot change: those that are read-only and own their memory. Others are not kept.

    What is made must not refer to the array, which would then never be put away.
    """

    def __init__(self, make: Callable[[Array], Any]) -> None:
        self.make = make
        self.entries: dict[int, tuple[weakref.ref[Array], Any]] = {}

    def __call__(self, array: Array) -> Any:
        entry = self.entries.get(id(array))
        if entry is not None and entry[0]() is array:
            return entry[1]
        result = self.make(array)
        if not array.flags.writeable and array.base is None:
            key, entries = id(array), self.entries
            entries[key] = (weakref.ref(array, lambda _: entries.pop(key, None)), result)
        return result


def find_products(function: Function) -> dict[Expr, Product]:
    """Return the products of a primitive function that oneDNN computes, by their last calls."""
    if not THERE:
        return {}
    order = [*post_order(function.body)]
    users: dict[Expr, list[Expr]] = {}
    for node in order:
        for child in children(node):
            users.setdefault(child, []).append(node)
    products = [_product(node, users) for node in order if isinstance(node, Call) and op_name(node) in MAKERS]
    return {p.last: p for p in products if p is not None}


def _product(call: Call, users: dict[Expr, list[Expr]]) -> Product | None:
    if not all(_is_float32(node) for node in (call, *call.args)) or not _is_given(call.args[1], users):
        return None
    maker = MAKERS[op_name(call)](call)
    if maker is None:
        return None
    bias: Expr | None = None
    other: Expr | None = None
    last, relu, inside = call, False, set[Expr]()
    for user in _following(call, users):
        name, operands = op_name(user), [a for a in user.args if a is not last]
        if name == "nn.relu":
            relu = maker.ends_with(other is not None)
        elif bias is None and other is None and _is_bias(user, operands, users):
            (bias,) = operands
        elif other is None and maker.adds and _is_other(user, operands):
            (other,) = operands
        else:
            break
        if name == "nn.relu" and not relu:
            break
        inside.add(last)
        last = user
        if relu:
            break
    return Product(call, bias, other, last, frozenset(inside), maker.finish(relu))


def _following(call: Call, users: dict[Expr, list[Expr]]) -> Iterator[Call]:
    """Yield the elementwise calls that a value goes through, each of which alone uses the one before."""
    at: Call = call
    while len(users.get(at, ())) == 1:
        (user,) = users[at]
        if not isinstance(user, Call) or op_name(user) not in ("add", "nn.bias_add", "nn.relu"):
            return
        if user.checked_type_ is not at.checked_type_:
            return
        yield user
        at = user


def _is_float32(node: Expr) -> bool:
    ty = node.checked_type_
    return isinstance(ty, TensorType) and ty.dtype == "float32" and not ty.dynamic and 0 not in ty.shape


def _is_given(node: Expr, users: dict[Expr, list[Expr]]) -> bool:
    """Whether a value comes from outside of the kernel and is used once."""
    return isinstance(node, (Var, Constant)) and len(users[node]) == 1


def _is_bias(user: Call, operands: Sequence[Expr], users: dict[Expr, list[Expr]]) -> bool:
    """Whether a call adds a number for each channel."""
    if len(operands) != 1 or not _is_given(operands[0], users) or not _is_float32(operands[0]):
        return False
    whole, part = user.checked_type_, operands[0].checked_type_
    assert isinstance(whole, TensorType)
    assert isinstance(part, TensorType)
    rank = len(whole.shape)
    if op_name(user) == "nn.bias_add":
        attrs: Any = user.attrs
        return operands[0] is user.args[1] and attrs.axis % rank == CHANNELS
    expected = tuple(n if axis == CHANNELS else 1 for axis, n in enumerate(whole.shape))
    return part.shape in (expected, expected[CHANNELS:])


def _is_other(user: Call, operands: Sequence[Expr]) -> bool:
    """Whether a call adds a tensor of the same type."""
    return op_name(user) == "add" and len(operands) == 1 and operands[0].checked_type_ is user.checked_type_


# ---------------------------------------------------------------- what oneDNN computes
@dataclass(frozen=True)
class Maker:
    """How a product is computed: whether it adds a tensor, whether a relu may follow that, and the function itself."""

    finish: Callable[[bool], Compute]
    adds: bool = False
    adds_and_ends: bool = False

    def ends_with(self, added: bool) -> bool:
        """Whether a relu may end the product."""
        return self.adds_and_ends or not added


def _flat(array: Array) -> torch.Tensor:
    return torch.from_numpy(array.reshape(-1).copy())


def _copy(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def _images(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous(memory_format=torch.channels_last)


def _shape(node: Expr) -> tuple[int, ...]:
    ty = node.checked_type
    assert isinstance(ty, TensorType)
    return ty.concrete_shape


def _sizes(value: Any) -> list[int]:
    return [int(v) for v in value]


def _convolution(call: Call) -> Maker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "OIHW", "NCHW"):
        return None
    data, weight, result = map(_shape, (*call.args, call))
    groups = int(attrs.groups)
    if weight[:2] != (result[1], data[1] // groups):
        return None  # depthwise, its weight written by channel and multiplier
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    even = top == bottom and left == right
    pads, size = (
        ([top, left], list(data)) if even else ([0, 0], [*data[:2], data[2] + top + bottom, data[3] + left + right])
    )
    where = (pads, _sizes(attrs.strides), _sizes(attrs.dilation), groups)
    convolve = ops._convolution_pointwise
    reorder: Any = torch._C._nn.mkldnn_reorder_conv2d_weight

    def finish(relu: bool) -> Compute:
        weights, biases = Remembered(lambda w: reorder(_copy(w).to_mkldnn(), *where, size)), Remembered(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            x = _images(x if even else fn.pad(x, (left, right, top, bottom)))
            b = None if bias is None else biases(bias)
            if other is None:
                return convolve(x, weights(w), b, *where, "relu" if relu else "none", [], "")
            end: Any = ("relu", [], "") if relu else (None, [], None)
            return convolve.binary(x, _images(other), weights(w), b, *where, "add", 1.0, *end)

        return compute

    return Maker(finish, adds=True, adds_and_ends=True)


def _transposed_convolution(call: Call) -> Maker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "IOHW", "NCHW"):
        return None
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    data, groups, strides = _shape(call.args[0]), int(attrs.groups), _sizes(attrs.strides)
    extra = _sizes(attrs.output_padding)[:2]
    if (top, left) != (bottom, right) or groups != 1 or any(e >= s for e, s in zip(extra, strides, strict=True)):
        return None
    where = ([top, left], extra, strides, _sizes(attrs.dilation), groups)
    convolve, reorder = ops._convolution_transpose_pointwise, ops._reorder_convolution_transpose_weight

    def finish(relu: bool) -> Compute:
        weights, biases = Remembered(lambda w: reorder(_copy(w), *where, list(data))), Remembered(_flat)
        end = "relu" if relu else "none"

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            return convolve(_images(x), weights(w), None if bias is None else biases(bias), *where, end, [], "")

        return compute

    return Maker(finish)


def _dense(call: Call) -> Maker | None:
    rows = _shape(call.args[0])
    if len(rows) != 2 or len(call.args) != 2 or rows[0] < FEWEST_ROWS:
        return None
    multiply, reorder = ops._linear_pointwise, ops._reorder_linear_weight

    def finish(relu: bool) -> Compute:
        weights, biases = Remembered(lambda w: reorder(_copy(w), rows[0])), Remembered(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            b = None if bias is None else biases(bias)
            if other is None:
                return multiply(x, weights(w), b, "relu" if relu else "none", [], "")
            return multiply.binary(x, other, weights(w), b, "add")

        return compute

    return Maker(finish, adds=True)


FEWEST_ROWS = 4  # a product of fewer rows reads its weight once, whatever its order is
MAKERS: dict[str, Callable[[Call], Maker | None]] = {
    "nn.conv2d": _convolution,
    "nn.conv2d_transpose": _transposed_convolution,
    "nn.dense": _dense,
}
