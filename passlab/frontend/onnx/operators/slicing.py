"""Slice, by constants and by computed bounds."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr
from passlab.ir.types import Any

_END = 2**63 - 1


@onnx_operator("Slice", 1, 10, 11, 13)
def slice_(
    n: OnnxNode,
    x: Expr,
    starts: Expr | None = None,
    ends: Expr | None = None,
    axes: Expr | None = None,
    steps: Expr | None = None,
) -> Expr:
    """`strided_slice`, or `dyn.strided_slice` by computed bounds."""
    if n.version < 10:
        begin, end = n.integers("starts"), n.integers("ends")
        return _static(n, x, begin, end, n.integers("axes", list(range(len(begin)))), [1] * len(begin))
    if starts is None or ends is None:
        n.refuse("lacks its bounds")
    lengths = [n.shape(bounds)[0] for bounds in (starts, ends, axes, steps) if bounds is not None and n.rank(bounds)]
    count = next((length for length in lengths if isinstance(length, int)), None)
    if count is None and axes is None and steps is None:
        count = n.rank(x)
        starts, ends = _lengthened(n, starts, count, 0), _lengthened(n, ends, count, _END)
    if count is None:
        (count,) = n.static_shape(starts, [0])
    named = n.constant_ints(axes, "the axes") if axes is not None else list(range(count))
    if n.value(starts) is None or n.value(ends) is None or (steps is not None and n.value(steps) is None):
        return _dynamic(n, x, starts, ends, named, steps)
    strides = n.constant_ints(steps, "the steps") if steps is not None else [1] * count
    return _static(n, x, n.constant_ints(starts, "the starts"), n.constant_ints(ends, "the ends"), named, strides)


def _lengthened(n: OnnxNode, bounds: Expr, length: int, rest: int) -> Expr:
    """Return bounds for the first axes, of which nobody knows the number, as bounds for all axes."""
    longer = n.concat([n.cast(bounds, "int64"), n.constant([rest] * length, "int64")])
    return n("reshape", n("strided_slice", longer, begin=[0], end=[length]), newshape=[length])


def _static(n: OnnxNode, x: Expr, begin: list[int], end: list[int], axes: list[int], strides: list[int]) -> Expr:
    rank = n.rank(x)
    positions = [n.axis(axis, rank) for axis in axes]
    if not len(begin) == len(end) == len(positions) == len(strides):
        n.refuse("has bounds, axes and steps of different lengths")
    if 0 in strides or len(set(positions)) < len(positions):
        n.refuse("steps by 0, or along one axis twice")
    result = n("strided_slice", x, begin=begin, end=end, strides=strides, axes=positions) if positions else x
    sizes = n.entries(x)
    if sizes is None or not positions:
        return result
    # With a negative step, Python has None for an end before the first element.
    part = sizes[begin[0] : None if strides[0] < 0 and end[0] < -len(sizes) else end[0] : strides[0]]
    return n.constant(part, result) if all(isinstance(p, int) for p in part) else n.record_entries(result, part)


def _dynamic(n: OnnxNode, x: Expr, starts: Expr, ends: Expr, axes: list[int], steps: Expr | None) -> Expr:
    """Return a slice by computed bounds; Relay requires them for the first axes, in order and without gaps."""
    rank = n.rank(x)
    positions = [n.axis(axis, rank) for axis in axes]
    ones = n.constant([1] * len(positions), starts)
    columns = []
    for bounds, otherwise in ((starts, 0), (ends, _END), (ones if steps is None else steps, 1)):
        bounds = n.cast(bounds, "int64")
        parts = []
        for axis in range(max(positions, default=-1) + 1):
            if axis in positions:
                parts.append(n("take", bounds, n.constant([positions.index(axis)], "int64"), axis=0))
            else:
                parts.append(n.constant([otherwise], "int64"))
        columns.append(n.concat(parts))
    result = n("dyn.strided_slice", x, *columns)
    # The type of the result has no sizes at all, for the bounds of an axis that is left alone are numbers like others.
    n.builder.shapes[result] = tuple(Any() if axis in positions else dim for axis, dim in enumerate(n.shape(x)))
    return result
