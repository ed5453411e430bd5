"""Values that come from outside: turned into what programs compute with, and held against the parameter's type."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.values import ADTValue, Closure, RefValue, Value
from passlab.ir.adt import Constructor
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Constant, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type

NO_NUMBERS = "OSUMmc"  # the kinds of NumPy's dtypes for objects, texts, times and complex numbers


def check_argument(param: Var, argument: Any) -> Value:
    """Return an argument as a value. Raises `RunError`, naming the parameter, when it does not fit the annotation.

    Arrays are used without copying. A Python number becomes a scalar of the parameter's dtype; an array must have it.
    """
    ty = param.type_annotation
    if type(argument) is np.ndarray and type(ty) is TensorType and argument.shape == ty.shape:
        if argument.dtype.kind not in NO_NUMBERS and dtype_name(argument.dtype) == ty.dtype:
            return argument  # most of the time there is nothing to decide
    try:
        return _fitted(argument, ty)
    except _MisfitError as misfit:
        finding = Diagnostic(
            f"the argument for %{param.name_hint} does not fit: {misfit.what}",
            param.span,
            misfit.expected,
            misfit.found,
            hint=misfit.hint,
        )
    raise RunError(finding)


class _MisfitError(Exception):
    def __init__(self, what: str, expected: str, found: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what, self.expected, self.found, self.hint = what, expected, found, hint


# recurses: tuples of arguments, as deep as the caller typed them
def _fitted(argument: Any, ty: Type | None) -> Value:
    """Arguments nest as deep as the person wrote them, a few levels, so this may recurse on tuples."""
    if isinstance(argument, (ADTValue, Closure, RefValue, Constructor, Op)):
        return argument
    if isinstance(argument, (tuple, list)) and (ty is None or isinstance(ty, TupleType)):
        if isinstance(ty, TupleType) and len(ty.fields) != len(argument):
            raise _MisfitError("it has the wrong number of fields", str(ty), f"a tuple of {len(argument)}")
        inner = ty.fields if isinstance(ty, TupleType) else (None,) * len(argument)
        return tuple(_fitted(a, t) for a, t in zip(argument, inner, strict=True))
    if isinstance(ty, TupleType):
        raise _MisfitError("it is not a tuple", str(ty), type(argument).__name__)
    if isinstance(argument, Constant):
        argument = argument.data
    array = _array(argument, ty)
    if isinstance(ty, TensorType):
        _check_tensor(array, ty)
    elif ty is not None and not array.dtype.hasobject:
        raise _MisfitError("it is an array", str(ty), str(array.dtype))
    return array


def _array(argument: Any, ty: Type | None) -> np.ndarray[Any, Any]:
    if isinstance(argument, np.ndarray) and argument.dtype.kind not in NO_NUMBERS:
        return argument
    if hasattr(argument, "numpy"):  # tensors of other libraries
        return np.asarray(argument.numpy())
    wanted = ty.dtype if isinstance(ty, TensorType) and isinstance(argument, (bool, int, float, list)) else None
    try:
        array = np.asarray(argument, dtype=wanted)
    except (ValueError, TypeError, OverflowError) as error:
        raise _MisfitError(str(error), str(ty), type(argument).__name__) from None
    if array.dtype.kind in NO_NUMBERS:
        raise _MisfitError("it is not made of numbers", str(ty), type(argument).__name__)
    return array


def _check_tensor(array: np.ndarray[Any, Any], ty: TensorType) -> None:
    found = f"Tensor[({', '.join(map(str, array.shape))}), {array.dtype.name}]"
    if dtype_name(array.dtype) != ty.dtype:
        raise _MisfitError("its dtype differs", str(ty), found, f'convert it with `.astype("{ty.dtype}")`')
    fits = len(array.shape) == len(ty.shape) and all(
        not isinstance(d, int) or d == s for d, s in zip(ty.shape, array.shape, strict=True)
    )
    if not fits:
        raise _MisfitError("its shape differs", str(ty), found)
