"""Gradients of operators that compare windows: correlation, greyscale dilation, sliding windows, Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, Tuple
from passlab.op.along_axis import indices, number, part, reshape_to, take_along, to_layout
from passlab.op.autodiff import by_definition, dtype_of, infer_types, sizes_of
from passlab.op.declare import call
from passlab.op.nn.window_sizes import full_padding


def _add_border(data: Expr, padding: Sequence[int]) -> Expr:
    """Return images in NCHW with a border of zeros."""
    (top, left, bottom, right) = full_padding(padding, 2)
    widths = ((0, 0), (0, 0), (top, bottom), (left, right))
    return call("nn.pad", data, number(0, dtype_of(data)), pad_width=widths)


def _slice_image(image: Expr, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] = (1, 1)) -> Expr:
    """Return pixels of images in NCHW from `starts` on, `steps` apart."""
    ends = [a + (n - 1) * s + 1 for a, n, s in zip(starts, sizes, steps, strict=True)]
    return call("strided_slice", image, begin=starts, end=ends, strides=steps, axes=[2, 3])


# ---------------------------------------------------------------- correlation
def _define_correlation(attrs: Attrs, data1: Expr, data2: Expr) -> Expr:
    """Define `nn.correlation`: for each displacement, the means of products or distances over channels and windows."""
    a, b = (infer_types(_add_border(x, attrs.padding)) for x in (data1, data2))
    max_shift, kernel, step = attrs.max_displacement, attrs.kernel_size, attrs.stride1
    border, size = max_shift + (kernel - 1) // 2, sizes_of(a, "nn.correlation")[2:]
    extents = [(-(-(n - 2 * border) // step) - 1) * step + kernel for n in size]
    radius = max_shift // attrs.stride2
    shifts = [i * attrs.stride2 for i in range(-radius, radius + 1)]
    first, maps = _slice_image(a, (max_shift, max_shift), extents), []
    for dy, dx in ((y, x) for y in shifts for x in shifts):
        second = _slice_image(b, (max_shift + dy, max_shift + dx), extents)
        products = first * second if attrs.is_multiply else call("abs", first - second)
        total = call("mean", products, axis=[1], keepdims=True)
        maps.append(call("nn.avg_pool2d", total, pool_size=(kernel, kernel), strides=(step, step)))
    return call("concatenate", Tuple(maps), axis=1)


correlation = by_definition(_define_correlation)


# ---------------------------------------------------------------- dilation2d
def _define_dilation2d(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
    """Define `image.dilation2d`: the maximum, over all taps, of shifted data plus the weight of the tap."""
    w = infer_types(to_layout(weight, attrs.kernel_layout, "IHW"))
    x = infer_types(_add_border(infer_types(to_layout(data, attrs.data_layout, "NCHW")), attrs.padding))
    c, *kernel = sizes_of(w, "image.dilation2d")
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, attrs.dilations, strict=True)]
    axes = zip(sizes_of(x, "image.dilation2d")[2:], extents, attrs.strides, strict=True)
    size = [(n - r) // s + 1 for n, r, s in axes]
    terms = []
    for tap in np.ndindex(*kernel):
        starts = [t * d for t, d in zip(tap, attrs.dilations, strict=True)]
        tap_weight = call("strided_slice", w, begin=tap, end=[t + 1 for t in tap], strides=[1, 1], axes=[1, 2])
        terms.append(_slice_image(x, starts, size, attrs.strides) + reshape_to(tap_weight, (1, c, 1, 1)))
    result = to_layout(reduce(lambda p, q: call("maximum", p, q), terms), "NCHW", attrs.data_layout)
    return call("cast", result, dtype=attrs.out_dtype) if attrs.out_dtype not in ("", dtype_of(data)) else result


dilation2d = by_definition(_define_dilation2d)


# ---------------------------------------------------------------- sliding_window
def _define_sliding_window(attrs: Attrs, data: Expr) -> Expr:
    """Define `sliding_window`: the elements of each window, selected along one axis after the other."""
    shape = sizes_of(data, "sliding_window")
    axis, result = attrs.axis % len(shape), data
    windows, counts = attrs.window_shape, []
    for i, (size, step) in enumerate(zip(windows, attrs.strides, strict=True)):
        count = (shape[axis + i] - size) // step + 1
        positions = (np.arange(count)[:, None] * step + np.arange(size)).reshape(-1)
        result = take_along(result, axis + i, positions)
        counts.append(count)
    split_shape = [n for pair in zip(counts, windows, strict=True) for n in pair]
    rest = range(axis, axis + 2 * len(windows))
    order = [*range(axis), *rest[::2], *rest[1::2]]
    return call("transpose", reshape_to(result, (*shape[:axis], *split_shape)), axes=order)


sliding_window = by_definition(_define_sliding_window)


# ---------------------------------------------------------------- stft
def _define_stft(attrs: Attrs, data: Expr, window: Expr) -> Expr:
    """Define `stft`: segments of the signal times the window, times the cosines and sines of each frequency."""
    shape, dtype = sizes_of(data, "stft"), dtype_of(data)
    batch, length = (1, *shape) if len(shape) == 1 else shape
    frames = (length - attrs.n_fft) // attrs.hop_length + 1
    width = min(attrs.win_length, sizes_of(window, "stft")[0])
    starts = np.arange(frames)[:, None] * attrs.hop_length + np.arange(width)
    rows = reshape_to(data, (batch, length))
    frames_of_data: Expr = call("take", rows, indices(np.minimum(starts, length - 1)), axis=1)
    weights = part(window, 0, 0, width)
    frames_of_data = frames_of_data * (weights if dtype_of(window) == dtype else call("cast", weights, dtype=dtype))
    frequencies = attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft
    angles = 2 * np.pi * np.arange(frequencies)[:, None] * np.arange(width) / attrs.win_length
    size = np.sqrt(attrs.n_fft) if attrs.normalized else 1.0
    waves = (np.cos(angles) / size, -np.sin(angles) / size)
    result = [call("nn.dense", frames_of_data, number(wave, dtype), units=None) for wave in waves]
    return call("transpose", call("stack", Tuple(result), axis=-1), axes=[0, 2, 1, 3])


stft = by_definition(_define_stft)
