"""The values of programs: NumPy arrays, Python tuples, ADT values, references and functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.ir.adt import Constructor
from passlab.ir.expr import Function

if TYPE_CHECKING:
    from passlab.evaluate.evaluator import Activation
    from passlab.evaluate.schedule import Schedule

Value = Any  # an ndarray, a tuple of values, ADTValue, RefValue, Closure, Constructor or Op


class ADTValue:
    """A value of an algebraic data type: a constructor and its fields, a tuple of values."""

    __slots__ = ("constructor", "fields")

    def __init__(self, constructor: Constructor, fields: Sequence[Value]) -> None:
        self.constructor = constructor
        self.fields = tuple(fields)

    @property
    def tag(self) -> int:
        """The tag of the constructor."""
        return self.constructor.tag

    def __getitem__(self, index: int) -> Value:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.fields)

    def __repr__(self) -> str:
        return value_text(self)


class RefValue:
    """A reference, which is mutable; `value` is its content."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return value_text(self)


class Closure:
    """A function as a value: its literal and the activation that created it (None for a global function)."""

    __slots__ = ("function", "activation", "schedule")

    def __init__(self, function: Function, activation: Activation | None, schedule: Schedule) -> None:
        self.function = function
        self.activation = activation
        self.schedule = schedule

    def __repr__(self) -> str:
        return f"<function of {len(self.function.params)} parameters>"


def value_text(root: Value, most: int = 200) -> str:
    """Return a value as one line of text, with `...` after `most` parts, since references may be cyclic."""
    texts: list[str] = []
    stack: list[Any] = [root]
    while stack:
        item = stack.pop()
        if len(texts) > most:
            texts.append("...")
            break
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, tuple):
            stack.extend(reversed(["(", *_commas(item), ",)" if len(item) == 1 else ")"]))
        elif isinstance(item, ADTValue):
            inner = ["(", *_commas(item.fields), ")"] if item.fields else []
            stack.extend(reversed([item.constructor.name_hint, *inner]))
        elif isinstance(item, RefValue):
            stack.extend(reversed(["ref(", item.value, ")"]))
        elif isinstance(item, np.ndarray):
            texts.append(np.array2string(item, threshold=20, separator=", "))
        else:
            texts.append(repr(item))
    return "".join(texts)


def _commas(items: Sequence[Any]) -> list[Any]:
    return [part for item in items for part in (", ", item)][1:]
