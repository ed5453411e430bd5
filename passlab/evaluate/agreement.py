"""`disagreement`: whether two results of a program agree within a bound, and if not, where and by how much.

The numeric contract of a pass is such a bound: equal bits, or a number of units in the last place. This module depends
neither on passes nor on programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue, RefValue, Value
from passlab.op.dtypes import float_info, is_float

Array = np.ndarray[Any, Any]

# Sums cancel: a small element is only as exact as the largest of its tensor divided by this number.
CANCELLATION = 1024.0
# The units of a contract are meant for float32; as many units of a shorter float would exceed the numbers.
COARSEST = 1 / 16
SHOWN_UNITS = 1e6  # a distance of more units is not shown: both numbers say more


@dataclass(frozen=True)
class Disagreement:
    """The first part of two results that differs: its path (`.0`, `[1, 2]`), both sides, how many elements, and `ulps`.

    `ulps` is the largest distance in units in the last place, infinite if it is not a number of units.
    `kinds_differ` says that the parts have other shapes, dtypes or fields, so that no elements were compared.
    """

    path: str
    before: str
    after: str
    count: int = 1
    size: int = 1
    ulps: float = float("inf")
    kinds_differ: bool = False

    def __str__(self) -> str:
        counts = f"{self.count:,} of {self.size:,} elements differ, the worst " if self.size > 1 else ""
        distance = f" ({self.ulps:,.0f} units in the last place)" if self.ulps < SHOWN_UNITS else ""
        return f"{counts}{self.path or 'the value'}: {self.before} became {self.after}{distance}"


def disagreement(before: Value, after: Value, ulps: float = 0.0, finite_only: bool = False) -> Disagreement | None:
    """Return the first part of two values that differs by more than `ulps`, None where they agree.

    With 0 ulps floats must have equal bits, but all NaNs are equal. With `finite_only`, elements that were not finite
    before are ignored, and so is the sign of zero. Integers, booleans and constructors must be the same;
    functions are not compared. A unit is taken from the dtype at the larger magnitude, at least 1/1024 of the tensor's
    largest element. Linear in the size of the values.
    """
    seen: set[tuple[int, int]] = set()  # pairs of values, since references may be cyclic
    stack: list[tuple[Value, Value, str]] = [(before, after, "")]
    while stack:
        a, b, path = stack.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            difference = _arrays(a, b, path, ulps, finite_only)
            if difference is not None:
                return difference
            continue
        parts = _parts(a, b)
        if parts is None:
            return Disagreement(path, describe(a), describe(b), kinds_differ=True)
        seen.add((id(a), id(b)))
        stack.extend((x, y, f"{path}.{i}") for i, (x, y) in reversed(list(enumerate(parts))))
    return None


def _parts(a: Value, b: Value) -> list[tuple[Value, Value]] | None:
    """Return the parts of two values as pairs; None where their kinds or lengths differ."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return list(zip(a, b, strict=True)) if len(a) == len(b) else None
    if isinstance(a, ADTValue) and isinstance(b, ADTValue):
        same = a.constructor.name_hint == b.constructor.name_hint and len(a) == len(b)
        return list(zip(a.fields, b.fields, strict=True)) if same else None
    if isinstance(a, RefValue) and isinstance(b, RefValue):
        return [(a.value, b.value)]
    data = (np.ndarray, tuple, ADTValue, RefValue)
    return None if isinstance(a, data) or isinstance(b, data) else []


def _arrays(a: Array, b: Array, path: str, ulps: float, finite_only: bool) -> Disagreement | None:
    if a.dtype != b.dtype or a.shape != b.shape:
        return Disagreement(path, describe(a), describe(b), kinds_differ=True)
    wrong, distance = _floats(a, b, ulps, finite_only) if is_float(a.dtype) else _others(a, b)
    if not wrong.any():
        return None
    worst = np.unravel_index(int(np.argmax(np.where(wrong, distance, -1.0))), a.shape) if a.ndim else ()
    index = f"[{', '.join(str(int(i)) for i in worst)}]" if worst else ""
    ulps_apart = float(distance[worst])
    return Disagreement(path + index, str(a[worst]), str(b[worst]), int(wrong.sum()), a.size, ulps_apart)


def _others(a: Array, b: Array) -> tuple[Array, Array]:
    wrong = np.asarray(a != b)
    return wrong, np.where(wrong, np.inf, 0.0)


def _floats(a: Array, b: Array, ulps: float, finite_only: bool) -> tuple[Array, Array]:
    """Return the mask of wrong elements, and the distance of each in units in the last place."""
    with np.errstate(all="ignore"):
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)  # exact, and wider than any other float
        finite = np.isfinite(x)
        same = np.asarray((x == y) & ((np.signbit(x) == np.signbit(y)) | finite_only) | (np.isnan(x) & np.isnan(y)))
        if finite_only:
            same |= ~finite
        distance = np.where(same, 0.0, np.abs(x - y) / unit_of(x, y, a.dtype))
        # Zeros of different sign have the distance 0, but count as one unit apart.
        close = (np.abs(x - y) <= allowance(x, y, a.dtype, ulps)) & ((x != y) | (ulps >= 1.0))
    distance[np.isnan(distance)] = np.inf
    distance[~same & (x == y)] = 1.0  # zeros of different sign
    return np.asarray(~same & ~close), distance


def allowance(x: Array, y: Array, dtype: Any, ulps: float) -> Array:
    """Return the allowed distance of each pair of numbers, in float64, under a contract of `ulps` units.

    In short dtypes a unit is large, so their number is capped. Small elements may differ as much as a sum that
    cancelled from the largest element of the tensor.
    """
    if not ulps:
        return np.zeros(())
    largest = float(np.abs(x)[np.isfinite(x)].max(initial=0.0))
    least = ulps / CANCELLATION * float(_spacing(np.asarray(largest), dtype))
    return np.asarray(np.maximum(min(ulps, COARSEST / float(float_info(dtype).eps)) * unit_of(x, y, dtype), least))


def unit_of(x: Array, y: Array, dtype: Any) -> Array:
    """Return the unit in the last place of a dtype for each pair of numbers in float64."""
    size = np.maximum(np.abs(x), np.abs(y))
    largest = float(size[np.isfinite(size)].max(initial=0.0))
    return _spacing(np.maximum(size, largest / CANCELLATION), dtype)


def _spacing(size: Array, dtype: Any) -> Array:
    """Return the distance from each magnitude to the next number of a dtype, as float64."""
    info = float_info(dtype)
    _, exponent = np.frexp(size)
    # `frexp` has mantissas from 0.5 to 1, so its exponent is one larger than that of IEEE 754.
    return np.asarray(np.maximum(np.ldexp(float(info.eps), exponent - 1), float(info.smallest_subnormal)))
