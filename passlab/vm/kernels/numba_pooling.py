"""Pooling of float32 images compiled by Numba: each channel is copied into planes, as for a convolution.

The padding of the planes is the lowest finite number for a maximum and zero for a mean. The sums of a mean are divided
by the number of elements that count. Needs the package numba.
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
from passlab.vm.kernels.fused_product import Array, shape_of
from passlab.vm.kernels.numba_convolution import plane_layout, threads_for, write_result
from passlab.vm.kernels.numba_loops import pool

POOLS = frozenset(("nn.max_pool2d", "nn.avg_pool2d"))


def is_pooling(call: Call) -> bool:
    """Whether a call on float32 pools images whose channels come first."""
    attrs: Any = call.attrs
    return op_name(call) in POOLS and attrs.layout == "NCHW" == (attrs.out_layout or "NCHW")


def pooling(call: Call) -> Callable[..., Any]:
    """Return a function (attrs, data, out) of arrays, of which the last may be None."""
    attrs: Any = call.attrs
    data_shape, shape = shape_of(call.args[0]), shape_of(call)
    plan = plan_of(attrs, data_shape, 2, op_name(call))
    kernel = (int(plan.window[0]), int(plan.window[1]))
    layout = plane_layout(Window(plan.strides, plan.before, plan.after, plan.dilation), kernel, (shape[2], shape[3]))
    rows, is_mean = shape[2] + layout.extra_rows, op_name(call) == "nn.avg_pool2d"
    geometry = (layout.planes, layout.window, rows, layout.width, layout.starts(rows))
    threads = threads_for(math.prod(shape) * math.prod(kernel), depthwise=True)
    ones = np.ones(math.prod(kernel), np.float32)
    padding = np.float32(0 if is_mean else lowest(np.dtype(np.float32)))
    divisors = np.ones(shape[2:], np.float32) * (math.prod(kernel) if plan.full else plan.divisors.reshape(shape[2:]))
    divisors = divisors.astype(np.float32)

    def compute(attrs: Any, data: Any, out: Any = None) -> Any:
        x, counter = np.ascontiguousarray(data), np.zeros(1, np.int64)

        def write(result: Array) -> None:
            work_together(lambda: pool(x, geometry, counter, padding, is_mean, ones, divisors, result), threads)

        return write_result(out, shape, write)

    return compute
