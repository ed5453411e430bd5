"""Operators that return the shape of a tensor, and ranges, whose size depends on values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpCall, OpPattern, Precision, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op.attr_fields import attrs, dtype, expression
from passlab.op.autodiff import zero_gradient
from passlab.op.create import scalar
from passlab.op.declare import Python, call, constant, operator
from passlab.op.dtypes import Array, array_dtype, guard_size
from passlab.op.relations import on_tensors

SHAPE_OF = attrs("ShapeOfAttrs", dtype("dtype", "", doc="the dtype of the sizes, by default int32"))


@on_tensors
def shape_of_type(attrs: Attrs, data: TensorType) -> Type:
    """A vector with one size for each dimension."""
    return TensorType((len(data.shape),), attrs.dtype or "int32")


def shape_of_array(attrs: Attrs, data: Array) -> Array:
    """Return the shape of an array as a vector."""
    return np.array(data.shape, array_dtype(attrs.dtype or "int32"))


@operator(
    "shape_of",
    ("data",),
    attrs=SHAPE_OF,
    relation=shape_of_type,
    python=Python("data, dtype='int32'"),
    gradient=zero_gradient,
    shapes="(d0, ..., dn) -> (n + 1)",
    source="ndarray.shape",
    edge_cases=(
        'shape_of(%x: (2, 3), dtype="int32")',
        'shape_of(%x: (), dtype="int64")',
        'shape_of(%x: (0, 3), dtype="int64")',
    ),
    precision=Precision.FOLLOW,
)
def shape_of(attrs: Attrs, data: Array) -> Array:
    """The shape of a tensor as a vector."""
    return shape_of_array(attrs, data)


@on_tensors
def _size_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType((), attrs.dtype or "int32")


@operator(
    "ndarray_size",
    ("data",),
    attrs=attrs("NdarraySizeAttrs", dtype("dtype", "", doc="the dtype of the result")),
    relation=_size_type,
    pattern=OpPattern.INJECTIVE,
    python=Python("data, dtype='int32'"),
    gradient=zero_gradient,
    shapes="S -> ()",
    source="ndarray.size",
    edge_cases=(
        'ndarray_size(%x: (2, 3), dtype="int32")',
        'ndarray_size(%x: (), dtype="int64")',
        'ndarray_size(%x: (0, 3), dtype="int32")',
    ),
)
def ndarray_size(attrs: Attrs, data: Array) -> Array:
    """The number of elements of a tensor."""
    return np.array(data.size, array_dtype(attrs.dtype or "int32"))


# ---------------------------------------------------------------- arange
def _arange_count(start: Any, stop: Any, step: Any) -> int:
    """Return the number of elements of a range. Raises `RunError` for a step of 0 or bounds that are not finite."""
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise RunError(
            Diagnostic(
                "arange has no end", expected="finite bounds and a step other than 0", found=f"{start}, {stop}, {step}"
            )
        )
    if all(isinstance(v, int) for v in (start, stop, step)):
        return int(max(0, -((start - stop) // step)))
    return int(max(0, math.ceil((stop - start) / step)))


def _arange_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    for index, name in enumerate(("start", "stop", "step")):
        if scalar(types, index, name) is None:
            return None
    bounds = [
        value.data.item() if isinstance(value, Constant) and value.data.size == 1 else None
        for value in (attrs.start, attrs.stop, attrs.step)
    ]
    return TensorType((ANY if None in bounds else _arange_count(*bounds),), attrs.dtype)


def _arange_length(attrs: Attrs, start: Array, stop: Array, step: Array) -> int:
    """Return the number of elements of a range at run time.

    If the bounds are not constants, Relay computes the size in whole numbers: it truncates bounds and step before
    dividing. A step that would become 0 is not truncated.
    """
    bounds = (start, stop, step)
    constant = all(hasattr(value, "data") for value in (attrs.start, attrs.stop, attrs.step))  # constants
    if constant or not all(map(math.isfinite, bounds)) or int(step) == 0:
        return _arange_count(*bounds)
    return _arange_count(*map(int, bounds))


def _arange_shape(attrs: Attrs, start: Array, stop: Array, step: Array) -> Type:
    return TensorType((_arange_length(attrs, start.item(), stop.item(), step.item()),), attrs.dtype)


def _arange_inputs(values: dict[str, Any]) -> dict[str, Expr]:
    """Convert the numbers to constants; a single bound is the end. The attributes repeat the inputs, as in Relay."""
    start, stop, step, dtype = (values[name] for name in ("start", "stop", "step", "dtype"))
    bounds = (0, start) if stop is None else (start, stop)
    numbers = zip(("start", "stop", "step"), (*bounds, 1 if step is None else step), strict=True)
    exprs = {name: constant(array_dtype(dtype))(number) for name, number in numbers}
    values.update(exprs)
    return exprs


def _arange_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """Number i is `start + i * step`: the start's gradient is the sum of all, the step's the sum of i times each."""
    start, end, step = orig.args
    start_value, step_value = (call("cast", value, dtype=orig.checked_type.dtype) for value in (start, step))  # type: ignore[attr-defined]
    sums = call("sum", grad), call("sum", grad * ((orig - start_value) / step_value))
    gradients = [call("cast_like", total, value) for total, value in zip(sums, (start, step), strict=True)]
    return [gradients[0], call("zeros_like", end), gradients[1]]


@operator(
    "arange",
    ("start", "end", "step"),
    attrs=attrs(
        "ArangeAttrs",
        expression("start", optional=True, doc="the first argument again: if it is a constant the size is known"),
        expression("stop", optional=True, doc="the second argument again"),
        expression("step", optional=True, doc="the third argument again"),
        dtype("dtype", doc="the dtype of the result"),
    ),
    relation=_arange_type,
    shape_function=_arange_shape,
    precision=Precision.NEVER,
    level=3,
    python=Python('start, stop=None, step=None, dtype="float32"', {"stop": "end"}, prepare=_arange_inputs),
    gradient=_arange_grad,
    shapes="start, stop, step () -> (ceil((stop - start) / step))",
    source="np.arange",
    edge_cases=(
        'arange(0f, 6f, 2f, start=None, stop=None, step=None, dtype="float32")',
        'arange(5, -4, -2, start=None, stop=None, step=None, dtype="int32")',
        'arange(3f, 1f, 1f, start=None, stop=None, step=None, dtype="float32")',
    ),
)
def arange(attrs: Attrs, start: Array, end: Array, step: Array) -> Array:
    """The numbers `start + i * step` below `end` (above, for a negative step)."""
    result_dtype = array_dtype(attrs.dtype)
    count = _arange_length(attrs, start.item(), end.item(), step.item())
    guard_size((count,), result_dtype, "arange")
    steps = np.arange(count)
    exact = all(bound.dtype.kind in "iu" for bound in (start, step))
    return (start.item() + steps * step.item() if exact else start + steps * step).astype(result_dtype)
