"""Definitions of the operators on single elements, and the table of all definitions; see the package."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Constant
from passlab.op.dtypes import Array, array_dtype

Meaning = Callable[..., Any]
MEANING: dict[str, Meaning] = {}
KEEPS_WIDTH: set[str] = set()  # operators whose definitions get floats in their own dtype: the result depends on it


class InvalidInput(Exception):
    """The operator must raise `RunError` for these inputs."""


def definition_of(*names: str) -> Callable[[Meaning], Meaning]:
    """Register the decorated function as the definition of operators."""

    def register(function: Meaning) -> Meaning:
        for name in names:
            assert name not in MEANING, name
            MEANING[name] = function
        return function

    return register


def as_float64(x: Any) -> Any:
    """Return a tensor in float64."""
    return np.asarray(x).astype(np.float64)


def wrap(values: Any, dtype: Any) -> Array:
    """Return Python integers of any size in an integer dtype, modulo its range."""
    integer = np.dtype(dtype)
    if integer.kind == "b":
        return np.asarray(values, object).astype(bool)
    bits = integer.itemsize * 8
    flat = [int(v) % 2**bits for v in np.asarray(values, object).ravel()]
    return np.array(flat, f"uint{bits}").astype(integer).reshape(np.shape(values))


def is_int(x: Any) -> bool:
    """Return True for a tensor of integers or bools."""
    return x.dtype.kind in "iub" or x.dtype.name in ("int4", "uint4")  # of `ml_dtypes`, whose kind is "V"


def elementwise(function: Callable[..., Any], *arrays: Any) -> Any:
    """Apply a function of Python integers to each element of broadcast arrays; wrap the result to the first dtype."""
    operands = np.broadcast_arrays(*arrays)
    flat = [function(*(int(v) for v in values)) for values in zip(*(x.ravel() for x in operands), strict=True)]
    result = np.empty(operands[0].shape, object)
    result.ravel()[:] = flat
    return wrap(result, arrays[0].dtype)


# ---------------------------------------------------------------- unary
def round_half_away(x: Any) -> Any:
    """Round to the round_half_away integer, halves away from zero."""
    fraction, whole = np.modf(x)
    return np.where(np.abs(fraction) >= 0.5, whole + np.sign(x), whole)


_FUNCTIONS: dict[str, Any] = {
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "fast_exp": np.exp,
    "fast_tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf, otypes=[float]),
    "fast_erf": np.vectorize(math.erf, otypes=[float]),
}
for _name, _function in _FUNCTIONS.items():
    MEANING[_name] = lambda attrs, x, f=_function: f(as_float64(x))
for _name, _function in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", round_half_away)):
    MEANING[_name] = lambda attrs, x, f=_function: x if is_int(x) else f(x)
MEANING["negative"] = lambda attrs, x: x if x.dtype.kind == "b" else -x
MEANING["abs"] = lambda attrs, x: np.abs(x)
MEANING["sign"] = lambda attrs, x: x if x.dtype.kind == "b" else np.sign(x)
MEANING["bitwise_not"] = lambda attrs, x: ~x
MEANING["logical_not"] = lambda attrs, x: x == 0
MEANING["isnan"] = lambda attrs, x: x != x
MEANING["isinf"] = lambda attrs, x: np.abs(as_float64(x)) == np.inf
MEANING["isfinite"] = lambda attrs, x: np.abs(as_float64(x)) < np.inf
MEANING["zeros_like"] = lambda attrs, x: np.zeros(x.shape)
MEANING["ones_like"] = lambda attrs, x: np.ones(x.shape)
for _name in (
    "copy",
    "annotation.bitpack_start",
    "annotation.bitpack_end",
    "annotation.checkpoint",
    "annotation.stop_fusion",
    "annotation.cast_hint",
    "annotation.compiler_begin",
    "annotation.compiler_end",
    "device_copy",
    "on_device",
):
    MEANING[_name] = lambda attrs, x: x


@definition_of("clip")
def clip(attrs: Any, x: Any) -> Any:
    """Define `clip`."""
    if is_int(x):
        info = np.iinfo(x.dtype) if x.dtype.kind != "b" else None
        ends = (0, 1) if info is None else (int(info.min), int(info.max))
        low, high = (min(max(int(b), ends[0]), ends[1]) for b in (attrs.a_min, attrs.a_max))
        return elementwise(lambda v: min(max(v, low), high), x)
    return np.minimum(np.maximum(x, attrs.a_min), attrs.a_max)


# ---------------------------------------------------------------- binary
def quotient(a: int, b: int) -> int:
    """Return the quotient rounded towards zero, as in C. Raises `InvalidInput` for division by zero."""
    if b == 0:
        raise InvalidInput
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floored_quotient(a: int, b: int) -> int:
    if b == 0:
        raise InvalidInput
    return a // b


def _power(a: int, b: int) -> int:
    if b >= 0:
        # All integers have at most 64 bits: large powers are computed modulo 2**64, where 2**64 divides even ones.
        return a**b if abs(a) < 2 or b < 64 else 0 if a % 2 == 0 else pow(a, b, 2**64)
    if a == 0:
        raise InvalidInput
    return 0 if abs(a) > 1 else a if b % 2 else 1


_INTEGER_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": max,
    "minimum": min,
    "divide": quotient,
    "trunc_divide": quotient,
    "mod": lambda a, b: a - quotient(a, b) * b,
    "trunc_mod": lambda a, b: a - quotient(a, b) * b,
    "floor_divide": _floored_quotient,
    "floor_mod": lambda a, b: a - _floored_quotient(a, b) * b,
    "power": _power,
    "logical_and": lambda a, b: int(a != 0 and b != 0),
    "logical_or": lambda a, b: int(a != 0 or b != 0),
    "logical_xor": lambda a, b: int((a != 0) != (b != 0)),
}
_FLOAT_FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "divide": np.divide,
    "trunc_divide": lambda a, b: np.trunc(a / b),
    "mod": np.fmod,
    "trunc_mod": np.fmod,
    "floor_divide": np.floor_divide,
    "floor_mod": np.mod,
    "power": np.power,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
for _name in _INTEGER_FUNCTIONS:
    MEANING[_name] = lambda attrs, a, b, w=_INTEGER_FUNCTIONS[_name], r=_FLOAT_FUNCTIONS[_name]: (
        elementwise(w, a, b) if is_int(a) else r(a, b)
    )
# Arithmetic on bools is logical: + is or, * is and, - is difference (`a and not b`), xor.
_BOOL_FUNCTIONS: dict[str, Any] = {"add": np.logical_or, "multiply": np.logical_and, "subtract": np.logical_xor}
for _name, _function in _BOOL_FUNCTIONS.items():
    MEANING[_name] = lambda attrs, a, b, t=_function, m=MEANING[_name]: (
        t(a, b) if a.dtype.kind == "b" else m(attrs, a, b)
    )
for _name, _compare in (
    ("equal", lambda a, b: a == b),
    ("not_equal", lambda a, b: a != b),
    ("less", lambda a, b: a < b),
    ("less_equal", lambda a, b: a <= b),
    ("greater", lambda a, b: a > b),
    ("greater_equal", lambda a, b: a >= b),
):
    MEANING[_name] = lambda attrs, a, b, f=_compare: f(a, b)
for _name, _bits in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
    MEANING[f"bitwise_{_name}"] = lambda attrs, a, b, f=_bits: elementwise(f, a, b)


def _shift(left: bool) -> Meaning:
    def meaning(attrs: Any, a: Any, b: Any) -> Any:
        if a.dtype.kind == "b":
            return a & ~b
        bits = a.dtype.itemsize * 8

        def shift(x: int, by: int) -> int:
            out_of_range = not 0 <= by < bits
            if left:
                return 0 if out_of_range else x << by
            return (-1 if x < 0 else 0) if out_of_range else x >> by

        return elementwise(shift, a, b)

    return meaning


MEANING["left_shift"], MEANING["right_shift"] = _shift(True), _shift(False)


@definition_of("where")
def where(attrs: Any, c: Any, x: Any, y: Any) -> Any:
    """Define `where`."""
    return np.where(c != 0, x, y)


# ---------------------------------------------------------------- dtypes
def _cast(x: Any, dtype: str) -> Any:
    target = array_dtype(dtype)
    if target.kind in "iu" and is_int(x):
        return elementwise(lambda v: v, x.astype(object).astype(x.dtype)).astype(target)
    if (target.kind in "iu" or "int" in target.name) and not is_int(x) and x.dtype.kind != "b":
        whole = np.empty(x.shape, object)
        whole.ravel()[:] = [_truncate(float(v), target.name) for v in x.ravel()]
        return wrap(whole, target)
    return x != 0 if target.kind == "b" else x.astype(target)


def _truncate(value: float, dtype: str) -> int:
    """Round a float towards zero; return 0 for values outside 64 bits."""
    if not math.isfinite(value):
        return 0
    return int(value) if -(2**63) <= int(value) < (2**64 if dtype == "uint64" else 2**63) else 0


MEANING["cast"] = lambda attrs, x: _cast(x, attrs.dtype)
MEANING["cast_like"] = lambda attrs, x, like: _cast(x, like.dtype.name)


@definition_of("reinterpret")
def reinterpret(attrs: Any, x: Any) -> Array:
    """Define `reinterpret`."""
    target = array_dtype(attrs.dtype)
    return np.frombuffer(x.astype(_STORED.get(target.name, x.dtype)).tobytes(), target).reshape(x.shape)


_STORED = {"int32": "float32"}  # the dtype of the tensor by that of the result, where it was passed as float64


@definition_of("hardswish")
def hardswish(attrs: Any, x: Any) -> Any:
    """Define `hardswish`."""
    return as_float64(x) * (np.minimum(np.maximum(as_float64(x) + 3, 0), 6) / 6)


@definition_of("fixed_point_multiply")
def fixed_point(attrs: Any, x: Any) -> Any:
    """Define `fixed_point_multiply`."""

    def multiply(v: int) -> int:
        shifted = v << attrs.shift if attrs.shift > 0 else v
        total = 31 - min(attrs.shift, 0)
        product: int = shifted * attrs.multiplier + (1 << (total - 1))  # half of 2**total: rounds to round_half_away
        return int(product >> total)

    return elementwise(multiply, x)


@definition_of("fixed_point_multiply_per_axis")
def fixed_point_per_axis(attrs: Any, x: Any, m: Any, left: Any, right: Any) -> Any:
    """Define `fixed_point_multiply_per_axis`."""

    def multiply(v: int, multiplier: int, up: int, down: int) -> int:
        up, down = up * attrs.is_lshift_required, down * attrs.is_rshift_required
        total = 31 + down
        product: int = (v << up) * multiplier + (1 << (total - 1))
        return product >> total

    shape = [x.shape[d] if d in [a % x.ndim for a in attrs.axes] else 1 for d in range(x.ndim)]
    return elementwise(multiply, x, m.reshape(shape), left.reshape(shape), right.reshape(shape))


@definition_of("relay.op.annotation.simulated_quantize")
def simulated_quantize(attrs: Any, x: Any, scale: Any, low: Any, high: Any) -> Any:
    """Define `relay.op.annotation.simulated_quantize`."""
    rounded = {"floor": np.floor, "ceil": np.ceil}.get(attrs.rounding, round_half_away)(as_float64(x) / scale)
    return np.minimum(np.maximum(rounded, low), high) * scale


# ---------------------------------------------------------------- creating tensors
MEANING["zeros"] = lambda attrs: np.zeros(attrs.shape)
MEANING["ones"] = lambda attrs: np.ones(attrs.shape)
MEANING["dyn.zeros"] = lambda attrs, shape: np.zeros(shape)
MEANING["dyn.ones"] = lambda attrs, shape: np.ones(shape)
MEANING["full"] = lambda attrs, v: np.full(attrs.shape, _cast(v, attrs.dtype) if attrs.dtype else v)
MEANING["full_like"] = lambda attrs, x, v: np.full(x.shape, _cast(v, x.dtype.name))
MEANING["dyn.full"] = lambda attrs, v, shape: np.full(shape, v)


def _arange(attrs: Any, start: Any, stop: Any, step: Any) -> Any:
    bounds: tuple[Any, ...] = start, stop, step
    if not all(isinstance(attrs[name], Constant) for name in ("start", "stop", "step")) and abs(step) >= 1:
        bounds = tuple(int(bound) for bound in bounds)  # Relay truncates bounds that are not constant
    return start + step * np.arange(len(np.arange(*bounds)))


MEANING["arange"] = _arange
MEANING["shape_of"] = MEANING["vm.shape_of"] = lambda attrs, x: np.array(x.shape)
MEANING["ndarray_size"] = lambda attrs, x: np.array(x.size)


def _one_hot(attrs: Any, i: Any, on: Any, off: Any, depth: Any) -> Array:
    result = np.empty((*i.shape, int(depth)), on.dtype)
    for at in np.ndindex(*result.shape):
        result[at] = on if i[at[:-1]] == at[-1] else off
    return np.moveaxis(result, -1, attrs.axis)


MEANING["one_hot"] = lambda attrs, i, on, off: _one_hot(attrs, i, on, off, attrs.depth)
MEANING["dyn.one_hot"] = _one_hot


@definition_of("meshgrid")
def meshgrid(attrs: Any, vectors: Any) -> Any:
    """Define `meshgrid`."""
    return tuple(np.meshgrid(*vectors, indexing=attrs.indexing))
