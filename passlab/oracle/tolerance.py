"""Tolerances: how far two results may lie apart before one of them is wrong.

An exact contract has no tolerance. Where rounding is allowed, the tolerance of an element is the sum of the bound of
the contract and of the spread of noisy runs, in which each operator rounds by a few units more. A sum of a thousand
numbers that cancel, or the exponential of a large number, spreads far; a sum of two does not. So the tolerance fits
dtype, length of reductions and magnitudes without a table of operators.
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
MARGIN = 8.0  # times the spread of noisy runs counts as rounding
FEW_RUNS = (2, 4, 8)  # numbers of noisy runs, tried in turn: two suffice for large and for no differences
RUNS = 8  # noisy runs for a verdict on each element: one or two may hardly move it by chance
STEPS = 4  # of quantization, by which shorter floats may be off
LEAST_NOISE = 2.0  # units in the last place by which each operator may be off
ROUNDING = 4.0  # the same where a pass may round: it may have replaced one operator by a few


def noise_of(contract: NumericContract) -> float:
    """Return by how many units in the last place each operator may be off under a contract."""
    if contract.exact:
        return 0.0
    return max(LEAST_NOISE, contract.ulps if contract.approximates else min(contract.ulps, ROUNDING))


def beyond(
    difference: Disagreement,
    before: Value,
    after: Value,
    noisy: Sequence[Value],
    contract: NumericContract,
    overall: bool = False,
    steps: int = 0,
) -> Disagreement | None:
    """Return the part of a disagreement that noise does not explain, None when it explains everything.

    `noisy` are results of the program before the pass under noise; None is returned where their shapes differ. With
    `overall` the spread of a tensor is the largest of its elements, for which few runs suffice. Integers may be off by
    `steps`: shorter floats seldom round to the next integer, so the noisy runs may not show it.
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
        wrong = _beyond_noise(old, new, moved, contract, overall, steps)
        if wrong.any():
            return _disagreement_of(path, old, new, wrong)
    plain = disagreement(_constructor_tags(before), _constructor_tags(after))
    return difference if plain is not None else None


def special_disagreement(before: Value, after: Value) -> Disagreement | None:
    """Return where two values differ in NaN, infinities and their signs, None where they agree in these."""
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
            return _disagreement_of(path, old, new, ~alike)
    return None


def all_finite(value: Value) -> bool:
    """Whether no float of a value is NaN or infinite."""
    return all(np.isfinite(a.astype(np.float64)).all() for _, a in _arrays(value) if is_float(a.dtype))


def holds_specials(arguments: tuple[Any, ...]) -> bool:
    """Whether floats among the arguments of a function are NaN or infinite."""
    arrays = (array for _, array in _arrays(tuple(a if isinstance(a, tuple) else np.asarray(a) for a in arguments)))
    return any(is_float(array.dtype) and not np.isfinite(array.astype(np.float64)).all() for array in arrays)


def _beyond_noise(
    old: Array, new: Array, moved: Sequence[Array], contract: NumericContract, overall: bool, steps: int
) -> Array:
    """Return which elements differ by more than noise explains and the contract allows."""
    if not is_float(old.dtype):
        # Integers that noise moves are decided by rounding, as by a cast or a comparison.
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
            lost |= np.isfinite(value) != np.isfinite(a)  # rounding decides whether it overflows
            spread = np.fmax(spread, np.abs(value - a))  # `fmax` ignores NaN
        spread = np.where(np.isfinite(spread), spread, 0.0)
        if overall and spread.size:
            spread = np.full(spread.shape, spread.max())
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        allowed = np.abs(a - b) <= MARGIN * spread + allowance(a, b, old.dtype, contract.ulps)
        if contract.finite_only:
            same |= ~np.isfinite(a)
        elif contract.ulps:
            same |= np.isinf(a)  # with other rounding an overflow may come elsewhere and give NaN
        return np.asarray(~(same | allowed | lost))


def _disagreement_of(path: str, old: Array, new: Array, wrong: Array) -> Disagreement:
    """Return the disagreement of the wrong elements."""
    difference = disagreement(old, np.asarray(np.where(wrong, new, old), old.dtype))
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
        if id(part) in seen:  # references may be cyclic
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


def _constructor_tags(value: Value) -> Value:
    """Return the tags of constructors in a value, which are compared apart from its arrays."""
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
