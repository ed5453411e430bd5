"""Arguments for generated programs: the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.ir.types import IncompleteType, TensorType, Type, fold_tuple
from passlab.op.dtypes import array_dtype

UNKNOWN_SIZE = 2  # of dynamic dimensions


def arguments(program: IRModule | Function, seed: int = 0) -> list[Any]:
    """Return arguments for `main` of a typed module, or for a function: arrays, and tuples of arrays.

    Floats are normal, integers 0 to 5, a dynamic dimension is 2. Raises `RunError` for a parameter that is neither a
    tensor nor a tuple.
    """
    function = program["main"] if isinstance(program, IRModule) else program
    numbers = np.random.default_rng(seed)
    types = [param.checked_type_ or param.type_annotation or IncompleteType() for param in function.params]
    return [fold_tuple(ty, lambda part: array_of(part, numbers), tuple) for ty in types]


def array_of(ty: Type, numbers: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return an array of a tensor type."""
    if not isinstance(ty, TensorType):
        raise RunError(Diagnostic("there is no random argument of this type", expected="a tensor", found=str(ty)))
    shape = [d if type(d) is int else UNKNOWN_SIZE for d in ty.shape]
    if ty.dtype == "bool":
        return np.asarray(numbers.random(shape) < 0.5)
    if "int" in ty.dtype:
        return np.asarray(numbers.integers(0, 6, shape)).astype(array_dtype(ty.dtype))
    return np.asarray(numbers.standard_normal(shape)).astype(array_dtype(ty.dtype))
