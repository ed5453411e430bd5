"""Pooling of images of float32 compiled by Numba: windows over vectors of channels, which are last in memory.

The padding is the least number for a maximum, and zeros for a mean, whose elements are divided by how many count. A
bias and a ReLU that follow are computed while the result is in registers. Needs the package numba.
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
from passlab.vm.kernels.fused_product import FrozenCache, shape_of
from passlab.vm.kernels.numba_blocks import LANES
from passlab.vm.kernels.numba_channels import last, pack_bias, pack_windows, windows, write
from passlab.vm.kernels.numba_convolution import threads_for

SLIDING = frozenset(("nn.max_pool2d", "nn.avg_pool2d"))
POOLS = SLIDING | {"nn.global_avg_pool2d"}


def is_pooling(call: Call) -> bool:
    """Whether a call on float32 pools images, channels first."""
    attrs: Any = call.attrs
    return op_name(call) in POOLS and attrs.layout == "NCHW" == (attrs.out_layout or "NCHW")


def pooling(call: Call, relu: bool = False) -> Callable[..., Any]:
    """Return a function (data, bias, other, out) of arrays, of which the last three may be None."""
    attrs: Any = call.attrs
    data_shape, shape = shape_of(call.args[0]), shape_of(call)
    is_mean, divisors = op_name(call) != "nn.max_pool2d", None
    if op_name(call) in SLIDING:
        plan = plan_of(attrs, data_shape, 2, op_name(call))
        kernel = (int(plan.window[0]), int(plan.window[1]))
        window = Window(plan.strides, plan.before, plan.after, plan.dilation)
        if is_mean and not plan.full:
            divisors = np.ascontiguousarray(plan.divisors.reshape(*shape[2:], 1), np.float32)
    else:
        kernel, window = (data_shape[2], data_shape[3]), Window((1, 1), (0, 0), (0, 0), (1, 1))
    threads = threads_for(math.prod(shape) * math.prod(kernel), depthwise=True)
    least = None if is_mean else float(lowest(np.dtype(np.float32)))
    run = windows(data_shape, shape, kernel, window, threads, least)
    share = np.float32(1 if divisors is not None else 1 / math.prod(kernel))
    weights = pack_windows(np.full((shape[1], 1, *kernel), share, np.float32))
    biases = FrozenCache(lambda bias: pack_bias(bias, 1, LANES)[0])
    no_bias, floor = biases(np.zeros(shape[1], np.float32)), np.float32(0 if relu else -np.inf)

    def compute(data: Any, bias: Any = None, other: Any = None, out: Any = None) -> Any:
        offsets, added = no_bias if bias is None else biases(bias), None if other is None else last(other)

        def fill(result: Any) -> None:
            run(last(data), weights, offsets, floor, added, result)
            if divisors is not None:
                np.divide(result, divisors, out=result)

        return write(shape, out, fill)

    return compute


def is_plain_pooling(call: Call) -> bool:
    """Whether a pooling gives maxima, or means over equally many elements, so that a bias may be added at once."""
    if not is_pooling(call):
        return False
    name = op_name(call)
    return name != "nn.avg_pool2d" or plan_of(call.attrs, shape_of(call.args[0]), 2, name).full


def fused_pooling(call: Call, relu: bool) -> Callable[..., Any]:
    """Return pooling with what follows as the function of a product, whose weight is nothing."""
    pool = pooling(call, relu)
    return lambda data, weight, bias=None, other=None, out=None: pool(data, bias, other, out)
