"""Convolutions and matrix products fused with the bias, sum and ReLU that follow, and a cache of packed weights.

Providers that compute products themselves apply these while the sums are in registers. They pack a weight that cannot
change into their own layout once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.op import Op, Trait, op_name
from passlab.ir.types import TensorType
from passlab.ir.walk import children, post_order

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
