"""The dimensions of tensor types: integers, the unknown dimension `?`, and symbolic sizes."""

from __future__ import annotations

from typing import Any as PyAny

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.immutable import Immutable

_set = object.__setattr__


class Any(Immutable):
    """The unknown dimension, written `?`. There is one: `Any() is Any()`."""

    __slots__ = ()
    _instance: Any | None = None

    def __new__(cls) -> Any:
        if cls._instance is None:
            cls._instance = object.__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "?"


ANY = Any()


class SizeVar(Immutable):
    """A symbolic dimension, compared by identity; `name` is a hint."""

    __slots__ = ("name", "dtype", "__weakref__")
    name: str
    dtype: str

    def __init__(self, name: str, dtype: str = "int64") -> None:
        _set(self, "name", name)
        _set(self, "dtype", dtype)

    def __repr__(self) -> str:
        return self.name


Dim = int | Any | SizeVar
Shape = tuple[Dim, ...]


def as_dim(dim: PyAny) -> Dim:
    """Return a dimension given as a number, `?` or an object. Raises `DiagnosticError` for anything else."""
    if isinstance(dim, (Any, SizeVar)):
        return dim
    if isinstance(dim, str) and dim == "?":
        return ANY
    size = dim.__index__() if hasattr(dim, "__index__") else -1
    if size < 0:
        raise DiagnosticError(
            Diagnostic(
                f"{dim!r} is not a dimension",
                hint="a dimension is an integer from 0 on, `relay.Any()` or a symbolic variable",
            )
        )
    return int(size)
