"""Arguments: conversion of Python objects to values of programs, checked against the types of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.values import ADTValue, Closure, RefValue, Value
from passlab.ir.adt import Constructor
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Constant, Var
from passlab.ir.op import Op
from passlab.ir.types import FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type, TypeCall, TypeVar
from passlab.op.dtypes import array_dtype

Array = np.ndarray[Any, Any]
NO_NUMBERS = "OSUMmc"  # the kinds of NumPy's dtypes for objects, texts, times and complex numbers


def check_argument(param: Var, argument: Any, callables: tuple[type, ...] = ()) -> Value:
    """Return an argument as a value. Raises `RunError`, naming the parameter, where it does not fit the annotation.

    Arrays are not copied, unless their byte order is foreign. A Python number becomes a scalar of the parameter's
    dtype; an array must have that dtype. ADT values are checked in depth, in linear time. Functions must be instances
    of `callables`, the classes that the executor can call.
    """
    ty = param.type_annotation
    if type(argument) is np.ndarray and type(ty) is TensorType and argument.shape == ty.shape:
        dtype = argument.dtype
        if dtype.isnative and dtype.kind in "fiub" and dtype_name(dtype) == ty.dtype:
            return argument  # fast path: nearly all arguments
    try:
        return _fit(argument, ty, callables)
    except _ArgumentError as refusal:
        diagnostic = Diagnostic(
            f"the argument for %{param.name_hint} does not fit: {refusal.what}",
            param.span,
            refusal.expected if ty is not None else None,
            refusal.found,
            hint=refusal.hint,
        )
    raise RunError(diagnostic)


def is_no_number(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of a NumPy dtype have elements that are not numbers of programs."""
    return dtype.kind in NO_NUMBERS or issubclass(dtype.type, np.void)


