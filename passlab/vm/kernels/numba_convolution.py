"""Convolutions compiled by Numba: no patches are copied, and weights are packed once.

The padded image is laid out in planes, as in `passlab.op.nn.depthwise`: the plane (p, q) of a window that moves by
(s, t) holds the rows p, p + s, ... and the columns q, q + t, ... Each tap of the window is then one run of a plane for
all rows of the result at once, with a few sums across the edge of each row, which are left out in the end. Where
windows are single elements that move by one, the image itself is such a plane. The sums of a few channels of the result
are computed in registers (`numba_blocks`); a bias, a tensor to be added and a relu follow while they are in the
first-level cache. Needs the package numba.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.op.nn.conv import check_window
from passlab.op.nn.sliding import Window
from passlab.vm.kernels.fused_product import Array, Remembered, shape_of
from passlab.vm.kernels.numba_blocks import LANES, SUMS
from passlab.vm.kernels.numba_loops import DATA_BYTES, by_blocks, by_channel

NOTHING = np.empty((1, 1, 1, 1), np.float32)


@dataclass(frozen=True)
class Layout:
    """Where the taps of a window find their runs: the planes that are laid out, and the place of each tap in them."""

    window: Array  # strides, then padding before
    planes: Array  # (n, 2)
    rows: int  # of a plane
    wide: int  # columns of a plane
    starts: Array
    is_image: bool  # whether the image itself is the only plane


def layout_of(window: Window, kernel: tuple[int, int], size: tuple[int, int]) -> Layout:
    """Return how an image is laid out for a window over it that has `size` places."""
    (s, t), (d, e) = window.strides, window.dilation
    taps = [(y * d, x * e) for y, x in itertools.product(range(kernel[0]), range(kernel[1]))]
    planes = sorted({(y % s, x % t) for y, x in taps})
    rows, wide = size[0] + taps[-1][0] // s, size[1] + taps[-1][1] // t
    starts = [planes.index((y % s, x % t)) * rows * wide + y // s * wide + x // t for y, x in taps]
    plain = len(taps) == 1 and (s, t) == (1, 1) and not any((*window.before, *window.after))
    numbers = [np.array(values, np.int64) for values in ((s, t, *window.before), planes, starts)]
    return Layout(numbers[0], numbers[1], rows, wide, numbers[2], plain)


def is_convolution(call: Call) -> bool:
    """Whether a convolution of images is computed here: channels first."""
    attrs: Any = call.attrs
    data, weight, result = map(shape_of, (*call.args, call))
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    # a depthwise weight may also be written by channel and multiplier
    return layouts == ("NCHW", "OIHW", "NCHW") and weight[:2] == (result[1], data[1] // attrs.groups)


def convolution(call: Call, relu: bool) -> Callable[..., Any]:
    """Return a function (data, weight, bias, other, out) of arrays, of which the last three may be None."""
    attrs: Any = call.attrs
    shape, (_, inputs, *kernel) = shape_of(call), shape_of(call.args[1])
    groups, area = int(attrs.groups), shape[2] * shape[3]
    layout = layout_of(check_window(attrs, 2), (kernel[0], kernel[1]), (shape[2], shape[3]))
    whole = layout.is_image and LANES <= area <= DATA_BYTES // (4 * inputs)  # one line of numbers
    weights = Remembered(lambda weight: pack(weight, groups))
    biases = Remembered(lambda bias: np.array(bias, np.float32).reshape(-1))
    no_bias = np.zeros(shape[1], np.float32)
    image = layout.is_image and (whole or layout.wide >= LANES)
    places = (layout.planes, layout.window, layout.rows, area if whole else layout.wide, layout.starts)

    def compute(data: Any, weight: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        result = np.empty(shape, np.float32) if out is None or not out.flags.c_contiguous else out
        x, factors = np.ascontiguousarray(data), weights(weight)
        offsets = no_bias if bias is None else biases(bias)
        added, to = NOTHING if other is None else np.ascontiguousarray(other), result
        if whole:
            to = to.reshape(*shape[:2], 1, area)
            added = NOTHING if other is None else added.reshape(to.shape)
        ending = (offsets, added, other is not None, relu)
        if inputs == 1 < groups:
            by_channel(x, places, factors, ending, to)
        else:
            by_blocks(x, image, places, factors, ending, to)
        if out is not None and out is not result:
            out[...] = result
        return result if out is None else out

    return compute


def pack(weight: Array, groups: int) -> Array:
    """Return a weight (O, C, H, W) as (groups, blocks of O, C, taps, SUMS), filled up with zeros.

    Where groups have one channel of data each, every channel of the result is a block of its own.
    """
    each, channels, taps = len(weight) // groups, weight.shape[1], weight[0, 0].size
    if channels == 1 < groups:
        return np.array(weight, order="C").reshape(groups, each, 1, taps, 1)
    blocks = -(-each // SUMS)
    packed = np.zeros((groups, blocks * SUMS, channels, taps), weight.dtype)
    packed[:, :each] = weight.reshape(groups, each, channels, taps)
    return np.ascontiguousarray(np.moveaxis(packed.reshape(groups, blocks, SUMS, channels, taps), 2, -1))
