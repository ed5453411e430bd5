"""Values and executables with the constructors of TVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.evaluate.values import ADTValue
from passlab.relay.constructors import StandIn
from passlab.vm import executable


class ADT(metaclass=StandIn):
    """A tuple, or a value of a data type; `ADT(0, fields)` is a tuple."""

    stands_for = (tuple, ADTValue)

    def __new__(cls, tag: int, fields: Sequence[Any]) -> Any:
        return tuple(fields)


class Executable(metaclass=StandIn):
    """An executable; `Executable(module)` is that of a module which `load_module` returned."""

    stands_for = executable.Executable
    load_exec = staticmethod(executable.Executable.load_exec)

    def __new__(cls, mod: executable.Executable) -> Any:
        return mod
