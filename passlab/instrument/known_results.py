"""Results of operators that an earlier run of a program gave: most of what a pass leaves computes what it did before.

A result is found by operator, attributes and operands. Arrays of equal bits count as one, so that what follows a
rewrite that changed no number is found as well. Knows nothing of passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from passlab.evaluate.memory import MEMORY_OPERATORS
from passlab.evaluate.values import Value
from passlab.ir.expr import Call
from passlab.ir.op import Op

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]
LARGE = 1 << 12  # elements among the operands: smaller operators are computed in the time that a look-up takes
SAMPLE = 16  # elements by which arrays are told apart before all of them are compared
MOST_BYTES = 1 << 29  # of the results of one run


class KnownResult(NamedTuple):
    """What an operator gave, in which all floats are finite, and the sides on which numbers fell (see `Watched`)."""

    value: Value
    sides: tuple[int, ...]


class _Results:
    """The results that one run asked for, and the arrays that they were found by."""

    def __init__(self) -> None:
        self.by_key: dict[Key, tuple[KnownResult, Any]] = {}  # with the attributes, which the key names by their `id`
        self.same: dict[int, tuple[Array, Array]] = {}  # by the `id` of an array: itself, and the one it counts as
        self.alike: dict[Key, list[Array]] = {}  # arrays that begin alike
        self.bytes = 0


class KnownResults:
    """The results that this run and the one before asked for, up to a number of bytes for each."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._old, self._new = _Results(), _Results()

    def begin_run(self) -> None:
        """Forget what was asked for before the last run."""
        self._old, self._new = self._new, _Results()

    def key(self, call: Call, operands: Sequence[Value]) -> Key | None:
        """Return what a result is found by; None for what is not kept."""
        op = call.op
        if not isinstance(op, Op) or op.spec.stateful or op.name in MEMORY_OPERATORS:
            return None
        arrays = [a for value in operands for a in (value if isinstance(value, tuple) else (value,))]
        if not all(isinstance(a, np.ndarray) for a in arrays) or sum(a.size for a in arrays) < LARGE:
            return None
        lengths = tuple([len(v) if isinstance(v, tuple) else -1 for v in operands])
        return op, id(call.attrs), lengths, tuple([id(self._one(a)) for a in arrays])

    def find(self, key: Key) -> KnownResult | None:
        """Return the result of an operator, None if no run has kept it."""
        for results in (self._new, self._old):
            if key in results.by_key:
                result, attrs = results.by_key[key]
                self.keep(key, result, attrs)
                return result
        return None

    def keep(self, key: Key, result: KnownResult, attrs: Any) -> None:
        """Keep a result, unless there are too many."""
        values = result.value if isinstance(result.value, tuple) else (result.value,)
        if key in self._new.by_key or not all(isinstance(v, np.ndarray) for v in values):
            return
        size = sum(v.nbytes for v in values)
        if self._new.bytes + size <= self._most:
            self._new.bytes += size
            self._new.by_key[key] = result, attrs

    def _one(self, array: Array) -> Array:
        """Return the array that all of these bits count as; it is kept, so that no other gets its `id`."""
        new = self._new
        if id(array) in new.same:
            return new.same[id(array)][1]
        places = np.linspace(0, array.size - 1, min(SAMPLE, array.size)).astype(np.int64)
        begins = array.shape, array.dtype, array.flat[places].tobytes()
        if id(array) in self._old.same:
            one = self._old.same[id(array)][1]
        else:
            others = (*new.alike.get(begins, ()), *self._old.alike.get(begins, ()))
            one = next((other for other in others if _same_bits(other, array)), array)
        new.same[id(array)] = array, one
        if all(one is not other for other in new.alike.setdefault(begins, [])):
            new.same[id(one)] = one, one
            new.alike[begins].append(one)
        return one


def _same_bits(a: Array, b: Array) -> bool:
    return np.array_equal(np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8))
