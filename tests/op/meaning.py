"""What each operator means, as plainly as NumPy or loops over elements can say it: the other half of the laws on values.

`MEANING[name](attrs, *arrays)` is the result of the operator `name`. Floating-point inputs of every width arrive as
float64 and the law rounds the result; integers and bools arrive as they are, and wrap. `Refused` is raised where the
operator must refuse its values. Nothing here may use a kernel of passlab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.op.dtypes import array_dtype

Meaning = Callable[..., Any]
MEANING: dict[str, Meaning] = {}


class Refused(Exception):
    """The operator must raise `RunError` here."""


def means(*names: str) -> Callable[[Meaning], Meaning]:
    """Enter a definition under the names of the operators it defines."""

    def entered(function: Meaning) -> Meaning:
        for name in names:
            assert name not in MEANING, name
            MEANING[name] = function
        return function

    return entered


def wide(x: Any) -> Any:
    return np.asarray(x).astype(np.float64)


def wrapped(values: Any, dtype: Any) -> Any:
    """Python integers of any size as the integers of a dtype that they wrap to."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.asarray(values, object).astype(bool)
    bits = kind.itemsize * 8
    flat = [int(v) % 2**bits for v in np.asarray(values, object).ravel()]
    return np.array(flat, f"uint{bits}").astype(kind).reshape(np.shape(values))


def is_int(x: Any) -> bool:
    return x.dtype.kind in "iub"


