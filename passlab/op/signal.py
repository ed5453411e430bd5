"""Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall, Reporter
from passlab.ir.types import ANY, TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, boolean, integer
from passlab.op.declare import Python, call, field_of, operator
from passlab.op.dtypes import Array, is_float_name
from passlab.op.elementwise import constant_like
from passlab.op.nn import window_gradients
from passlab.op.relations import may_agree, on_tensors, refuse, same_dtype, tensor


# ---------------------------------------------------------------- stft
def _stft_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, window = tensor(types, 0, "data"), tensor(types, 1, "window")
    if data is None:
        return None
    if len(data.shape) not in (1, 2):
        refuse("stft needs a signal or a batch of signals", 0, found=data)
    if window is not None and len(window.shape) != 1:
        refuse("window must be a vector", 1, found=window)
    for name in ("n_fft", "hop_length", "win_length"):
        if getattr(attrs, name) < 1:
            refuse(f"{name} must be at least 1", found=getattr(attrs, name))
    batch, length = data.shape if len(data.shape) == 2 else (1, data.shape[0])
    rows = attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft
    if type(length) is int and length < attrs.n_fft:
        refuse(
            f"a signal of {length} elements is shorter than n_fft", 0, expected=f"at least {attrs.n_fft}", found=length
        )
    frames = (length - attrs.n_fft) // attrs.hop_length + 1 if type(length) is int else ANY
    return TensorType((batch, rows, frames, 2), data.dtype)


def _default_window(values: dict[str, Any]) -> None:
    """Set the defaults of windows: `n_fft` long, a quarter of that apart, and all ones."""
    size = values["n_fft"]
    values["hop_length"], values["win_length"] = values["hop_length"] or size // 4, values["win_length"] or size
    if values["window"] is None:
        values["window"] = call("ones", shape=[size], dtype="int32")


@operator(
    "stft",
    ("data", "window"),
    attrs=attrs(
        "StftAttrs",
        integer("n_fft", doc="the size of a transform"),
        integer("hop_length", doc="the distance between the starts of windows"),
        integer("win_length", doc="the size of the window"),
        boolean("normalized", False, doc="whether to divide by the square root of n_fft"),
        boolean("onesided", True, doc="whether to omit the mirrored half"),
    ),
    relation=_stft_type,
    level=3,
    silenced=True,
    python=Python(
        "data, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=True",
        prepare=_default_window,
    ),
    gradient=window_gradients.stft,
    shapes="data (batch, n) or (n), window (win_length) -> (batch, n_fft // 2 + 1, frames, 2)",
    source="np.fft.rfft of windows; PyTorch's stft without centring",
    edge_cases=(
        "stft(%x: (2, 8), %w: (4), n_fft=4, hop_length=2, win_length=4)",
        "stft(%x: (1, 7), %w: (3), n_fft=3, hop_length=2, win_length=3, normalized=True, onesided=False)",
        "stft(%x: (0, 8), %w: (4), n_fft=4, hop_length=2, win_length=4)",
    ),
)
def stft(attrs: Attrs, data: Array, window: Array) -> Array:
    """The Fourier transforms of short overlapping windows of a signal: (batch, frequencies, frames, 2)."""
    rows = np.atleast_2d(data)
    frames = (rows.shape[1] - attrs.n_fft) // attrs.hop_length + 1
    width = min(attrs.win_length, window.shape[0])
    starts = np.arange(frames)[:, None] * attrs.hop_length + np.arange(width)
    frames_of_data = rows[:, np.minimum(starts, rows.shape[1] - 1)].astype(np.float64) * window[:width]
    frequencies = attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft
    angles = 2 * math.pi * np.arange(frequencies)[:, None] * np.arange(width) / attrs.win_length
    result = np.stack(
        [
            np.einsum("bfw,kw->bkf", frames_of_data, np.cos(angles)),
            -np.einsum("bfw,kw->bkf", frames_of_data, np.sin(angles)),
        ],
        axis=-1,
    )
    return (result / math.sqrt(attrs.n_fft) if attrs.normalized else result).astype(data.dtype)


# ---------------------------------------------------------------- dft
@on_tensors
def _dft_type(attrs: Attrs, re_data: TensorType, im_data: TensorType) -> Type:
    same_dtype(re_data, im_data)
    if not is_float_name(re_data.dtype) or not re_data.shape:
        refuse("dft needs floating-point data of at least one dimension", 0, found=re_data)
    if not may_agree(re_data.shape, im_data.shape):
        refuse("real and imaginary parts must have one shape", 1, expected=re_data, found=im_data)
    return TupleType([re_data, im_data])


def _dft_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The transform is symmetric, so its adjoint is the inverse transform times the number of elements."""
    ty, attrs = orig.args[0].checked_type, orig.attrs
    assert isinstance(ty, TensorType)
    count = ty.shape[-1]
    if type(count) is not int:
        refuse("this gradient needs a known number of elements", 0, found=ty)
    inverse = call("dft", field_of(grad, 0), field_of(grad, 1), inverse=not attrs["inverse"])
    factor = constant_like(1 / count if attrs["inverse"] else count, orig.args[0])
    return [field_of(inverse, 0) * factor, field_of(inverse, 1) * factor]


@operator(
    "dft",
    ("re_data", "im_data"),
    attrs=attrs("DFTAttrs", boolean("inverse", False, doc="whether to transform back")),
    relation=_dft_type,
    level=3,
    silenced=True,
    results=2,
    gradient=_dft_grad,
    shapes="real and imaginary parts (..., n) -> (..., n), twice",
    source="np.fft.fft, np.fft.ifft; Cooley and Tukey (1965)",
    edge_cases=("dft(%x: (2, 5), %y: (2, 5))", "dft(%x: (4), %y: (4), inverse=True)", "dft(%x: (0, 3), %y: (0, 3))"),
)
def dft(attrs: Attrs, re_data: Array, im_data: Array) -> tuple[Array, Array]:
    """The discrete Fourier transform along the last dimension, as real and imaginary parts."""
    if re_data.shape[-1] == 0:
        return re_data, im_data
    work_dtype = np.float64 if re_data.dtype.itemsize < 8 else re_data.dtype
    values = re_data.astype(work_dtype) + 1j * im_data.astype(work_dtype)
    result = np.fft.ifft(values) if attrs.inverse else np.fft.fft(values)
    return result.real.astype(re_data.dtype), result.imag.astype(re_data.dtype)
