"""Relay's operators as functions of PyTorch, where both have exactly the same semantics; all others run on NumPy.

A rule returns a call's function of tensors, or None if it does not support the call's layout, dtypes or attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as fn

from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.op.nn.windows import full_padding

Operation = Callable[..., Any]
DTYPES: dict[str, torch.dtype] = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "uint16": torch.uint16,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
}
RARE = frozenset(("uint16", "uint32", "uint64"))  # PyTorch stores these, but supports few operators on them
COMMON = frozenset(DTYPES) - RARE
FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
WIDE = frozenset(("float32", "float64"))  # in narrower floats PyTorch rounds sums and functions at other steps
NUMBERS = COMMON - {"bool"}
SIGNED = NUMBERS - {"uint8"}

# operator -> (PyTorch's function, the argument dtypes for which the two agree)
PLAIN: dict[str, tuple[Operation, frozenset[str]]] = {
    "add": (torch.add, NUMBERS), "subtract": (torch.sub, NUMBERS), "multiply": (torch.mul, NUMBERS),
    "divide": (torch.div, FLOATS), "maximum": (torch.maximum, NUMBERS), "minimum": (torch.minimum, NUMBERS),
    "power": (torch.pow, WIDE), "negative": (torch.neg, SIGNED), "abs": (torch.abs, SIGNED),
    "exp": (torch.exp, WIDE), "log": (torch.log, WIDE), "sqrt": (torch.sqrt, WIDE), "rsqrt": (torch.rsqrt, WIDE),
    "tanh": (torch.tanh, WIDE), "sigmoid": (torch.sigmoid, WIDE), "erf": (torch.erf, WIDE),
    "sin": (torch.sin, WIDE), "cos": (torch.cos, WIDE), "tan": (torch.tan, WIDE), "atan": (torch.atan, WIDE),
    "log2": (torch.log2, WIDE), "log10": (torch.log10, WIDE),
    "floor": (torch.floor, FLOATS), "ceil": (torch.ceil, FLOATS), "trunc": (torch.trunc, FLOATS),
    "equal": (torch.eq, NUMBERS), "not_equal": (torch.ne, NUMBERS), "less": (torch.lt, NUMBERS),
    "less_equal": (torch.le, NUMBERS), "greater": (torch.gt, NUMBERS), "greater_equal": (torch.ge, NUMBERS),
    "logical_and": (torch.logical_and, frozenset(("bool",))), "logical_or": (torch.logical_or, frozenset(("bool",))),
    "logical_not": (torch.logical_not, frozenset(("bool",))),
    "nn.relu": (torch.relu, NUMBERS), "copy": (torch.clone, frozenset(DTYPES)),
}  # fmt: skip


def operation(call: Call) -> Operation | None:
    """Return the function of tensors that computes a call of an operator, None if there is none."""
    assert isinstance(call.op, Op)
    name = call.op.name
    if name in PLAIN:
        result, dtypes = PLAIN[name]
        return result if _dtypes(call) <= dtypes else None
    rule = RULES.get(name)
    return rule(call) if rule is not None and _dtypes(call) <= COMMON else None


def _dtypes(call: Call) -> set[str]:
    """Return the dtypes of a call's arguments and of their fields; "?" for other types."""
    types = [field for a in call.args for field in getattr(a.checked_type_, "fields", (a.checked_type_,))]
    return {t.dtype if isinstance(t, TensorType) else "?" for t in types}


def _rank(call: Call, argument: int = 0) -> int:
    ty = call.args[argument].checked_type_
    return len(ty.shape) if isinstance(ty, TensorType) else 0


def _reshape_to(call: Call) -> Operation | None:
    ty = call.checked_type_
    shape = ty.concrete_shape if isinstance(ty, TensorType) and not ty.dynamic else None
    return None if shape is None else lambda x: x.reshape(shape)


