"""Relay's operators in terms of PyTorch's, where the two mean exactly the same; all others run on NumPy.

An entry makes, from a call, a function of tensors; it answers None when this call (its layout, its dtypes, its
attributes) is beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as fn

from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import TensorType, Type
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
RARE = frozenset(("uint16", "uint32", "uint64"))  # PyTorch holds these, and computes little with them
COMMON = frozenset(DTYPES) - RARE
FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
WIDE = frozenset(("float32", "float64"))  # sums of the narrow ones are rounded in another order
NUMBERS = COMMON - {"bool"}
SIGNED = NUMBERS - {"uint8"}

# operator -> (PyTorch's function, the dtypes of the arguments for which the two agree)
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
    """Return PyTorch's form of a call of an operator, None when it has none."""
    assert isinstance(call.op, Op)
    name = call.op.name
    if name in PLAIN:
        result, dtypes = PLAIN[name]
        return result if _dtypes(call) <= dtypes else None
    rule = RULES.get(name)
    return rule(call) if rule is not None and _dtypes(call) <= COMMON else None


def _dtypes(call: Call) -> set[str]:
    types = [t for a in call.args for t in _flat(a.checked_type_)]
    return {t.dtype if isinstance(t, TensorType) else "?" for t in types}


def _flat(ty: Type | None) -> Sequence[Any]:
    return getattr(ty, "fields", (ty,))


def _shape(call: Call) -> tuple[int, ...] | None:
    """The shape of a call's result, None where it is not known beforehand."""
    ty = call.checked_type_
    return ty.concrete_shape if isinstance(ty, TensorType) and not ty.dynamic else None


def _rank(call: Call, argument: int = 0) -> int:
    ty = call.args[argument].checked_type_
    return len(ty.shape) if isinstance(ty, TensorType) else 0


def _reshape_to(call: Call) -> Operation | None:
    shape = _shape(call)
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
        return None  # what a float beyond the range becomes is NumPy's matter
    return lambda x: x.to(dtype)


