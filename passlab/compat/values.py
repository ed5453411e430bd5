"""Values and executables with the constructors of TVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.evaluate.values import ADTValue
from passlab.relay.constructors import StandIn
from passlab.vm import executable


class _Tagged(tuple[Any, ...]):
    """A tuple with the number of a constructor; tuples of programs have 0."""

    tag: int


class ADT(metaclass=StandIn):
    """A tuple, or a value of a data type; `ADT(0, fields)` is a tuple."""

    stands_for = (tuple, ADTValue)

    def __new__(cls, tag: int, fields: Sequence[Any]) -> Any:
        value = _Tagged(fields)
        value.tag = tag
        return value


class _Shape(tuple[Any, ...]):
    """A shape, which equals lists too."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other


class ShapeTuple(metaclass=StandIn):
    """A tuple of sizes; `ShapeTuple(sizes)` equals lists with these sizes as well."""

    stands_for = tuple

    def __new__(cls, shape: Iterable[int]) -> Any:
        return _Shape(shape)


class Executable(metaclass=StandIn):
    """An executable; `Executable(module)` wraps a module that `load_module` returned."""

    stands_for = executable.Executable
    load_exec = staticmethod(executable.Executable.load_exec)

    def __new__(cls, mod: executable.Executable) -> Any:
        return mod
