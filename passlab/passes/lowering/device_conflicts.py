"""Values that operators on two devices read: each operator on another device than the first gets a copy.

`subtract(on_device(add(%a, %b), d1), on_device(add(%b, %c), d2))` reads %b on both; it lies on d1, where the program
first reads it, and is copied for the second. After the check for conflicts in TVM's device planner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.analysis.regions import is_closed
from passlab.devices import VirtualDevice
from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.op import Op, is_call_of, is_op_call
from passlab.ir.walk import post_order, rewrite
from passlab.op import make
from passlab.passes.lowering.device_domains import APART, ON_HOST, common_device

Find = Callable[[Expr], VirtualDevice | None]


def without_conflicts(function: Function) -> Function:
    """Return a function where no value is read on two devices; the same object where none is.

    Only what operators read is looked at: what `on_device`, a parameter or a function says of a place is not doubted.
    """
    order = post_order(function, enter=lambda n: not is_closed(n))
    place: dict[Expr, VirtualDevice] = {}  # where a value is read first, and so made
    copies: dict[tuple[Expr, int], VirtualDevice] = {}  # by operator and number of its argument: the device it goes to
    readers: dict[Expr, list[tuple[Call, int]]] = {}
    for node in order:
        if is_op_call(node):
            for i, arg in enumerate(node.args):
                readers.setdefault(arg, []).append((node, i))
    for node in reversed(order):  # what reads a value before the value
        if isinstance(node, Op):
            continue
        for call, i in readers.get(node, ()):
            goal = _argument_device(call, i, place.get)
            if goal is None or is_call_of(node, "on_device") or type(node) is Constant:
                continue
            both = common_device(place[node], goal) if node in place else goal
            if both is None:
                copies[call, i] = goal
            else:
                place[node] = both
    if not copies:
        return function
    moved: dict[tuple[Expr, VirtualDevice], Expr] = {}

    def rule(pre: Expr, post: Expr) -> Expr:
        assert isinstance(pre, Call)
        assert isinstance(post, Call)
        args = list(post.args)
        for i, old in enumerate(pre.args):
            goal = copies.get((pre, i))
            if goal is None:
                continue
            if (args[i], goal) not in moved:
                moved[args[i], goal] = make(
                    "device_copy", args[i], src_virtual_device=place[old], dst_virtual_device=goal
                )
            args[i] = moved[args[i], goal]
        return post.with_fields(args=tuple(args))

    targets = {call for call, _ in copies}
    result = rewrite(function, lambda pre, post: rule(pre, post) if pre in targets else post, only=(Call,))
    assert isinstance(result, Function)
    return result


def _argument_device(call: Call, number: int, place: Find) -> VirtualDevice | None:
    """Return the device on which an operator reads an argument, None where it does not say."""
    assert isinstance(call.op, Op)
    attrs: Any = call.attrs
    named: VirtualDevice
    if call.op.name == "on_device" and attrs["constrain_body"]:
        named = attrs["virtual_device"]
        return named
    if call.op.name == "device_copy":
        named = attrs["src_virtual_device"]
        return named
    apart = call.op.name in APART or number in ON_HOST.get(call.op.name, ())
    return None if apart else place(call)


__all__ = ["without_conflicts"]
