"""Gradients of operators whose shape is an input. Shapes are computed when the gradient runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr, Tuple
from passlab.ir.op import OpCall
from passlab.op.along_axis import indices, number, reshape_to
from passlab.op.chain import attrs_of, dtype_of, shape_of, zeros_of
from passlab.op.declare import call, field_of
from passlab.op.relations import refuse
from passlab.op.slice import FOREVER


def _wide(vector: Expr, more: int = 0) -> Expr:
    """A vector of 64-bit integers, with ones in front."""
    result = call("cast", vector, dtype="int64")
    return call("concatenate", Tuple([indices([1] * more), result]), axis=0) if more else result


def full(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of the value is the sum of all gradients."""
    value, shape = orig.args
    return [call("cast_like", call("sum", grad), value), call("zeros_like", shape)]


def tile(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient summed over all copies of an element."""
    data, reps = orig.args
    rank, counts = len(shape_of(orig)), shape_of(reps)[0] if shape_of(reps) else 1
    sizes = _wide(call("shape_of", data, dtype="int64"), rank - len(shape_of(data)))
    times = _wide(reshape_to(reps, (counts,)), rank - counts)
    split = reshape_to(call("stack", Tuple([times, sizes]), axis=1), (2 * rank,))
    parts = call("dyn.reshape", grad, split, newshape=[], allowzero=True)
    total = call("sum", parts, axis=list(range(0, 2 * rank, 2)))
    return [call("reshape_like", total, data), call("zeros_like", reps)]


def strided_slice(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, written into zeros at the positions of the slice."""
    attrs, (data, begin, end, strides) = attrs_of(orig), orig.args
    if attrs.axes is not None:
        refuse("dyn.strided_slice has no gradient for chosen axes", hint="give bounds for all dimensions")
    stop, steps = end, strides
    if attrs.slice_mode == "size":
        first, size, zero = _wide(begin), _wide(end), indices(0)
        reach = first + size
        open_end = call("logical_or", call("less", size, zero), call("less", first, zero) * _at_least(reach, zero))
        stop, steps = call("where", open_end, indices(FOREVER), reach), call("ones_like", strides)
        begin = first
    result = call("strided_set", call("zeros_like", data), grad, begin, stop, steps)
    return [result, *(call("zeros_like", arg) for arg in orig.args[1:])]


def _at_least(a: Expr, b: Expr) -> Expr:
    return call("greater_equal", a, b)


def topk(orig: OpCall, grad: Expr) -> list[Expr]:
    """The selected elements receive the gradients of the values."""
    attrs, (data, k) = attrs_of(orig), orig.args
    zeros, none = call("zeros_like", data), call("zeros_like", k)
    if attrs.ret_type == "indices":
        return [zeros, none]
    expected: dict[str, Any] = {**dict(attrs.items()), "ret_type": "indices", "dtype": "int64"}
    positions = field_of(orig, 1) if attrs.ret_type == "both" else call("dyn.topk", data, k, **expected)
    values = field_of(grad, 0) if attrs.ret_type == "both" else grad
    return [call("scatter_elements", zeros, positions, values, axis=attrs.axis, reduction="add"), none]


def one_hot(orig: OpCall, grad: Expr) -> list[Expr]:
    """`on_value` receives the gradients at the indices, `off_value` those of the other elements."""
    attrs, (positions, on, off, depth) = attrs_of(orig), orig.args
    one, zero = (Constant(np.array(value, np.float32)) for value in (1, 0))
    chosen = call("dyn.one_hot", positions, one, zero, depth, depth=0, axis=attrs.axis, dtype="bool")
    none = call("zeros_like", grad)
    parts = (call("where", chosen, grad, none), call("where", chosen, none, grad))
    slopes = [call("cast_like", call("sum", part), value) for part, value in zip(parts, (on, off), strict=True)]
    return [zeros_of(positions), *slopes, zeros_of(depth)]


def pad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient without the border; the border's value receives the rest."""
    attrs, (data, widths, value) = attrs_of(orig), orig.args
    if attrs.pad_mode != "constant":
        refuse("dyn.nn.pad has a gradient for constant borders", found=attrs.pad_mode)
    back, zero = call("negative", widths), number(0, dtype_of(data))
    inside = call("dyn.nn.pad", grad, back, zero, pad_width=[])
    rest = call("cast_like", call("sum", grad) - call("sum", inside), value)
    return [call("reshape_like", inside, data), call("zeros_like", widths), rest * call("ones_like", value)]
