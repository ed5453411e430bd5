"""Copies of values that operators on two devices read: each operator on another device than the first reads a copy.

`subtract(on_device(add(%a, %b), d1), on_device(add(%b, %c), d2))` reads %b on both; it is kept on d1, where the program
first reads it, and is copied for the second. The source is the check for conflicts in TVM's device planner.
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
from passlab.passes.lowering.device_domains import ANY_DEVICE, ON_HOST, common_device

Find = Callable[[Expr], VirtualDevice | None]


def without_conflicts(function: Function) -> Function:
    """Return a function in which no value is read on two devices; the same object if there is none already.

    Only reads by operators count: `on_device` and the annotations of parameters and functions do not change.
    """
    order = post_order(function, enter=lambda n: not is_closed(n))
    devices: dict[Expr, VirtualDevice] = {}  # where a value is first read, and so computed
    # The target device of the copy, by operator and index of its argument.
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
            target = _argument_device(call, i, devices.get)
            if target is None or is_call_of(node, "on_device") or type(node) is Constant:
                continue
            common = common_device(devices[node], target) if node in devices else target
            if common is None:
                copies[call, i] = target
            else:
                devices[node] = common
    if not copies:
        return function
    copied: dict[tuple[Expr, VirtualDevice], Expr] = {}

    def rule(pre: Call, post: Call) -> Expr:
        args = list(post.args)
        for i, old in enumerate(pre.args):
            target = copies.get((pre, i))
            if target is None:
                continue
            if (args[i], target) not in copied:
                attrs = {"src_virtual_device": devices[old], "dst_virtual_device": target}
                copied[args[i], target] = make("device_copy", args[i], **attrs)
            args[i] = copied[args[i], target]
        return post.with_fields(args=tuple(args))

    calls = {call for call, _ in copies}
    result = rewrite(function, lambda pre, post: rule(pre, post) if pre in calls else post, only=(Call,))
    assert isinstance(result, Function)
    return result


def _argument_device(call: Call, number: int, find: Find) -> VirtualDevice | None:
    """Return the device on which an operator reads an argument, or None if it is not annotated."""
    assert isinstance(call.op, Op)
    attrs: Any = call.attrs
    device: VirtualDevice
    if call.op.name == "on_device" and attrs["constrain_body"]:
        device = attrs["virtual_device"]
        return device
    if call.op.name == "device_copy":
        device = attrs["src_virtual_device"]
        return device
    is_independent = call.op.name in ANY_DEVICE or number in ON_HOST.get(call.op.name, ())
    return None if is_independent else find(call)