def _transpose(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axes = tuple(int(a) for a in attrs.axes or range(_rank(call))[::-1])
    return lambda x: x.permute(axes)


def _concatenate(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axis = int(attrs.axis)
    return lambda parts: torch.cat(parts, axis)


def _cast(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    dtype, source = DTYPES.get(attrs.dtype), _dtypes(call)
    if dtype is None or attrs.dtype in RARE or (source & FLOATS and not dtype.is_floating_point):
        return None  # floats out of range become what NumPy makes of them
    return lambda x: x.to(dtype)


def _clip(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    return (lambda x: x.clamp(attrs.a_min, attrs.a_max)) if _dtypes(call) <= FLOATS else None


def _reduction(function: Callable[..., Any]) -> Callable[[Call], Operation | None]:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        rank = _rank(call)
        axes = range(rank) if attrs.axis is None else {int(a) % rank for a in _as_list(attrs.axis)}
        reduced = tuple(a for a in range(rank) if (a in axes) != bool(attrs.exclude))
        if not reduced or not _dtypes(call) <= WIDE:
            return None
        return lambda x: function(x, reduced, keepdim=bool(attrs.keepdims))

    return rule


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _on_axis(function: Callable[..., Any]) -> Callable[[Call], Operation | None]:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        return (lambda x: function(x, int(attrs.axis))) if _dtypes(call) <= WIDE else None

    return rule


def _bias_add(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    rank = _rank(call)
    axis = int(attrs.axis) % rank
    shape = tuple(-1 if a == axis else 1 for a in range(rank))
    return lambda x, bias: x + bias.reshape(shape)


def _leaky_relu(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    return (lambda x: fn.leaky_relu(x, attrs.alpha)) if _dtypes(call) <= WIDE else None


def _is_wide(call: Call) -> bool:
    """Whether a call computes on wide floats and its result has their dtype."""
    out = getattr(call.attrs, "out_dtype", "") or ""
    return _dtypes(call) <= WIDE and (not out or {out} == _dtypes(call))


def _dense(call: Call) -> Operation | None:
    return fn.linear if _is_wide(call) and len(call.args) == 2 and _rank(call, 1) == 2 else None


def _batch_matmul(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not _is_wide(call):
        return None
    transpose_a, transpose_b = bool(attrs.transpose_a), bool(attrs.transpose_b)
    return lambda a, b: torch.matmul(a.transpose(1, 2) if transpose_a else a, b.transpose(1, 2) if transpose_b else b)


def _conv2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    supported = attrs.data_layout == "NCHW" and attrs.kernel_layout == "OIHW" and attrs.out_layout in ("", "NCHW")
    if not supported or not _is_wide(call) or _has_channel_multiplier(call):
        return None
    strides, dilation = tuple(map(int, attrs.strides)), tuple(map(int, attrs.dilation))
    pads, groups = _torch_padding(attrs.padding), int(attrs.groups)
    if pads[0] == pads[1] and pads[2] == pads[3]:
        symmetric = pads[2], pads[0]
        return lambda x, w: fn.conv2d(x, w, None, strides, symmetric, dilation, groups)
    return lambda x, w: fn.conv2d(fn.pad(x, pads), w, None, strides, 0, dilation, groups)


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


def _torch_padding(padding: Any) -> tuple[int, int, int, int]:
    """Return padding in PyTorch's order: left, right, top, bottom."""
    top, left, bottom, right = (int(p) for p in full_padding(padding, 2))
    return left, right, top, bottom


def _max_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.layout != "NCHW" or attrs.out_layout not in ("", "NCHW") or attrs.ceil_mode or not _dtypes(call) <= WIDE:
        return None
    size, strides, dilation = (tuple(map(int, v)) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
    pads = _torch_padding(attrs.padding)
    if not any(pads):
        return lambda x: fn.max_pool2d(x, size, strides, 0, dilation)

    def padded(x: Any) -> Any:
        return fn.max_pool2d(fn.pad(x, pads, value=torch.finfo(x.dtype).min), size, strides, 0, dilation)

    symmetric = pads[2], pads[0]
    if (pads[1], pads[3]) != (pads[0], pads[2]) or any(2 * p > n for p, n in zip(symmetric, size, strict=True)):
        return padded  # PyTorch refuses padding of more than half a window

    def pool(x: Any) -> Any:
        result = fn.max_pool2d(x, size, strides, symmetric, dilation)
        # PyTorch pads with -inf, Relay with the lowest finite number: windows of padding and -inf alone differ
        return result if result.amin() >= torch.finfo(x.dtype).min else padded(x)

    return pool


def _avg_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    size, strides, dilation = (tuple(map(int, v)) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
    supported = attrs.layout == "NCHW" and attrs.out_layout in ("", "NCHW") and not attrs.ceil_mode
    if not supported or any(_torch_padding(attrs.padding)) or set(dilation) != {1} or not _dtypes(call) <= WIDE:
        return None
    return lambda x: fn.avg_pool2d(x, size, strides)


def _global_avg_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    supported = attrs.layout == "NCHW" and attrs.out_layout in ("", "NCHW") and _dtypes(call) <= WIDE
    return (lambda x: x.mean((2, 3), keepdim=True)) if supported else None


def _where(call: Call) -> Operation | None:
    ty = call.args[0].checked_type_
    return torch.where if isinstance(ty, TensorType) and ty.dtype == "bool" else None


RULES: dict[str, Callable[[Call], Operation | None]] = {
    "reshape": _reshape_to, "expand_dims": _reshape_to, "squeeze": _reshape_to, "nn.batch_flatten": _reshape_to,
    "contrib_reverse_reshape": _reshape_to, "transpose": _transpose, "concatenate": _concatenate, "cast": _cast,
    "clip": _clip, "where": _where,
    "sum": _reduction(torch.sum), "mean": _reduction(torch.mean), "max": _reduction(torch.amax),
    "min": _reduction(torch.amin), "nn.softmax": _on_axis(torch.softmax), "nn.log_softmax": _on_axis(torch.log_softmax),
    "nn.bias_add": _bias_add, "nn.leaky_relu": _leaky_relu, "nn.dense": _dense, "nn.batch_matmul": _batch_matmul,
    "nn.conv2d": _conv2d, "nn.max_pool2d": _max_pool2d, "nn.avg_pool2d": _avg_pool2d,
    "nn.global_avg_pool2d": _global_avg_pool2d,
}  # fmt: skip
