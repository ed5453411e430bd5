"""Working on values of tuple types part by part: tensors at the leaves, tuples put together again. Knows no passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.ir.expr import Expr, Tuple
from passlab.ir.types import TupleType, Type
from passlab.op.declare import field_of

Values = tuple[Expr, ...]


def fieldwise(
    values: Sequence[Expr],
    types: Sequence[Type],
    leaf: Callable[[Values, tuple[Type, ...]], Expr],
    join: Callable[[list[Expr], Values], Expr] = lambda fields, values: Tuple(fields),
    part: Callable[[Expr, int], Expr] = field_of,
) -> Expr:
    """Return what `leaf(values, types)` makes of the parts of some values of like tuple types, joined to a tuple again.

    The values (and types) are taken apart together, as long as the first type is a tuple; `part` takes a field,
    `join(fields, values)` puts fields together, given the values they were made from.
    """
    results: list[Expr] = []
    stack: list[tuple[Any, ...]] = [("visit", tuple(values), tuple(types))]
    while stack:
        step, now, kinds = stack.pop()
        if step == "part":
            index, whole = kinds
            now, kinds = tuple(part(v, index) for v in now), tuple(k.fields[index] for k in whole)
        if step == "join":
            fields = [results.pop() for _ in range(kinds)][::-1]
            results.append(join(fields, now))
        elif type(kinds[0]) is not TupleType:
            results.append(leaf(now, kinds))
        else:
            size = len(kinds[0].fields)
            stack.append(("join", now, size))
            stack += [("part", now, (i, kinds)) for i in reversed(range(size))]
    return results[0]