def _clip(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    return (lambda x: x.clamp(attrs.a_min, attrs.a_max)) if _dtypes(call) <= FLOATS else None


def _reduction(function: Callable[..., Any]) -> Callable[[Call], Operation | None]:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        rank = _rank(call)
        axes = range(rank) if attrs.axis is None else {int(a) % rank for a in _as_list(attrs.axis)}
        chosen = tuple(a for a in range(rank) if (a in axes) != bool(attrs.exclude))
        if not chosen or not _dtypes(call) <= WIDE:
            return None
        return lambda x: function(x, chosen, keepdim=bool(attrs.keepdims))

    return rule


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _along(function: Callable[..., Any]) -> Callable[[Call], Operation | None]:
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
    """Whether a call computes on wide floats and gives what it is given."""
    out = getattr(call.attrs, "out_dtype", "") or ""
    return _dtypes(call) <= WIDE and (not out or {out} == _dtypes(call))


def _dense(call: Call) -> Operation | None:
    return fn.linear if _is_wide(call) and len(call.args) == 2 and _rank(call, 1) == 2 else None


def _batch_matmul(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if not _is_wide(call):
        return None
    turn_a, turn_b = bool(attrs.transpose_a), bool(attrs.transpose_b)
    return lambda a, b: torch.matmul(a.transpose(1, 2) if turn_a else a, b.transpose(1, 2) if turn_b else b)


def _conv2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    plain = attrs.data_layout == "NCHW" and attrs.kernel_layout == "OIHW" and attrs.out_layout in ("", "NCHW")
    if not plain or not _is_wide(call) or _is_multiplied(call):
        return None
    strides, dilation = tuple(map(int, attrs.strides)), tuple(map(int, attrs.dilation))
    pads, groups = _pads(attrs.padding), int(attrs.groups)
    if pads[0] == pads[1] and pads[2] == pads[3]:
        both = pads[2], pads[0]
        return lambda x, w: fn.conv2d(x, w, None, strides, both, dilation, groups)
    return lambda x, w: fn.conv2d(fn.pad(x, pads), w, None, strides, 0, dilation, groups)


def _is_multiplied(call: Call) -> bool:
    """Whether a weight is that of a depthwise convolution, written by channel and multiplier."""
    attrs: Any = call.attrs
    weight = call.args[1].checked_type
    return (
        attrs.groups > 1
        and isinstance(weight, TensorType)
        and weight.shape[1] != 1
        and weight.shape[0] != _channels(call)
    )


def _channels(call: Call) -> Any:
    ty = call.checked_type
    return ty.shape[1] if isinstance(ty, TensorType) else None


def _pads(padding: Any) -> tuple[int, int, int, int]:
    """Return PyTorch's order: left, right, top, bottom."""
    top, left, bottom, right = (int(p) for p in full_padding(padding, 2))
    return left, right, top, bottom


def _max_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.layout != "NCHW" or attrs.out_layout not in ("", "NCHW") or attrs.ceil_mode or not _dtypes(call) <= WIDE:
        return None
    size, strides, dilation = (tuple(map(int, v)) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
    pads = _pads(attrs.padding)
    if not any(pads):
        return lambda x: fn.max_pool2d(x, size, strides, 0, dilation)

    def padded(x: Any) -> Any:
        return fn.max_pool2d(fn.pad(x, pads, value=torch.finfo(x.dtype).min), size, strides, 0, dilation)

    both = pads[2], pads[0]
    if (pads[1], pads[3]) != (pads[0], pads[2]) or any(2 * b > n for b, n in zip(both, size, strict=True)):
        return padded

    def pool(x: Any) -> Any:
        result = fn.max_pool2d(x, size, strides, both, dilation)
        # PyTorch's padding is minus infinity, Relay's the least finite number: they differ where nothing else is there
        return result if result.amin() >= torch.finfo(x.dtype).min else padded(x)

    return pool


def _avg_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    size, strides, dilation = (tuple(map(int, v)) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
    plain = attrs.layout == "NCHW" and attrs.out_layout in ("", "NCHW") and not attrs.ceil_mode
    if not plain or any(_pads(attrs.padding)) or set(dilation) != {1} or not _dtypes(call) <= WIDE:
        return None
    return lambda x: fn.avg_pool2d(x, size, strides)


def _global_avg_pool2d(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    plain = attrs.layout == "NCHW" and attrs.out_layout in ("", "NCHW") and _dtypes(call) <= WIDE
    return (lambda x: x.mean((2, 3), keepdim=True)) if plain else None


def _where(call: Call) -> Operation | None:
    ty = call.args[0].checked_type_
    return torch.where if isinstance(ty, TensorType) and ty.dtype == "bool" else None


RULES: dict[str, Callable[[Call], Operation | None]] = {
    "reshape": _reshape_to, "expand_dims": _reshape_to, "squeeze": _reshape_to, "nn.batch_flatten": _reshape_to,
    "contrib_reverse_reshape": _reshape_to, "transpose": _transpose, "concatenate": _concatenate, "cast": _cast,
    "clip": _clip, "where": _where,
    "sum": _reduction(torch.sum), "mean": _reduction(torch.mean), "max": _reduction(torch.amax),
    "min": _reduction(torch.amin), "nn.softmax": _along(torch.softmax), "nn.log_softmax": _along(torch.log_softmax),
    "nn.bias_add": _bias_add, "nn.leaky_relu": _leaky_relu, "nn.dense": _dense, "nn.batch_matmul": _batch_matmul,
    "nn.conv2d": _conv2d, "nn.max_pool2d": _max_pool2d, "nn.avg_pool2d": _avg_pool2d,
    "nn.global_avg_pool2d": _global_avg_pool2d,
}  # fmt: skip
