"""`Prelude`: the standard library (lists, options, trees and the functions on them) in a module, by name."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, UnknownNameError, did_you_mean
from passlab.ir.adt import Constructor
from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar


class Prelude:
    """The standard library of `mod` (a new module when none is given): `p.map`, `p.foldl`, `p.mod.get_type("List")`.

    Functions are attributes as global variables, data types as type variables and constructors as constructors.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self.mod.import_from_std("prelude.rly")

    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return (type variable, constructor, ...) of a data type."""
        return self.mod.get_type(name)

    def get_ctor(self, type_name: str, name: str) -> Constructor:
        """Return a constructor of a data type by name."""
        return self.mod.get_constructor(type_name, name)

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable of a function by name."""
        return self.mod.get_global_var(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.mod:
            return self.mod.get_global_var(name)
        constructor = self.mod.find_constructor(name)
        if constructor is not None:
            return constructor
        data = self.mod.find_type(name)
        if data is not None:
            return data.header
        raise UnknownNameError(Diagnostic(f"the prelude has no `{name}`", hint=did_you_mean(name, dir(self))))

    def __dir__(self) -> list[str]:
        types: list[GlobalTypeVar] = self.mod.get_global_type_vars()
        constructors = [c.name_hint for t in types for c in self.mod.type_data(t.name_hint).constructors]
        functions = [name for name, _ in self.mod.items()]
        own = ("mod", "get_type", "get_ctor", "get_global_var")
        return sorted({*own, *functions, *constructors, *(t.name for t in types)})
