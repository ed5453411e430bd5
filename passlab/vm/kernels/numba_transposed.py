"""Transposed convolutions compiled by Numba: one convolution for each remainder of a place by the strides.

The results at the rows p, p + s, ... and the columns q, q + t, ... of a transposed convolution with strides (s, t) come
from the same taps of the window: they are a convolution that moves by one, with these taps alone. Nothing is multiplied
by the zeros that the definition puts between the data. Needs the package numba.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.op.nn.windows import full_padding
from passlab.vm.kernels.fused_product import Array, Remembered, shape_of
from passlab.vm.kernels.numba_convolution import NOTHING, Layout, in_blocks, pack


@dataclass(frozen=True)
class Phase:
    """The results with one remainder: their places, the taps they come from, and how the data is laid out for them."""

    places: tuple[slice, ...]
    taps: tuple[slice, ...]
    size: tuple[int, int]
    layout: Layout


def is_transposed(call: Call) -> bool:
    """Whether a call on float32 is a transposed convolution of images whose every result has a tap, channels first."""
    attrs: Any = call.attrs
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    plain = layouts == ("NCHW", "IOHW", "NCHW") and attrs.groups == 1 and all(d == 1 for d in attrs.dilation)
    return plain and all(n >= s for n, s in zip(shape_of(call.args[1])[2:], attrs.strides, strict=True))


def phases_of(call: Call) -> list[Phase]:
    """Return the parts of a transposed convolution."""
    attrs: Any = call.attrs
    kernel, size = shape_of(call.args[1])[2:], shape_of(call)[2:]
    strides, before = [int(s) for s in attrs.strides], [int(p) for p in full_padding(attrs.padding, 2)[:2]]
    result = []
    for first in itertools.product(*[range(min(s, n)) for s, n in zip(strides, size, strict=True)]):
        axes = [_along(*numbers) for numbers in zip(first, strides, before, kernel, size, strict=True)]
        (taps, places, ahead, rows), (more_taps, more_places, left, columns) = axes
        offsets = tuple((0, y, x) for y in range(rows) for x in range(columns))
        length = (len(range(*places.indices(size[0]))), len(range(*more_places.indices(size[1]))))
        window, planes = np.array([1, 1, ahead, left], np.int64), np.zeros((1, 2), np.int64)
        layout = Layout(window, planes, rows - 1, length[1] + columns - 1, offsets, False)
        result.append(Phase((places, more_places), (taps, more_taps), length, layout))
    return result


def _along(first: int, stride: int, before: int, taps: int, size: int) -> tuple[slice, slice, int, int]:
    """Return the taps of the results `first`, `first` + `stride`, ... along an axis, backwards, and these results.

    Then how many elements before the data the first window begins, and how many taps there are.
    """
    used = range((first + before) % stride, taps, stride)
    last = used[-1]
    ahead = (last - first - before) // stride
    return slice(last, used[0] - 1 if used[0] else None, -stride), slice(first, size, stride), ahead, len(used)


def transposed_convolution(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    shape, inputs, phases = shape_of(call), shape_of(call.args[0])[1], phases_of(call)
    runs = [in_blocks((*shape[:2], *phase.size), inputs, 1, phase.layout) for phase in phases]
    weights = Remembered(lambda weight: [pack(_taps(weight, phase), 1) for phase in phases])
    biases = Remembered(lambda bias: np.array(bias, np.float32).reshape(-1))
    no_bias, floor = np.zeros(shape[1], np.float32), np.float32(0 if relu else -np.inf)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        result, x = np.empty(shape, np.float32) if out is None else out, np.ascontiguousarray(data)
        offsets = no_bias if bias is None else biases(bias)
        for phase, run, factors in zip(phases, runs, weights(weight), strict=True):
            index, part = (slice(None), slice(None), *phase.places), np.empty((*shape[:2], *phase.size), np.float32)
            added = NOTHING if other is None else np.ascontiguousarray(other[index])
            run(x, factors, (offsets, added, other is not None, floor), part)
            result[index] = part
        return result

    return compute


def _taps(weight: Array, phase: Phase) -> Array:
    return weight[(slice(None), slice(None), *phase.taps)].swapaxes(0, 1)
