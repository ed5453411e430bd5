"""Uses of operators with known results: data for the laws about values, types and unknown dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(7)


@dataclass(frozen=True)
class Case:
    """`name(*inputs, **attrs)` is `want`; `exact` says bit for bit."""

    name: str
    inputs: tuple[Any, ...]
    want: Any
    attrs: dict[str, Any] = field(default_factory=dict)
    exact: bool = True

    def __str__(self) -> str:
        shapes = ",".join("(...)" if isinstance(x, tuple) else f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"{self.name}({shapes} {self.attrs})"


def f32(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32")


def i32(low: int, high: int, *shape: int) -> np.ndarray:
    return RANDOM.integers(low, high, shape, dtype="int32")


def array(values: Any, dtype: str = "float32") -> np.ndarray:
    return np.array(values, dtype)


CASES: list[Case] = []


def case(name: str, *inputs: Any, want: Any, exact: bool = True, **attrs: Any) -> None:
    CASES.append(Case(name, inputs, want, attrs, exact))


X, Y, Z = f32(2, 3, 4), f32(2, 3, 4), f32(3, 1)
INTS = i32(-5, 6, 2, 3)
NONE = f32(0, 3)
