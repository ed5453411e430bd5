"""Values of a run as a table for JSON beside tensors: arguments of a program, and what forks put into registers.

An entry is what a value is, a number, and which entries before it are its fields. So values nest as deep as programs
make them, and parts that values share are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor, TypeData, constructor_numbers
from passlab.vm.objects import VMClosure

Entry = tuple[str, int, list[int]]


class ValueTable:
    """Values that are written: `entries` for JSON, and the `tensors` they speak of by number.

    `definitions` are the data types of their program, which number the constructors.
    """

    def __init__(self, definitions: Iterable[TypeData] = ()) -> None:
        numbers = constructor_numbers(definitions)
        self._numbers = {(c.belong_to.name_hint, c.name_hint): number for c, number in numbers.items()}
        self.entries: list[Entry] = []
        self.tensors: list[np.ndarray[Any, Any]] = []
        self._known: dict[int, tuple[int, Any]] = {}  # by id: the entry, and the value itself, which keeps the id

    def add(self, value: Any) -> int:
        """Enter a value and return the number of its entry. Raises `RunError` for what has no written form."""
        stack: list[tuple[Any, bool]] = [(value, False)]
        while stack:
            at, ready = stack.pop()
            if id(at) in self._known:
                continue
            fields = _fields(at)
            if ready or not fields:
                kind, number = self._kind(at)
                self._known[id(at)] = len(self.entries), at
                self.entries.append((kind, number, [self._known[id(field)][0] for field in fields]))
            else:
                stack.append((at, True))
                stack.extend((field, False) for field in reversed(fields))
        return self._known[id(value)][0]

    def _kind(self, value: Any) -> tuple[str, int]:
        """What a value is, and its number."""
        if isinstance(value, np.ndarray):
            self.tensors.append(value)
            return "tensor", len(self.tensors) - 1
        if isinstance(value, tuple):
            return "tuple", 0
        if isinstance(value, ADTValue):
            made_by = value.constructor
            return "data", self._numbers.get((made_by.belong_to.name_hint, made_by.name_hint), made_by.tag)
        if isinstance(value, VMClosure):
            return "closure", value.func_index
        if isinstance(value, int):
            return "int", value
        what = f"a {type(value).__name__} among the values cannot be saved"
        raise RunError(Diagnostic(what, hint="tensors, tuples, data and closures of the virtual machine can"))


def _fields(value: Any) -> Sequence[Any]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, ADTValue):
        return value.fields
    return value.captured if isinstance(value, VMClosure) else ()


def read_values(
    entries: Any, tensor: Callable[[int], np.ndarray[Any, Any]], constructors: Mapping[int, Constructor], functions: int
) -> list[Any]:
    """Return the values of a table; `tensor` gives one by number, `functions` is how many closures may name.

    Raises `KeyError`, `ValueError` or `TypeError` for entries that describe no value.
    """
    values: list[Any] = []
    for kind, number, places in entries:
        if not all(0 <= place < len(values) for place in places):
            raise ValueError("a value refers to one that comes later")
        fields = tuple([values[place] for place in places])
        if kind == "tensor" and not fields:
            values.append(tensor(int(number)))
        elif kind == "int" and not fields and type(number) is int:
            values.append(number)
        elif kind == "tuple":
            values.append(fields)
        elif kind == "data" and len(constructors[number].inputs) == len(fields):
            values.append(ADTValue(constructors[number], fields))
        elif kind == "closure" and 0 <= int(number) < functions:
            values.append(VMClosure(int(number), fields))
        else:
            raise ValueError(f"there is no value `{kind}` {number} of {len(fields)} fields")
    return values
