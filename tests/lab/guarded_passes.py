"""Passes as a user writes them, with guards and a mistake each (42); and a few without."""

from __future__ import annotations

import numpy as np

from passlab import relay
from passlab.ir.expr import Call, Constant, Tuple
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.transform import function_pass


def is_call(node, name):
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == name


def dtype(node):
    return getattr(node.checked_type_, "dtype", "")


def is_number(node, value):
    return isinstance(node, Constant) and node.data.ndim == 0 and node.data == value


def is_constant(node):
    return isinstance(node, Constant)


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


def mean_as_sum(old, new):
    if is_call(old, "mean") and dtype(old).startswith("float"):
        return Call(relay.op.get("sum"), new.args, new.attrs)
    return new


def abs_of_square_root(old, new):
    """The root of a square without its absolute value, where it is written as a power."""
    return new.args[0].args[0] if is_call(old, "sqrt") and is_call(new.args[0], "power") else new


def round_as_floor_of_half_more(old, new):
    if is_call(old, "round") and dtype(old) == "float32":
        return relay.floor(relay.add(new.args[0], relay.const(np.float32(0.5))))
    return new


def clip_without_upper_bound(old, new):
    if is_call(old, "clip") and dtype(old) == "float32":
        return relay.maximum(new.args[0], relay.const(np.float32(old.attrs.a_min)))
    return new


def maximum_as_choice(old, new):
    """A choice by a comparison does not hand on what is no number on the other side."""
    return relay.where(relay.greater(*new.args), *new.args) if is_call(old, "maximum") else new


def not_less_as_greater(old, new):
    return relay.greater(*new.args[0].args) if is_call(old, "logical_not") and is_call(new.args[0], "less") else new


def first_axis_of_softmax(old, new):
    return Call(new.op, new.args, new.attrs.with_fields(axis=0)) if is_call(old, "nn.log_softmax") else new


def floor_mod_as_mod(old, new):
    return relay.mod(*new.args) if is_call(old, "floor_mod") and dtype(old) == "int32" else new


def power_of_two_as_sum(old, new):
    if is_call(old, "power") and is_number(old.args[1], 2):
        return relay.add(new.args[0], new.args[0])
    return new


def sign_without_zero(old, new):
    if is_call(old, "sign") and dtype(old) == "float32":
        one = relay.const(np.float32(1))
        return relay.where(relay.less(new.args[0], relay.const(np.float32(0))), relay.negative(one), one)
    return new


def leaky_relu_as_maximum(old, new):
    """Right for slopes up to one."""
    if is_call(old, "nn.leaky_relu") and dtype(old) == "float32":
        return relay.maximum(new.args[0], relay.multiply(new.args[0], relay.const(np.float32(old.attrs.alpha))))
    return new


def reverse_as_nothing(old, new):
    return new.args[0] if is_call(old, "reverse") else new


def reciprocal_of_integers(old, new):
    if is_call(old, "divide") and is_number(old.args[1], 2):
        half = relay.const(np.asarray(0.5, "float32"))
        return relay.cast(relay.multiply(relay.cast(new.args[0], "float32"), half), dtype(old))
    return new


def kept_maximum_as_minimum(old, new):
    if is_call(old, "max") and old.attrs.keepdims:
        return relay.min(new.args[0], axis=old.attrs.axis, keepdims=True, exclude=old.attrs.exclude)
    return new


def short_sums(old, new):
    if is_call(old, "sum") and dtype(old) == "float32":
        return relay.cast(Call(new.op, (relay.cast(new.args[0], "float16"),), new.attrs), "float32")
    return new


def where_exchanged(old, new):
    return relay.where(new.args[0], new.args[2], new.args[1]) if is_call(old, "where") else new


def double_negation_of_bits(old, new):
    return new.args[0] if is_call(old, "bitwise_not") else new


def joined_the_other_way(old, new):
    if is_call(old, "concatenate") and old.attrs.axis == 1 and isinstance(new.args[0], Tuple):
        return relay.concatenate(list(new.args[0].fields[::-1]), axis=1)
    return new


def tile_as_repeat(old, new):
    if is_call(old, "tile") and len(old.checked_type.shape) == len(old.attrs.reps) == 1:
        return relay.repeat(new.args[0], repeats=int(old.attrs.reps[0]), axis=0)
    return new


def bias_of_the_last_axis_is_the_second(old, new):
    last = is_call(old, "nn.bias_add") and old.attrs.axis == -1
    return relay.nn.bias_add(*new.args, axis=1) if last else new


def cast_through_a_shorter_type(old, new):
    inner = new.args[0] if is_call(new, "cast") else None
    if inner is not None and is_call(inner, "cast") and dtype(old).startswith("int"):
        return relay.cast(inner.args[0], dtype(old))
    return new


def mean_of_windows_is_the_largest(old, new):
    if is_call(old, "nn.avg_pool2d") and tuple(old.attrs.pool_size) == (2, 2):
        names = ("pool_size", "strides", "dilation", "padding", "layout", "ceil_mode")
        return relay.nn.max_pool2d(new.args[0], **{name: old.attrs[name] for name in names})
    return new


def square_weights_turned(old, new):
    shape = old.args[1].checked_type.shape if is_call(old, "nn.dense") else (0, 1)
    return relay.nn.dense(new.args[0], relay.transpose(new.args[1])) if shape[0] == shape[1] else new


def bounds_in_another_order(old, new):
    """Right where the lower bound is below the upper one."""
    inner = new.args[0] if is_call(new, "minimum") else None
    if inner is not None and is_call(inner, "maximum") and all(map(is_constant, (new.args[1], inner.args[1]))):
        return relay.maximum(relay.minimum(inner.args[0], new.args[1]), inner.args[1])
    return new


def remainder_as_last_bit(old, new):
    if is_call(old, "mod") and dtype(old) == "int32" and is_number(old.args[1], 2):
        return relay.bitwise_and(new.args[0], relay.const(np.int32(1)))
    return new


def difference_with_itself(old, new):
    alike = is_call(old, "subtract") and old.args[0] is old.args[1] and dtype(old).startswith("float")
    return relay.zeros_like(new.args[0]) if alike else new


def hot_and_cold(old, new):
    return Call(new.op, (new.args[0], new.args[2], new.args[1]), new.attrs) if is_call(old, "one_hot") else new


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
    mean_as_sum,
    abs_of_square_root,
    round_as_floor_of_half_more,
    clip_without_upper_bound,
    maximum_as_choice,
    not_less_as_greater,
    first_axis_of_softmax,
    floor_mod_as_mod,
    power_of_two_as_sum,
    sign_without_zero,
    leaky_relu_as_maximum,
    reverse_as_nothing,
    reciprocal_of_integers,
    kept_maximum_as_minimum,
    short_sums,
    where_exchanged,
    double_negation_of_bits,
    joined_the_other_way,
    tile_as_repeat,
    bias_of_the_last_axis_is_the_second,
    cast_through_a_shorter_type,
    mean_of_windows_is_the_largest,
    square_weights_turned,
    bounds_in_another_order,
    remainder_as_last_bit,
    difference_with_itself,
    hot_and_cold,
)
RIGHT = {plus_zero_right: 800, relu_as_maximum: 60, exchanged: 30}  # and the programs of which they change some
