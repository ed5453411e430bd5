"""Depthwise convolution compiled by Numba: a channel's windows are summed in the first-level cache.

NumPy goes over memory once for every tap of a window; machine code reads all taps and writes a sum once. Laying
channels out in planes, where every tap is one contiguous run, stays with `passlab.op.nn.depthwise`. Needs the package
numba; all other convolutions stay NumPy's and BLAS's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from passlab.ir.expr import Call
from passlab.ir.types import TensorType
from passlab.op.nn.conv import check_window
from passlab.op.nn.depthwise import SumRuns, depthwise
from passlab.vm.kernels.compiled_kernel import numpy_function

FLOATS = ("float32", "float64")
RUN = 2048  # elements that are summed at a time: they and what is added to them stay in the first-level cache


def compiled_function(node: Call) -> Callable[..., Any]:
    """Return an operator's function on arrays: machine code for depthwise convolutions of images, else NumPy's."""
    return _depthwise if _is_depthwise(node) else numpy_function(node)


def _is_depthwise(node: Call) -> bool:
    if getattr(node.op, "name", "") != "nn.conv2d":
        return False
    data, weight = (arg.checked_type for arg in node.args)
    attrs: Any = node.attrs
    if not isinstance(data, TensorType) or not isinstance(weight, TensorType) or data.dynamic or weight.dynamic:
        return False
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    channels: Any = data.shape[1]
    return (
        1 < attrs.groups == channels
        and layouts == ("NCHW", "OIHW", "NCHW")
        and {data.dtype, weight.dtype, attrs.out_dtype or data.dtype} == {data.dtype}
        and data.dtype in FLOATS
    )


def _depthwise(attrs: Any, data: Any, weight: Any, out: Any = None) -> Any:
    """Convolve each channel of `data` (N, C, H, W) with its own windows; a channel may have several."""
    window = check_window(attrs, 2)
    kernel = weight.shape[2:]
    taps = weight.reshape(-1, *kernel)
    shape = (data.shape[0], len(taps), *window.output(data.shape[2:], kernel))
    result = np.empty(shape, data.dtype) if out is None else out
    if result.size and taps.size:
        depthwise(result, data, taps, window, kernel, False, _sum_runs())
    else:
        result[...] = 0
    return result


@cache
def _sum_runs() -> SumRuns:
    """Return the compiled loops."""
    njit: Any = numba.njit(nogil=True, fastmath={"contract"})  # Numba's functions have no types

    def sum_runs(data: Any, weights: Any, starts: Any, sums: Any) -> None:  # pragma: no cover - machine code
        length = sums.shape[1]
        for c in range(sums.shape[0]):
            for first in range(0, length, RUN):
                end = min(first + RUN, length)
                out = sums[c, first:end]
                if starts.size == 9:
                    add_nine(data[c, first:], weights[c], starts, out)
                    continue
                for t in range(starts.size):
                    factor = weights[c, t]
                    run = data[c, starts[t] + first : starts[t] + end]
                    if t == 0:
                        for i in range(out.size):
                            out[i] = run[i] * factor
                    else:
                        for i in range(out.size):
                            out[i] += run[i] * factor

    def add_nine_runs(data: Any, w: Any, at: Any, out: Any) -> None:  # pragma: no cover - machine code
        """The windows of most networks: nine taps in one go, so that a sum is written once."""
        a, b, c, d, e = data[at[0] :], data[at[1] :], data[at[2] :], data[at[3] :], data[at[4] :]
        f, g, h, k = data[at[5] :], data[at[6] :], data[at[7] :], data[at[8] :]
        p, q, r, s, t, u, v, x, y = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
        for i in range(out.size):
            left, right = a[i] * p + b[i] * q + c[i] * r + d[i] * s, f[i] * u + g[i] * v + h[i] * x + k[i] * y
            out[i] = left + right + e[i] * t

    add_nine = njit(add_nine_runs)
    result: SumRuns = njit(sum_runs)
    return result
