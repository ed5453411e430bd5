"""`KnownResults`: a cache of results of operators from earlier runs, since a pass leaves most of a program unchanged.

The key is the operator, its attributes and its operands. Arrays with equal bits count as one, so that results after a
rewrite that changed no value are found as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from passlab.evaluate.memory import MEMORY_OPERATORS
from passlab.evaluate.values import Value
from passlab.ir.expr import Call, is_frozen
from passlab.ir.op import Op

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]
LARGE = 1 << 12  # elements of the operands: with fewer, computing is as fast as a look-up
SAMPLE = 16  # elements by which arrays are grouped before all elements are compared
MOST_BYTES = 1 << 29  # of the results of one run


class KnownResult(NamedTuple):
    """A result in which all floats are finite, and the sides of comparisons that it took (see `CoverageEvaluator`)."""

    value: Value
    sides: tuple[int, ...]


class _RunResults:
    """The results that one run looked up or computed, and the arrays in their keys.

    Arrays of constants and results that were not kept are referenced weakly: they belong to somebody else.
    """

    def __init__(self) -> None:
        self.by_key: dict[Key, tuple[KnownResult, Any]] = {}  # with the attributes, which the key names by their `id`
        self.numbers: dict[int, tuple[ref[Array], int]] = {}  # by the `id` of an array: itself, and its number
        self.groups: dict[Key, list[tuple[ref[Array], int]]] = {}  # arrays that begin alike
        self.held: list[Array] = []  # operands that exist only in a run
        self.bytes = 0


class KnownResults:
    """The results that this run and the one before used, up to a number of bytes for each."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self._old, self._new = _RunResults(), _RunResults()
        self._count = count()

    @property
    def bytes(self) -> int:
        """The memory of both runs; what both have counts twice."""
        return self._old.bytes + self._new.bytes

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
        return op, id(call.attrs), lengths, tuple(map(self._number, arrays))

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
        if self._takes(sum(v.nbytes for v in values)):
            self._new.by_key[key] = result, attrs

    def _takes(self, size: int) -> bool:
        """Whether so many bytes fit; they are counted then."""
        fits = self._new.bytes + size <= self.most
        self._new.bytes += size * fits
        return fits

    def _number(self, array: Array) -> int:
        """Return a number that all arrays with the same bits share."""
        new, old = self._new, self._old
        known = _living(new.numbers, array)
        if known is not None:
            return known
        # A few elements spread over the array tell most arrays apart without a full comparison.
        group = array.shape, array.dtype, array.flat[_sampled(array.size)].tobytes()
        number = _living(old.numbers, array)
        if number is None:
            alike = (*new.groups.get(group, ()), *old.groups.get(group, ()))
            number = next((n for other, n in alike if (a := other()) is not None and _same_bits(a, array)), None)
        if number is None:
            number = next(self._count)
        new.numbers[id(array)] = ref(array), number
        if all(number != other for _, other in new.groups.setdefault(group, [])):
            new.groups[group].append((ref(array), number))
            if not is_frozen(array) and self._takes(array.nbytes):
                new.held.append(array)
        return number


def _living(numbers: dict[int, tuple[ref[Array], int]], array: Array) -> int | None:
    """Return the number of an array; None where it has none, or where another one had its `id`."""
    known = numbers.get(id(array))
    return None if known is None or known[0]() is not array else known[1]


@lru_cache(maxsize=1024)
def _sampled(size: int) -> Array:
    """Return the indices of some elements, spread evenly."""
    return np.linspace(0, size - 1, min(SAMPLE, size)).astype(np.int64)


def _same_bits(a: Array, b: Array) -> bool:
    word = np.uint8 if a.nbytes % 8 else np.uint64  # whole words take a third less time than bytes
    first, second = (np.ascontiguousarray(array).reshape(-1).view(word) for array in (a, b))
    return np.array_equal(first, second)
