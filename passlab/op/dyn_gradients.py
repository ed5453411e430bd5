"""Gradients of operators whose shape is an input. Shapes are computed when the gradient runs."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Tuple
from passlab.ir.op import OpCall
from passlab.op.along_axis import FOREVER, indices, number, reshape_to
from passlab.op.autodiff import attrs_of, dtype_of, shape_of, zeros_of
from passlab.op.declare import call, field_of
from passlab.op.gather_gradients import ONE, ZERO, value_gradients
from passlab.op.relations import refuse


def _as_int64(vector: Expr, leading: int = 0) -> Expr:
    """Return a vector as 64-bit integers, with `leading` ones in front."""
    result = call("cast", vector, dtype="int64")
    return call("concatenate", Tuple([indices([1] * leading), result]), axis=0) if leading else result


def full(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of the value is the sum of all gradients."""
    value, shape = orig.args
    return [call("cast_like", call("sum", grad), value), call("zeros_like", shape)]


def tile(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient summed over all copies of an element."""
    data, reps = orig.args
    rank, length = len(shape_of(orig)), shape_of(reps)[0] if shape_of(reps) else 1
    sizes = _as_int64(call("shape_of", data, dtype="int64"), rank - len(shape_of(data)))
    repeats = _as_int64(reshape_to(reps, (length,)), rank - length)
    # the copies along each dimension get a dimension of their own, which is summed
    split_shape = reshape_to(call("stack", Tuple([repeats, sizes]), axis=1), (2 * rank,))
    parts = call("dyn.reshape", grad, split_shape, newshape=[], allowzero=True)
    total = call("sum", parts, axis=list(range(0, 2 * rank, 2)))
    return [call("reshape_like", total, data), call("zeros_like", reps)]


def strided_slice(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient, written into zeros at the positions of the slice."""
    attrs, (data, begin, end, strides) = attrs_of(orig), orig.args
    if attrs.axes is not None:
        refuse("dyn.strided_slice has no gradient for chosen axes", hint="give bounds for all dimensions")
    stop, steps = end, strides
    if attrs.slice_mode == "size":
        first, size, zero = _as_int64(begin), _as_int64(end), indices(0)
        last = first + size
        wraps = call("less", first, zero) * call("greater_equal", last, zero)
        open_end = call("logical_or", call("less", size, zero), wraps)
        stop, steps = call("where", open_end, indices(FOREVER), last), call("ones_like", strides)
        begin = first
    result = call("strided_set", call("zeros_like", data), grad, begin, stop, steps)
    return [result, *(call("zeros_like", arg) for arg in orig.args[1:])]


def topk(orig: OpCall, grad: Expr) -> list[Expr]:
    """The selected elements receive the gradients of the values."""
    attrs, (data, k) = attrs_of(orig), orig.args
    zeros, no_gradient = call("zeros_like", data), call("zeros_like", k)
    if attrs.ret_type == "indices":
        return [zeros, no_gradient]
    indices_only: dict[str, Any] = {**dict(attrs.items()), "ret_type": "indices", "dtype": "int64"}
    positions = field_of(orig, 1) if attrs.ret_type == "both" else call("dyn.topk", data, k, **indices_only)
    values = field_of(grad, 0) if attrs.ret_type == "both" else grad
    return [call("scatter_elements", zeros, positions, values, axis=attrs.axis, reduction="add"), no_gradient]


def one_hot(orig: OpCall, grad: Expr) -> list[Expr]:
    """`on_value` receives the gradients at the indices, `off_value` the gradients of the other elements."""
    attrs, (positions, on, off, depth) = attrs_of(orig), orig.args
    chosen = call("dyn.one_hot", positions, ONE, ZERO, depth, depth=0, axis=attrs.axis, dtype="bool")
    return [zeros_of(positions), *value_gradients(chosen, grad, on, off), zeros_of(depth)]


def pad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient without the border; the border's value receives the rest."""
    attrs, (data, widths, value) = attrs_of(orig), orig.args
    if attrs.pad_mode != "constant":
        refuse("dyn.nn.pad has a gradient for constant borders", found=attrs.pad_mode)
    back, zero = call("negative", widths), number(0, dtype_of(data))
    inside = call("dyn.nn.pad", grad, back, zero, pad_width=[])
    rest = call("cast_like", call("sum", grad) - call("sum", inside), value)
    return [call("reshape_like", inside, data), call("zeros_like", widths), rest * call("ones_like", value)]
