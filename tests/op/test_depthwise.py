"""Depthwise convolution of few and many channels, in every layout and number of axes, against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from passlab.op.nn.conv_kernels import convolve, depthwise
from passlab.op.nn.window_arrays import Window


def by_definition(x, w, window, size):
    """Sum window by window: `x` (N, C, *S), `w` (C, 1, *K)."""
    pad = [(0, 0), (0, 0), *zip(window.before, window.after, strict=True)]
    padded = np.pad(x, pad).astype("float64")
    out = np.zeros((*x.shape[:2], *size))
    for place in itertools.product(*map(range, size)):
        for tap in itertools.product(*map(range, w.shape[2:])):
            at = tuple(p * s + t * d for p, s, t, d in zip(place, window.strides, tap, window.dilation, strict=True))
            out[(..., *place)] += padded[(..., *at)] * w[(slice(None), 0, *tap)]
    return out


@pytest.mark.rotating
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("channels", [3, 64, 130])
@pytest.mark.parametrize(
    ("space", "kernel", "window"),
    [
        ((9,), (3,), Window((2,), (1,), (0,), (1,))),
        ((7, 6), (3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1))),
        ((40, 35), (3, 2), Window((1, 1), (0, 1), (2, 1), (1, 1))),
        ((8, 9), (3, 2), Window((2, 3), (1, 0), (1, 2), (2, 1))),
        ((4, 5, 3), (2, 3, 1), Window((1, 2, 1), (1, 1, 0), (0, 1, 0), (1, 1, 1))),
    ],
    ids=["1d", "2d", "wide", "strided", "3d"],
)
@pytest.mark.parametrize(("block", "run"), [(800, 0), (20_000, 5000), (200_000, 0)])
def test_depthwise_is_what_it_means(space, kernel, window, channels, dtype, last, block, run, monkeypatch):
    monkeypatch.setattr("passlab.op.nn.conv_kernels._LONG_RUN", run)
    monkeypatch.setattr("passlab.op.nn.conv_kernels._BLOCK_BYTES", block)  # several blocks of channels, or of rows
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((2, channels, *space)) * 4).astype(dtype)
    w = (rng.standard_normal((channels, 1, *kernel)) * 4).astype(dtype)
    expected = by_definition(x, w, window, window.output(space, kernel))
    if last:
        x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, (0, 1), (-1, -2))
        expected = np.moveaxis(expected, 1, -1)
    got = convolve(x, w, window, channels, np.dtype(dtype), last=last)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("block", [800, 200_000])
@pytest.mark.parametrize(
    ("space", "kernel", "window"),
    [
        ((9,), (3,), Window((2,), (1,), (0,), (1,))),
        ((7, 6), (3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1))),
        ((17, 14), (3, 3), Window((2, 2), (1, 1), (1, 1), (1, 1))),
        ((8, 9), (3, 2), Window((2, 3), (1, 0), (1, 2), (2, 1))),
        ((4, 5, 3), (2, 3, 1), Window((1, 2, 1), (1, 1, 0), (0, 1, 0), (1, 1, 1))),
    ],
    ids=["1d", "2d", "by two", "strided", "3d"],
)
def test_a_channel_may_have_several_windows(space, kernel, window, block, times, monkeypatch):
    monkeypatch.setattr("passlab.op.nn.conv_kernels._BLOCK_BYTES", block)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 5, *space)).astype("float32")
    w = rng.standard_normal((5 * times, 1, *kernel)).astype("float32")
    size = window.output(space, kernel)
    result = np.full((2, 5 * times, *size), np.nan, "float32")
    depthwise(result, x, w, window, kernel, False)
    expected = by_definition(np.repeat(x, times, axis=1), w, window, size)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
