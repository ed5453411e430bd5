"""Fourier transforms, whose complex numbers are pairs along the last axis."""

from __future__ import annotations

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.tensors import dtype_of
from passlab.frontend.sizes import Size, size_of
from passlab.ir.expr import Expr


@onnx_operator("DFT", 17, 20)
def fourier(n: OnnxNode, x: Expr, length: Expr | None = None, axis: Expr | None = None) -> Expr:
    """`dft` along the last axis, between transposes."""
    rank = n.rank(x)
    if n.version >= 20:
        named = n.constant_ints(axis, "the axis")[0] if axis is not None else -2
    else:
        named = n.integer("axis", 1)
    position, parts = n.axis(named, rank), n.static_shape(x, [rank - 1])[0]
    (size,) = n.static_shape(x, [position])
    points = size if length is None else n.constant_ints(length, "the length")[0]
    inverse, onesided = n.flag("inverse"), n.flag("onesided")
    fields = [n("take", x, n.constant(part, "int64"), axis=rank - 1) for part in range(parts)]
    real = fields[0]
    imaginary = fields[1] if parts == 2 else n("zeros_like", real)
    order = [*(a for a in range(rank - 1) if a != position), position]
    moved = [n("transpose", part, axes=order) for part in (real, imaginary)]
    back = [int(a) for a in np.argsort(order)]
    if inverse and onesided:
        points = 2 * (size - 1) if length is None else points  # the spectrum has half of the points, and one
        spectrum = _full_spectrum(n, moved, points)
        signal = n.fields(n("dft", *spectrum, inverse=True), 2)[0]
        return n("expand_dims", n("transpose", signal, axes=back), axis=rank - 1)
    moved = [_fit_length(n, part, points) for part in moved]
    results = [n("transpose", part, axes=back) for part in n.fields(n("dft", *moved, inverse=inverse), 2)]
    if onesided:
        half = points // 2 + 1
        results = [n("strided_slice", part, begin=[0], end=[half], strides=[1], axes=[position]) for part in results]
    return n("stack", n.builder.tuple(results), axis=rank - 1)


def _full_spectrum(n: OnnxNode, half: list[Expr], points: int) -> list[Expr]:
    """Return the spectrum of a real signal of `points` samples from its first half, by conjugate symmetry."""
    kept = points // 2 + 1
    result = []
    # Conjugate: the imaginary part changes its sign.
    for part, sign in zip((_fit_length(n, part, kept) for part in half), (1, -1), strict=True):
        axis = n.rank(part) - 1
        rest = n("take", part, n.constant(list(range(points - kept, 0, -1)), "int64"), axis=axis)
        result.append(n.concat([part, n("multiply", rest, sign)], axis))
    return result


def _fit_length(n: OnnxNode, x: Expr, points: int) -> Expr:
    """Return `x` with its last axis cropped or padded with zeros to a length."""
    rank = n.rank(x)
    (length,) = n.static_shape(x, [rank - 1])
    if points < 1:
        n.refuse("transforms nothing", found=str(points))
    if points < length:
        return n("strided_slice", x, begin=[0], end=[points], strides=[1], axes=[rank - 1])
    sides = [[0, 0]] * (rank - 1) + [[0, points - length]]
    return x if points == length else n("nn.pad", x, pad_width=sides, pad_value=n.constant(0, x))


@onnx_operator("STFT", 17)
def short_fourier(
    n: OnnxNode, signal: Expr, step: Expr, window: Expr | None = None, length: Expr | None = None
) -> Expr:
    """`dft` of frames that `take` cuts out of the signal, times the window."""
    if n.rank(signal) == 3 and isinstance(n.shape(signal)[2], int) and n.shape(signal)[2] != 1:
        n.refuse("transforms complex signals")
    flat = n("squeeze", signal, axis=[2]) if n.rank(signal) == 3 else signal
    if length is None and window is None:
        n.refuse("needs a window or the length of a frame")
    hop, total = _number(n, step), size_of(n, flat, 1)
    size = size_of(n, window, 0) if length is None and window is not None else _number(n, length)
    if isinstance(hop, int) and isinstance(size, int) and isinstance(total, int):
        if hop < 1 or not 0 < size <= total:
            n.refuse("has impossible frames", found=f"frames of {size}, steps of {hop}, a signal of {total}")
        n.check_size((total - size) // hop + 1, size)
        places = n.constant(np.arange((total - size) // hop + 1)[:, None] * hop + np.arange(size), "int64")
    else:
        hop, size, total = (n.constant(x, "int64") if isinstance(x, int) else n.scalar(x) for x in (hop, size, total))
        starts = _count_to(n, n("add", n("subtract", total, size), 1), hop)
        places = n("add", n("expand_dims", starts, axis=1), _count_to(n, size))
    frames = n("take", flat, places, axis=1)
    frames = frames if window is None else n("multiply", frames, window)
    parts = n.fields(n("dft", frames, n("zeros_like", frames)), 2)
    if n.flag("onesided", True):
        if isinstance(size, int):
            half = n.constant(np.arange(size // 2 + 1), "int64")
        else:
            half = _count_to(n, n("add", n("floor_divide", size, 2), 1))
        parts = [n("take", part, half, axis=2) for part in parts]
    return n("stack", n.builder.tuple(parts), axis=3)


def _number(n: OnnxNode, x: Expr | None) -> Size:
    """Return a whole number that a model gives as an input, where it is known."""
    assert x is not None
    value = n.value(x)
    return n.cast(n("reshape", x, newshape=[1]), "int64") if value is None else int(value.reshape(()))


def _count_to(n: OnnxNode, end: Expr, step: Expr | None = None) -> Expr:
    """Return the numbers from 0 to before an end."""
    one = n.constant(1, "int64")
    return n("arange", n.constant(0, "int64"), end, one if step is None else step, dtype="int64")


@onnx_operator("MelWeightMatrix", 17)
def mel_weights(n: OnnxNode, bands: Expr, size: Expr, rate: Expr, low: Expr, high: Expr) -> Expr:
    """A constant: each column has the triangle of one mel band over the frequencies of a Fourier transform."""
    (count,), (length,), (samples,) = (n.constant_ints(x, "its sizes") for x in (bands, size, rate))
    edges = [float(n.constant_value(x, "its edges").reshape(())) for x in (low, high)]
    n.check_size(length // 2 + 1, count)
    start, end = (2595 * np.log10(1 + edge / 700) for edge in edges)  # to the mel scale
    mels = np.arange(count + 2) * ((end - start) / (count + 2)) + start
    bins = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // samples).astype(int)
    table, positions = np.zeros((length // 2 + 1, count)), np.arange(length // 2 + 1)
    for band, (left, peak, right) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        rising, falling = (positions >= left) & (positions <= peak), (positions >= peak) & (positions < right)
        table[rising, band] = (positions[rising] - left) / (peak - left) if peak > left else 1
        table[falling, band] = (right - positions[falling]) / max(right - peak, 1)
    return n.constant(table, dtype_of(n.integer("output_datatype", 1)))
