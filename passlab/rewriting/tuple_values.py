"""Operations on values of tuple types, field by field: on the tensors at the leaves; the results form tuples again."""

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
    """Apply `leaf(values, types)` to the corresponding tensors of several values; return the results as a tuple again.

    The values (and types) are decomposed together while the first type is a tuple; `part(value, index)` projects a
    field, `join(fields, values)` builds the tuple from the new fields and the original values.
    """
    if type(types[0]) is not TupleType:
        return leaf(tuple(values), tuple(types))
    results: list[Expr] = []
    stack: list[tuple[Any, ...]] = [("visit", tuple(values), tuple(types))]
    while stack:
        step, operands, argument = stack.pop()
        if step == "join":
            fields = [results.pop() for _ in range(argument)][::-1]
            results.append(join(fields, operands))
            continue
        if step == "part":
            index, tuple_types = argument
            operands = tuple(part(v, index) for v in operands)
            argument = tuple(t.fields[index] for t in tuple_types)
        if type(argument[0]) is not TupleType:
            results.append(leaf(operands, argument))
        else:
            size = len(argument[0].fields)
            stack.append(("join", operands, size))
            stack += [("part", operands, (i, argument)) for i in reversed(range(size))]
    return results[0]
