"""Functions of Relay's Python interface that build several calls instead of one operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Tuple
from passlab.ir.op import Op
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.op.qnn.quantize import requantize_config

Axis = int | Sequence[int] | None


def _builder(name: str) -> Callable[..., Expr]:
    builder = Op.get(name).spec.builder
    assert builder is not None, name
    return builder


def mean_variance(
    data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """Return the mean and the variance of `data` over `axis`."""
    mean = _builder("mean")(data, axis, True, exclude)
    var = _variance(data, mean, axis, keepdims, exclude, unbiased)
    return TupleWrapper(Tuple((mean if keepdims else _builder("mean")(data, axis, keepdims, exclude), var)), 2)


def _variance(data: Expr, mean: Expr, axis: Axis, keepdims: bool, exclude: bool, unbiased: bool) -> Expr:
    op = Op.get("variance")
    assert op.spec.attrs is not None
    record = op.spec.attrs(axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)
    return Call(op, (data, mean), record)


def std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """Return the standard deviation of `data` over `axis`; `unbiased` divides by one less than the count."""
    mean = _builder("mean")(data, axis, True, exclude)
    return _builder("sqrt")(_variance(data, mean, axis, keepdims, exclude, unbiased))


def mean_std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """Return the mean and the standard deviation of `data` over `axis`."""
    mean, var = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((mean, _builder("sqrt")(var))), 2)


def logsumexp(data: Expr, axis: Axis = None, keepdims: bool = False) -> Expr:
    """Return log(sum(exp(data))) over `axis`, without overflow: the maximum is subtracted first."""
    maximum = _builder("max")(data, axis, True)
    total = _builder("sum")(_builder("exp")(_builder("subtract")(data, maximum)), axis, True)
    out: Expr = _builder("add")(_builder("log")(total), maximum)
    return out if keepdims else _builder("squeeze")(out, axis)


def reverse_reshape(data: Expr, newshape: int | Sequence[int]) -> Expr:
    """Return `data` in a new shape whose special values (0, -1, ...) are read from the last axis to the first."""
    result: Expr = _builder("contrib_reverse_reshape")(data, newshape)
    return result


def segment_sum(data: Expr, segment_ids: Expr, num_segments: int | Expr | None = None) -> Expr:
    """Return, for each segment, the sum of its slices of `data` along the first axis.

    `segment_ids` (as long as `data`, or shorter) is the segment of each slice. There are `num_segments` segments (a
    number, or an expression whose value is a vector of one); by default, one more than the largest of `segment_ids`.
    """
    one = _builder("cast_like")(Constant(np.array([1], np.int32)), segment_ids)
    if num_segments is None:
        largest = _builder("reshape")(_builder("max")(segment_ids, [0]), [-1])
        count = _builder("add")(largest, one)
    else:
        static = not isinstance(num_segments, Expr)
        count = _builder("cast_like")(
            Constant(np.array([num_segments], np.int32)) if static else num_segments, segment_ids
        )
    rest = _builder("strided_slice")(_builder("shape_of")(data, "int32"), [1], [-1], [1], slice_mode="size")
    rest = _builder("cast_like")(rest, count)
    zeros = _builder("zeros")(_builder("concatenate")((count, rest), 0), "float64")
    repeats = _builder("concatenate")((_builder("reverse")(rest, 0), one), 0)
    indices = _builder("transpose")(_builder("tile")(segment_ids, repeats))
    result: Expr = _builder("scatter_elements")(_builder("cast_like")(zeros, data), indices, data, 0, "add")
    return result


def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Expr:
    """Return the maximum over the one spatial axis, which is kept with size 1."""
    return _builder("nn.adaptive_max_pool1d")(data, (1,), layout, out_layout)


def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Expr:
    """Return the mean over the one spatial axis, which is kept with size 1."""
    return _builder("nn.adaptive_avg_pool1d")(data, (1,), layout, out_layout)


def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """Return the maximum over the three spatial axes, which are kept with size 1."""
    return _builder("nn.adaptive_max_pool3d")(data, (1, 1, 1), layout, out_layout)


def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """Return the mean over the three spatial axes, which are kept with size 1."""
    return _builder("nn.adaptive_avg_pool3d")(data, (1, 1, 1), layout, out_layout)


def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Return both results of `nn.dropout`: the data and the mask."""
    op = Op.get("nn.dropout")
    assert op.spec.attrs is not None
    return TupleWrapper(Call(op, (data,), op.spec.attrs(rate=rate)), 2)


def threefry_key(seed: int) -> Constant:
    """Return a new key of the random generator: a constant of ten uint64 with the words of `seed`."""
    state = np.zeros(10, "uint64")
    mask = 2**64 - 1
    state[0:4] = [(seed >> (64 * word)) & mask for word in range(4)]
    state[5:10] = [0, 0, 0, 1 << 63, 0]
    return Constant(state)


# name in `relay` -> function
COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "std": std,
    "mean_std": mean_std,
    "mean_variance": mean_variance,
    "logsumexp": logsumexp,
    "reverse_reshape": reverse_reshape,
    "segment_sum": segment_sum,
    "nn.contrib_conv2d_nchwc": _builder("nn.contrib_conv2d_NCHWc"),
    "nn.contrib_depthwise_conv2d_nchwc": _builder("nn.contrib_depthwise_conv2d_NCHWc"),
    "nn.global_max_pool1d": global_max_pool1d,
    "nn.global_max_pool3d": global_max_pool3d,
    "nn.global_avg_pool1d": global_avg_pool1d,
    "nn.global_avg_pool3d": global_avg_pool3d,
    "nn.dropout_raw": dropout_raw,
    "qnn.requantize_config": requantize_config,
    "random.threefry_key": threefry_key,
}
