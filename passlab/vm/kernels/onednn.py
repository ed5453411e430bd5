"""Convolutions and products of float32 by oneDNN, which is part of PyTorch on CPUs.

oneDNN packs weights into its own layout. A weight that cannot change (a constant of the program) is packed once and
cached for as long as the array lives. The bias, sum and ReLU after a product are computed while the sums are in
registers. Images have their channels last in memory, so nothing is transposed between convolutions: NumPy only sees
other strides.

First is what any provider of products needs: the calls that follow a product, and the cache of packed weights.
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
from passlab.ir.op import Op, Trait, op_name
from passlab.ir.types import TensorType
from passlab.ir.walk import children, post_order
from passlab.op.nn.windows import full_padding

# ---------------------------------------------------------------- products and what follows them
# Convolutions and matrix products fused with the bias, sum and ReLU that follow, and a cache of packed weights.
# Providers that compute products themselves apply these while the sums are in registers. They pack a weight that cannot
# change into their own layout once.
Array = np.ndarray[Any, Any]
Users = dict[Expr, list[Expr]]
CHANNELS = 1  # the axis of the channels, of images and of rows of numbers


@dataclass(frozen=True)
class FusedProduct:
    """A product with its bias, summand (`other`) and ReLU. `last` has its value; `inside` are the other calls."""

    call: Call
    bias: Expr | None
    other: Expr | None
    relu: bool
    last: Call
    inside: frozenset[Expr]

    @property
    def weights(self) -> tuple[Expr, ...]:
        """The weight and the bias: inputs of the kernel that a provider may pack."""
        return (self.call.args[1], *([self.bias] if self.bias is not None else []))


def users_in(function: Function) -> Users:
    """Return the users of each node of a function."""
    users: Users = {}
    for node in post_order(function.body):
        for child in children(node):
            users.setdefault(child, []).append(node)
    return users


def is_product(call: Call, users: Users) -> bool:
    """Whether a call computes on non-empty static float32 tensors, and its weight is an input of the kernel."""
    return is_float32(call, *call.args) and _is_input(call.args[1], users)


def fuse(call: Call, users: Users, *, adds: bool = True, relu_after_sum: bool = True) -> FusedProduct:
    """Return a product fused with the calls that follow, as far as its provider supports them.

    `adds`: it adds a tensor to a product; `relu_after_sum`: it applies a ReLU after that.
    """
    bias: Expr | None = None
    other: Expr | None = None
    last, inside = call, set[Expr]()
    for user in _following(call, users):
        operands = [a for a in user.args if a is not last]
        relu = is_relu(user)
        # A ReLU ends the chain: nothing is fused behind it.
        if relu and (other is None or relu_after_sum):
            return FusedProduct(call, bias, other, True, user, frozenset((*inside, last)))
        if not relu and bias is None and _is_bias(user, operands, users):
            (bias,) = operands
        elif not relu and other is None and adds and _is_other(user, operands):
            (other,) = operands
        else:
            break
        inside.add(last)
        last = user
    return FusedProduct(call, bias, other, False, last, frozenset(inside))


def _following(call: Call, users: Users) -> Iterator[Call]:
    """Yield the chain of elementwise calls after a call, each the only user of the one before."""
    while len(users.get(call, ())) == 1:
        (user,) = users[call]
        if not isinstance(user, Call) or not (is_relu(user) or op_name(user) in ("add", "nn.bias_add")):
            return
        # Equal types are the same object, so `is` compares them.
        if user.checked_type_ is not call.checked_type_:
            return
        yield user
        call = user


def is_relu(call: Call) -> bool:
    """Whether a call is a ReLU: the operator that clamps at 0 and commutes with positive factors."""
    return isinstance(call.op, Op) and Trait.HOMOGENEOUS | Trait.CLAMPS in call.op.spec.traits


def is_float32(*nodes: Expr) -> bool:
    """Whether nodes are non-empty float32 tensors of static shape."""
    types = [node.checked_type_ for node in nodes]
    return all(isinstance(t, TensorType) and t.dtype == "float32" and not t.dynamic and 0 not in t.shape for t in types)


def _is_input(node: Expr, users: Users) -> bool:
    """Whether a node is a parameter or constant of the kernel with one user."""
    return isinstance(node, (Var, Constant)) and len(users[node]) == 1


def _is_bias(user: Call, operands: Sequence[Expr], users: Users) -> bool:
    """Whether a call adds a bias per channel."""
    if len(operands) != 1 or not _is_input(operands[0], users) or not is_float32(operands[0]):
        return False
    whole, part = user.checked_type_, operands[0].checked_type_
    assert isinstance(whole, TensorType)
    assert isinstance(part, TensorType)
    rank = len(whole.shape)
    if op_name(user) == "nn.bias_add":
        attrs: Any = user.attrs
        return operands[0] is user.args[1] and attrs.axis % rank == CHANNELS
    expected = tuple(n if axis == CHANNELS else 1 for axis, n in enumerate(whole.shape))
    # For images (1, C, 1, 1), or the same without its first axis.
    return part.shape in (expected, expected[CHANNELS:])


def _is_other(user: Call, operands: Sequence[Expr]) -> bool:
    """Whether a call adds a tensor of the same type."""
    return op_name(user) == "add" and len(operands) == 1 and operands[0].checked_type_ is user.checked_type_


def shape_of(node: Expr) -> tuple[int, ...]:
    """Return the static shape of a tensor."""
    ty = node.checked_type
    assert isinstance(ty, TensorType)
    return ty.concrete_shape


def is_frozen(array: Array) -> bool:
    """Whether an array cannot change: it is read-only and owns its memory."""
    # A view may change through its base, even if it is read-only itself.
    return not array.flags.writeable and array.base is None


class FrozenCache:
    """A function of arrays that is computed once for each frozen array; the result is dropped with the array.

    The result must not refer to the array, which would then never be freed.
    """

    def __init__(self, compute: Callable[[Array], Any]) -> None:
        self.compute = compute
        self.entries: dict[int, tuple[weakref.ref[Array], Any]] = {}

    def __call__(self, array: Array) -> Any:
        entry = self.entries.get(id(array))
        # Python reuses the id of an array that was freed, so the entry must still refer to this one.
        if entry is not None and entry[0]() is array:
            return entry[1]
        result = self.compute(array)
        if is_frozen(array):
            key, entries = id(array), self.entries
            entries[key] = (weakref.ref(array, lambda _: entries.pop(key, None)), result)
        return result


# ---------------------------------------------------------------- oneDNN
Compute = Callable[[torch.Tensor, Array, Array | None, torch.Tensor | None], torch.Tensor]
ops: Any = torch.ops.mkldnn
NEEDED = (
    "_convolution_pointwise",
    "_convolution_transpose_pointwise",
    "_reorder_convolution_transpose_weight",
    "_linear_pointwise",
    "_reorder_linear_weight",
)
AVAILABLE = torch.backends.mkldnn.is_available() and all(hasattr(ops, name) for name in NEEDED)


@dataclass(frozen=True)
class Product:
    """A fused convolution or product.

    `compute` takes the data and the summand as tensors, the weight and the bias as NumPy arrays.
    """

    fused: FusedProduct
    compute: Compute


def find_products(function: Function) -> dict[Expr, Product]:
    """Return the products of a primitive function that oneDNN computes, by their last calls."""
    if not AVAILABLE:
        return {}
    users = users_in(function)
    calls = [
        n for n in post_order(function.body) if isinstance(n, Call) and op_name(n) in MAKERS and is_product(n, users)
    ]
    products: dict[Expr, Product] = {}
    for call in calls:
        maker = MAKERS[op_name(call)](call)
        if maker is not None:
            fused = fuse(call, users, adds=maker.adds, relu_after_sum=maker.adds_and_ends)
            products[fused.last] = Product(fused, maker.finish(fused.relu))
    return products


# ---------------------------------------------------------------- what oneDNN computes
@dataclass(frozen=True)
class ProductMaker:
    """A kind of product: `finish` makes its function; `adds` a tensor, then `adds_and_ends` in a ReLU."""

    finish: Callable[[bool], Compute]
    adds: bool = False
    adds_and_ends: bool = False


def _flat(array: Array) -> torch.Tensor:
    return torch.from_numpy(array.reshape(-1).copy())  # a copy: a `FrozenCache` must not refer to the array


def _copy(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def _images(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous(memory_format=torch.channels_last)


def _sizes(value: Any) -> list[int]:
    return [int(v) for v in value]


def _convolution(call: Call) -> ProductMaker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "OIHW", "NCHW"):
        return None
    data, weight, result = map(shape_of, (*call.args, call))
    groups = int(attrs.groups)
    if weight[:2] != (result[1], data[1] // groups):
        return None  # depthwise, with the weight's axes channel and multiplier
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    # oneDNN pads both sides of an axis alike, so other padding is computed before.
    even = top == bottom and left == right
    pads, size = (
        ([top, left], list(data)) if even else ([0, 0], [*data[:2], data[2] + top + bottom, data[3] + left + right])
    )
    where = (pads, _sizes(attrs.strides), _sizes(attrs.dilation), groups)
    convolve = ops._convolution_pointwise
    reorder: Any = torch._C._nn.mkldnn_reorder_conv2d_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w).to_mkldnn(), *where, size)), FrozenCache(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            x = _images(x if even else fn.pad(x, (left, right, top, bottom)))
            b = None if bias is None else biases(bias)
            if other is None:
                return convolve(x, weights(w), b, *where, "relu" if relu else "none", [], "")
            end: Any = ("relu", [], "") if relu else (None, [], None)
            return convolve.binary(x, _images(other), weights(w), b, *where, "add", 1.0, *end)

        return compute

    return ProductMaker(finish, adds=True, adds_and_ends=True)


def _transposed_convolution(call: Call) -> ProductMaker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "IOHW", "NCHW"):
        return None
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    data, groups, strides = shape_of(call.args[0]), int(attrs.groups), _sizes(attrs.strides)
    extra = _sizes(attrs.output_padding)[:2]
    # PyTorch requires an output padding below the stride.
    if (top, left) != (bottom, right) or groups != 1 or any(e >= s for e, s in zip(extra, strides, strict=True)):
        return None
    where = ([top, left], extra, strides, _sizes(attrs.dilation), groups)
    convolve, reorder = ops._convolution_transpose_pointwise, ops._reorder_convolution_transpose_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w), *where, list(data))), FrozenCache(_flat)
        end = "relu" if relu else "none"

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            return convolve(_images(x), weights(w), None if bias is None else biases(bias), *where, end, [], "")

        return compute

    return ProductMaker(finish)


def _dense(call: Call) -> ProductMaker | None:
    rows = shape_of(call.args[0])
    if len(rows) != 2 or len(call.args) != 2 or rows[0] < FEWEST_ROWS:
        return None
    multiply, reorder = ops._linear_pointwise, ops._reorder_linear_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w), rows[0])), FrozenCache(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            b = None if bias is None else biases(bias)
            if other is None:
                return multiply(x, weights(w), b, "relu" if relu else "none", [], "")
            return multiply.binary(x, other, weights(w), b, "add")

        return compute

    return ProductMaker(finish, adds=True)


FEWEST_ROWS = 4  # a product of fewer rows reads its weight once, so packing does not pay
MAKERS: dict[str, Callable[[Call], ProductMaker | None]] = {
    "nn.conv2d": _convolution,
    "nn.conv2d_transpose": _transposed_convolution,
    "nn.dense": _dense,
}