class _ArgumentError(Exception):
    def __init__(self, what: str, expected: str, actual: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what, self.expected, self.found, self.hint = what, expected, actual, hint


class _Aggregate:
    """A value whose parts are being converted: the parts, their types, and those converted so far (`done`)."""

    __slots__ = ("value", "parts", "types", "done")

    def __init__(self, value: Any, parts: Sequence[Any], types: Sequence[Type | None]) -> None:
        self.value = value
        self.parts = parts
        self.types = types
        self.done: list[Value] = []

    def rebuild(self) -> Value:
        """Return the value with its converted parts: the same object where these are the same."""
        if isinstance(self.value, RefValue):
            (self.value.value,) = self.done
        elif not isinstance(self.value, ADTValue):
            return tuple(self.done)
        elif any(new is not old for new, old in zip(self.done, self.parts, strict=True)):
            return ADTValue(self.value.constructor, self.done)
        return self.value


def _fit(root: Any, root_type: Type | None, callables: tuple[type, ...]) -> Value:
    """Return a value with all its parts converted to its type. ADT values may be deep, and may share parts."""
    memo: dict[int, Value] = {}  # ADT values and references by id; a reference is entered before its content is done
    stack: list[_Aggregate] = []
    value, ty = root, root_type
    while True:
        if id(value) in memo and isinstance(value, (ADTValue, RefValue)):
            result = memo[id(value)]
        else:
            whole = _aggregate(value, ty)
            if isinstance(value, RefValue):
                memo[id(value)] = value
            if whole is not None and whole.parts:
                stack.append(whole)
                value, ty = whole.parts[0], whole.types[0]
                continue
            result = _leaf(value, ty, callables) if whole is None else whole.rebuild()
        while stack:
            top = stack[-1]
            top.done.append(result)
            count = len(top.done)
            if count < len(top.parts):
                value, ty = top.parts[count], top.types[count]
                break
            result = top.rebuild()
            memo[id(top.value)] = result
            stack.pop()
        else:
            return result


def _aggregate(value: Any, ty: Type | None) -> _Aggregate | None:
    """Return a value with parts and the expected types of these; None for arrays and functions."""
    if isinstance(value, ADTValue):
        return _Aggregate(value, value.fields, _field_types(value, ty))
    if isinstance(value, RefValue):
        # A type variable stands for any type, which is unknown here.
        if not isinstance(ty, RefType | TypeVar | None):
            raise _ArgumentError("it is a reference", str(ty), "a reference")
        return _Aggregate(value, (value.value,), (ty.value if isinstance(ty, RefType) else None,))
    if isinstance(value, (tuple, list)) and isinstance(ty, TupleType | TypeVar | None):
        if isinstance(ty, TupleType) and len(ty.fields) != len(value):
            raise _ArgumentError("it has the wrong number of fields", str(ty), f"a tuple of {len(value)}")
        return _Aggregate(value, tuple(value), ty.fields if isinstance(ty, TupleType) else (None,) * len(value))
    if isinstance(ty, TupleType):
        raise _ArgumentError("it is not a tuple", str(ty), type(value).__name__)
    return None


def _field_types(value: ADTValue, ty: Type | None) -> Sequence[Type | None]:
    """Return the types of the fields of an ADT value, None where they depend on type parameters."""
    constructor = value.constructor
    data = ty.func if isinstance(ty, TypeCall) else ty
    if not isinstance(data, GlobalTypeVar | TypeVar | None) or (
        isinstance(data, GlobalTypeVar) and data.name_hint != constructor.belong_to.name_hint
    ):
        raise _ArgumentError(
            "it is a value of another type", str(ty), f"{constructor} of {constructor.belong_to.name_hint}"
        )
    if len(value.fields) != len(constructor.inputs):
        expected, actual = (f"{constructor} of {n} fields" for n in (len(constructor.inputs), len(value.fields)))
        raise _ArgumentError("it has the wrong number of fields", expected, actual)
    if isinstance(ty, TypeCall) and ty.args:
        return (None,) * len(constructor.inputs)
    return constructor.inputs


def _leaf(argument: Any, ty: Type | None, callables: tuple[type, ...]) -> Value:
    """Return an argument without parts, an array or a function, as a value of a type."""
    if isinstance(argument, callables) and isinstance(ty, FuncType | TypeVar | None):
        _check_count(argument, ty)
        return argument
    if isinstance(argument, (Closure, Constructor, Op)):
        raise _ArgumentError("it is a function that cannot be called here", str(ty), str(argument), _hint(callables))
    if isinstance(ty, FuncType):
        raise _ArgumentError("it is not a function of a program", str(ty), type(argument).__name__, _hint(callables))
    if isinstance(argument, Constant):
        argument = argument.data
    if isinstance(argument, list) and isinstance(ty, TensorType) and _holds_one_array(argument, ty):
        argument = argument[0]  # TVM unpacks lists, so its programs write `[x]` for `x`
    array = _array(argument, ty)
    if isinstance(ty, TensorType):
        _check_tensor(array, ty)
    elif isinstance(ty, TypeCall | GlobalTypeVar | RefType):
        raise _ArgumentError("it is an array", str(ty), str(array.dtype))
    return array


def _holds_one_array(argument: list[Any], ty: TensorType) -> bool:
    """Whether a list has a single array of the rank of a type."""
    return len(argument) == 1 and isinstance(argument[0], np.ndarray) and argument[0].ndim == len(ty.shape)


def _hint(callables: tuple[type, ...]) -> str:
    if Closure in callables:
        return "pass a function that a program returned, a constructor or an operator"
    return "the `debug` executor takes functions" + (", this one those that it returned" if callables else "")


def _check_count(function: Any, ty: Type | None) -> None:
    """Check the number of a function's parameters, where that is known."""
    if not isinstance(ty, FuncType) or not isinstance(function, (Closure, Constructor)):
        return
    count = len(function.inputs if isinstance(function, Constructor) else function.function.params)
    if count != len(ty.arg_types):
        raise _ArgumentError("it takes another number of arguments", str(ty), f"a function of {count}")


def _array(argument: Any, ty: Type | None) -> Array:
    """Return an argument as an array of numbers, of NumPy's own class and in this machine's byte order."""
    if isinstance(argument, np.ndarray) and not argument.dtype.hasobject:
        array = _plain(argument, ty)
    elif callable(getattr(argument, "numpy", None)):  # tensors of other libraries
        array = _plain(_convert(argument.numpy, argument, ty), ty)
    else:
        array = _convert(lambda: argument, argument, ty)
        if isinstance(ty, TensorType) and isinstance(argument, (bool, int, float, list)) and array.dtype.kind in "biuf":
            array = _numbers(argument, array, ty)
    if is_no_number(array.dtype):
        raise _ArgumentError("it does not consist of numbers", str(ty), type(argument).__name__)
    return array


def _convert(convert: Callable[[], Any], argument: Any, ty: Type | None) -> Array:
    """Return the result of an object's conversion as an array; code of the object may raise any error."""
    try:
        return np.asarray(convert())
    except Exception as error:
        raise _ArgumentError(str(error) or type(error).__name__, str(ty), type(argument).__name__) from error


def _numbers(argument: Any, array: Array, ty: TensorType) -> Array:
    """Return Python numbers in the dtype of a parameter. Floats are rounded to floats; other changes are errors."""
    expected = array_dtype(ty.dtype)
    with np.errstate(all="ignore"):
        result = array.astype(expected)
        if expected.kind in "biu" and not (result == array).all():
            what = f"{ty.dtype} cannot hold {'it' if array.ndim == 0 else 'one of its numbers'}"
            raise _ArgumentError(what, str(ty), repr(argument)[:60])
    return result


def _plain(array: Array, ty: Type | None) -> Array:
    """Return an array of NumPy's own class, since kernels cannot handle subclasses."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise _ArgumentError(
            "some of its elements are masked", str(ty), "a masked array", "give them values: `.filled(0)`"
        )
    plain = np.asarray(array)
    return plain if plain.dtype.isnative else plain.astype(plain.dtype.newbyteorder("="))


def _check_tensor(array: np.ndarray[Any, Any], ty: TensorType) -> None:
    actual = f"Tensor[({', '.join(map(str, array.shape))}), {array.dtype.name}]"
    if dtype_name(array.dtype) != ty.dtype:
        raise _ArgumentError("its dtype differs", str(ty), actual, f'convert it with `.astype("{ty.dtype}")`')
    fits = len(array.shape) == len(ty.shape) and all(
        not isinstance(d, int) or d == s for d, s in zip(ty.shape, array.shape, strict=True)
    )
    if not fits:
        raise _ArgumentError("its shape differs", str(ty), actual)
