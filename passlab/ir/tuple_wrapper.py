"""The Python value of an operator with several results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from passlab.arguments import checked
from passlab.ir.expr import Expr, TupleGetItem, unwrap


class TupleWrapper:
    """The Python value of an operator with several results: indexable, iterable; `.astuple()` is the call.

    Every function that takes the tuple accepts it. `size` is the number of results.

    >>> halves = relay.split(relay.var("x", shape=(4,)), 2)
    >>> len(halves), halves[1].index
    (2, 1)
    """

    def __init__(self, tuple_value: Expr, size: int) -> None:
        self.tuple_value = unwrap(tuple_value)
        self.size = size

    def astuple(self) -> Expr:
        """Return the tuple as one expression."""
        return self.tuple_value

    @checked
    def astext(self, show_meta_data: bool = True, annotate: Any = None, spans: bool = False) -> str:
        """Return the tuple as Relay text."""
        return self.tuple_value.astext(show_meta_data, annotate)

    @checked
    def __getitem__(self, index: int) -> Expr:
        if not -self.size <= index < self.size:
            raise IndexError(f"element {index} of a tuple of {self.size}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Expr]:
        return (self[i] for i in range(self.size))

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value}, {self.size})"
