"""Values that operators on two devices read: each operator on another device than the first reads a copy.

`subtract(on_device(add(%a, %b), d1), on_device(add(%b, %c), d2))` reads %b on both; it is kept on d1, where the program
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
    """Return a function in which no value is read on two devices; the same object if it is such a one.

    Only reads by operators count: `on_device` and the annotations of parameters and functions are taken as they are.
    """
    order = post_order(function, enter=lambda n: not is_closed(n))
    place: dict[Expr, VirtualDevice] = {}  # the device where a value is first read, and so computed
    # by operator and index of its argument: the target device of the copy
    copies: dict[tuple[Expr, int], VirtualDevice] = {}
    readers: dict[Expr, list[tuple[Call, int]]] = {}
    for node in order:
        if is_op_call(node):
            for i, arg in enumerate(node.args):
                readers.setdefault(arg, []).append((node, i))
    for node in reversed(order):  # users before values
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

    def rule(pre: Call, post: Call) -> Expr:
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
    """Return the device on which an operator reads an argument, or None if it is not annotated."""
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
