"""Large results of operators on constants, which all programs share while one of them has them.

Each variant of a pipeline folds the same constants, and each run of a program computes the same weights. What was
computed once is found here by the operator, its attributes and its operands, and is stored once.

    a = folded(multiply(weights, 2f)); b = folded(multiply(weights, 2f)); a.data is b.data

Weak references lead to the arrays, so the table holds none of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from passlab.evaluate.operators import apply_operator
from passlab.evaluate.values import Value
from passlab.ir.expr import is_frozen
from passlab.ir.op import Op
from passlab.ir.span import Span

Array = np.ndarray[Any, Any]
SMALL = 1 << 12  # bytes up to which two operands are the same when their contents are
LEAST = 1 << 16  # bytes of a result that is worth its place in the table


class _Origin:
    """Where a large array comes from: an operator, its attributes and its operands; or nowhere, for a leaf.

    Operands are in the key with their own origins, which outlive them: when an intermediate result that nobody has any
    more is computed again, what was computed from it is still found.
    """

    __slots__ = ("key", "result", "__weakref__")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.result: ref[Array] | None = None


_ORIGINS: WeakValueDictionary[Hashable, _Origin] = WeakValueDictionary()  # by key
_OF_ARRAYS: dict[int, tuple[ref[Array], _Origin]] = {}  # by the `id` of an array, while it lives


def shared_result(op: Op, attrs: Any, args: Sequence[Value], span: Span | None = None) -> Value:
    """Return the value of an operator as `apply_operator` does; large ones on frozen arrays are shared, and frozen."""
    operands = None if op.spec.stateful or not args else _key(args)
    if operands is None:
        return apply_operator(op, attrs, args, span)
    key = op.spec.raw or op.spec.kernel, attrs, operands
    origin = _ORIGINS.get(key)
    known = None if origin is None or origin.result is None else origin.result()
    if known is not None:
        return known
    value = apply_operator(op, attrs, args, span)
    if type(value) is not np.ndarray or value.nbytes < LEAST or any(value is arg for arg in args):
        return value
    result = _frozen(value)
    _set_origin(result, _ORIGINS.setdefault(key, _Origin(key)))
    return result


def _set_origin(array: Array, origin: _Origin) -> None:
    origin.result = ref(array, partial(_forget, id(array)))
    _OF_ARRAYS[id(array)] = origin.result, origin


def _forget(number: int, dead: ref[Array]) -> None:
    known = _OF_ARRAYS.get(number)
    if known is not None and known[0] is dead:
        del _OF_ARRAYS[number]


def _origin_of(array: Array) -> _Origin:
    known = _OF_ARRAYS.get(id(array))
    if known is not None and known[0]() is array:
        return known[1]
    origin = _Origin(None)
    _set_origin(array, origin)
    return origin


def _key(args: Sequence[Value]) -> Hashable | None:
    """Return what tells operands apart; None where one is neither a constant nor a tuple of constants."""
    parts: list[Hashable] = []
    for value in args:
        if isinstance(value, tuple):
            parts.append(len(value))
        for array in value if isinstance(value, tuple) else (value,):
            if type(array) is not np.ndarray or not is_frozen(array):
                return None
            parts.append((array.dtype, array.shape, array.tobytes()) if array.nbytes <= SMALL else _origin_of(array))
    return tuple(parts)


def _frozen(value: Array) -> Array:
    """Return a result that nobody writes to, and that a constant takes as it is."""
    if value.base is None and value.flags.c_contiguous:
        value.flags.writeable = False
    if is_frozen(value):
        return value
    value = value.copy(order="C")
    value.flags.writeable = False
    return value
