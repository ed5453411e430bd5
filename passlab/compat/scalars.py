"""The parts of `tvm.tir` and `tvm.te` that programs of Relay use: numbers in shapes, and symbolic dimensions.

A dimension is a Python int in passlab, so `IntImm` is an int with a dtype, and `isinstance(dim, tir.IntImm)` holds for
every known dimension.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes

from passlab.ir.types import SizeVar
from passlab.op.dtypes import array_dtype


class _Number(type):
    """The metaclass of number classes: Python's own numbers are their instances."""

    plain: type | tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.plain) and not isinstance(instance, bool)


class IntImm(int, metaclass=_Number):
    """A whole number with a dtype: `IntImm("int32", 3)`."""

    plain = int
    dtype: str

    def __new__(cls, dtype: str, value: int, span: Any = None) -> IntImm:
        number = super().__new__(cls, value)
        number.dtype = str(dtype)
        return number

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


class FloatImm(float, metaclass=_Number):
    """A number with a dtype: `FloatImm("float32", 0.5)`."""

    plain = float
    dtype: str

    def __new__(cls, dtype: str, value: float, span: Any = None) -> FloatImm:
        number = super().__new__(cls, value)
        number.dtype = str(dtype)
        return number

    @property
    def value(self) -> float:
        """The number."""
        return float(self)


class StringImm(str):
    """A string with its `value`."""

    __slots__ = ()
    dtype = "handle"

    @property
    def value(self) -> str:
        """The string."""
        return str(self)


class PrimExpr(metaclass=_Number):  # the elements of shapes
    """A number or a symbolic dimension."""

    plain = (int, float, SizeVar)


class Var(metaclass=_Number):
    """A symbolic dimension: `Var("n")` creates a `SizeVar`."""

    plain = SizeVar

    def __new__(cls, name: str = "tindex", dtype: str = "int32", span: Any = None) -> Any:
        """Return a symbolic dimension."""
        return SizeVar(name, dtype)


def const(value: Any, dtype: str | None = None, span: Any = None) -> IntImm | FloatImm:
    """Return a number with a dtype, by default int32 or float32."""
    if isinstance(value, float) or (dtype or "").startswith(("float", "bfloat")):
        return FloatImm(dtype or "float32", value)
    return IntImm(dtype or ("bool" if isinstance(value, bool) else "int32"), value)


def var(name: str = "tindex", dtype: str = "int32", span: Any = None) -> SizeVar:
    """Return a symbolic dimension."""
    return SizeVar(name, dtype)


size_var = var


def convert(value: Any, span: Any = None) -> Any:
    """Return a value in passlab's form: lists become tuples, and plain numbers get TVM's dtype and `value`."""
    if isinstance(value, (list, tuple)):
        return tuple(map(convert, value))
    if isinstance(value, dict):
        return dict(zip(value, map(convert, value.values()), strict=True))
    if type(value) is int:
        return IntImm("int32" if -(2**31) <= value < 2**31 else "int64", value)
    return FloatImm("float32", value) if type(value) is float else value


def max_value(dtype: str, span: Any = None) -> IntImm | FloatImm:
    """Return the largest value of a dtype."""
    return const(_bounds(dtype).max, dtype)


def min_value(dtype: str, span: Any = None) -> IntImm | FloatImm:
    """Return the smallest value of a dtype."""
    return const(_bounds(dtype).min, dtype)


def _bounds(dtype: str) -> Any:
    kind = array_dtype(dtype)
    bounds: Any = ml_dtypes.iinfo if kind.kind in "iu" else ml_dtypes.finfo
    return bounds(kind)


# ------------------------------------------------------------ arithmetic of dimensions
def _of_two(name: str, compute: Callable[[Any, Any], Any], doc: str) -> Callable[..., Any]:
    def function(a: Any, b: Any, span: Any = None) -> Any:
        return compute(a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


Add = _of_two("Add", operator.add, "Return the sum of two dimensions.")
Sub = _of_two("Sub", operator.sub, "Return the difference of two dimensions.")
Mul = _of_two("Mul", operator.mul, "Return the product of two dimensions.")
FloorDiv = _of_two("floordiv", operator.floordiv, "Return a dimension divided, rounded down.")
FloorMod = _of_two("floormod", operator.mod, "Return the remainder of a division of a dimension.")
floordiv = FloorDiv
indexdiv = FloorDiv
floormod = FloorMod
indexmod = FloorMod


def cast(dtype: str, value: Any, span: Any = None) -> SizeVar | int:
    """Return a dimension as it is: dimensions are whole numbers."""
    return value if isinstance(value, (SizeVar, int)) else int(value)


def whole(x: Any, span: Any = None) -> SizeVar | int:
    """Return a number rounded; a symbolic dimension is a whole number already."""
    return x if isinstance(x, SizeVar) else round(x)


def _number_of(dtype: str) -> Callable[[Any], Any]:
    def number(value: Any) -> Any:
        return const(value, dtype)

    number.__name__ = number.__qualname__ = dtype
    number.__doc__ = f"Return a number of {dtype}."
    return number


int8, int16, int32, int64 = map(_number_of, ("int8", "int16", "int32", "int64"))
float16, float32, float64 = map(_number_of, ("float16", "float32", "float64"))
