"""Random arguments for functions, reproducible by a seed, for programs whose user passes none."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.arguments import check_seed
from passlab.errors import Diagnostic, RunError
from passlab.evaluate.values import Value
from passlab.ir.expr import Function
from passlab.ir.types import IncompleteType, TensorType, Type, fold_tuple
from passlab.op.dtypes import Array, array_dtype


def random_arguments(function: Function, seed: int, hint: str | None = None) -> list[Any]:
    """Return random values for the parameters of a function, equal for equal seeds.

    Each parameter has its own stream, seeded by its position. Floats are uniform with variance 1/fan-in, so that values
    keep their size through a network; parameters named *var or *gamma are positive; integers are 0 to 9. Raises
    `RunError`, with `hint`, for a parameter without a static tensor type, and `PassTypeError` for a negative seed.
    """
    check_seed(seed)
    return [
        _random(p.checked_type_ or p.type_annotation, p.name_hint, np.random.default_rng((seed, i)), hint)
        for i, p in enumerate(function.params)
    ]


def _random(ty: Type | None, name: str, rng: np.random.Generator, hint: str | None) -> Value:
    return fold_tuple(ty or IncompleteType(), lambda part: _random_tensor(part, name, rng, hint), tuple)


def _random_tensor(ty: Type, name: str, rng: np.random.Generator, hint: str | None) -> Array:
    if not isinstance(ty, TensorType) or ty.dynamic:
        what = f"%{name} has no random value"
        raise RunError(Diagnostic(what, expected="a tensor of known shape", found=str(ty), hint=hint))
    shape, dtype = ty.concrete_shape, array_dtype(ty.dtype)
    if ty.dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in ty.dtype:
        return rng.integers(0, 10, shape).astype(dtype)
    noise = rng.random(shape)
    if name.endswith(("var", "gamma")):
        return np.asarray(noise + 0.5).astype(dtype)
    fan_in = int(np.prod(shape[1:])) or 1
    # A uniform number from -0.5 to 0.5 has the variance 1/12.
    return np.asarray((noise - 0.5) * np.sqrt(12 / fan_in)).astype(dtype)
