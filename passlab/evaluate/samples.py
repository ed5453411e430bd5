"""Random arguments for functions, reproducible by a seed, for programs whose user passes none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from passlab.arguments import check_seed
from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.ir.expr import Function, Var
from passlab.ir.types import IncompleteType, TensorType, Type, fold_tuple
from passlab.op.dtypes import Array, array_dtype


def random_arguments(
    function: Function, seed: int, hint: str | None = None, shapes: Mapping[str, Sequence[int]] = MappingProxyType({})
) -> list[Any]:
    """Return random values for the parameters of a function, equal for equal seeds.

    Each parameter has its own stream, seeded by its position. Floats are uniform with variance 1/fan-in, so that values
    keep their size through a network; parameters named *var or *gamma are positive; integers are 0 to 9. `shapes` are
    the shapes of parameters with open sizes. Raises `RunError`, with `hint`, for a parameter without a static tensor
    type, or with another shape, and `PassTypeError` for a negative seed.
    """
    check_seed(seed)
    names = [param.name_hint for param in function.params]
    for name in shapes.keys() - {*names}:
        hint = did_you_mean(name, names) or f"the parameters are {', '.join(names)}"
        raise RunError(Diagnostic(f"there is no parameter `{name}`", hint=hint))
    values = []
    for number, param in enumerate(function.params):
        draw = partial(_random_tensor, name=param.name_hint, rng=np.random.default_rng((seed, number)), hint=hint)
        values.append(fold_tuple(_with_shape(param, shapes.get(param.name_hint)), draw, tuple))
    return values


def _with_shape(param: Var, shape: Sequence[int] | None) -> Type:
    """Return the type of a parameter with the sizes of a shape."""
    ty = param.checked_type_ or param.type_annotation or IncompleteType()
    if shape is None:
        return ty
    sizes = ty.shape if isinstance(ty, TensorType) else ()
    if len(sizes) != len(shape) or any(isinstance(a, int) and a != b for a, b in zip(sizes, shape, strict=True)):
        raise RunError(Diagnostic(f"%{param.name_hint} has another shape", expected=str(ty), found=str(tuple(shape))))
    assert isinstance(ty, TensorType)
    return TensorType(tuple(shape), ty.dtype)


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
