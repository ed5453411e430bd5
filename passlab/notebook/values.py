"""Arguments for programs, from the names of a notebook or from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.ir.expr import Function
from passlab.ir.types import TensorType, TupleType, Type


def from_names(names: str, namespace: Mapping[str, Any]) -> list[Any]:
    """Return the values of comma-separated names. Raises `RunError` for a name that is not there."""
    out = []
    for name in (n.strip() for n in names.split(",")):
        if name not in namespace:
            raise RunError(
                Diagnostic(f"there is no variable `{name}` in this notebook", hint=did_you_mean(name, namespace))
            )
        out.append(namespace[name])
    return out


def random_arguments(function: Function, seed: int) -> list[Any]:
    """Return random values for the parameters of a function, the same for the same seed.

    Each parameter has its own stream, seeded by its position. Numbers are drawn so that values keep their size through
    a network: uniform with variance 1/fan-in; parameters called *var or *gamma are positive; integers are 0 to 9.
    Raises `RunError` for a parameter whose type has no random value (a dynamic shape, a function).
    """
    return [
        _random(p.type_annotation, p.name_hint, np.random.default_rng((seed, i))) for i, p in enumerate(function.params)
    ]


def _random(ty: Type | None, name: str, rng: np.random.Generator) -> Any:
    # recurses: as deep as the tuple type of a parameter
    if isinstance(ty, TupleType):
        return tuple(_random(field, name, rng) for field in ty.fields)
    if not isinstance(ty, TensorType) or ty.dynamic:
        raise RunError(
            Diagnostic(
                f"%{name} has no random value",
                expected="a tensor of known shape",
                found=str(ty),
                hint="give it with --args",
            )
        )
    if ty.dtype == "bool":
        return rng.random(ty.concrete_shape) < 0.5
    if "int" in ty.dtype:
        return rng.integers(0, 10, ty.concrete_shape).astype(ty.dtype)
    noise = rng.random(ty.concrete_shape)
    if name.endswith(("var", "gamma")):
        return (noise + 0.5).astype(_numpy_dtype(ty.dtype))
    fan_in = int(np.prod(ty.concrete_shape[1:])) or 1
    return ((noise - 0.5) * np.sqrt(12 / fan_in)).astype(_numpy_dtype(ty.dtype))


def _numpy_dtype(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(name)