def each(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of Python integers, element by element, broadcast and wrapped."""
    spread = np.broadcast_arrays(*arrays)
    flat = [function(*(int(v) for v in values)) for values in zip(*(s.ravel() for s in spread), strict=True)]
    made = np.empty(spread[0].shape, object)
    made.ravel()[:] = flat
    return wrapped(made, arrays[0].dtype)


# ---------------------------------------------------------------- one element at a time
_FUNCTIONS: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "fast_exp": np.exp,
    "fast_tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf, otypes=[float]), "fast_erf": np.vectorize(math.erf, otypes=[float]),
}  # fmt: skip
for _name, _function in _FUNCTIONS.items():
    MEANING[_name] = lambda attrs, x, f=_function: f(wide(x))
for _name, _function in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.rint)):
    MEANING[_name] = lambda attrs, x, f=_function: x if is_int(x) else f(x)
MEANING["negative"] = lambda attrs, x: x if x.dtype.kind == "b" else -x
MEANING["abs"] = lambda attrs, x: np.abs(x)
MEANING["sign"] = lambda attrs, x: x if x.dtype.kind == "b" else np.sign(x)
MEANING["bitwise_not"] = lambda attrs, x: ~x
MEANING["logical_not"] = lambda attrs, x: x == 0
MEANING["isnan"] = lambda attrs, x: x != x
MEANING["isinf"] = lambda attrs, x: np.abs(wide(x)) == np.inf
MEANING["isfinite"] = lambda attrs, x: np.abs(wide(x)) < np.inf
MEANING["zeros_like"] = lambda attrs, x: np.zeros(x.shape)
MEANING["ones_like"] = lambda attrs, x: np.ones(x.shape)
for _name in (
    "copy", "annotation.bitpack_start", "annotation.bitpack_end", "annotation.checkpoint", "annotation.stop_fusion",
    "annotation.cast_hint", "annotation.compiler_begin", "annotation.compiler_end", "device_copy", "on_device",
):  # fmt: skip
    MEANING[_name] = lambda attrs, x: x


@means("clip")
def clip(attrs: Any, x: Any) -> Any:
    if is_int(x):
        info = np.iinfo(x.dtype) if x.dtype.kind != "b" else None
        ends = (0, 1) if info is None else (int(info.min), int(info.max))
        low, high = (min(max(int(b), ends[0]), ends[1]) for b in (attrs.a_min, attrs.a_max))
        return each(lambda v: min(max(v, low), high), x)
    return np.minimum(np.maximum(x, attrs.a_min), attrs.a_max)


# ---------------------------------------------------------------- two elements at a time
def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise Refused
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor(a: int, b: int) -> int:
    if b == 0:
        raise Refused
    return a // b


def _power(a: int, b: int) -> int:
    if b >= 0:
        return a**b if abs(a) < 2 or b < 64 else 0 if a % 2 == 0 else pow(a, b, 2**64)
    if a == 0:
        raise Refused
    return 0 if abs(a) > 1 else a if b % 2 else 1


_WHOLE: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "maximum": max,
    "minimum": min, "divide": _quotient, "trunc_divide": _quotient, "mod": lambda a, b: a - _quotient(a, b) * b,
    "trunc_mod": lambda a, b: a - _quotient(a, b) * b, "floor_divide": _floor, "floor_mod": lambda a, b: a - _floor(a, b) * b,
    "power": _power, "logical_and": lambda a, b: int(a != 0 and b != 0), "logical_or": lambda a, b: int(a != 0 or b != 0),
    "logical_xor": lambda a, b: int((a != 0) != (b != 0)),
}  # fmt: skip
_REAL: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "divide": np.divide, "trunc_divide": lambda a, b: np.trunc(a / b), "mod": np.fmod, "trunc_mod": np.fmod,
    "floor_divide": np.floor_divide, "floor_mod": np.mod, "power": np.power, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip
for _name in _WHOLE:
    MEANING[_name] = lambda attrs, a, b, w=_WHOLE[_name], r=_REAL[_name]: each(w, a, b) if is_int(a) else r(a, b)
# On bools arithmetic is that of truth: + is or, * is and, - is their difference (one and not the other way: xor).
_TRUTH: dict[str, Any] = {"add": np.logical_or, "multiply": np.logical_and, "subtract": np.logical_xor}
for _name, _function in _TRUTH.items():
    MEANING[_name] = lambda attrs, a, b, t=_function, m=MEANING[_name]: (
        t(a, b) if a.dtype.kind == "b" else m(attrs, a, b)
    )
for _name, _ask in (
    ("equal", lambda a, b: a == b), ("not_equal", lambda a, b: a != b), ("less", lambda a, b: a < b),
    ("less_equal", lambda a, b: a <= b), ("greater", lambda a, b: a > b), ("greater_equal", lambda a, b: a >= b),
):  # fmt: skip
    MEANING[_name] = lambda attrs, a, b, f=_ask: f(a, b)
for _name, _bits in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
    MEANING[f"bitwise_{_name}"] = lambda attrs, a, b, f=_bits: each(f, a, b)


def _shifted(left: bool) -> Meaning:
    def meaning(attrs: Any, a: Any, b: Any) -> Any:
        if a.dtype.kind == "b":
            return a & ~b
        bits = a.dtype.itemsize * 8

        def one(x: int, by: int) -> int:
            far = not 0 <= by < bits
            if left:
                return 0 if far else x << by
            return (-1 if x < 0 else 0) if far else x >> by

        return each(one, a, b)

    return meaning


MEANING["left_shift"], MEANING["right_shift"] = _shifted(True), _shifted(False)


@means("where")
def where(attrs: Any, c: Any, x: Any, y: Any) -> Any:
    return np.where(c != 0, x, y)


# ---------------------------------------------------------------- dtypes
def _as(x: Any, dtype: str) -> Any:
    kind = array_dtype(dtype)
    if kind.kind in "iu" and is_int(x):
        return each(lambda v: v, x.astype(object).astype(x.dtype)).astype(kind)
    return x != 0 if kind.kind == "b" else x.astype(kind)


MEANING["cast"] = lambda attrs, x: _as(x, attrs.dtype)
MEANING["cast_like"] = lambda attrs, x, like: _as(x, like.dtype.name)


@means("reinterpret")
def reinterpret(attrs: Any, x: Any) -> Any:
    kind = array_dtype(attrs.dtype)
    return np.frombuffer(x.astype(_STORED.get(kind.name, x.dtype)).tobytes(), kind).reshape(x.shape)


_STORED = {"int32": "float32"}  # the edge cases that arrive widened


@means("hardswish")
def hardswish(attrs: Any, x: Any) -> Any:
    return wide(x) * (np.minimum(np.maximum(wide(x) + 3, 0), 6) / 6)


@means("fixed_point_multiply")
def fixed_point(attrs: Any, x: Any) -> Any:
    def one(v: int) -> int:
        moved = v << attrs.shift if attrs.shift > 0 else v
        total = 31 - min(attrs.shift, 0)
        return (moved * attrs.multiplier + (1 << (total - 1))) >> total

    return each(one, x)


@means("fixed_point_multiply_per_axis")
def fixed_point_per_axis(attrs: Any, x: Any, m: Any, left: Any, right: Any) -> Any:
    def one(v: int, by: int, up: int, down: int) -> int:
        up, down = up * attrs.is_lshift_required, down * attrs.is_rshift_required
        total = 31 + down
        return ((v << up) * by + (1 << (total - 1))) >> total

    shape = [x.shape[d] if d in [a % x.ndim for a in attrs.axes] else 1 for d in range(x.ndim)]
    return each(one, x, m.reshape(shape), left.reshape(shape), right.reshape(shape))


@means("relay.op.annotation.simulated_quantize")
def simulated_quantize(attrs: Any, x: Any, scale: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(np.rint(wide(x) / scale), low), high) * scale


# ---------------------------------------------------------------- making tensors
MEANING["zeros"] = lambda attrs: np.zeros(attrs.shape)
MEANING["ones"] = lambda attrs: np.ones(attrs.shape)
MEANING["dyn.zeros"] = lambda attrs, shape: np.zeros(shape)
MEANING["dyn.ones"] = lambda attrs, shape: np.ones(shape)
MEANING["full"] = lambda attrs, v: np.full(attrs.shape, _as(v, attrs.dtype) if attrs.dtype else v)
MEANING["full_like"] = lambda attrs, x, v: np.full(x.shape, v)
MEANING["dyn.full"] = lambda attrs, v, shape: np.full(shape, v)
MEANING["arange"] = lambda attrs, start, stop, step: np.arange(start, stop, step)
MEANING["shape_of"] = MEANING["vm.shape_of"] = lambda attrs, x: np.array(x.shape)
MEANING["ndarray_size"] = lambda attrs, x: np.array(x.size)


def _one_hot(attrs: Any, i: Any, on: Any, off: Any, depth: Any) -> Any:
    made = np.empty((*i.shape, int(depth)), on.dtype)
    for at in np.ndindex(*made.shape):
        made[at] = on if i[at[:-1]] == at[-1] else off
    return np.moveaxis(made, -1, attrs.axis)


MEANING["one_hot"] = lambda attrs, i, on, off: _one_hot(attrs, i, on, off, attrs.depth)
MEANING["dyn.one_hot"] = _one_hot


@means("meshgrid")
def meshgrid(attrs: Any, vectors: Any) -> Any:
    return tuple(np.meshgrid(*vectors, indexing=attrs.indexing))


# ---------------------------------------------------------------- shape
def _like_got(attrs: Any, x: Any, *_: Any) -> Any:
    """Reshapes keep the order of elements; that the shape is right is the relation's law, which has its own cases."""
    return x.ravel()


for _name in (
    "reshape", "contrib_reverse_reshape", "reshape_like", "squeeze", "expand_dims", "dyn.reshape", "dyn.squeeze",
    "dyn.expand_dims", "vm.reshape_tensor", "nn.batch_flatten",
):  # fmt: skip
    MEANING[_name] = _like_got
SHAPE_FROM_RELATION = {name for name, meaning in MEANING.items() if meaning is _like_got}

MEANING["transpose"] = lambda attrs, x: np.transpose(x, attrs.axes)
MEANING["reverse"] = lambda attrs, x: np.flip(x, attrs.axis)
MEANING["concatenate"] = lambda attrs, parts: np.concatenate(parts, attrs.axis)
MEANING["stack"] = lambda attrs, parts: np.stack(parts, attrs.axis)


@means("layout_transform")
def layout_transform(attrs: Any, x: Any) -> Any:
    plain = attrs.src_layout
    if attrs.dst_layout == "NCHW2c":
        n, c, h, w = x.shape
        return x.reshape(n, c // 2, 2, h, w).transpose(0, 1, 3, 4, 2)
    return x.transpose([plain.index(axis) for axis in attrs.dst_layout])


@means("split")
def split(attrs: Any, x: Any) -> Any:
    return tuple(np.split(x, list(v) if isinstance(v := attrs.indices_or_sections, tuple) else v, attrs.axis))


@means("reverse_sequence")
def reverse_sequence(attrs: Any, x: Any, lengths: Any) -> Any:
    made = x.copy()
    for at in np.ndindex(*x.shape):
        length = min(int(lengths[at[attrs.batch_axis]]), x.shape[attrs.seq_axis])
        if at[attrs.seq_axis] < length:
            source = list(at)
            source[attrs.seq_axis] = length - 1 - at[attrs.seq_axis]
            made[at] = x[tuple(source)]
    return made


def _cut(x: Any, begin: Any, end: Any, strides: Any, attrs: Any) -> Any:
    parts = [slice(None)] * x.ndim
    axes = attrs.axes if getattr(attrs, "axes", None) is not None else range(len(begin))
    for number, axis in enumerate(axes):
        step = int(strides[number]) if len(strides) > 1 else int(strides[0])
        first, last = int(begin[number]), int(end[number])
        if getattr(attrs, "slice_mode", "end") == "size":
            parts[axis] = slice(first, first + last if last >= 0 else None)
        else:
            parts[axis] = slice(first, last, step)
            if step < 0 and last < -x.shape[axis]:
                parts[axis] = slice(first, None, step)
    return tuple(parts)


MEANING["strided_slice"] = lambda attrs, x: x[_cut(x, attrs.begin, attrs.end, attrs.strides, attrs)]
MEANING["dyn.strided_slice"] = lambda attrs, x, b, e, s: x[_cut(x, b, e, s, attrs)]


@means("strided_set")
def strided_set(attrs: Any, x: Any, v: Any, begin: Any, end: Any, strides: Any) -> Any:
    made = x.copy()
    made[_cut(x, begin, end, strides, None)] = v
    return made


@means("slice_like")
def slice_like(attrs: Any, x: Any, y: Any) -> Any:
    axes = [a % x.ndim for a in attrs.axes] if attrs.axes else range(y.ndim)
    return x[tuple(slice(0, y.shape[d]) if d in axes else slice(None) for d in range(x.ndim))]


MEANING["broadcast_to"] = lambda attrs, x: np.broadcast_to(x, attrs.shape)
MEANING["broadcast_to_like"] = lambda attrs, x, y: np.broadcast_to(x, y.shape)
MEANING["dyn.broadcast_to"] = lambda attrs, x, shape: np.broadcast_to(x, shape)
MEANING["tile"] = lambda attrs, x: np.tile(x, attrs.reps)
MEANING["dyn.tile"] = lambda attrs, x, reps: np.tile(x, reps)
MEANING["repeat"] = lambda attrs, x: np.repeat(x, attrs.repeats, attrs.axis)


def _collapse(x: Any, shape: Sequence[int]) -> Any:
    axes = [d for d in range(x.ndim) if (k := d - x.ndim + len(shape)) < 0 or shape[k] == 1 != x.shape[d]]
    return np.sum(x, tuple(axes), dtype=x.dtype).reshape(tuple(shape))


MEANING["collapse_sum_like"] = lambda attrs, x, y: _collapse(x, y.shape)
MEANING["collapse_sum_to"] = lambda attrs, x, shape: _collapse(x, [int(n) for n in shape])


@means("sliding_window")
def sliding_window(attrs: Any, x: Any) -> Any:
    axis = attrs.axis % x.ndim
    view = np.lib.stride_tricks.sliding_window_view(
        x, attrs.window_shape, tuple(range(axis, axis + len(attrs.window_shape)))
    )
    return view[tuple([slice(None)] * axis + [slice(None, None, s) for s in attrs.strides])]


@means("trilu")
def trilu(attrs: Any, x: Any, k: Any) -> Any:
    made = x.copy()
    for at in np.ndindex(*x.shape):
        above = at[-1] - at[-2]
        if above < k if attrs.upper else above > k:
            made[at] = 0
    return made


@means("matrix_set_diag")
def matrix_set_diag(attrs: Any, x: Any, d: Any) -> Any:
    made, (rows, columns) = x.copy(), x.shape[-2:]
    for k in range(attrs.k1, attrs.k2 + 1):
        row = d if attrs.k1 == attrs.k2 else d[..., attrs.k2 - k, :]
        places = [(i, i + k) for i in range(rows) if 0 <= i + k < columns]
        right = attrs.super_diag_right_align if k > 0 else attrs.sub_diag_right_align if k < 0 else False
        start = row.shape[-1] - len(places) if right else 0
        for number, (i, j) in enumerate(places):
            made[..., i, j] = row[..., start + number]
    return made


# ---------------------------------------------------------------- reductions
def _axes(attrs: Any, rank: int) -> tuple[int, ...]:
    named = range(rank) if attrs.axis is None else [a % rank for a in attrs.axis]
    return tuple(d for d in range(rank) if (d in named) != (attrs.exclude and attrs.axis is not None))


def _reduced(function: Callable[..., Any]) -> Meaning:
    return lambda attrs, x: function(x, axis=_axes(attrs, x.ndim), keepdims=attrs.keepdims)


MEANING["sum"] = _reduced(lambda x, **how: np.sum(x, dtype=x.dtype, **how))
MEANING["prod"] = _reduced(lambda x, **how: np.prod(x, dtype=x.dtype, **how))
MEANING["max"] = _reduced(np.max)
MEANING["min"] = _reduced(np.min)
MEANING["all"] = _reduced(np.all)
MEANING["any"] = _reduced(np.any)


@means("mean")
def mean(attrs: Any, x: Any) -> Any:
    axes = _axes(attrs, x.ndim)
    if not is_int(x):
        return np.mean(x, axis=axes, keepdims=attrs.keepdims)
    total, count = np.sum(x, axis=axes, dtype=x.dtype, keepdims=attrs.keepdims), math.prod(x.shape[d] for d in axes)
    return each(lambda v: _quotient(v, count), np.asarray(total))


@means("variance")
def variance(attrs: Any, x: Any, center: Any) -> Any:
    axes = _axes(attrs, x.ndim)
    count = math.prod(x.shape[d] for d in axes) - attrs.unbiased
    if is_int(x):
        apart = each(lambda v, c: (v - c) ** 2, x, np.broadcast_to(center, x.shape))
        total = np.sum(apart, axis=axes, dtype=x.dtype, keepdims=attrs.keepdims)
        return each(lambda v: _quotient(v, count), np.asarray(total))
    return np.sum((x - center) ** 2, axis=axes, keepdims=attrs.keepdims) / count


def _position(best: Callable[[Any], Any]) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Any:
        axes = _axes(attrs, x.ndim)
        kept = [d for d in range(x.ndim) if d not in axes]
        rows = x.transpose(*kept, *axes).reshape([x.shape[d] for d in kept] + [math.prod(x.shape[d] for d in axes)])
        made = np.zeros(rows.shape[:-1], np.int64)
        for at in np.ndindex(*made.shape):
            made[at] = best(list(rows[at]))
        return made.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if attrs.keepdims else made

    return meaning


def _first_nan(row: list[Any]) -> int | None:
    return next((i for i, v in enumerate(row) if v != v), None)


MEANING["argmax"] = _position(lambda row: n if (n := _first_nan(row)) is not None else row.index(max(row)))
MEANING["argmin"] = _position(lambda row: n if (n := _first_nan(row)) is not None else row.index(min(row)))


def _scan(function: Any, start: int) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Any:
        rows = x.ravel() if attrs.axis is None else x
        axis = attrs.axis or 0
        kind = array_dtype(attrs.dtype) if attrs.dtype else rows.dtype
        rows = rows.astype(kind if kind.kind != "f" or attrs.dtype else rows.dtype)
        moved = np.moveaxis(rows, axis, 0)
        made = np.empty_like(moved)
        so_far = np.full(moved.shape[1:], start, rows.dtype)
        for i in range(len(moved)):
            before, so_far = so_far, function(so_far, moved[i])
            made[i] = before if attrs.exclusive else so_far
        return np.moveaxis(made, 0, axis)

    return meaning


MEANING["cumsum"], MEANING["cumprod"] = _scan(np.add, 0), _scan(np.multiply, 1)


# ---------------------------------------------------------------- indices
@means("take")
def take(attrs: Any, x: Any, i: Any) -> Any:
    flat = x.ravel() if attrs.axis is None else x
    axis = 0 if attrs.axis is None else attrs.axis % x.ndim
    size = flat.shape[axis]
    places = np.mod(i, size) if attrs.mode == "wrap" else np.clip(i, 0, size - 1)
    if not attrs.batch_dims:
        return flat[(slice(None),) * axis + (places,)]
    return np.stack([take_one(x[b], places[b], axis - 1) for b in range(len(x))])


def take_one(x: Any, places: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (places,)]


@means("gather")
def gather(attrs: Any, x: Any, i: Any) -> Any:
    made = np.empty(i.shape, x.dtype)
    for at in np.ndindex(*i.shape):
        source = list(at)
        source[attrs.axis] = int(i[at])
        made[at] = x[tuple(source)]
    return made


@means("gather_nd")
def gather_nd(attrs: Any, x: Any, i: Any) -> Any:
    if attrs.batch_dims:
        return np.stack([x[b][tuple(i[:, b])] for b in range(len(x))])
    return x[tuple(i)] if len(i) else np.broadcast_to(x, (*i.shape[1:], *x.shape))


MEANING["adv_index"] = lambda attrs, parts: parts[0][tuple(parts[1:])]
MEANING["argwhere"] = lambda attrs, c: np.argwhere(c)
MEANING["unravel_index"] = lambda attrs, i, shape: np.stack(np.unravel_index(i, tuple(shape)))
MEANING["invert_permutation"] = lambda attrs, p: np.array([list(p).index(i) for i in range(len(p))])


def _combined(old: Any, new: Any, how: str) -> Any:
    if how == "update":
        return new
    if how in ("max", "min"):
        return (np.maximum if how == "max" else np.minimum)(old, new)
    with np.errstate(over="ignore"):
        return old + new if how == "add" else old * new


@means("scatter", "scatter_elements")
def scatter_elements(attrs: Any, x: Any, i: Any, u: Any) -> Any:
    made = x.copy()
    for at in np.ndindex(*i.shape):
        to = list(at)
        to[attrs.axis] = int(i[at])
        made[tuple(to)] = _combined(made[tuple(to)], u[at], getattr(attrs, "reduction", "update"))
    return made


@means("scatter_nd")
def scatter_nd(attrs: Any, x: Any, i: Any, u: Any) -> Any:
    made = x.copy()
    for at in np.ndindex(*i.shape[1:]):
        to = tuple(int(v) for v in i[(slice(None), *at)])
        made[to] = _combined(made[to], u[at], attrs.mode)
    return made


@means("sequence_mask")
def sequence_mask(attrs: Any, x: Any, lengths: Any) -> Any:
    made = x.copy()
    for at in np.ndindex(*x.shape):
        if at[attrs.axis] >= lengths[at[1 - attrs.axis]]:
            made[at] = np.asarray(attrs.mask_value).astype(x.dtype)
    return made


def _dense(i: Any, v: Any, default: Any, shape: Any) -> Any:
    made = np.full([int(n) for n in shape], default)
    rows = i.reshape(-1, 1) if i.ndim < 2 else i
    for row, value in zip(rows, np.broadcast_to(v, (len(rows),)), strict=True):
        made[tuple(int(n) for n in row)] = value
    return made


MEANING["sparse_to_dense"] = lambda attrs, i, v, default: _dense(i, v, default, attrs.output_shape)
MEANING["dyn.sparse_to_dense"] = lambda attrs, i, v, default, shape: _dense(i, v, default, shape)


@means("sparse_reshape")
def sparse_reshape(attrs: Any, i: Any, old: Any, new: Any) -> Any:
    size = math.prod(int(n) for n in old)
    given = math.prod(int(n) for n in new if n != -1)
    shape = [size // given if n == -1 else int(n) for n in new]
    rows = [np.unravel_index(np.ravel_multi_index(tuple(int(n) for n in row), tuple(old)), shape) for row in i]
    return np.array(rows, i.dtype).reshape(len(i), len(new)), np.array(shape)


@means("sparse_fill_empty_rows")
def sparse_fill_empty_rows(attrs: Any, i: Any, v: Any, shape: Any, default: Any) -> Any:
    rows: list[tuple[Any, Any]] = []
    empty = []
    for row in range(int(shape[0])):
        mine = [(list(place), value) for place, value in zip(i.tolist(), v, strict=True) if place[0] == row]
        empty.append(not mine)
        rows += mine or [([row, 0], default[0])]
    return np.array([r[0] for r in rows]).reshape(-1, 2), np.array([r[1] for r in rows]), np.array(empty)


# ---------------------------------------------------------------- sorting: NaN is the largest
def _order(row: Any, ascending: bool) -> list[int]:
    key = (
        (lambda n: (row[n] != row[n], row[n]))
        if ascending
        else (lambda n: (row[n] == row[n], -wide(row[n]) if not is_int(row) else -int(row[n])))
    )
    return sorted(range(len(row)), key=lambda n: key(n) if row[n] == row[n] else (key(n)[0], 0))


def _orders(x: Any, axis: int, ascending: bool) -> Any:
    moved = np.moveaxis(x, axis, -1)
    made = np.zeros(moved.shape, np.int64)
    for at in np.ndindex(*moved.shape[:-1]):
        made[at] = _order(moved[at], ascending)
    return made, moved


@means("argsort")
def argsort(attrs: Any, x: Any) -> Any:
    return np.moveaxis(_orders(x, attrs.axis, attrs.is_ascend)[0], -1, attrs.axis)


@means("sort")
def sort(attrs: Any, x: Any) -> Any:
    places, moved = _orders(x, attrs.axis, attrs.is_ascend)
    return np.moveaxis(np.take_along_axis(moved, places, -1), -1, attrs.axis)


def _topk(attrs: Any, x: Any, k: Any) -> Any:
    places, moved = _orders(x, attrs.axis, attrs.is_ascend)
    places = places[..., : int(k)] if k >= 1 else places
    values = np.moveaxis(np.take_along_axis(moved, places, -1), -1, attrs.axis)
    places = np.moveaxis(places, -1, attrs.axis)
    return {"both": (values, places), "values": values, "indices": places}[attrs.ret_type]


MEANING["topk"] = lambda attrs, x: _topk(attrs, x, attrs.k)
MEANING["dyn.topk"] = _topk


@means("searchsorted")
def searchsorted(attrs: Any, rows: Any, values: Any) -> Any:
    made = np.zeros(values.shape, np.int64)
    for at in np.ndindex(*values.shape):
        row = rows if rows.ndim == 1 else rows[at[:-1]]
        made[at] = sum(bool(v <= values[at] if attrs.right else v < values[at]) for v in row)
    return made


@means("unique")
def unique(attrs: Any, x: Any) -> Any:
    seen = list(dict.fromkeys(x.tolist()))
    values = sorted(seen) if attrs.sorted else seen
    all_ = x.tolist()
    made = (
        np.array(values, x.dtype), np.array([all_.index(v) for v in values]), np.array([values.index(v) for v in all_]),
        np.array([len(values)]),
    )  # fmt: skip
    return (*made, np.array([all_.count(v) for v in values])) if attrs.return_counts else made


# ---------------------------------------------------------------- products and transforms
@means("einsum")
def einsum(attrs: Any, parts: Any) -> Any:
    if all(p.dtype.kind == "b" for p in parts):
        return np.einsum(attrs.equation, *(p.astype(np.int64) for p in parts)) != 0
    return np.einsum(attrs.equation, *parts)


def _fourier(x: Any, sign: int) -> Any:
    count = x.shape[-1]
    n = np.arange(count)
    return (x[..., None, :] * np.exp(sign * 2j * np.pi * n[:, None] * n / count)).sum(-1)


@means("dft")
def dft(attrs: Any, re: Any, im: Any) -> Any:
    made = _fourier(wide(re) + 1j * wide(im), 1 if attrs.inverse else -1)
    made = made / re.shape[-1] if attrs.inverse else made
    return made.real, made.imag


@means("stft")
def stft(attrs: Any, x: Any, window: Any) -> Any:
    starts = range(0, x.shape[-1] - attrs.n_fft + 1, attrs.hop_length)
    pad = (attrs.n_fft - attrs.win_length) // 2
    taper = np.pad(wide(window), (pad, attrs.n_fft - attrs.win_length - pad))
    frames = [_fourier(wide(x)[..., s : s + attrs.n_fft] * taper, -1) for s in starts]
    made = np.stack(frames, -1) / (math.sqrt(attrs.n_fft) if attrs.normalized else 1)
    made = made[..., : attrs.n_fft // 2 + 1, :] if attrs.onesided else made
    return np.stack([made.real, made.imag], -1)
