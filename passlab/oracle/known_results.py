"""`KnownResults`: a cache of results of operators from earlier runs, since a pass leaves most of a program unchanged.

The key is the operator, its attributes and its operands. Arrays with equal bits count as one, so that results after a
rewrite that changed no value are found as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from passlab.evaluate.memory import MEMORY_OPERATORS
from passlab.evaluate.values import Value
from passlab.ir.expr import Call
from passlab.ir.op import Op

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]
LARGE = 1 << 12  # elements of the operands: with fewer, computing is as fast as a look-up
SAMPLE = 16  # elements by which arrays are grouped before all elements are compared
MOST_BYTES = 1 << 29  # of the results of one run


class KnownResult(NamedTuple):
    """A result in which all floats are finite, and the sides of comparisons that it took (see `Watched`)."""

    value: Value
    sides: tuple[int, ...]


class _RunResults:
    """The results that one run looked up or computed, and the arrays in their keys."""

    def __init__(self) -> None:
        self.by_key: dict[Key, tuple[KnownResult, Any]] = {}  # with the attributes, which the key names by their `id`
        self.same: dict[int, tuple[Array, Array]] = {}  # by the `id` of an array: itself, and the one it counts as
        self.groups: dict[Key, list[Array]] = {}  # arrays that begin alike
        self.bytes = 0


class KnownResults:
    """The results that this run and the one before used, up to a number of bytes for each."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._old, self._new = _RunResults(), _RunResults()

    def begin_run(self) -> None:
        """Drop the results that the last run did not use."""
        self._old, self._new = self._new, _RunResults()

    def key(self, call: Call, operands: Sequence[Value]) -> Key | None:
        """Return the key of a call; None for a call that is not cached."""
        op = call.op
        if not isinstance(op, Op) or op.spec.stateful or op.name in MEMORY_OPERATORS:
            return None
        arrays = [a for value in operands for a in (value if isinstance(value, tuple) else (value,))]
        if not all(isinstance(a, np.ndarray) for a in arrays) or sum(a.size for a in arrays) < LARGE:
            return None
        # -1 tells a tensor from a tuple of one.
        lengths = tuple([len(v) if isinstance(v, tuple) else -1 for v in operands])
        return op, id(call.attrs), lengths, tuple([id(self._representative(a)) for a in arrays])

    def find(self, key: Key) -> KnownResult | None:
        """Return the cached result of a call, None without one."""
        for results in (self._new, self._old):
            if key in results.by_key:
                result, attrs = results.by_key[key]
                self.keep(key, result, attrs)  # used again, so it survives the next `begin_run`
                return result
        return None

    def keep(self, key: Key, result: KnownResult, attrs: Any) -> None:
        """Cache a result, unless the cache is full."""
        values = result.value if isinstance(result.value, tuple) else (result.value,)
        if key in self._new.by_key or not all(isinstance(v, np.ndarray) for v in values):
            return
        size = sum(v.nbytes for v in values)
        if self._new.bytes + size <= self._most:
            self._new.bytes += size
            self._new.by_key[key] = result, attrs

    def _representative(self, array: Array) -> Array:
        """Return the first array with the same bits. It is stored, so that its `id` is not used again."""
        new = self._new
        if id(array) in new.same:
            return new.same[id(array)][1]
        # A few elements spread over the array tell most arrays apart without a full comparison.
        group = array.shape, array.dtype, array.flat[_sampled(array.size)].tobytes()
        if id(array) in self._old.same:
            representative = self._old.same[id(array)][1]
        else:
            others = (*new.groups.get(group, ()), *self._old.groups.get(group, ()))
            representative = next((other for other in others if _same_bits(other, array)), array)
        new.same[id(array)] = array, representative
        if all(representative is not other for other in new.groups.setdefault(group, [])):
            new.same[id(representative)] = representative, representative
            new.groups[group].append(representative)
        return representative


@lru_cache(maxsize=1024)
def _sampled(size: int) -> Array:
    """Return the indices of some elements, spread evenly."""
    return np.linspace(0, size - 1, min(SAMPLE, size)).astype(np.int64)


def _same_bits(a: Array, b: Array) -> bool:
    word = np.uint8 if a.nbytes % 8 else np.uint64  # whole words take a third less time than bytes
    first, second = (np.ascontiguousarray(array).reshape(-1).view(word) for array in (a, b))
    return np.array_equal(first, second)
