"""Variables and constants for programs built in Python, with Relay's default types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec
from typing import TypeVar as AnyType

import numpy as np

from passlab.errors import Diagnostic, NodeTypeError, NodeValueError, PasslabError, did_you_mean
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Constant, Var
from passlab.ir.span import Span
from passlab.ir.types import IncompleteType, Kind, TensorType, Type, TypeVar, scalar_type
from passlab.op.dtypes import array_dtype

_P = ParamSpec("_P")
_R = AnyType("_R")


def _knows_its_arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that refuses an argument of another name with `NodeTypeError`, which says what is meant."""
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name in kwargs:
            if name not in names:
                message = f"`relay.{function.__name__}` has no argument `{name}`"
                raise NodeTypeError(
                    Diagnostic(message, hint=did_you_mean(name, names) or f"it takes {', '.join(names)}")
                )
        return function(*args, **kwargs)

    return call


@_knows_its_arguments
def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Iterable[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """Return a new local variable.

    `type_annotation` is a type, or a dtype for a scalar; alternatively `shape` and `dtype` give the type. Raises
    `NodeValueError` if both ways are used, and for an invalid name or annotation.

    >>> x = relay.var("x", shape=(2, 3), dtype="float32")
    >>> print(x.type_annotation, relay.var("n", "int32").type_annotation)
    Tensor[(2, 3), float32] int32
    """
    if not isinstance(name_hint, str):
        raise NodeValueError(Diagnostic("the name of a variable is a string", found=repr(name_hint)))
    if type_annotation is not None and (shape is not None or not isinstance(type_annotation, (Type, str))):
        raise NodeValueError(
            Diagnostic(
                f"%{name_hint}: give either a type annotation or a shape, not both",
                found=repr(type_annotation),
                hint=f'write `relay.var("{name_hint}", shape=(1, 8), dtype="float32")`',
            )
        )
    if isinstance(type_annotation, str):
        return Var(name_hint, scalar_type(type_annotation), span)
    return Var(name_hint, type_annotation if shape is None else TensorType(shape, dtype), span)


_NARROWED = {"int64": "int32", "float64": "float32"}


@_knows_its_arguments
def const(value: Any, dtype: Any = None, span: Span | None = None) -> Constant:
    """Return a constant from a number, a NumPy array or nested lists of numbers.

    Without `dtype`, int64 and float64 (the types of Python's numbers) become int32 and float32; other dtypes are kept.
    A tensor type as `dtype` stands for its dtype. Raises `NodeValueError` if `value` is not a tensor, and for integers
    that do not fit in int32.

    >>> print(relay.const([1, 2], "float32").data)
    [1. 2.]
    >>> relay.const(1.0).data.dtype  # a Python float is float32, an int is int32
    dtype('float32')
    """
    if isinstance(value, Constant):
        value = value.data
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise NodeValueError(Diagnostic("a constant is a number or an array of numbers", found=str(error))) from None
    try:
        array_dtype_name = dtype_name(array.dtype)
    except PasslabError:
        raise NodeValueError(f"a constant is a number or an array of numbers, not {type(value).__name__}") from None
    dtype = dtype.dtype if isinstance(dtype, TensorType) else dtype
    name = dtype_name(dtype) if dtype is not None else _NARROWED.get(array_dtype_name, array_dtype_name)
    if name == array_dtype_name:
        return Constant(array, span)
    result = array.astype(array_dtype(name))
    if dtype is None and result.dtype.kind == "i" and array.size and not (result == array).all():
        hint = 'give dtype="int64"'
        raise NodeValueError(Diagnostic("the value does not fit in int32, the default of whole numbers", hint=hint))
    return Constant(result, span)


def ShapeVar(name: str) -> TypeVar:
    """Return a type variable of the kind of shapes."""
    return TypeVar(name, Kind.ShapeVar)


def type_of(expr: Any) -> Type:
    """Return the type of an expression: inferred, annotated, or else a new unknown type."""
    ty = expr.checked_type_
    if ty is None and isinstance(expr, Var):
        ty = expr.type_annotation
    return ty if ty is not None else IncompleteType()
