"""Tolerances: how far two results may lie apart before one of them is wrong.

A contract of exact bits needs none. Where rounding is allowed, the bound is that of the contract for the result, and
how far the program itself moves when each of its operators rounds otherwise by a few units, whatever the contract
allows: a sum of a thousand numbers that cancel, or the exponential of a large number, moves far; a sum of two does
not. So the bound fits dtype, length of reductions and magnitudes without a table of operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from passlab.evaluate.agreement import Disagreement, allowance, disagreement
from passlab.evaluate.values import ADTValue, RefValue, Value
from passlab.op.dtypes import is_float
from passlab.transform.numeric_contract import NumericContract

Array = np.ndarray[Any, Any]
MARGIN = 8.0  # times the largest move that noise makes may be explained by rounding
FEW_RUNS = (2, 4, 8)  # noises that are tried: two tell what is far off, or not off at all
RUNS = 8  # noises by which each element is moved: by chance one or two may hardly move it
STEPS = 4  # of quantization, that shorter floats may be off by
LEAST_NOISE = 2.0  # units in the last place by which each operator may be off
ROUNDING = 4.0  # units by which it may be off where a pass was allowed to round: one operator may have become a few


def noise_of(promise: NumericContract) -> float:
    """Return by how many units each operator may be off under a promise, whatever it allows the result to be off."""
    if promise.exact:
        return 0.0
    return max(LEAST_NOISE, promise.ulps if promise.approximates else min(promise.ulps, ROUNDING))


def beyond(
    difference: Disagreement,
    before: Value,
    after: Value,
    noisy: Sequence[Value],
    promise: NumericContract,
    overall: bool = False,
    steps: int = 0,
) -> Disagreement | None:
    """Return a disagreement as far as noise does not explain it, None when it explains all of it.

    Integers may be off by so many `steps`: shorter floats round to the next one seldom, and the noises may not show it.

    `noisy` are results of the program before under noise. Where its shape changes with noise, nothing can be said. With
    `overall` an element may move as far as any other of its tensor does: few noises are enough to see what is far off.
    """
    sides = [list(_arrays(value)) for value in (before, after, *noisy)]
    if len({len(side) for side in sides[2:]} | {len(sides[0])}) > 1:
        return None
    if len(sides[1]) != len(sides[0]):
        return difference
    for number, (path, old) in enumerate(sides[0]):
        new = sides[1][number][1]
        moved = [side[number][1] for side in sides[2:]]
        if any(m.shape != old.shape for m in moved):
            return None
        if old.shape != new.shape or old.dtype != new.dtype:
            return difference
        wrong = _unexplained(old, new, moved, promise, overall, steps)
        if wrong.any():
            return _worst(path, old, new, wrong)
    plain = disagreement(_without_arrays(before), _without_arrays(after))
    return difference if plain is not None else None


def special_disagreement(before: Value, after: Value) -> Disagreement | None:
    """Return where one of two values is NaN or infinite and the other is not in the same way, None where they agree."""
    sides = [list(_arrays(value)) for value in (before, after)]
    if len(sides[0]) != len(sides[1]):
        return disagreement(before, after)
    for (path, old), (_, new) in zip(*sides, strict=True):
        if old.shape != new.shape or old.dtype != new.dtype:
            return disagreement(old, new)
        if is_float(old.dtype):
            a, b = old.astype(np.float64), new.astype(np.float64)
            alike = (np.isfinite(a) & np.isfinite(b)) | (np.isnan(a) & np.isnan(b)) | (a == b)
        else:
            alike = np.asarray(old == new)
        if not alike.all():
            return _worst(path, old, new, ~alike)
    return None


def _unexplained(
    old: Array, new: Array, moved: Sequence[Array], promise: NumericContract, overall: bool, steps: int
) -> Array:
    """Which elements differ by more than noise moves them, and the promise allows besides."""
    if not is_float(old.dtype):
        fragile = np.zeros(old.shape, bool)
        for other in moved:
            fragile |= np.asarray(other != old)
        far = np.abs(old.astype(np.float64) - new.astype(np.float64)) > steps
        return np.asarray((old != new) & ~fragile & far)
    with np.errstate(all="ignore"):
        a, b = old.astype(np.float64), new.astype(np.float64)
        spread, lost = np.zeros(a.shape), np.zeros(a.shape, bool)
        for other in moved:
            value = other.astype(np.float64)
            lost |= np.isfinite(value) != np.isfinite(a)
            spread = np.fmax(spread, np.abs(value - a))
        spread = np.where(np.isfinite(spread), spread, 0.0)
        if overall and spread.size:
            spread = np.full(spread.shape, spread.max())
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        allowed = np.abs(a - b) <= MARGIN * spread + allowance(a, b, old.dtype, promise.ulps)
        if promise.finite_only:
            same |= ~np.isfinite(a)
        elif promise.ulps:
            same |= np.isinf(a)  # what overflows may overflow elsewhere, and give NaN, when it rounds otherwise
        return np.asarray(~(same | allowed | lost))


def _worst(path: str, old: Array, new: Array, wrong: Array) -> Disagreement:
    """The disagreement of the elements that are wrong."""
    kept = np.where(wrong, new, old)
    difference = disagreement(old, np.asarray(kept, old.dtype))
    assert difference is not None
    return replace(difference, path=path + difference.path)


def _arrays(value: Value) -> Iterator[tuple[str, Array]]:
    """Yield the arrays in a value with their paths, in order."""
    stack: list[tuple[str, Value]] = [("", value)]
    seen: set[int] = set()
    while stack:
        path, part = stack.pop()
        if isinstance(part, np.ndarray):
            yield path, part
            continue
        if id(part) in seen:
            continue
        fields: Sequence[Value] = ()
        if isinstance(part, tuple):
            fields = part
        elif isinstance(part, ADTValue):
            fields = part.fields
        elif isinstance(part, RefValue):
            seen.add(id(part))
            fields = (part.value,)
        stack.extend((f"{path}.{i}", field) for i, field in reversed(list(enumerate(fields))))


def _without_arrays(value: Value) -> Value:
    """What is left to compare when arrays have been: the constructors of data."""
    names: list[Any] = []
    stack: list[Value] = [value]
    seen: set[int] = set()
    while stack:
        part = stack.pop()
        if id(part) in seen and isinstance(part, RefValue):
            continue
        seen.add(id(part))
        if isinstance(part, ADTValue):
            names.append(np.asarray(part.constructor.tag))
            stack.extend(part.fields)
        elif isinstance(part, tuple):
            stack.extend(part)
        elif isinstance(part, RefValue):
            stack.append(part.value)
    return tuple(names)
