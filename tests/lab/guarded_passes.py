"""Passes as a user writes them, with guards and a mistake each; and a few without."""

from __future__ import annotations

import numpy as np

from passlab import relay
from passlab.ir.expr import Call, Constant
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.transform import function_pass


def is_call(node, name):
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == name


def dtype(node):
    return getattr(node.checked_type_, "dtype", "")


def is_number(node, value):
    return isinstance(node, Constant) and node.data.ndim == 0 and node.data == value


def by_node(rule):
    """A pass that applies a rule, which gets nodes as they were (with types) and as they are, to every call."""

    def transform_function(func, mod, ctx):
        return rewrite(func, lambda old, new: rule(old, new), only=(Call,))

    return function_pass(transform_function, opt_level=0, name=rule.__name__, required=["InferType"])


def relu6_as_relu(old, new):
    if is_call(old, "clip") and old.attrs.a_min == 0 and old.attrs.a_max == 6:
        return relay.nn.relu(new.args[0])
    return new


def no_relu_of_integers(old, new):
    return new.args[0] if is_call(old, "nn.relu") and dtype(old).startswith("int") else new


def halving_as_shift(old, new):
    if is_call(old, "divide") and dtype(old) == "int32" and is_number(old.args[1], 2):
        return relay.right_shift(new.args[0], relay.const(np.int32(1)))
    return new


def widened_too_late(old, new):
    if is_call(old, "add") and all(is_call(a, "cast") and dtype(a.args[0]) == "uint8" for a in old.args):
        return relay.cast(relay.add(new.args[0].args[0], new.args[1].args[0]), dtype(old))
    return new


def softmax_without_maximum(old, new):
    if is_call(old, "nn.softmax") and dtype(old).startswith("float"):
        top = relay.exp(new.args[0])
        return relay.divide(top, relay.sum(top, axis=[old.attrs.axis], keepdims=True))
    return new


def last_of_equal_maxima(old, new):
    if is_call(old, "argmax") and not old.attrs.select_last_index:
        return Call(new.op, new.args, new.attrs.with_fields(select_last_index=True))
    return new


def equal_to_itself(old, new):
    if is_call(old, "not_equal") and old.args[0] is old.args[1]:
        return relay.cast(relay.zeros_like(new.args[0]), "bool")
    return new


def no_epsilon(old, new):
    return Call(new.op, new.args, new.attrs.with_fields(epsilon=0.0)) if is_call(old, "nn.batch_norm") else new


def less_or_equal(old, new):
    return relay.less_equal(*new.args) if is_call(old, "less") else new


def times_zero(old, new):
    if is_call(old, "multiply") and any(is_number(a, 0) for a in old.args) and dtype(old).startswith("float"):
        return relay.zeros_like(new)
    return new


def floor_as_trunc(old, new):
    return relay.trunc(new.args[0]) if is_call(old, "floor") else new


def greater_for_greater_equal(old, new):
    return relay.greater(*new.args) if is_call(old, "greater_equal") else new


def minus_swapped(old, new):
    return relay.subtract(new.args[1], new.args[0]) if is_call(old, "subtract") else new


def no_double_transpose(old, new):
    inner = new.args[0] if is_call(new, "transpose") else None
    return (
        inner.args[0] if inner is not None and is_call(inner, "transpose") and len(old.checked_type.shape) == 2 else new
    )


def sum_of_squares(old, new):
    return (
        new.args[0].args[0]
        if is_call(old, "sqrt") and is_call(new.args[0], "multiply") and new.args[0].args[0] is new.args[0].args[1]
        else new
    )


def plus_zero_right(old, new):
    return (
        new.args[0]
        if is_call(old, "add") and is_number(old.args[1], 0) and old.args[0].checked_type_ is old.checked_type_
        else new
    )


def relu_as_maximum(old, new):
    if is_call(old, "nn.relu") and dtype(old) == "int32":
        return relay.maximum(new.args[0], relay.const(np.int32(0)))
    return new


def exchanged(old, new):
    return relay.add(new.args[1], new.args[0]) if is_call(old, "add") else new


WRONG = (
    relu6_as_relu,
    no_relu_of_integers,
    halving_as_shift,
    widened_too_late,
    softmax_without_maximum,
    last_of_equal_maxima,
    equal_to_itself,
    no_epsilon,
    less_or_equal,
    times_zero,
    floor_as_trunc,
    greater_for_greater_equal,
    minus_swapped,
    sum_of_squares,
    no_double_transpose,
)
RIGHT = (plus_zero_right, relu_as_maximum, exchanged)
