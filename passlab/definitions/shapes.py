"""Definitions of the operators that move, reshape, reduce, gather, scatter, sort and transform data; see `elements`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, Meaning, as_float64, definition_of, elementwise, is_int, quotient
from passlab.op.dtypes import Array, array_dtype

# ---------------------------------------------------------------- shape
MEANING["transpose"] = lambda attrs, x: np.transpose(x, attrs.axes)
MEANING["reverse"] = lambda attrs, x: np.flip(x, attrs.axis)
MEANING["concatenate"] = lambda attrs, parts: np.concatenate(parts, attrs.axis)
MEANING["stack"] = lambda attrs, parts: np.stack(parts, attrs.axis)


@definition_of("layout_transform")
def layout_transform(attrs: Any, x: Any) -> Any:
    """Define `layout_transform`."""
    plain = attrs.src_layout
    if attrs.dst_layout == "NCHW2c":
        n, c, h, w = x.shape
        return x.reshape(n, c // 2, 2, h, w).transpose(0, 1, 3, 4, 2)
    return x.transpose([plain.index(axis) for axis in attrs.dst_layout])


@definition_of("split")
def split(attrs: Any, x: Any) -> Any:
    """Define `split`."""
    return tuple(np.split(x, list(v) if isinstance(v := attrs.indices_or_sections, tuple) else v, attrs.axis))


@definition_of("reverse_sequence")
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


def _slices(x: Any, begin: Any, end: Any, strides: Any, attrs: Any) -> Any:
    """Return the index of a strided slice of x."""
    result = [slice(None)] * x.ndim
    axes = attrs.axes if getattr(attrs, "axes", None) is not None else range(len(begin))
    for number, axis in enumerate(axes):
        step = int(strides[number]) if len(strides) > 1 else int(strides[0])
        first, last = int(begin[number]), int(end[number])
        if getattr(attrs, "slice_mode", "end") == "size":
            result[axis] = slice(first, first + last if last >= 0 else None)
        else:
            result[axis] = slice(first, last, step)
            if step < 0 and last < -x.shape[axis]:
                result[axis] = slice(first, None, step)
    return tuple(result)


MEANING["strided_slice"] = lambda attrs, x: x[_slices(x, attrs.begin, attrs.end, attrs.strides, attrs)]
MEANING["dyn.strided_slice"] = lambda attrs, x, b, e, s: x[_slices(x, b, e, s, attrs)]


@definition_of("strided_set")
def strided_set(attrs: Any, x: Any, v: Any, begin: Any, end: Any, strides: Any) -> Any:
    """Define `strided_set`."""
    result = x.copy()
    result[_slices(x, begin, end, strides, None)] = v
    return result


@definition_of("slice_like")
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


def _collapse_sum(x: Any, shape: Sequence[int]) -> Any:
    axes = [d for d in range(x.ndim) if (k := d - x.ndim + len(shape)) < 0 or shape[k] == 1 != x.shape[d]]
    return np.sum(x, tuple(axes), dtype=x.dtype).reshape(tuple(shape))


MEANING["collapse_sum_like"] = lambda attrs, x, y: _collapse_sum(x, y.shape)
MEANING["collapse_sum_to"] = lambda attrs, x, shape: _collapse_sum(x, [int(n) for n in shape])


@definition_of("sliding_window")
def sliding_window(attrs: Any, x: Any) -> Array:
    """Define `sliding_window`."""
    axis = attrs.axis % x.ndim
    view = np.lib.stride_tricks.sliding_window_view(
        x, attrs.window_shape, tuple(range(axis, axis + len(attrs.window_shape)))
    )
    return view[tuple([slice(None)] * axis + [slice(None, None, s) for s in attrs.strides])]


@definition_of("trilu")
def trilu(attrs: Any, x: Any, k: Any) -> Any:
    """Define `trilu`."""
    result = x.copy()
    for at in np.ndindex(*x.shape):
        above = at[-1] - at[-2]
        if above < k if attrs.upper else above > k:
            result[at] = 0
    return result


@definition_of("matrix_set_diag")
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
    """Return the axes of a reduction; `exclude` reduces all axes except the ones in the attribute."""
    axes = range(rank) if attrs.axis is None else [a % rank for a in attrs.axis]
    return tuple(d for d in range(rank) if (d in axes) != (attrs.exclude and attrs.axis is not None))


def _reduction(function: Callable[..., Any]) -> Meaning:
    return lambda attrs, x: function(x, axis=_axes(attrs, x.ndim), keepdims=attrs.keepdims)


MEANING["sum"] = _reduction(lambda x, **options: np.sum(x, dtype=x.dtype, **options))
MEANING["prod"] = _reduction(lambda x, **options: np.prod(x, dtype=x.dtype, **options))
MEANING["max"] = _reduction(np.max)
MEANING["min"] = _reduction(np.min)
MEANING["all"] = _reduction(np.all)
MEANING["any"] = _reduction(np.any)


@definition_of("mean")
def mean(attrs: Any, x: Any) -> Any:
    """Define `mean`."""
    axes = _axes(attrs, x.ndim)
    if not is_int(x):
        return np.mean(x, axis=axes, keepdims=attrs.keepdims)
    total, count = np.sum(x, axis=axes, dtype=x.dtype, keepdims=attrs.keepdims), math.prod(x.shape[d] for d in axes)
    return elementwise(lambda v: quotient(v, count), np.asarray(total))


@definition_of("variance")
def variance(attrs: Any, x: Any, center: Any) -> Any:
    """Define `variance`."""
    axes = _axes(attrs, x.ndim)
    count = math.prod(x.shape[d] for d in axes) - attrs.unbiased
    if is_int(x):
        squares = elementwise(lambda v, c: (v - c) ** 2, x, np.broadcast_to(center, x.shape))
        total = np.sum(squares, axis=axes, dtype=x.dtype, keepdims=attrs.keepdims)
        return elementwise(lambda v: quotient(v, count), np.asarray(total))
    return np.sum((x - center) ** 2, axis=axes, keepdims=attrs.keepdims) / count


def _index_reduction(best: Callable[[Any], Any]) -> Meaning:
    """Return the definition of `argmax` or `argmin`; `best` returns the first index of a list."""

    def meaning(attrs: Any, x: Any) -> Array:
        axes = _axes(attrs, x.ndim)
        others = [d for d in range(x.ndim) if d not in axes]
        rows = x.transpose(*others, *axes).reshape([*[x.shape[d] for d in others], math.prod(x.shape[d] for d in axes)])
        result = np.zeros(rows.shape[:-1], np.int64)
        for at in np.ndindex(*result.shape):
            row = list(rows[at])
            position = best(row)
            if attrs.select_last_index and row[position] == row[position]:  # the first NaN is selected anyhow
                position = len(row) - 1 - row[::-1].index(row[position])
            result[at] = position
        return result.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if attrs.keepdims else result

    return meaning


def _first_nan(row: list[Any]) -> int | None:
    return next((i for i, v in enumerate(row) if v != v), None)


MEANING["argmax"] = _index_reduction(lambda row: n if (n := _first_nan(row)) is not None else row.index(max(row)))
MEANING["argmin"] = _index_reduction(lambda row: n if (n := _first_nan(row)) is not None else row.index(min(row)))


def _scan(function: Any, start: int) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Array:
        rows = x.ravel() if attrs.axis is None else x
        axis = attrs.axis or 0
        rows = rows.astype(array_dtype(attrs.dtype) if attrs.dtype else rows.dtype)
        moved = np.moveaxis(rows, axis, 0)
        result = np.empty_like(moved)
        total = np.full(moved.shape[1:], start, rows.dtype)
        for i in range(len(moved)):
            previous, total = total, function(total, moved[i])
            result[i] = previous if attrs.exclusive else total
        return np.moveaxis(result, 0, axis)

    return meaning


MEANING["cumsum"], MEANING["cumprod"] = _scan(np.add, 0), _scan(np.multiply, 1)


# ---------------------------------------------------------------- indices
@definition_of("take")
def take(attrs: Any, x: Any, i: Any) -> Any:
    """Define `take`."""
    flat = x.ravel() if attrs.axis is None else x
    axis = 0 if attrs.axis is None else attrs.axis % x.ndim
    size = flat.shape[axis]
    positions = np.clip(i, 0, size - 1) if attrs.mode == "clip" else np.mod(i, size)
    if attrs.axis is None or not attrs.batch_dims:
        return flat[(slice(None),) * axis + (positions,)]
    batch = x.shape[: attrs.batch_dims]
    rows = [x[at][(slice(None),) * (axis - len(batch)) + (positions[at],)] for at in np.ndindex(*batch)]
    return np.stack(rows).reshape(*batch, *rows[0].shape)


@definition_of("gather")
def gather(attrs: Any, x: Any, i: Any) -> Any:
    """Define `gather`."""
    result = np.empty(i.shape, x.dtype)
    for at in np.ndindex(*i.shape):
        source = list(at)
        source[attrs.axis] = int(i[at])
        result[at] = x[tuple(source)]
    return result


@definition_of("gather_nd")
def gather_nd(attrs: Any, x: Any, i: Any) -> Array:
    """Define `gather_nd`."""
    if attrs.batch_dims:
        return np.stack([x[b][tuple(i[:, b])] for b in range(len(x))])
    return x[tuple(i)] if len(i) else np.broadcast_to(x, (*i.shape[1:], *x.shape))


MEANING["adv_index"] = lambda attrs, parts: parts[0][tuple(parts[1:])]
MEANING["argwhere"] = lambda attrs, c: np.argwhere(c)
MEANING["unravel_index"] = lambda attrs, i, shape: np.stack(np.unravel_index(i, tuple(shape)))
MEANING["invert_permutation"] = lambda attrs, p: np.array([list(p).index(i) for i in range(len(p))])


def _combine(old: Any, new: Any, mode: str) -> Any:
    if mode == "update":
        return new
    if mode in ("max", "min"):
        return (np.maximum if mode == "max" else np.minimum)(old, new)
    with np.errstate(over="ignore"):
        return old + new if mode == "add" else old * new


@definition_of("scatter", "scatter_elements")
def scatter_elements(attrs: Any, x: Any, i: Any, u: Any) -> Any:
    """Define `scatter` and `scatter_elements`."""
    result = x.copy()
    for at in np.ndindex(*i.shape):
        target = list(at)
        target[attrs.axis] = int(i[at])
        result[tuple(target)] = _combine(result[tuple(target)], u[at], getattr(attrs, "reduction", "update"))
    return result


@definition_of("scatter_nd")
def scatter_nd(attrs: Any, x: Any, i: Any, u: Any) -> Any:
    """Define `scatter_nd`."""
    result = x.copy()
    for at in np.ndindex(*i.shape[1:]):
        target = tuple(int(v) for v in i[(slice(None), *at)])
        result[target] = _combine(result[target], u[at], attrs.mode)
    return result


@definition_of("sequence_mask")
def sequence_mask(attrs: Any, x: Any, lengths: Any) -> Any:
    """Define `sequence_mask`."""
    result = x.copy()
    for at in np.ndindex(*x.shape):
        if at[attrs.axis] >= lengths[at[1 - attrs.axis]]:
            result[at] = np.asarray(attrs.mask_value).astype(x.dtype)
    return result


def _sparse_to_dense(i: Any, v: Any, default: Any, shape: Any) -> Array:
    result = np.full([int(n) for n in shape], default)
    rows = i.reshape(-1, 1) if i.ndim < 2 else i
    for row, value in zip(rows, np.broadcast_to(v, (len(rows),)), strict=True):
        result[tuple(int(n) for n in row)] = value
    return result


MEANING["sparse_to_dense"] = lambda attrs, i, v, default: _sparse_to_dense(i, v, default, attrs.output_shape)
MEANING["dyn.sparse_to_dense"] = lambda attrs, i, v, default, shape: _sparse_to_dense(i, v, default, shape)


@definition_of("sparse_reshape")
def sparse_reshape(attrs: Any, i: Any, old: Any, new: Any) -> Any:
    """Define `sparse_reshape`."""
    size = math.prod(int(n) for n in old)
    others = math.prod(int(n) for n in new if n != -1)
    shape = [size // others if n == -1 else int(n) for n in new]
    rows = [np.unravel_index(np.ravel_multi_index(tuple(int(n) for n in row), tuple(old)), shape) for row in i]
    return np.array(rows, i.dtype).reshape(len(i), len(new)), np.array(shape)


@definition_of("sparse_fill_empty_rows")
def sparse_fill_empty_rows(attrs: Any, i: Any, v: Any, shape: Any, default: Any) -> Any:
    """Define `sparse_fill_empty_rows`."""
    rows: list[tuple[Any, Any]] = []
    empty = []
    for row in range(int(shape[0])):
        entries = [(list(position), value) for position, value in zip(i.tolist(), v, strict=True) if position[0] == row]
        empty.append(not entries)
        rows += entries or [([row, 0], default[0])]
    return np.array([r[0] for r in rows]).reshape(-1, 2), np.array([r[1] for r in rows]), np.array(empty)


# ---------------------------------------------------------------- sorting: NaN is the largest
def _sorted_positions(row: Any, ascending: bool) -> list[int]:
    key: Any = (
        (lambda n: (row[n] != row[n], row[n]))
        if ascending
        else (lambda n: (row[n] == row[n], -as_float64(row[n]) if not is_int(row) else -int(row[n])))
    )
    return sorted(range(len(row)), key=lambda n: key(n) if row[n] == row[n] else (key(n)[0], 0))


def _sort(x: Any, axis: int, ascending: bool) -> Any:
    moved = np.moveaxis(x, axis, -1)
    result = np.zeros(moved.shape, np.int64)
    for at in np.ndindex(*moved.shape[:-1]):
        result[at] = _sorted_positions(moved[at], ascending)
    return result, moved


@definition_of("argsort")
def argsort(attrs: Any, x: Any) -> Array:
    """Define `argsort`."""
    return np.moveaxis(_sort(x, attrs.axis, attrs.is_ascend)[0], -1, attrs.axis)


@definition_of("sort")
def sort(attrs: Any, x: Any) -> Array:
    """Define `sort`."""
    positions, moved = _sort(x, attrs.axis, attrs.is_ascend)
    return np.moveaxis(np.take_along_axis(moved, positions, -1), -1, attrs.axis)


def _topk(attrs: Any, x: Any, k: Any) -> Any:
    positions, moved = _sort(x, attrs.axis, attrs.is_ascend)
    positions = positions[..., : int(k)] if k >= 1 else positions
    values = np.moveaxis(np.take_along_axis(moved, positions, -1), -1, attrs.axis)
    positions = np.moveaxis(positions, -1, attrs.axis)
    return {"both": (values, positions), "values": values, "indices": positions}[attrs.ret_type]


MEANING["topk"] = lambda attrs, x: _topk(attrs, x, attrs.k)
MEANING["dyn.topk"] = _topk


@definition_of("searchsorted")
def searchsorted(attrs: Any, rows: Any, values: Any) -> Array:
    """Define `searchsorted`."""
    result = np.zeros(values.shape, np.int64)
    for at in np.ndindex(*values.shape):
        row = rows if rows.ndim == 1 else rows[at[:-1]]
        result[at] = sum(bool(v <= values[at] if attrs.right else v < values[at]) for v in row)
    return result


@definition_of("unique")
def unique(attrs: Any, x: Any) -> Any:
    """Define `unique`."""
    data = x.tolist()
    distinct = list(dict.fromkeys(data))
    values = sorted(distinct) if attrs.sorted else distinct
    padding = [0] * (len(data) - len(values))  # the results have the length of the data
    firsts = np.array([data.index(v) for v in values] + padding)
    inverse = np.array([values.index(v) for v in data])
    counts = np.array([data.count(v) for v in values] + padding)
    results = (np.array(values + padding, x.dtype), firsts, inverse, np.array([len(values)]))
    return (*results, counts) if attrs.return_counts else results


# ---------------------------------------------------------------- products and transforms
@definition_of("einsum")
def einsum(attrs: Any, parts: Any) -> Any:
    """Define `einsum`."""
    if all(p.dtype.kind == "b" for p in parts):
        return np.einsum(attrs.equation, *(p.astype(np.int64) for p in parts)) != 0
    return np.einsum(attrs.equation, *parts)


@definition_of("dft")
def dft(attrs: Any, re: Any, im: Any) -> Any:
    """Define `dft`."""
    x = as_float64(re) + 1j * as_float64(im)
    count = x.shape[-1]
    n = np.arange(count)
    result = (x[..., None, :] * np.exp((1 if attrs.inverse else -1) * 2j * np.pi * n[:, None] * n / count)).sum(-1)
    result = result / re.shape[-1] if attrs.inverse else result
    return result.real, result.imag


@definition_of("stft")
def stft(attrs: Any, x: Any, window: Any) -> Array:
    """Define `stft`."""
    rows = as_float64(x).reshape(-1, x.shape[-1])
    starts = range(0, x.shape[-1] - attrs.n_fft + 1, attrs.hop_length)
    width = min(attrs.win_length, len(window))
    bands = np.arange(attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft)
    waves = np.exp(-2j * np.pi * np.outer(bands, np.arange(width)) / attrs.win_length)
    frames = [(rows[:, s : s + width] * as_float64(window)[:width]) @ waves.T for s in starts]
    result = np.stack(frames, -1) / (math.sqrt(attrs.n_fft) if attrs.normalized else 1)
    return np.stack([result.real, result.imag], -1)


# ---------------------------------------------------------------- reshapes
def _newshape(shape: Sequence[int], codes: Sequence[int], allowzero: bool) -> list[int]:
    """Decode the attribute `newshape` of `reshape`: the documentation of the operator has the codes."""
    result: list[int] = []
    at = 0
    rest = list(codes)
    while rest:
        code = rest.pop(0)
        if code == -2:
            result, at = result + list(shape[at:]), len(shape)
        elif code == -3:
            result, at = [*result, shape[at] * shape[at + 1]], at + 2
        elif code == -4:
            parts, at = [rest.pop(0), rest.pop(0)], at + 1
            result += [shape[at - 1] // (parts[1 - n] or 1) if part == -1 else part for n, part in enumerate(parts)]
        else:
            result, at = [*result, shape[at] if code == 0 and not allowzero else code], at + 1
    others = math.prod(size for size in result if size != -1)
    return [math.prod(shape) // others if size == -1 else size for size in result]


@definition_of("reshape")
def reshape(attrs: Any, x: Any) -> Any:
    """Define `reshape`."""
    return x.reshape(_newshape(x.shape, attrs.newshape, attrs.allowzero))


MEANING["dyn.reshape"] = lambda attrs, x, codes: x.reshape(_newshape(x.shape, codes.tolist(), attrs.allowzero))
MEANING["vm.reshape_tensor"] = lambda attrs, x, shape: x.reshape(shape)


@definition_of("contrib_reverse_reshape")
def reverse_reshape(attrs: Any, x: Any) -> Any:
    """Define `contrib_reverse_reshape`: codes are read from the right."""
    return x.reshape(_newshape(x.shape[::-1], attrs.newshape[::-1], attrs.allowzero)[::-1])


@definition_of("reshape_like")
def reshape_like(attrs: Any, x: Any, like: Any) -> Any:
    """Define `reshape_like`: a range of dimensions is replaced by a range of another shape."""
    shape = list(x.shape)
    shape[attrs.lhs_begin : attrs.lhs_end] = like.shape[attrs.rhs_begin : attrs.rhs_end]
    return x.reshape(shape)


@definition_of("expand_dims")
def expand_dims(attrs: Any, x: Any, *axis: Any) -> Any:
    """Define `expand_dims`: `num_newaxis` new dimensions from `axis` on."""
    first = int(axis[0]) if axis else attrs.axis
    for _ in range(attrs.num_newaxis):
        x = np.expand_dims(x, first)
    return x


MEANING["dyn.expand_dims"] = expand_dims
MEANING["dyn.squeeze"] = lambda attrs, x, axes: np.squeeze(x, tuple(axes.tolist()))

MEANING["squeeze"] = lambda attrs, x: np.squeeze(x, None if attrs.axis is None else tuple(attrs.axis))
MEANING["nn.batch_flatten"] = lambda attrs, x: (
    np.stack([sample.ravel() for sample in x]) if len(x) else x.reshape(0, math.prod(x.shape[1:]))
)
