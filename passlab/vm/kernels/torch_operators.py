"""Relay's operators as functions of PyTorch, where both have exactly the same semantics; all others run on NumPy.

A rule returns a call's function of tensors, or None if it does not support the call's layout, dtypes or attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import torch
import torch.nn.functional as fn

from passlab.ir.expr import Call, Constant
from passlab.ir.op import Op, op_name
from passlab.ir.types import TensorType
from passlab.op.nn.recurrent import DIRECTIONS, optional_names
from passlab.op.nn.window_sizes import full_padding
from passlab.vm.kernels.torch_movement import (
    BITS,
    COMMON,
    DTYPES,
    FLOATS,
    INTEGERS,
    MOVEMENT,
    NUMBERS,
    SIGNED,
    WIDE,
    Operation,
    Rule,
    dtypes,
    rank_of,
)

# operator -> (PyTorch's function, the argument dtypes for which the two agree)
_TRUTH = frozenset(("bool",))
_OF_FLOATS = (
    "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "atan", "log2", "log10", "sinh",
    "cosh", "asin", "acos", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite",
)  # fmt: skip
PLAIN: dict[str, tuple[Operation, frozenset[str]]] = {
    **{name: (getattr(torch, name), FLOATS) for name in _OF_FLOATS},
    **{f"bitwise_{name}": (getattr(torch, f"bitwise_{name}"), BITS) for name in ("and", "or", "xor", "not")},
    **{f"logical_{name}": (getattr(torch, f"logical_{name}"), _TRUTH) for name in ("and", "or", "xor", "not")},
    "add": (torch.add, NUMBERS), "subtract": (torch.sub, NUMBERS), "multiply": (torch.mul, NUMBERS),
    "divide": (torch.div, FLOATS), "maximum": (torch.maximum, NUMBERS), "minimum": (torch.minimum, NUMBERS),
    "power": (torch.pow, FLOATS), "negative": (torch.neg, SIGNED), "abs": (torch.abs, SIGNED),
    "equal": (torch.eq, NUMBERS), "not_equal": (torch.ne, NUMBERS), "less": (torch.lt, NUMBERS),
    "less_equal": (torch.le, NUMBERS), "greater": (torch.gt, NUMBERS), "greater_equal": (torch.ge, NUMBERS),
    "nn.relu": (torch.relu, NUMBERS), "copy": (torch.clone, frozenset(DTYPES)),
    "zeros_like": (torch.zeros_like, COMMON), "ones_like": (torch.ones_like, COMMON),
}  # fmt: skip


def operation(call: Call) -> Operation | None:
    """Return the function of tensors that computes a call of an operator, or None if PyTorch has no counterpart."""
    assert isinstance(call.op, Op)
    name, given = call.op.name, dtypes(call)
    if name in PLAIN and given <= PLAIN[name][1]:
        return PLAIN[name][0]
    rule = RULES.get(name)
    return rule(call) if rule is not None and given <= COMMON else None


def why_not(call: Call) -> str:
    """Return why a call of an operator runs on NumPy, where `operation` has no function for it."""
    name, given = op_name(call), dtypes(call)
    if name not in PLAIN and name not in RULES:
        return f"the table of PyTorch's operators has no `{name}`"
    rare = sorted(given - (COMMON if name in RULES else PLAIN[name][1]))
    if rare:
        return f"PyTorch computes `{name}` of {', '.join(rare)} otherwise, or not at all"
    return f"PyTorch has no `{name}` with these attributes, dtypes or unknown sizes"


def _clip(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    return (lambda x: x.clamp(attrs.a_min, attrs.a_max)) if dtypes(call) <= FLOATS else None


def _reduced_axes(call: Call) -> tuple[int, ...]:
    attrs: Any = call.attrs
    rank = rank_of(call)
    axes = range(rank) if attrs.axis is None else {int(a) % rank for a in _as_list(attrs.axis)}
    return tuple(a for a in range(rank) if (a in axes) != bool(attrs.exclude))


def _reduction(function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        reduced = _reduced_axes(call)
        if not reduced or not dtypes(call) <= FLOATS:
            return None
        return lambda x: function(x, reduced, keepdim=bool(attrs.keepdims))

    return rule


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _on_axis(function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        return (lambda x: function(x, int(attrs.axis))) if dtypes(call) <= FLOATS else None

    return rule


def _bias_add(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    rank = rank_of(call)
    axis = int(attrs.axis) % rank
    shape = tuple(-1 if a == axis else 1 for a in range(rank))
    return lambda x, bias: x + bias.reshape(shape)


def _leaky_relu(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    return (lambda x: fn.leaky_relu(x, attrs.alpha)) if dtypes(call) <= FLOATS else None


def _is_one_float(call: Call, floats: frozenset[str] = FLOATS) -> bool:
    """Whether a call computes on floats and its result has their dtype."""
    out = getattr(call.attrs, "out_dtype", "") or ""
    return dtypes(call) <= floats and (not out or {out} == dtypes(call))


def _dense(call: Call) -> Operation | None:
    return fn.linear if _is_one_float(call) and len(call.args) == 2 and rank_of(call, 1) == 2 else None


def _batch_matmul(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not _is_one_float(call):
        return None
    transpose_a, transpose_b = bool(attrs.transpose_a), bool(attrs.transpose_b)
    return lambda a, b: torch.matmul(a.transpose(1, 2) if transpose_a else a, b.transpose(1, 2) if transpose_b else b)


def _has_channel_multiplier(call: Call) -> bool:
    """Whether the weight of a depthwise convolution has the shape (channels, multiplier, ...)."""
    attrs: Any = call.attrs
    weight, result = call.args[1].checked_type, call.checked_type
    return (
        attrs.groups > 1
        and isinstance(weight, TensorType)
        and weight.shape[1] != 1
        and isinstance(result, TensorType)
        and weight.shape[0] != result.shape[1]
    )


_POOL_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _windows(call: Call, rank: int) -> tuple[list[int], list[int], list[int], list[int], list[int]] | None:
    """Return size, strides and dilation of windows, and the padding before and after; None for other layouts.

    With `ceil_mode` the last window may reach beyond the padding, which then is wider.
    """
    attrs: Any = call.attrs
    data: Any = call.args[0].checked_type_
    result: Any = call.checked_type_
    layout = _POOL_LAYOUTS[rank]
    if attrs.layout != layout or attrs.out_layout not in ("", layout) or not dtypes(call) <= FLOATS:
        return None
    size, strides, dilation = ([int(v) for v in values] for values in (attrs.pool_size, attrs.strides, attrs.dilation))
    pads = [int(p) for p in full_padding(attrs.padding, rank)]
    before, after = pads[:rank], pads[rank:]
    if attrs.ceil_mode:
        if data.dynamic or result.dynamic:
            return None
        for at in range(rank):
            last = (result.concrete_shape[2 + at] - 1) * strides[at] + dilation[at] * (size[at] - 1) + 1
            after[at] = max(after[at], last - before[at] - data.concrete_shape[2 + at])
    return size, strides, dilation, before, after


def _around(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return padding in PyTorch's order: the last axis first."""
    return [p for pair in reversed(list(zip(before, after, strict=True))) for p in pair]


