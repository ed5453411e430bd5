"""Values in trace files: a table for JSON beside tensors, for arguments and for changed registers of forks.

An entry is the kind of a value, a number, and the entries of its fields, which come before it. So values may nest as
deep as memory allows, and shared parts are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor, TypeData, constructor_numbers
from passlab.vm.objects import VMClosure, value_parts

Entry = tuple[str, int, list[int]]


class ValueTable:
    """A table of values: `entries` for JSON, and the `tensors` that they refer to by number.

    `definitions` are the data types of the program, which number the constructors.
    """

    def __init__(self, definitions: Iterable[TypeData] = ()) -> None:
        numbers = constructor_numbers(definitions)
        self._constructor_numbers = {(c.belong_to.name_hint, c.name_hint): number for c, number in numbers.items()}
        self.entries: list[Entry] = []
        self.tensors: list[np.ndarray[Any, Any]] = []
        self._numbers_by_id: dict[int, tuple[int, Any]] = {}  # the value too, since its id is valid while it lives

    def add(self, value: Any) -> int:
        """Add a value and return the number of its entry. Raises `RunError` for a kind that files do not have."""
        stack: list[tuple[Any, bool]] = [(value, False)]
        while stack:
            part, ready = stack.pop()
            if id(part) in self._numbers_by_id:
                continue
            fields = value_parts(part)
            if ready or not fields:
                kind, number = self._kind(part)
                self._numbers_by_id[id(part)] = len(self.entries), part
                self.entries.append((kind, number, [self._numbers_by_id[id(field)][0] for field in fields]))
            else:
                stack.append((part, True))  # again, after its fields: an entry refers to earlier ones only
                stack.extend((field, False) for field in reversed(fields))
        return self._numbers_by_id[id(value)][0]

    def _kind(self, value: Any) -> tuple[str, int]:
        """Return the kind of a value and its number; a tensor is added to `tensors`."""
        if isinstance(value, np.ndarray):
            self.tensors.append(value)
            return "tensor", len(self.tensors) - 1
        if isinstance(value, tuple):
            return "tuple", 0
        if isinstance(value, ADTValue):
            constructor = value.constructor
            name = constructor.belong_to.name_hint, constructor.name_hint
            return "data", self._constructor_numbers.get(name, constructor.tag)
        if isinstance(value, VMClosure):
            return "closure", value.func_index
        if isinstance(value, int):
            return "int", value
        what = f"a {type(value).__name__} cannot be saved in a trace file"
        raise RunError(Diagnostic(what, hint="tensors, integers, tuples, ADT values and closures of the vm can"))


def read_values(
    entries: Any, tensor: Callable[[int], np.ndarray[Any, Any]], constructors: Mapping[int, Constructor], functions: int
) -> list[Any]:
    """Return the values of a table; `tensor` returns one by number, `functions` is the number of functions.

    Raises `KeyError`, `ValueError` or `TypeError` for malformed entries.
    """
    values: list[Any] = []
    for kind, number, indices in entries:
        if not all(0 <= index < len(values) for index in indices):
            raise ValueError("a value refers to a later one")
        fields = tuple([values[index] for index in indices])
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
