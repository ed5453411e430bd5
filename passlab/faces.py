"""Names that are loaded on first use: what `passlab` and `passlab.relay` are made of.

A face is a table from names to where they live. Asking a module for one of them imports just that place, so that
`import passlab` costs next to nothing. A misspelt name ends in an `UnknownNameError` that says what was meant.
This module knows no other.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Getter = Callable[[str], Any]
Lister = Callable[[], list[str]]


def place_of(target: str) -> Any:
    """Return what `target` names: a module, or as "module:name" something in it."""
    module, _, name = target.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def face(
    module: str, names: Mapping[str, str], more: Getter | None = None, others: Lister = list
) -> tuple[Getter, Lister]:
    """Return the `__getattr__` and `__dir__` of `module`, whose `names` are found on first use at their targets.

    `more(name)` may know further names (None for no), which `others()` lists.
    """

    def get(name: str) -> Any:
        if name in names:
            found = place_of(names[name])
        elif name.startswith("__") or (found := more(name) if more else None) is None:
            raise unknown(module, name, () if name.startswith("__") else names_of())
        setattr(sys.modules[module], name, found)
        return found

    def names_of() -> list[str]:
        return sorted({*names, *others()})

    return get, names_of


def forward(module: str, target: str, names: Mapping[str, str] | None = None) -> tuple[Getter, Lister]:
    """Return the `__getattr__` and `__dir__` of `module`, a second address of the package `target`.

    `from MODULE import *` finds all its names.
    """

    def more(name: str) -> Any:
        found = importlib.import_module(target)
        try:
            return getattr(found, name)
        except AttributeError:
            pass
        try:
            return importlib.import_module(f"{target}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{target}.{name}":
                raise
            return None

    def others() -> list[str]:
        found = importlib.import_module(target)
        return [name for name in dir(found) if not name.startswith("_")]

    get_one, names_of = face(module, names or {}, more, others)

    def get(name: str) -> Any:
        return names_of() if name == "__all__" else get_one(name)

    return get, names_of


def unknown(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that a module does not have, with the nearest names that it has."""
    if name.startswith("__"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    from passlab.errors import Diagnostic, UnknownNameError, did_you_mean

    hint = did_you_mean(name, known) or f"`dir({module})` lists its names"
    return UnknownNameError(Diagnostic(f"{module} has no `{name}`", hint=hint))