def _max_pool(rank: int, function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        windows = _windows(call, rank)
        if windows is None:
            return None
        size, strides, dilation, before, after = windows
        around = _around(before, after)
        if not any(around):
            return lambda x: function(x, size, strides, 0, dilation)
        if before != after or any(2 * p > n for p, n in zip(before, size, strict=True)):
            # Relay pads with the lowest finite number; PyTorch refuses padding of more than half a window.
            return lambda x: function(fn.pad(x, around, value=torch.finfo(x.dtype).min), size, strides, 0, dilation)

        def pool(x: Any) -> Any:
            # PyTorch pads with -inf: windows of padding and -inf alone differ.
            result = function(x, size, strides, before, dilation)
            is_edge = _reaching(x, result, rank, windows)
            return torch.where(is_edge, result.clamp_min(torch.finfo(x.dtype).min), result)

        return pool

    return rule


def _reaching(x: Any, result: Any, rank: int, windows: Any) -> Any:
    """Return which windows of a result reach into the padding, as a tensor that broadcasts."""
    size, strides, dilation, before, _ = windows
    is_edge: Any = None
    for at in range(rank):
        first = torch.arange(result.shape[2 + at], device=x.device) * strides[at] - before[at]
        reaches = (first < 0) | (first + dilation[at] * (size[at] - 1) >= x.shape[2 + at])
        reaches = reaches.reshape([-1 if a == at else 1 for a in range(rank)])
        is_edge = reaches if is_edge is None else is_edge | reaches
    return is_edge


def _avg_pool(rank: int, function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        windows = _windows(call, rank)
        if windows is None or set(windows[2]) != {1} or attrs.ceil_mode or not (rank < 3 or dtypes(call) <= WIDE):
            return None
        size, strides, _, before, after = windows
        counts_all = bool(attrs.count_include_pad)
        if before == after and all(2 * p <= n for p, n in zip(before, size, strict=True)):
            return lambda x: function(x, size, strides, before, False, counts_all)
        around = _around(before, after)
        if counts_all:
            return lambda x: function(fn.pad(x, around), size, strides)

        def pool(x: Any) -> Any:
            inside = fn.pad(torch.ones_like(x[:1, :1]), around)
            return function(fn.pad(x, around), size, strides) / function(inside, size, strides)

        return pool

    return rule


def _global_avg_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    supported = attrs.layout == "NCHW" and attrs.out_layout in ("", "NCHW") and dtypes(call) <= FLOATS
    return (lambda x: x.mean((2, 3), keepdim=True)) if supported else None


# ---------------------------------------------------------------- elements
def _sign(call: Call) -> Operation | None:
    return (lambda x: torch.where(torch.isnan(x), x, torch.sign(x))) if dtypes(call) <= FLOATS else None


def _round(call: Call) -> Operation | None:
    """Halves are rounded away from zero, which PyTorch's own `round` does not."""
    return (lambda x: torch.trunc(x + torch.copysign(_below_half(x), x))) if dtypes(call) <= FLOATS else None


def _below_half(x: Any) -> Any:
    # A number just below a half must not reach 1 when a half is added: such a sum would round up.
    half = torch.full_like(x, 0.5)
    fraction = (x - torch.trunc(x)).abs()
    return torch.where(fraction < 0.5, torch.zeros_like(x), half)


def _hard_swish(call: Call) -> Operation | None:
    return (lambda x: x * ((x + 3).clamp(0, 6) / 6)) if dtypes(call) <= FLOATS else None


def _divided(rounding: str, is_rest: bool = False) -> Rule:
    """Return the rule of a division of integers by a constant other than 0, where PyTorch raises and NumPy does not."""

    def rule(call: Call) -> Operation | None:
        divisor = call.args[1]
        is_safe = isinstance(divisor, Constant) and bool(np.all(divisor.data != 0)) and bool(np.all(divisor.data != -1))
        if not dtypes(call) <= INTEGERS or not is_safe:
            return None
        if not is_rest:
            return lambda a, b: torch.div(a, b, rounding_mode=rounding)
        rest: Operation = torch.remainder if rounding == "floor" else torch.fmod
        return rest

    return rule


def _prelu(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    shape = _channel_shape(call, int(attrs.axis))
    return lambda x, alpha: torch.where(x > 0, x, x * alpha.reshape(shape))


def _channel_shape(call: Call, axis: int) -> tuple[int, ...]:
    """Return the shape in which a vector broadcasts along an axis of the data."""
    rank = rank_of(call)
    return tuple(-1 if a == axis % rank else 1 for a in range(rank))


# ---------------------------------------------------------------- along an axis
def _variance(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axes = _reduced_axes(call)
    if not axes or not dtypes(call) <= FLOATS:
        return None
    unbiased, keep = bool(attrs.unbiased), bool(attrs.keepdims)

    def variance(x: Any, mean: Any) -> Any:
        squares = torch.square(x - mean).sum(axes, keepdim=keep)
        return squares / (prod(x.shape[a] for a in axes) - int(unbiased))

    return variance


def _product(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axes, keep = _reduced_axes(call), bool(attrs.keepdims)
    if len(axes) != 1 or not dtypes(call) <= FLOATS:
        return None
    return lambda x: torch.prod(x, axes[0], keepdim=keep)


def _truths(function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        axes, keep = _reduced_axes(call), bool(attrs.keepdims)
        return (lambda x: function(x, axes, keepdim=keep)) if axes and dtypes(call) <= {"bool"} else None

    return rule


def _place(function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        axes, keep = _reduced_axes(call), bool(attrs.keepdims)
        if len(axes) != 1 or attrs.select_last_index or not dtypes(call) <= NUMBERS:
            return None
        return lambda x: function(x, axes[0], keepdim=keep).int()

    return rule


# ---------------------------------------------------------------- norms
def _norm(call: Call) -> Operation | None:
    """Layers' and instances' norms: the axes that are averaged over are all but the batch's and the channel's."""
    attrs: Any = call.attrs
    rank = rank_of(call)
    axis = int(attrs.axis) % rank
    axes = (axis,) if op_name(call) == "nn.layer_norm" else tuple(a for a in range(1, rank) if a != axis)
    if not dtypes(call) <= FLOATS:
        return None
    shape, centred, scaled, epsilon = _channel_shape(call, axis), attrs.center, attrs.scale, attrs.epsilon
    if axes == (rank - 1,) == (axis,):
        return lambda x, g, b: fn.layer_norm(x, x.shape[-1:], g if scaled else None, b if centred else None, epsilon)

    def norm(x: Any, gamma: Any, beta: Any) -> Any:
        rest = x - x.mean(axes, keepdim=True)
        result = rest / torch.sqrt(torch.square(rest).mean(axes, keepdim=True) + epsilon)
        result = result * gamma.reshape(shape) if scaled else result
        return result + beta.reshape(shape) if centred else result

    return norm


def _torch_group_norm(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not dtypes(call) <= FLOATS or int(attrs.axis) % rank_of(call) != 1:
        return None
    groups, centred, scaled, epsilon = int(attrs.num_groups), attrs.center, attrs.scale, attrs.epsilon
    return lambda x, g, b: fn.group_norm(x, groups, g if scaled else None, b if centred else None, epsilon)


def _batch_norm(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not dtypes(call) <= FLOATS:
        return None
    shape, centred, scaled, epsilon = _channel_shape(call, int(attrs.axis)), attrs.center, attrs.scale, attrs.epsilon

    def norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
        scale = torch.rsqrt(variance + epsilon) * (gamma if scaled else 1)
        shift = (beta if centred else 0) - mean * scale
        return x * scale.reshape(shape) + shift.reshape(shape), mean.clone(), variance.clone()

    return norm


def _torch_l2_normalize(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axes = tuple(range(rank_of(call))) if attrs.axis is None else tuple(int(a) for a in attrs.axis)
    if not axes or not dtypes(call) <= FLOATS:
        return None
    return lambda x: x / torch.sqrt(torch.square(x).sum(axes, keepdim=True).clamp_min(attrs.eps))


def _lrn(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not dtypes(call) <= WIDE or rank_of(call) < 3 or int(attrs.axis) % rank_of(call) != 1 or attrs.size % 2 == 0:
        return None
    return lambda x: fn.local_response_norm(x, int(attrs.size), attrs.alpha, attrs.beta, attrs.bias)


def _adaptive(functions: Sequence[Callable[..., Any]]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        result: Any = call.checked_type_
        rank = rank_of(call) - 2
        if attrs.layout != _POOL_LAYOUTS[rank]:
            return None
        if result.dynamic or not dtypes(call) <= FLOATS or attrs.out_layout not in ("", attrs.layout):
            return None
        sizes = result.concrete_shape[2:]
        return lambda x: functions[rank - 1](x, sizes)

    return rule


def _global_max_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    supported = attrs.layout == "NCHW" and attrs.out_layout in ("", "NCHW") and dtypes(call) <= FLOATS
    return (lambda x: x.amax((2, 3), keepdim=True)) if supported else None


# ---------------------------------------------------------------- products
def _matmul(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not _is_one_float(call):
        return None
    turn_a, turn_b = bool(attrs.transpose_a), bool(attrs.transpose_b)
    return lambda a, b: torch.matmul(a.mT if turn_a else a, b.mT if turn_b else b)


def _einsum(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    equation = str(attrs.equation).replace(" ", "")
    return (lambda parts: torch.einsum(equation, *parts)) if dtypes(call) <= FLOATS else None


_LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}


def _convolution(rank: int, function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        layout, kernel, _ = _LAYOUTS[rank]
        if (attrs.data_layout, attrs.kernel_layout) != (layout, kernel) or attrs.out_layout not in ("", layout):
            return None
        if not _is_one_float(call) or _has_channel_multiplier(call):
            return None
        strides, dilation, groups = tuple(map(int, attrs.strides)), tuple(map(int, attrs.dilation)), int(attrs.groups)
        pads = [int(p) for p in full_padding(attrs.padding, rank)]
        before, after = pads[:rank], pads[rank:]
        if before == after:
            return lambda x, w: function(x, w, None, strides, before, dilation, groups)
        around = _around(before, after)
        return lambda x, w: function(fn.pad(x, around), w, None, strides, 0, dilation, groups)

    return rule


def _transposed(rank: int, function: Callable[..., Any]) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        layout, _, kernel = _LAYOUTS[rank]
        if (attrs.data_layout, attrs.kernel_layout) != (layout, kernel) or attrs.out_layout not in ("", layout):
            return None
        pads = [int(p) for p in full_padding(attrs.padding, rank)]
        extra, strides = tuple(map(int, attrs.output_padding)), tuple(map(int, attrs.strides))
        dilation, groups = tuple(map(int, attrs.dilation)), int(attrs.groups)
        fits = all(e < max(s, d) for e, s, d in zip(extra, strides, dilation, strict=True))
        if not _is_one_float(call, WIDE) or pads[:rank] != pads[rank:] or not fits:
            return None
        return lambda x, w: function(x, w, None, strides, pads[:rank], extra, groups, dilation)

    return rule


# ---------------------------------------------------------------- recurrent layers
# PyTorch's gates by their place in `contrib.recurrent`, and its function of a whole layer (cuDNN's on a GPU).
_LAYERS: dict[str, tuple[tuple[int, ...], Operation]] = {
    "lstm": ((0, 2, 3, 1), torch.lstm), "gru": ((1, 0, 2), torch.gru),
    "rnn_tanh": ((0,), torch.rnn_tanh), "rnn_relu": ((0,), torch.rnn_relu),
}  # fmt: skip


def _recurrent(call: Call) -> Operation | None:
    """PyTorch's layer; its steps for lengths, empty sequences, and a GRU that resets the state before the product."""
    attrs: Any = call.attrs
    names = optional_names(attrs)
    whole = not attrs.has_lengths and (attrs.mode != "gru" or attrs.linear_before_reset)
    if not dtypes(call) - INTEGERS <= FLOATS:
        return None

    def compute(x: Any, w: Any, r: Any, optional: Any) -> Any:
        work = x.dtype if x.dtype is torch.float64 else torch.float32
        given = {name: value.to(work) for name, value in zip(names, optional, strict=True)}
        w, r, count = w.to(work), r.to(work), 2 if attrs.mode == "lstm" else 1
        zeros = r.new_zeros(len(r), x.shape[1], r.shape[2])
        states = [given.get(name, zeros) for name in ("state", "cell")[:count]]
        run = _whole_layer if whole and x.numel() else _stepwise
        return tuple([value.to(x.dtype) for value in run(attrs, given, x.to(work), w, r, states)])

    return compute


def _whole_layer(attrs: Any, given: dict[str, Any], x: Any, w: Any, r: Any, states: list[Any]) -> list[Any]:
    order, layer = _LAYERS[attrs.mode]
    rows, hidden = r.shape[1:]

    def in_order(weight: Any) -> Any:
        parts = weight.split(hidden)
        return torch.cat([parts[at] for at in order])

    weights = []
    for at in range(len(r)):
        weights += [in_order(w[at]), in_order(r[at])]
        weights += [in_order(half) for half in given["bias"][at].split(rows)] if "bias" in given else []
    back = attrs.direction == "reverse"
    first = tuple(states) if attrs.mode == "lstm" else states[0]
    output, *lasts = layer(x.flip(0) if back else x, first, weights, attrs.has_bias, 1, 0.0, False, len(r) == 2, False)
    output = output.reshape(*x.shape[:2], len(r), hidden).transpose(1, 2)
    return [output.flip(0) if back else output, *lasts]


def _stepwise(attrs: Any, given: dict[str, Any], x: Any, w: Any, r: Any, states: list[Any]) -> list[Any]:
    outputs, lasts, rows = [], [], r.shape[1]
    for at, back in enumerate(DIRECTIONS[attrs.direction]):
        bias = given["bias"][at] if "bias" in given else r.new_zeros(2 * rows)
        products, now = x @ w[at].T + bias[:rows], [state[at] for state in states]
        output = x.new_zeros(*x.shape[:2], r.shape[2])
        for time in reversed(range(len(x))) if back else range(len(x)):
            new = _recurrent_step(attrs, products[time], r[at].T, bias[rows:], now)
            if "lengths" in given:  # a sequence that has ended keeps its state
                active = (given["lengths"] > time)[:, None]
                output[time] = torch.where(active, new[0], 0)
                now = [torch.where(active, after, before) for after, before in zip(new, now, strict=True)]
            else:
                output[time], now = new[0], new
        outputs.append(output)
        lasts.append(now)
    return [torch.stack(outputs, 1), *(torch.stack(list(state)) for state in zip(*lasts, strict=True))]


def _recurrent_step(attrs: Any, x: Any, weight: Any, bias: Any, states: list[Any]) -> list[Any]:
    state, hidden = states[0], states[0].shape[1]
    if attrs.mode == "gru":
        cut = 2 * hidden
        both = torch.sigmoid(x[:, :cut] + state @ weight[:, :cut] + bias[:cut])
        update, reset = both.split(hidden, 1)
        before = attrs.linear_before_reset
        past = (state if before else reset * state) @ weight[:, cut:] + bias[cut:]
        new = torch.tanh(x[:, cut:] + (reset * past if before else past))
        return [(1 - update) * new + update * state]
    gates = x + state @ weight + bias
    if attrs.mode != "lstm":
        return [torch.tanh(gates) if attrs.mode == "rnn_tanh" else torch.relu(gates)]
    into, output, forget, new = gates.split(hidden, 1)
    cell = torch.sigmoid(forget) * states[1] + torch.sigmoid(into) * torch.tanh(new)
    return [torch.sigmoid(output) * torch.tanh(cell), cell]


DIVISIONS: dict[str, Rule] = {
    "floor_divide": _divided("floor"), "trunc_divide": _divided("trunc"), "divide": _divided("trunc"),
    "floor_mod": _divided("floor", True), "trunc_mod": _divided("trunc", True), "mod": _divided("trunc", True),
}  # fmt: skip
AVERAGES = (fn.adaptive_avg_pool1d, fn.adaptive_avg_pool2d, fn.adaptive_avg_pool3d)
MAXIMA = (fn.adaptive_max_pool1d, fn.adaptive_max_pool2d, fn.adaptive_max_pool3d)
RULES: dict[str, Rule] = {
    **MOVEMENT, **DIVISIONS,
    "clip": _clip, "sign": _sign, "round": _round, "hardswish": _hard_swish, "nn.leaky_relu": _leaky_relu,
    "nn.prelu": _prelu, "nn.bias_add": _bias_add,
    "sum": _reduction(torch.sum), "mean": _reduction(torch.mean), "max": _reduction(torch.amax),
    "min": _reduction(torch.amin), "variance": _variance, "prod": _product, "any": _truths(torch.any),
    "all": _truths(torch.all), "argmax": _place(torch.argmax), "argmin": _place(torch.argmin),
    "nn.softmax": _on_axis(torch.softmax), "nn.log_softmax": _on_axis(torch.log_softmax),
    "nn.layer_norm": _norm, "nn.instance_norm": _norm, "nn.group_norm": _torch_group_norm, "nn.batch_norm": _batch_norm,
    "nn.l2_normalize": _torch_l2_normalize, "nn.lrn": _lrn,
    "contrib.recurrent": _recurrent,
    "nn.dense": _dense, "nn.batch_matmul": _batch_matmul, "nn.matmul": _matmul, "einsum": _einsum,
    "nn.conv1d": _convolution(1, fn.conv1d), "nn.conv2d": _convolution(2, fn.conv2d),
    "nn.conv3d": _convolution(3, fn.conv3d), "nn.conv1d_transpose": _transposed(1, fn.conv_transpose1d),
    "nn.conv2d_transpose": _transposed(2, fn.conv_transpose2d),
    "nn.conv3d_transpose": _transposed(3, fn.conv_transpose3d),
    "nn.max_pool1d": _max_pool(1, fn.max_pool1d), "nn.max_pool2d": _max_pool(2, fn.max_pool2d),
    "nn.max_pool3d": _max_pool(3, fn.max_pool3d), "nn.avg_pool1d": _avg_pool(1, fn.avg_pool1d),
    "nn.avg_pool2d": _avg_pool(2, fn.avg_pool2d), "nn.avg_pool3d": _avg_pool(3, fn.avg_pool3d),
    "nn.global_avg_pool2d": _global_avg_pool2d, "nn.global_max_pool2d": _global_max_pool2d,
    "nn.adaptive_avg_pool1d": _adaptive(AVERAGES), "nn.adaptive_avg_pool2d": _adaptive(AVERAGES),
    "nn.adaptive_avg_pool3d": _adaptive(AVERAGES), "nn.adaptive_max_pool1d": _adaptive(MAXIMA),
    "nn.adaptive_max_pool2d": _adaptive(MAXIMA), "nn.adaptive_max_pool3d": _adaptive(MAXIMA),
}  # fmt: skip
