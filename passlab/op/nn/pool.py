"""Pooling: maxima and means over sliding windows, over the whole image, and over a fixed number of windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Precision, Relation, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, integers, text
from passlab.op.autodiff import Gradient
from passlab.op.declare import Python, constant_list, operator
from passlab.op.dtypes import Array, as_array, is_float
from passlab.op.layout_names import DATA_LAYOUTS, layout_axes, spatial_axes
from passlab.op.nn import pool_gradients, pool_kernels
from passlab.op.nn.accumulation import cast_result, result_array
from passlab.op.nn.window_sizes import check_lengths, check_positive, on_axes, pad, split_padding, window_size
from passlab.op.reduce import extremum
from passlab.op.relations import on_tensors, refuse, tensor
from passlab.threads import free_threads, share


# ---------------------------------------------------------------- sliding windows
def pool_attrs(rank: int, mean: bool) -> type[Attrs]:
    """Create the attribute record of a pooling operator."""
    fields = [
        integers("pool_size", doc="size of the window"),
        integers("strides", (1,) * rank, "steps of the window"),
        integers("dilation", (1,) * rank, "distance between the taps of the window"),
        integers("padding", (0,) * rank, "padding: both sides alike, or all befores then all afters"),
        text("layout", DATA_LAYOUTS[rank], "layout of data and result"),
        text("out_layout", "", "layout of the result, as `layout`"),
        boolean("ceil_mode", False, "whether a last window may reach beyond the padding"),
    ]
    if mean:
        fields.append(boolean("count_include_pad", False, "whether padding counts in the mean"))
    return attrs(f"{'Avg' if mean else 'Max'}Pool{rank}DAttrs", *fields)


def pool_relation(rank: int, name: str) -> Relation:
    """Return the type relation of pooling over `rank` spatial axes."""

    @on_tensors
    def relation(attrs: Attrs, data: TensorType) -> Type:
        check_lengths(rank, pool_size=attrs.pool_size, strides=attrs.strides, dilation=attrs.dilation)
        check_positive(pool_size=attrs.pool_size, strides=attrs.strides, dilation=attrs.dilation)
        before, after = split_padding(attrs.padding, rank)
        shape = list(data.shape)
        for i, axis in enumerate(layout_axes(attrs.layout, shape, rank, name)):
            window = (attrs.pool_size[i], attrs.strides[i], before[i], after[i], attrs.dilation[i])
            shape[axis] = window_size(shape[axis], *window, ceil=attrs.ceil_mode, axis=i)
        return TensorType(tuple(shape), data.dtype)

    return relation


class PoolPlan:
    """The parameters of one pooling of one array: axes, padding including the padding for `ceil_mode`, and windows per
    axis.
    """

    def __init__(self, attrs: Attrs, shape: Sequence[int], rank: int, name: str) -> None:
        self.axes = layout_axes(attrs.layout, shape, rank, name)
        self.before, after = split_padding(attrs.padding, rank)
        self._padded = after
        self._counts_padding = "count_include_pad" in attrs and attrs.count_include_pad
        self.lengths = tuple(shape[a] for a in self.axes)
        self.window, self.strides, self.dilation = attrs.pool_size, attrs.strides, attrs.dilation
        self.counts: list[int] = []
        padding_after: list[int] = []
        for i, length in enumerate(self.lengths):
            window = (self.window[i], self.strides[i], self.before[i], after[i], self.dilation[i])
            count = window_size(length, *window, ceil=attrs.ceil_mode, axis=i)
            assert isinstance(count, int)
            extent = (count - 1) * self.strides[i] + (self.window[i] - 1) * self.dilation[i] + 1
            self.counts.append(count)
            padding_after.append(max(after[i], extent - length - self.before[i]))
        self.after = tuple(padding_after)
        innermost = tuple(self.axes) == tuple(range(len(shape) - rank, len(shape)))
        few = 0 < math.prod(self.lengths) <= _MOST_FLAT_ELEMENTS
        self.is_flat = innermost and few and max(self.strides) <= 2 and min(self.counts) > 0
        # whether all elements of all windows count in a mean
        self.full = self.after == after if self._counts_padding else not any(self.before) and not any(self.after)
        self.rank = len(shape)
        # flat data: samples and channels form one axis before the spatial ones
        self.pooled_axes = tuple(range(1, rank + 1)) if self.is_flat else self.axes

    def sweep(self, data: Array, fill: Any, combine: Any, out: Array) -> Array:
        """Combine the elements of each window of `data` padded with `fill`, into `out` if it has their dtype."""
        windows = list(zip(self.window, self.strides, self.dilation, self.before, strict=True))
        target = out if out.dtype == data.dtype else None
        if self.is_flat:
            return pool_kernels.flat_windows(data, windows, self.counts, fill, combine, target)
        return pool_kernels.sweep_windows(data, self.pooled_axes, windows, self.counts, fill, combine, target)

    @cached_property
    def divisors(self) -> Array:
        """The number of elements of each window in the mean, shaped to broadcast against the result.

        Padding counts if the attributes say so; elements beyond it, in the last window, never do.
        """
        result: Any = 1
        for i, axis in enumerate(self.axes):
            before, length = self.before[i], self.lengths[i]
            if self._counts_padding:
                before, length = 0, before + length + self._padded[i]
            counts = pool_kernels.window_counts(
                length, self.window[i], self.strides[i], self.dilation[i], before, self.counts[i]
            )
            result = result * counts.reshape([-1 if j == axis else 1 for j in range(self.rank)])
        return as_array(result)


@lru_cache(maxsize=1024)
def plan_of(attrs: Attrs, shape: tuple[int, ...], rank: int, name: str) -> PoolPlan:
    """Return the plan of one pool_kernels, cached: a network has few, and needs each in every run."""
    return PoolPlan(attrs, shape, rank, name)


_MOST_FLAT_ELEMENTS = 1 << 20  # elements of an image that is pooled as one flat line
_SLAB_BYTES = 400 << 10  # bytes of data pooled at once: intermediate arrays stay in cache
_LONG_ROW = 64  # elements: when the last axis is divided, loops along it should not be shorter


def _in_slabs(pool: Callable[..., Any], rank: int, name: str, attrs: Attrs, data: Array, out: Array | None) -> Array:
    """Pool a few samples or channels at a time, in threads, so that intermediate arrays stay in cache."""
    plan = plan_of(attrs, data.shape, rank, name)
    counts = dict(zip(layout_axes(attrs.layout, data.shape, rank, name), plan.counts, strict=True))
    shape = [counts.get(d, n) for d, n in enumerate(data.shape)]
    result = array = result_array(out, shape, data.dtype)
    if plan.is_flat:
        data, array = data.reshape(-1, *plan.lengths), array.reshape(-1, *plan.counts)
    # slabs are cut along the longest axis that is not pooled
    axis = max((d for d in range(data.ndim) if d not in plan.pooled_axes), key=lambda d: data.shape[d])
    length = data.shape[axis]
    step = max(_LONG_ROW if axis == data.ndim - 1 else 1, length * _SLAB_BYTES // max(data.nbytes, 1))
    if data.nbytes > _SLAB_BYTES:
        step = min(step, -(-length // free_threads()))
    slabs = [(slice(None),) * axis + (slice(start, start + step),) for start in range(0, length, step)]

    def pool_slabs(numbers: Iterator[int]) -> None:
        for number in numbers:
            pool(plan, attrs, data[slabs[number]], array[slabs[number]])

    share(pool_slabs, len(slabs))
    return cast_result(result, data.dtype, out)


def _max_pool_kernel(rank: int, name: str, attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    return _in_slabs(_max_pool, rank, name, attrs, data, out)


def _avg_pool_kernel(rank: int, name: str, attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    return _in_slabs(_avg_pool, rank, name, attrs, data, out)


def _max_pool(plan: PoolPlan, attrs: Attrs, data: Array, out: Array) -> None:
    result = plan.sweep(data, pool_kernels.lowest(data.dtype), np.maximum, out)
    if result is not out:
        np.copyto(out, result)


def _avg_pool(plan: PoolPlan, attrs: Attrs, data: Array, out: Array) -> None:
    work = pool_kernels.sum_dtype(data.dtype)
    total = plan.sweep(data.astype(work, copy=False), 0, np.add, out)
    count: Any = math.prod(plan.window)
    if not plan.full:
        count = plan.divisors.reshape(plan.counts) if plan.is_flat else plan.divisors
    result = pool_kernels.divide_sums(total, count, data.dtype, out)
    if result is not out:
        np.copyto(out, result)


def _own_contiguous(result: Array, data: Array, out: Array | None) -> Array:
    """Return a contiguous array that shares nothing with `data`, or fill `out`."""
    if out is None:
        return result.copy() if np.may_share_memory(result, data) or not result.flags.c_contiguous else result
    np.copyto(out, result)
    return out


def _pool_signature(rank: int, mean: bool) -> Python:
    one, zero = (1,) * rank, (0,) * rank
    signature = (
        f"data, pool_size={one}, strides={one}, dilation={one}, padding={zero}, layout={DATA_LAYOUTS[rank]!r}, "
        f"out_layout='', ceil_mode=False{', count_include_pad=False' if mean else ''}"
    )
    per_axis = on_axes(rank)
    return Python(signature, pool_size=per_axis, strides=per_axis, dilation=per_axis, padding=pad(rank))


def pool_shapes(rank: int) -> str:
    """Describe the effect of pooling on shapes."""
    spatial = ", ".join("DHW"[3 - rank :])
    windows = "(length + padding - dilation (pool_size - 1) - 1) / strides + 1 along each"
    return f"(N, C, {spatial}) -> (N, C, windows), {windows}"


def _pool_edge_cases(name: str, rank: int, mean: bool) -> tuple[str, ...]:
    dims, ones, twos, threes = ", ".join("546"[:rank]), [1] * rank, [2] * rank, [3] * rank
    channels_last = "N" + "DHW"[3 - rank :] + "C"
    padding_counted = (f"{name}(%x: (1, 2, {dims}), pool_size={threes}, padding={ones}, count_include_pad=True)",)
    return (
        f"{name}(%x: (2, 2, {dims}), pool_size={twos}, strides={twos})",
        f"{name}(%x: (1, 2, {dims}), pool_size={threes}, strides={twos}, padding={ones}, ceil_mode=True)",
        f'{name}(%x: (1, {dims}, 2), pool_size={twos}, dilation={twos}, layout="{channels_last}")',
        f"{name}(%x: (0, 2, {dims}), pool_size={twos})",
        *(padding_counted if mean else ()),
    )


_GRADIENTS = {1: pool_gradients.pool1d, 2: pool_gradients.pool2d, 3: pool_gradients.pool3d}


def _declare_pool(rank: int, mean: bool) -> Op:
    name = f"nn.{'avg' if mean else 'max'}_pool{rank}d"
    kernel = partial(_avg_pool_kernel if mean else _max_pool_kernel, rank, name)
    doc = (
        f"The {'mean' if mean else 'maximum'} of each window sliding over {rank} spatial ax{'e' if rank > 1 else 'i'}s."
    )
    return operator(
        name,
        ("data",),
        attrs=pool_attrs(rank, mean),
        relation=pool_relation(rank, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        layout=layout_rules.OneLayout(split=True),
        precision=Precision.FOLLOW,
        level=2,
        silenced=True,
        python=_pool_signature(rank, mean),
        gradient=_GRADIENTS[rank](f"nn.{'avg' if mean else 'max'}_pool2d"),
        shapes=pool_shapes(rank),
        source="the maximum or mean over shifted views",
        edge_cases=_pool_edge_cases(name, rank, mean),
        doc=doc,
    )(kernel)


max_pool1d, max_pool2d, max_pool3d = (_declare_pool(rank, False) for rank in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_declare_pool(rank, True) for rank in (1, 2, 3))


# ---------------------------------------------------------------- the whole image
def _global_type(name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    axes = layout_axes(attrs.layout, data.shape, 2, name)
    return TensorType(tuple(1 if i in axes else d for i, d in enumerate(data.shape)), data.dtype)


def global_avg(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """The mean of each channel over the whole image."""
    axes = spatial_axes(attrs.layout, 2, "nn.global_avg_pool2d")
    total = data.sum(axis=axes, keepdims=True, dtype=pool_kernels.sum_dtype(data.dtype))
    count = data.shape[axes[0]] * data.shape[axes[1]]
    # Of no floats it is NaN; of no integers, which have no NaN, 0.
    return _own_contiguous(
        pool_kernels.divide_sums(total, count if is_float(data.dtype) else max(1, count), data.dtype), data, out
    )


def global_max(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """The maximum of each channel over the whole image."""
    axes = spatial_axes(attrs.layout, 2, "nn.global_max_pool2d")
    initial = pool_kernels.lowest(data.dtype)
    if not data.size:
        return _own_contiguous(data.max(axis=axes, keepdims=True, initial=initial), data, out)
    return _own_contiguous(np.maximum(extremum(np.maximum, data, axes, keepdims=True), initial), data, out)


GLOBAL_POOL = attrs(
    "GlobalPool2DAttrs",
    text("layout", "NCHW", "layout of data and result"),
    text("out_layout", "", "layout of the result, as `layout`"),
)


def _declare_global(name: str, kernel: Callable[..., Any], precision: Precision, gradient: Gradient) -> Op:
    return operator(
        name,
        ("data",),
        attrs=GLOBAL_POOL,
        relation=partial(_global_type, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        gradient=gradient,
        layout=layout_rules.OneLayout(split=True),
        precision=precision,
        level=2,
        silenced=True,
        shapes="(N, C, H, W) -> (N, C, 1, 1)",
        edge_cases=(
            f"{name}(%x: (2, 2, 3, 4))",
            f'{name}(%x: (1, 3, 4, 2), layout="NHWC")',
            f"{name}(%x: (0, 2, 3, 3))",
        ),
    )(kernel)


global_avg_pool2d = _declare_global(
    "nn.global_avg_pool2d", global_avg, Precision.NEVER, pool_gradients.global_avg_pool2d
)
global_max_pool2d = _declare_global(
    "nn.global_max_pool2d", global_max, Precision.FOLLOW, pool_gradients.global_max_pool2d
)


# ---------------------------------------------------------------- a given number of windows
def _adaptive_counts(attrs: Attrs, lengths: Sequence[Any], rank: int, name: str) -> tuple[Any, ...]:
    if not attrs.output_size:
        return tuple(lengths)
    counts = attrs.output_size * rank if len(attrs.output_size) == 1 else attrs.output_size
    if len(counts) != rank:
        raise RelationError(
            Diagnostic(f"{name}: output_size has {len(counts)} numbers", expected=f"{rank}, one for all, or none")
        )
    check_positive(output_size=counts)
    return tuple(counts)


def _adaptive_type(rank: int, name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    shape: list[Any] = list(data.shape)
    axes = layout_axes(attrs.layout, shape, rank, name)
    for axis, count in zip(axes, _adaptive_counts(attrs, [shape[a] for a in axes], rank, name), strict=True):
        if shape[axis] == 0 and attrs.output_size:
            refuse(f"{name}: an axis without elements has no windows", 0, found=data)
        shape[axis] = count
    return TensorType(tuple(shape), data.dtype)


def _adaptive_max(rank: int, name: str, attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    axes = layout_axes(attrs.layout, data.shape, rank, name)
    counts = _adaptive_counts(attrs, [data.shape[a] for a in axes], rank, name)
    return _own_contiguous(
        pool_kernels.adaptive(data, axes, counts, np.maximum),
        data,
        out,
    )


def _adaptive_avg(rank: int, name: str, attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    axes = layout_axes(attrs.layout, data.shape, rank, name)
    counts = _adaptive_counts(attrs, [data.shape[a] for a in axes], rank, name)
    total = pool_kernels.adaptive(data.astype(pool_kernels.sum_dtype(data.dtype), copy=False), axes, counts, np.add)
    sizes: Any = 1
    for axis, count in zip(axes, counts, strict=True):
        lengths = np.array([b - a for a, b in pool_kernels.adaptive_spans(data.shape[axis], count)])
        sizes = sizes * lengths.reshape([-1 if i == axis else 1 for i in range(data.ndim)])
    return _own_contiguous(pool_kernels.divide_sums(total, sizes, data.dtype), data, out)


def _adaptive_edge_cases(name: str, rank: int) -> tuple[str, ...]:
    dims = ", ".join("546"[:rank])
    return (
        *(f"{name}(%x: ({n}, 2, {dims}), output_size={[size] * rank})" for n, size in ((2, 2), (1, 3), (0, 2))),
        f'{name}(%x: (1, {dims}, 2), output_size={[1] * rank}, layout="N{"DHW"[3 - rank :]}C")',
    )


def _declare_adaptive(rank: int, mean: bool) -> Op:
    name = f"nn.adaptive_{'avg' if mean else 'max'}_pool{rank}d"

    doc = (
        f"The {'mean' if mean else 'maximum'} over `output_size` windows an axis, which cover the data: window i "
        "reaches from floor(i * length / count) to ceil((i + 1) * length / count)."
    )
    return operator(
        name,
        ("data",),
        attrs=attrs(
            f"AdaptivePool{rank}DAttrs",
            integers("output_size", (), "windows along each axis, none to keep the size", optional=True),
            text("layout", DATA_LAYOUTS[rank], "layout of data and result"),
            text("out_layout", "", "layout of the result, as `layout`"),
        ),
        relation=partial(_adaptive_type, rank, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        layout=layout_rules.OneLayout(),
        precision=Precision.NEVER if mean else Precision.FOLLOW,
        silenced=True,
        python=Python(
            f"data, output_size=None, layout={DATA_LAYOUTS[rank]!r}, out_layout=''", output_size=constant_list
        ),
        gradient=(pool_gradients.adaptive_avg if mean else pool_gradients.adaptive_max)(name),
        shapes=f"(N, C, {', '.join('DHW'[3 - rank :])}) -> (N, C, output_size)",
        source="PyTorch's adaptive pooling",
        edge_cases=_adaptive_edge_cases(name, rank),
        doc=doc,
    )(partial(_adaptive_avg if mean else _adaptive_max, rank, name))


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_declare_adaptive(rank, False) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_declare_adaptive(rank, True) for rank in (1, 2, 3))
