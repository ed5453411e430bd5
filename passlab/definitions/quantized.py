"""Definitions of quantized operators: in real numbers, then quantized; see `elements`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, as_float64, definition_of, round_half_away
from passlab.definitions.networks import along_axis, pool


def _dequantize(q: Any, scale: Any, zero: Any, axis: int = -1) -> Any:
    reshape: Any = (lambda v: along_axis(v, axis, q.ndim)) if np.ndim(scale) else as_float64
    offset = reshape(zero) if np.ndim(zero) else as_float64(zero)
    return (q.astype(np.float64) - offset) * as_float64(reshape(scale))


def _quantize_unclipped(x: Any, scale: Any, zero: Any, axis: int = -1) -> Any:
    """Return real numbers as quantized integers before they are clipped to a range."""
    reshape: Any = (lambda v: along_axis(v, axis, x.ndim)) if np.ndim(scale) else as_float64
    offset = reshape(zero) if np.ndim(zero) else as_float64(zero)
    return round_half_away(as_float64(x) / as_float64(reshape(scale))) + offset


def _steps(x: Any, scale: Any) -> Any:
    """Return real numbers in whole steps of a scale, halves up: how integers change their scale."""
    return np.floor(as_float64(x) / as_float64(scale) + 0.5)


def _saturate(x: Any, dtype: Any) -> Any:
    """Clip to the range of an integer dtype; NaN counts as infinity."""
    info = np.iinfo(dtype)
    return np.clip(np.nan_to_num(x, nan=info.max, posinf=info.max, neginf=info.min), info.min, info.max)


_FUNCTIONS: dict[str, Any] = {
    "abs": lambda x, a: np.abs(x),
    "exp": lambda x, a: np.exp(x),
    "log": lambda x, a: np.log(x),
    "sqrt": lambda x, a: np.sqrt(x),
    "rsqrt": lambda x, a: 1 / np.sqrt(x),
    "erf": lambda x, a: np.vectorize(math.erf, otypes=[float])(x),
    "sigmoid": lambda x, a: 1 / (1 + np.exp(-x)),
    "tanh": lambda x, a: np.tanh(x),
    "hardswish": lambda x, a: x * np.clip(x + 3, 0, 6) / 6,
    "leaky_relu": lambda x, a: np.where(x < 0, x * a.alpha, x),
    "softmax": lambda x, a: (
        np.exp(x - x.max(a.axis, keepdims=True)) / np.exp(x - x.max(a.axis, keepdims=True)).sum(a.axis, keepdims=True)
        if x.size
        else x
    ),
}
for _name, _function in _FUNCTIONS.items():
    MEANING[f"qnn.{_name}"] = lambda attrs, q, s, z, os, oz, f=_function: _saturate(
        _quantize_unclipped(f(_dequantize(q, s, z), attrs), os, oz), q.dtype
    )
for _name, _combine in (("add", np.add), ("subtract", np.subtract)):
    MEANING[f"qnn.{_name}"] = lambda attrs, a, b, sa, za, sb, zb, so, zo, f=_combine: _saturate(
        f(_steps(_dequantize(a, sa, za, attrs.lhs_axis), so), _steps(_dequantize(b, sb, zb, attrs.rhs_axis), so)) + zo,
        a.dtype,
    )
MEANING["qnn.mul"] = lambda attrs, a, b, sa, za, sb, zb, so, zo: _saturate(
    _steps(_dequantize(a, sa, za, attrs.lhs_axis) * _dequantize(b, sb, zb, attrs.rhs_axis), so) + zo, a.dtype
)
MEANING["qnn.quantize"] = lambda attrs, x, s, z: _saturate(_quantize_unclipped(x, s, z, attrs.axis), attrs.out_dtype)
MEANING["qnn.dequantize"] = lambda attrs, q, s, z: _dequantize(q, s, z, attrs.axis)
MEANING["qnn.concatenate"] = lambda attrs, parts, scales, zeros, s, z: np.concatenate(
    [_saturate(_steps(_dequantize(p, ps, pz), s) + z, p.dtype) for p, ps, pz in zip(parts, scales, zeros, strict=True)],
    attrs.axis,
)


@definition_of("qnn.requantize")
def requantize(attrs: Any, q: Any, s: Any, z: Any, os: Any, oz: Any) -> Any:
    """Define `qnn.requantize`; computed in floats, the zero point is added before the halves are rounded."""
    steps = _dequantize(q, s, z, attrs.axis) / as_float64(os)
    in_floats = attrs.compute_dtype in ("float32", "float64")
    total = steps + oz if in_floats else steps
    rounded = round_half_away(total) if attrs.rounding == "TONEAREST" else np.floor(total + 0.5)
    return _saturate(rounded if in_floats else rounded + oz, attrs.out_dtype or q.dtype)


_DTYPE_CODES = {1: "int8", 2: "uint8", 3: "int32"}  # 0: not quantized


@definition_of("qnn.simulated_quantize")
def simulated_quantize(attrs: Any, x: Any, code: Any, s: Any, z: Any) -> Any:
    """Define `qnn.simulated_quantize`."""
    info = np.iinfo(_DTYPE_CODES.get(int(code), "int8"))
    return x if int(code) == 0 else np.clip(_quantize_unclipped(x, s, z, attrs.axis), info.min, info.max)


@definition_of("qnn.simulated_dequantize")
def simulated_dequantize(attrs: Any, x: Any, code: Any, s: Any, z: Any) -> Any:
    """Define `qnn.simulated_dequantize`."""
    s, z = (along_axis(v, attrs.axis, x.ndim) if np.size(v) > 1 else v for v in (as_float64(s), as_float64(z)))
    return x if int(code) == 0 else (as_float64(x) - z) * s


@definition_of("qnn.avg_pool2d")
def avg_pool2d(attrs: Any, q: Any, s: Any, z: Any, os: Any, oz: Any) -> Any:
    """Define `qnn.avg_pool2d`."""
    return _saturate(_steps(_dequantize(pool(attrs, q.astype(np.int32), True), s, z), os) + oz, q.dtype)


def _integer_product(name: str) -> Any:
    """Return the definition of a quantized product: the operator `name` on the values minus their zero points."""

    def meaning(attrs: Any, q: Any, w: Any, zq: Any, zw: Any, sq: Any, sw: Any) -> Any:
        return MEANING[name](attrs, q.astype(np.int64) - int(zq), w.astype(np.int64) - int(zw))

    return meaning


for _name in ("dense", "batch_matmul", "conv2d", "conv2d_transpose"):
    MEANING[f"qnn.{_name}"] = _integer_product(f"nn.{_name}")
