"""Pooling of images of float32 compiled by Numba: each channel is laid out in planes, as for a convolution.

The planes' padding is the least number for a maximum, and zeros for a mean, whose sums are divided by the number of
elements that count. Needs the package numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.ir.op import op_name
from passlab.op.nn.pool import plan_of
from passlab.op.nn.pooling import lowest
from passlab.op.nn.sliding import Window
from passlab.threads import work_together
from passlab.vm.kernels.fused_product import shape_of
from passlab.vm.kernels.numba_convolution import layout_of, threads_for
from passlab.vm.kernels.numba_loops import pool_maximum, pool_mean

POOLS = frozenset(("nn.max_pool2d", "nn.avg_pool2d"))


def is_pooling(call: Call) -> bool:
    """Whether a call on float32 pools images, channels first."""
    attrs: Any = call.attrs
    return op_name(call) in POOLS and attrs.layout == "NCHW" == (attrs.out_layout or "NCHW")


def pooling(call: Call) -> Callable[..., Any]:
    """Return a function (attrs, data, out) of arrays, of which the last may be None."""
    attrs: Any = call.attrs
    data_shape, shape = shape_of(call.args[0]), shape_of(call)
    plan = plan_of(attrs, data_shape, 2, op_name(call))
    kernel = (int(plan.window[0]), int(plan.window[1]))
    layout = layout_of(Window(plan.strides, plan.before, plan.after, plan.dilation), kernel, (shape[2], shape[3]))
    rows, is_mean = shape[2] + layout.beyond, op_name(call) == "nn.avg_pool2d"
    places = (layout.planes, layout.window, rows, layout.wide, layout.starts(rows))
    threads = threads_for(math.prod(shape) * math.prod(kernel), by_itself=True)
    ones = np.ones(math.prod(kernel), np.float32)
    least = np.float32(lowest(np.dtype(np.float32)))
    divisors = np.ones(shape[2:], np.float32) * (math.prod(kernel) if plan.full else plan.divisors.reshape(shape[2:]))
    divisors = divisors.astype(np.float32)

    def compute(attrs: Any, data: Any, out: Any = None) -> Any:
        result = np.empty(shape, np.float32) if out is None or not out.flags.c_contiguous else out
        x, counter = np.ascontiguousarray(data), np.zeros(1, np.int64)
        if is_mean:
            work_together(lambda: pool_mean(x, places, counter, ones, divisors, result), threads)
        else:
            work_together(lambda: pool_maximum(x, places, counter, least, result), threads)
        if out is not None and out is not result:
            out[...] = result
        return result if out is None else out

    return compute
