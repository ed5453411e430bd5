"""Definitions of the operators that reshape, reduce, gather, scatter, sort, multiply and transform; see `elements`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, Meaning, _quotient, each, is_int, means, wide
from passlab.op.dtypes import Array, array_dtype

# ---------------------------------------------------------------- shape
MEANING["transpose"] = lambda attrs, x: np.transpose(x, attrs.axes)
MEANING["reverse"] = lambda attrs, x: np.flip(x, attrs.axis)
MEANING["concatenate"] = lambda attrs, parts: np.concatenate(parts, attrs.axis)
MEANING["stack"] = lambda attrs, parts: np.stack(parts, attrs.axis)


@means("layout_transform")
def layout_transform(attrs: Any, x: Any) -> Any:
    """Define `layout_transform`."""
    plain = attrs.src_layout
    if attrs.dst_layout == "NCHW2c":
        n, c, h, w = x.shape
        return x.reshape(n, c // 2, 2, h, w).transpose(0, 1, 3, 4, 2)
    return x.transpose([plain.index(axis) for axis in attrs.dst_layout])


@means("split")
def split(attrs: Any, x: Any) -> Any:
    """Define `split`."""
    return tuple(np.split(x, list(v) if isinstance(v := attrs.indices_or_sections, tuple) else v, attrs.axis))


@means("reverse_sequence")
def reverse_sequence(attrs: Any, x: Any, lengths: Any) -> Any:
    """Define `reverse_sequence`."""
    result = x.copy()
    for at in np.ndindex(*x.shape):
        length = min(int(lengths[at[attrs.batch_axis]]), x.shape[attrs.seq_axis])
        if at[attrs.seq_axis] < length:
            source = list(at)
            source[attrs.seq_axis] = length - 1 - at[attrs.seq_axis]
            result[at] = x[tuple(source)]
    return result


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
    """Define `strided_set`."""
    result = x.copy()
    result[_cut(x, begin, end, strides, None)] = v
    return result


@means("slice_like")
def slice_like(attrs: Any, x: Any, y: Any) -> Any:
    """Define `slice_like`."""
    axes = [a % x.ndim for a in attrs.axes] if attrs.axes else range(y.ndim)
    return x[tuple(slice(0, y.shape[d]) if d in axes else slice(None) for d in range(x.ndim))]


MEANING["broadcast_to"] = lambda attrs, x: np.broadcast_to(x, attrs.shape)
MEANING["broadcast_to_like"] = lambda attrs, x, y: np.broadcast_to(x, y.shape)
MEANING["dyn.broadcast_to"] = lambda attrs, x, shape: np.broadcast_to(x, shape)
MEANING["tile"] = lambda attrs, x: np.tile(x, attrs.reps)
MEANING["dyn.tile"] = lambda attrs, x, reps: np.tile(x, [int(count) for count in np.asarray(reps)])
MEANING["repeat"] = lambda attrs, x: np.repeat(x, attrs.repeats, attrs.axis)


def _collapse(x: Any, shape: Sequence[int]) -> Any:
    axes = [d for d in range(x.ndim) if (k := d - x.ndim + len(shape)) < 0 or shape[k] == 1 != x.shape[d]]
    return np.sum(x, tuple(axes), dtype=x.dtype).reshape(tuple(shape))


MEANING["collapse_sum_like"] = lambda attrs, x, y: _collapse(x, y.shape)
MEANING["collapse_sum_to"] = lambda attrs, x, shape: _collapse(x, [int(n) for n in shape])


@means("sliding_window")
def sliding_window(attrs: Any, x: Any) -> Array:
    """Define `sliding_window`."""
    axis = attrs.axis % x.ndim
    view = np.lib.stride_tricks.sliding_window_view(
        x, attrs.window_shape, tuple(range(axis, axis + len(attrs.window_shape)))
    )
    return view[tuple([slice(None)] * axis + [slice(None, None, s) for s in attrs.strides])]


@means("trilu")
def trilu(attrs: Any, x: Any, k: Any) -> Any:
    """Define `trilu`."""
    result = x.copy()
    for at in np.ndindex(*x.shape):
        above = at[-1] - at[-2]
        if above < k if attrs.upper else above > k:
            result[at] = 0
    return result


@means("matrix_set_diag")
def matrix_set_diag(attrs: Any, x: Any, d: Any) -> Any:
    """Define `matrix_set_diag`."""
    result, (rows, columns) = x.copy(), x.shape[-2:]
    for k in range(attrs.k1, attrs.k2 + 1):
        row = d if attrs.k1 == attrs.k2 else d[..., attrs.k2 - k, :]
        positions = [(i, i + k) for i in range(rows) if 0 <= i + k < columns]
        right = attrs.super_diag_right_align if k > 0 else attrs.sub_diag_right_align if k < 0 else False
        start = row.shape[-1] - len(positions) if right else 0
        for number, (i, j) in enumerate(positions):
            result[..., i, j] = row[..., start + number]
    return result


# ---------------------------------------------------------------- reductions
def _axes(attrs: Any, rank: int) -> tuple[int, ...]:
    named = range(rank) if attrs.axis is None else [a % rank for a in attrs.axis]
    return tuple(d for d in range(rank) if (d in named) != (attrs.exclude and attrs.axis is not None))


def _reduce_axes(function: Callable[..., Any]) -> Meaning:
    return lambda attrs, x: function(x, axis=_axes(attrs, x.ndim), keepdims=attrs.keepdims)


MEANING["sum"] = _reduce_axes(lambda x, **how: np.sum(x, dtype=x.dtype, **how))
MEANING["prod"] = _reduce_axes(lambda x, **how: np.prod(x, dtype=x.dtype, **how))
MEANING["max"] = _reduce_axes(np.max)
MEANING["min"] = _reduce_axes(np.min)
MEANING["all"] = _reduce_axes(np.all)
MEANING["any"] = _reduce_axes(np.any)


@means("mean")
def mean(attrs: Any, x: Any) -> Any:
    """Define `mean`."""
    axes = _axes(attrs, x.ndim)
    if not is_int(x):
        return np.mean(x, axis=axes, keepdims=attrs.keepdims)
    total, count = np.sum(x, axis=axes, dtype=x.dtype, keepdims=attrs.keepdims), math.prod(x.shape[d] for d in axes)
    return each(lambda v: _quotient(v, count), np.asarray(total))


@means("variance")
def variance(attrs: Any, x: Any, center: Any) -> Any:
    """Define `variance`."""
    axes = _axes(attrs, x.ndim)
    count = math.prod(x.shape[d] for d in axes) - attrs.unbiased
    if is_int(x):
        apart = each(lambda v, c: (v - c) ** 2, x, np.broadcast_to(center, x.shape))
        total = np.sum(apart, axis=axes, dtype=x.dtype, keepdims=attrs.keepdims)
        return each(lambda v: _quotient(v, count), np.asarray(total))
    return np.sum((x - center) ** 2, axis=axes, keepdims=attrs.keepdims) / count


def _position(best: Callable[[Any], Any]) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Array:
        axes = _axes(attrs, x.ndim)
        stay = [d for d in range(x.ndim) if d not in axes]
        rows = x.transpose(*stay, *axes).reshape([x.shape[d] for d in stay] + [math.prod(x.shape[d] for d in axes)])
        result = np.zeros(rows.shape[:-1], np.int64)
        for at in np.ndindex(*result.shape):
            row = list(rows[at])
            position = best(row)
            result[at] = (
                len(row) - 1 - row[::-1].index(row[position])
                if attrs.select_last_index and row[position] == row[position]
                else position
            )
        return result.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if attrs.keepdims else result

    return meaning


def _first_nan(row: list[Any]) -> int | None:
    return next((i for i, v in enumerate(row) if v != v), None)


MEANING["argmax"] = _position(lambda row: n if (n := _first_nan(row)) is not None else row.index(max(row)))
MEANING["argmin"] = _position(lambda row: n if (n := _first_nan(row)) is not None else row.index(min(row)))


def _scan(function: Any, start: int) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Array:
        rows = x.ravel() if attrs.axis is None else x
        axis = attrs.axis or 0
        kind = array_dtype(attrs.dtype) if attrs.dtype else rows.dtype
        rows = rows.astype(kind if kind.kind != "f" or attrs.dtype else rows.dtype)
        moved = np.moveaxis(rows, axis, 0)
        result = np.empty_like(moved)
        so_far = np.full(moved.shape[1:], start, rows.dtype)
        for i in range(len(moved)):
            before, so_far = so_far, function(so_far, moved[i])
            result[i] = before if attrs.exclusive else so_far
        return np.moveaxis(result, 0, axis)

    return meaning


MEANING["cumsum"], MEANING["cumprod"] = _scan(np.add, 0), _scan(np.multiply, 1)


# ---------------------------------------------------------------- indices
@means("take")
def take(attrs: Any, x: Any, i: Any) -> Any:
    """Define `take`."""
    flat = x.ravel() if attrs.axis is None else x
    axis = 0 if attrs.axis is None else attrs.axis % x.ndim
    size = flat.shape[axis]
    positions = np.clip(i, 0, size - 1) if attrs.mode == "clip" else np.mod(i, size)
    if attrs.axis is None or not attrs.batch_dims:
        return flat[(slice(None),) * axis + (positions,)]
    batch = x.shape[: attrs.batch_dims]
    rows = [take_one(x[at], positions[at], axis - len(batch)) for at in np.ndindex(*batch)]
    return np.stack(rows).reshape(*batch, *rows[0].shape)


def take_one(x: Any, positions: Any, axis: int) -> Any:
    """Return the elements at some indices along an axis."""
    return x[(slice(None),) * axis + (positions,)]


@means("gather")
def gather(attrs: Any, x: Any, i: Any) -> Any:
    """Define `gather`."""
    result = np.empty(i.shape, x.dtype)
    for at in np.ndindex(*i.shape):
        source = list(at)
        source[attrs.axis] = int(i[at])
        result[at] = x[tuple(source)]
    return result


@means("gather_nd")
def gather_nd(attrs: Any, x: Any, i: Any) -> Array:
    """Define `gather_nd`."""
    if attrs.batch_dims:
        return np.stack([x[b][tuple(i[:, b])] for b in range(len(x))])
    return x[tuple(i)] if len(i) else np.broadcast_to(x, (*i.shape[1:], *x.shape))


MEANING["adv_index"] = lambda attrs, parts: parts[0][tuple(parts[1:])]
MEANING["argwhere"] = lambda attrs, c: np.argwhere(c)
MEANING["unravel_index"] = lambda attrs, i, shape: np.stack(np.unravel_index(i, tuple(shape)))
MEANING["invert_permutation"] = lambda attrs, p: np.array([list(p).index(i) for i in range(len(p))])


def _combine(old: Any, new: Any, how: str) -> Any:
    if how == "update":
        return new
    if how in ("max", "min"):
        return (np.maximum if how == "max" else np.minimum)(old, new)
    with np.errstate(over="ignore"):
        return old + new if how == "add" else old * new


@means("scatter", "scatter_elements")
def scatter_elements(attrs: Any, x: Any, i: Any, u: Any) -> Any:
    """Define `scatter` and `scatter_elements`."""
    result = x.copy()
    for at in np.ndindex(*i.shape):
        to = list(at)
        to[attrs.axis] = int(i[at])
        result[tuple(to)] = _combine(result[tuple(to)], u[at], getattr(attrs, "reduction", "update"))
    return result


@means("scatter_nd")
def scatter_nd(attrs: Any, x: Any, i: Any, u: Any) -> Any:
    """Define `scatter_nd`."""
    result = x.copy()
    for at in np.ndindex(*i.shape[1:]):
        to = tuple(int(v) for v in i[(slice(None), *at)])
        result[to] = _combine(result[to], u[at], attrs.mode)
    return result


@means("sequence_mask")
def sequence_mask(attrs: Any, x: Any, lengths: Any) -> Any:
    """Define `sequence_mask`."""
    result = x.copy()
    for at in np.ndindex(*x.shape):
        if at[attrs.axis] >= lengths[at[1 - attrs.axis]]:
            result[at] = np.asarray(attrs.mask_value).astype(x.dtype)
    return result


def _dense(i: Any, v: Any, default: Any, shape: Any) -> Array:
    result = np.full([int(n) for n in shape], default)
    rows = i.reshape(-1, 1) if i.ndim < 2 else i
    for row, value in zip(rows, np.broadcast_to(v, (len(rows),)), strict=True):
        result[tuple(int(n) for n in row)] = value
    return result


MEANING["sparse_to_dense"] = lambda attrs, i, v, default: _dense(i, v, default, attrs.output_shape)
MEANING["dyn.sparse_to_dense"] = lambda attrs, i, v, default, shape: _dense(i, v, default, shape)


@means("sparse_reshape")
def sparse_reshape(attrs: Any, i: Any, old: Any, new: Any) -> Any:
    """Define `sparse_reshape`."""
    size = math.prod(int(n) for n in old)
    listing = math.prod(int(n) for n in new if n != -1)
    shape = [size // listing if n == -1 else int(n) for n in new]
    rows = [np.unravel_index(np.ravel_multi_index(tuple(int(n) for n in row), tuple(old)), shape) for row in i]
    return np.array(rows, i.dtype).reshape(len(i), len(new)), np.array(shape)


@means("sparse_fill_empty_rows")
def sparse_fill_empty_rows(attrs: Any, i: Any, v: Any, shape: Any, default: Any) -> Any:
    """Define `sparse_fill_empty_rows`."""
    rows: list[tuple[Any, Any]] = []
    empty = []
    for row in range(int(shape[0])):
        mine = [(list(position), value) for position, value in zip(i.tolist(), v, strict=True) if position[0] == row]
        empty.append(not mine)
        rows += mine or [([row, 0], default[0])]
    return np.array([r[0] for r in rows]).reshape(-1, 2), np.array([r[1] for r in rows]), np.array(empty)


# ---------------------------------------------------------------- sorting: NaN is the largest
def _order(row: Any, ascending: bool) -> list[int]:
    key: Any = (
        (lambda n: (row[n] != row[n], row[n]))
        if ascending
        else (lambda n: (row[n] == row[n], -wide(row[n]) if not is_int(row) else -int(row[n])))
    )
    return sorted(range(len(row)), key=lambda n: key(n) if row[n] == row[n] else (key(n)[0], 0))


def _orders(x: Any, axis: int, ascending: bool) -> Any:
    moved = np.moveaxis(x, axis, -1)
    result = np.zeros(moved.shape, np.int64)
    for at in np.ndindex(*moved.shape[:-1]):
        result[at] = _order(moved[at], ascending)
    return result, moved


@means("argsort")
def argsort(attrs: Any, x: Any) -> Array:
    """Define `argsort`."""
    return np.moveaxis(_orders(x, attrs.axis, attrs.is_ascend)[0], -1, attrs.axis)


@means("sort")
def sort(attrs: Any, x: Any) -> Array:
    """Define `sort`."""
    positions, moved = _orders(x, attrs.axis, attrs.is_ascend)
    return np.moveaxis(np.take_along_axis(moved, positions, -1), -1, attrs.axis)


def _topk(attrs: Any, x: Any, k: Any) -> Any:
    positions, moved = _orders(x, attrs.axis, attrs.is_ascend)
    positions = positions[..., : int(k)] if k >= 1 else positions
    values = np.moveaxis(np.take_along_axis(moved, positions, -1), -1, attrs.axis)
    positions = np.moveaxis(positions, -1, attrs.axis)
    return {"both": (values, positions), "values": values, "indices": positions}[attrs.ret_type]


MEANING["topk"] = lambda attrs, x: _topk(attrs, x, attrs.k)
MEANING["dyn.topk"] = _topk


@means("searchsorted")
def searchsorted(attrs: Any, rows: Any, values: Any) -> Array:
    """Define `searchsorted`."""
    result = np.zeros(values.shape, np.int64)
    for at in np.ndindex(*values.shape):
        row = rows if rows.ndim == 1 else rows[at[:-1]]
        result[at] = sum(bool(v <= values[at] if attrs.right else v < values[at]) for v in row)
    return result


@means("unique")
def unique(attrs: Any, x: Any) -> Any:
    """Define `unique`."""
    seen = list(dict.fromkeys(x.tolist()))
    values = sorted(seen) if attrs.sorted else seen
    all_ = x.tolist()
    rest = [0] * (len(all_) - len(values))  # the results are padded to the length of the data
    firsts = np.array([all_.index(v) for v in values] + rest)
    inverse = np.array([values.index(v) for v in all_])
    counts = np.array([all_.count(v) for v in values] + rest)
    results = (np.array(values + rest, x.dtype), firsts, inverse, np.array([len(values)]))
    return (*results, counts) if attrs.return_counts else results


# ---------------------------------------------------------------- products and transforms
@means("einsum")
def einsum(attrs: Any, parts: Any) -> Any:
    """Define `einsum`."""
    if all(p.dtype.kind == "b" for p in parts):
        return np.einsum(attrs.equation, *(p.astype(np.int64) for p in parts)) != 0
    return np.einsum(attrs.equation, *parts)


def _fourier(x: Any, sign: int) -> Any:
    count = x.shape[-1]
    n = np.arange(count)
    return (x[..., None, :] * np.exp(sign * 2j * np.pi * n[:, None] * n / count)).sum(-1)


@means("dft")
def dft(attrs: Any, re: Any, im: Any) -> Any:
    """Define `dft`."""
    result = _fourier(wide(re) + 1j * wide(im), 1 if attrs.inverse else -1)
    result = result / re.shape[-1] if attrs.inverse else result
    return result.real, result.imag


@means("stft")
def stft(attrs: Any, x: Any, window: Any) -> Array:
    """Define `stft`."""
    rows = wide(x).reshape(-1, x.shape[-1])
    starts = range(0, x.shape[-1] - attrs.n_fft + 1, attrs.hop_length)
    width = min(attrs.win_length, len(window))
    bands = np.arange(attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft)
    waves = np.exp(-2j * np.pi * np.outer(bands, np.arange(width)) / attrs.win_length)
    frames = [(rows[:, s : s + width] * wide(window)[:width]) @ waves.T for s in starts]
    result = np.stack(frames, -1) / (math.sqrt(attrs.n_fft) if attrs.normalized else 1)
    return np.stack([result.real, result.imag], -1)
