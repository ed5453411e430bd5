"""The state of the rewrite of a quantized region: scales, zero points, and the numbers that integers represent.

An integer tensor represents the numbers `scale * (integer - zero_point)`. Independent of operators and passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Constant, Expr
from passlab.op import make
from passlab.rewriting.constant_folding import fold
from passlab.rewriting.node_types import NodeTypes


class NoIntegerFormError(PasslabError):
    """A call has no integer form."""


@dataclass(frozen=True)
class QuantParams:
    """An integer tensor of `dtype` that represents scale * (integer - zero_point), along `axis` if they are vectors."""

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int = -1


@dataclass(frozen=True)
class QuantParamsTuple:
    """A tuple of integer tensors."""

    fields: tuple[QuantParams, ...]


class QuantizedRegion:
    """The state of the rewrite of one region: the quantization of each expression, and the one required of the result.

    `is_last` states that all operators after the current call commute with quantizing: its result may be rounded.
    """

    def __init__(self, result: QuantParams | None) -> None:
        self.result = result
        self.is_last = True
        self.quantization: dict[Expr, QuantParams | QuantParamsTuple] = {}
        self.types = NodeTypes()

    def of(self, expr: Expr) -> QuantParams:
        """Return the quantization parameters of an integer tensor."""
        result = self.quantization.get(expr)
        if not isinstance(result, QuantParams):
            raise NoIntegerFormError("an argument is not quantized")
        return result

    def __getitem__(self, expr: Expr) -> QuantParams | QuantParamsTuple:
        """Return the quantization parameters of an argument, or the parameters of the region's result for any other
        expression.

        Rules written for Relay read them as `type_map[expr]`.
        """
        return self.quantization.get(expr) or self.target()

    def target(self) -> QuantParams:
        """Return the quantization parameters that the result of the region must have."""
        if self.result is None:
            raise NoIntegerFormError("the scale of the result is not known")
        if not self.is_last:
            raise NoIntegerFormError("a result would be rounded before it is used")
        return self.result

    def wide(self) -> QuantParams:
        """Return the scale and zero point of the result of the region for int32, which does not saturate."""
        return replace(self.target(), dtype="int32")

    def scalar(self, expr: Expr) -> QuantParams:
        """Return the quantization parameters of an integer tensor; raise an error for vectors along an axis."""
        return self.check_scalar(self.of(expr))

    def check_scalar(self, params: QuantParams) -> QuantParams:
        """Return quantization parameters as scalars; raise an error for vectors along an axis."""
        return replace(params, scale=self._scalar(params.scale), zero_point=self._scalar(params.zero_point))

    def _scalar(self, part: Expr) -> Expr:
        if is_uniform(constant := fold(part)):
            return Constant(_without_repeats(constant.data))  # type: ignore[attr-defined]
        ty = self.types.tensor(part)
        if ty is None or ty.shape not in ((), (1,)):
            raise NoIntegerFormError("a scale or zero point is a vector")
        return part

    def rank(self, expr: Expr) -> int:
        """Return the rank of a tensor."""
        ty = self.types.tensor(expr)
        if ty is None:
            raise NoIntegerFormError("the rank of a tensor is not known")
        return len(ty.shape)


def nearly_equal(a: Expr, b: Expr) -> bool:
    """Return whether two scales are equal up to the rounding of a constant, or two zero points exactly.

    A vector whose elements are all equal counts as equal to that number.
    """
    a, b = fold(a), fold(b)
    if type(a) is Constant and type(b) is Constant:
        left, right = _without_repeats(a.data), _without_repeats(b.data)
        if left.shape != right.shape:
            return False
        is_whole_number = left.dtype.kind in "iu" and right.dtype.kind in "iu"
        # Only relative: products of scales are often smaller than any absolute tolerance.
        return bool(np.array_equal(left, right) if is_whole_number else np.allclose(left, right, rtol=1e-5, atol=0))
    return structural_equal(a, b, exact=True)


def _without_repeats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the value that all elements of an array share, or the array itself if they differ."""
    flat = values.reshape(-1)
    return flat[:1].reshape(()) if flat.size and bool(np.all(flat == flat[0])) else values


def is_uniform(part: Expr) -> bool:
    """Return whether a scale or zero point is a constant for the whole tensor, so that the axis does not matter."""
    part = fold(part)
    return type(part) is Constant and not _without_repeats(part.data).ndim


def nearly_same(a: QuantParams, b: QuantParams) -> bool:
    """Return whether both give integers the same numbers, up to rounding of the scale."""
    axis = a.axis == b.axis or all(is_uniform(part) for part in (a.scale, a.zero_point))
    return axis and a.dtype == b.dtype and nearly_equal(a.scale, b.scale) and nearly_equal(a.zero_point, b.zero_point)


def identical(a: QuantParams, b: QuantParams) -> bool:
    """Return whether scale, zero point, dtype and axis are the same."""
    same = structural_equal((a.scale, a.zero_point), (b.scale, b.zero_point), exact=True)
    return same and (a.dtype, a.axis) == (b.dtype, b.axis)


def requantize(expr: Expr, source: QuantParams, target: QuantParams) -> Expr:
    """Return integers that represent the same numbers under another scale and zero point."""
    return make(
        "qnn.requantize",
        expr,
        fold(source.scale),
        fold(source.zero_point),
        target.scale,
        target.zero_point,
        axis=source.axis,
        out_dtype=target.dtype,
    )


def converted(expr: Expr, source: QuantParams, target: QuantParams) -> Expr:
    """Return `requantize(...)`, or `expr` if both parameters are the same."""
    return expr if nearly_same(source, target) else requantize(expr, source, target)


def quantized(value: Constant, params: QuantParams, axis: int | None = None) -> Expr:
    """Return the integers that represent the numbers of a constant."""
    axis = params.axis if axis is None else axis
    return make("qnn.quantize", value, params.scale, params.zero_point, axis=axis, out_dtype=params.dtype)


def represents(params: QuantParams, value: Constant) -> bool:
    """Return True if integers with these parameters (one scale for the tensor) represent a constant up to rounding."""
    steps = steps_of(value.data, params)
    ends = np.iinfo(params.dtype)
    return steps is not None and is_whole(steps) and bool(np.all((ends.min <= steps) & (steps <= ends.max)))


def steps_of(values: Any, params: QuantParams) -> np.ndarray[Any, Any] | None:
    """Return numbers as steps of a scale, plus its zero point; None unless scale and zero point are uniform."""
    scale, zero = fold(params.scale), fold(params.zero_point)
    if type(scale) is not Constant or type(zero) is not Constant or not is_uniform(scale) or not is_uniform(zero):
        return None
    numbers = np.asarray(values, "float64")
    return numbers / float(scale.data.reshape(-1)[0]) + float(zero.data.reshape(-1)[0])


def is_whole(steps: np.ndarray[Any, Any]) -> bool:
    """Return whether numbers are whole, up to the rounding of float32."""
    return bool(np.all(np.abs(steps - np.rint(steps)) <= 1e-3 + 1e-6 * np.abs(steps)))


def is_zero(zero_point: Expr) -> bool:
    """Return whether a zero point is constant and 0."""
    zero_point = fold(zero_point)
    return type(zero_point) is Constant and not zero_point.data.any()
