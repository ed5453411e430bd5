"""Transposed convolutions compiled by Numba: one convolution with stride 1 for each phase of the strides.

The results in the rows p, p + s, ... and the columns q, q + t, ... of a transposed convolution with strides (s, t) use
the same taps of the window: they form a convolution with stride 1 over these taps. So nothing is multiplied by the
zeros that the definition inserts between the data. Needs the package numba.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.op.nn.sliding import Window
from passlab.op.nn.windows import full_padding
from passlab.vm.kernels import numba_channels
from passlab.vm.kernels.fused_product import Array, FrozenCache, shape_of
from passlab.vm.kernels.numba_channels import last, write
from passlab.vm.kernels.numba_convolution import (
    NARROW,
    NO_ADDEND,
    PlaneLayout,
    blocked_convolution,
    pack,
    threads_for,
)
from passlab.vm.kernels.numba_tiles import WIDE


@dataclass(frozen=True)
class Phase:
    """The results with the same remainders of row and column by the strides, as a convolution of their own."""

    positions: tuple[slice, ...]  # the rows and columns of the results
    taps: tuple[slice, ...]  # the rows and columns of the weight
    size: tuple[int, int]
    layout: PlaneLayout


def is_transposed(call: Call) -> bool:
    """Whether a call on float32 is a compiled transposed convolution of images whose channels come first.

    The window must be at least as large as the strides, so that every result has a tap.
    """
    attrs: Any = call.attrs
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    plain = layouts == ("NCHW", "IOHW", "NCHW") and attrs.groups == 1 and all(d == 1 for d in attrs.dilation)
    return plain and all(n >= s for n, s in zip(shape_of(call.args[1])[2:], attrs.strides, strict=True))


def find_phases(call: Call) -> list[Phase]:
    """Return the phases of a transposed convolution."""
    attrs: Any = call.attrs
    kernel, size = shape_of(call.args[1])[2:], shape_of(call)[2:]
    strides, before = [int(s) for s in attrs.strides], [int(p) for p in full_padding(attrs.padding, 2)[:2]]
    result = []
    for first in itertools.product(*[range(min(s, n)) for s, n in zip(strides, size, strict=True)]):
        axes = [_phase_axis(*numbers) for numbers in zip(first, strides, before, kernel, size, strict=True)]
        (row_taps, rows, above, height), (column_taps, columns, left, width) = axes
        offsets = tuple((0, y, x) for y in range(height) for x in range(width))
        phase_size = (len(range(*rows.indices(size[0]))), len(range(*columns.indices(size[1]))))
        window, planes = np.array([1, 1, above, left], np.int64), np.zeros((1, 2), np.int64)
        layout = PlaneLayout(window, planes, height - 1, phase_size[1] + width - 1, offsets, False)
        result.append(Phase((rows, columns), (row_taps, column_taps), phase_size, layout))
    return result


def _phase_axis(first: int, stride: int, before: int, taps: int, size: int) -> tuple[slice, slice, int, int]:
    """Return a phase along one axis: its taps in reverse order, its results, its padding before and its tap count.

    The results are `first`, `first` + `stride`, ... of `size`; `before` is the padding of the transposed convolution.
    """
    used = range((first + before) % stride, taps, stride)
    last = used[-1]
    padding = (last - first - before) // stride
    return slice(last, used[0] - 1 if used[0] else None, -stride), slice(first, size, stride), padding, len(used)


def transposed_convolution(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    return (_in_places if shape_of(call)[1] < NARROW else _in_channels)(call, relu)


def _in_channels(call: Call, relu: bool) -> Callable[..., Any]:
    """Return the function of a transposed convolution whose vectors hold channels of the result."""
    data, shape, phases = shape_of(call.args[0]), shape_of(call), find_phases(call)
    runs = []
    for phase in phases:
        taps, window = _phase_weight(np.empty(shape_of(call.args[1])), phase).shape[2:], phase.layout.window
        threads = threads_for(shape[1] * data[1] * math.prod(phase.size) * math.prod(taps), depthwise=False)
        seen = Window((1, 1), (int(window[2]), int(window[3])), (0, 0), (1, 1))
        run, _ = numba_channels.convolution(data, (*shape[:2], *phase.size), taps, seen, 1, threads, dense=False)
        runs.append(run)
    weights = FrozenCache(
        lambda weight: [numba_channels.pack(_phase_weight(weight, phase), 1, True) for phase in phases]
    )
    biases = FrozenCache(lambda bias: numba_channels.pack_bias(bias, 1, WIDE))
    no_bias, floor = biases(np.zeros(shape[1], np.float32)), np.float32(0 if relu else -np.inf)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        x, offsets = last(data), no_bias if bias is None else biases(bias)
        added = None if other is None else last(other)

        def fill(result: Any) -> None:
            for phase, run, factors in zip(phases, runs, weights(weight), strict=True):
                index = (slice(None), *phase.positions)
                run(x, factors, offsets, floor, None if added is None else added[index], result[index])

        return write(shape, out, fill)

    return compute


def _in_places(call: Call, relu: bool) -> Callable[..., Any]:
    """Return the function of a transposed convolution whose vectors hold places of the result."""
    shape, inputs, phases = shape_of(call), shape_of(call.args[0])[1], find_phases(call)
    runs = [blocked_convolution((*shape[:2], *phase.size), inputs, 1, phase.layout) for phase in phases]
    weights = FrozenCache(lambda weight: [pack(_phase_weight(weight, phase), 1) for phase in phases])
    biases = FrozenCache(lambda bias: np.array(bias, np.float32).reshape(-1))
    no_bias, floor = np.zeros(shape[1], np.float32), np.float32(0 if relu else -np.inf)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        result, x = np.empty(shape, np.float32) if out is None else out, np.ascontiguousarray(data)
        bias = no_bias if bias is None else biases(bias)
        for phase, run, packed in zip(phases, runs, weights(weight), strict=True):
            index, part = (slice(None), slice(None), *phase.positions), np.empty((*shape[:2], *phase.size), np.float32)
            addend = NO_ADDEND if other is None else np.ascontiguousarray(other[index])
            run(x, packed, (bias, addend, other is not None, floor), part)
            result[index] = part
        return result

    return compute


def _phase_weight(weight: Array, phase: Phase) -> Array:
    return weight[(slice(None), slice(None), *phase.taps)].swapaxes(0, 1)
