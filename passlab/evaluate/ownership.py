"""The ownership of arrays: inputs and results of a run never share memory with arrays of the caller.

A caller may write into arguments after a run, and into results, without changing another result, an input that was
set, a recorded instant or the next run. Constants of programs are read-only and may be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from passlab.evaluate.values import ADTValue, RefValue, Value

Array = np.ndarray[Any, Any]


def owner(array: Array) -> Array:
    """Return the array that owns the memory of a view; the array itself if it is not a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def arrays_in(values: Iterable[Any]) -> list[Array]:
    """Return the arrays in values: in tuples and lists of any depth, ADT values and references."""
    arrays: list[Array] = []
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, np.ndarray):
            arrays.append(value)
        elif isinstance(value, (tuple, list, ADTValue, RefValue)) and id(value) not in seen:
            seen.add(id(value))
            stack.extend(_parts(value))
    return arrays


def private_copy(value: Value) -> Value:
    """Return a value with copies of the arrays that other code could write into."""
    return _map_parts(value, lambda a: a.copy() if owner(a).flags.writeable or a.flags.writeable else a)


def own_result(result: Value, args: Iterable[Value]) -> Value:
    """Return a result whose arrays share no memory with each other or with `args`; the same object if none did.

    Read-only constants stay shared.
    """
    if type(result) is np.ndarray and result.base is None and not any(a is result for a in args):
        if not any(isinstance(a, (tuple, list, ADTValue, RefValue)) for a in args):
            return result  # fast path of nearly all results
    foreign = {id(owner(a)) for a in arrays_in(args)}
    owners: dict[int, Array] = {}

    def own(array: Array) -> Array:
        base = owner(array)
        # Two results that share writable memory would change together.
        if id(base) in foreign or (id(base) in owners and base.flags.writeable):
            return array.copy()
        owners[id(base)] = base
        return array

    return _map_parts(result, own)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, ADTValue):
        return value.fields
    return (value.value,) if isinstance(value, RefValue) else value


def _map_parts(root: Value, change: Callable[[Array], Array]) -> Value:
    """Return a value with changed arrays; unchanged parts stay the same objects. References are updated in place."""
    results: list[Any] = []
    done: dict[int, Any] = {}  # by identity; `root` keeps them all alive
    stack: list[tuple[Any, int]] = [(root, -1)]  # a value and -1, or the number of its parts, which are done
    while stack:
        value, count = stack.pop()
        if count >= 0:
            parts = results[len(results) - count :]
            done[id(value)] = whole = _rebuild(value, parts)
            results[len(results) - count :] = [whole]
        elif isinstance(value, np.ndarray):
            results.append(change(value))
        elif isinstance(value, (tuple, list, ADTValue, RefValue)):
            if id(value) in done:
                results.append(done[id(value)])
                continue
            parts = list(_parts(value))
            if isinstance(value, RefValue):
                done[id(value)] = value  # a reference may contain itself
            stack.append((value, len(parts)))
            stack.extend((part, -1) for part in reversed(parts))
        else:
            results.append(value)
    return results[0]


def _rebuild(value: Value, parts: list[Value]) -> Value:
    if isinstance(value, RefValue):
        value.value = parts[0]
        return value
    if all(new is old for new, old in zip(parts, _parts(value), strict=True)):
        return value
    return ADTValue(value.constructor, parts) if isinstance(value, ADTValue) else type(value)(parts)
