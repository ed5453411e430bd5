"""Names that are loaded on first use, for `passlab`, `passlab.relay` and other packages.

A lazy module is a table from names to the modules that define them. Using a name imports just that module, so
`import passlab` costs almost nothing. A misspelt name raises an `UnknownNameError` with the nearest name.
`late` imports upwards: a lower package uses it to reach a higher one on first use. This module imports no other.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any

# Modules that lower packages reach on first use only. A test lists every such upward import.
PRINTER = "passlab.text.printer"
CLAUSES = "passlab.ir.adt"
LIBRARY = "passlab.text.library"
PROGRAM_JSON = "passlab.text.program_json"
INFERENCE = "passlab.infer"
PIPELINE_TEXT = "passlab.transform.pipeline_text"
OPERATORS = "passlab.op"
PASSES = "passlab.passes"
ADDRESSES = "passlab.relay.addresses"
FORMATTERS = "passlab.notebook.formatters"

Getter = Callable[[str], Any]
Lister = Callable[[], list[str]]


def load(target: str) -> Any:
    """Return what `target` names: a module, or as "module:name" something in it."""
    module, _, name = target.partition(":")
    target_module = importlib.import_module(module)
    return getattr(target_module, name) if name else target_module


def notebook_forms(value: Any, include: Any = None, exclude: Any = None) -> Any:
    """Return what a notebook may show of a value that has a view: its widget, HTML and plain text, by type.

    It is the `_repr_mimebundle_` of each such class, so that a host needs no extension of passlab to show one.
    """
    return late(FORMATTERS, "bundle")(value, include, exclude)


def lazy_module(
    module: str, names: Mapping[str, str], more: Getter | None = None, others: Lister = list
) -> tuple[Getter, Lister]:
    """Return the `__getattr__` and `__dir__` of `module`, whose `names` are found on first use at their targets.

    `more(name)` may return further names (None for an unknown one), which `others()` lists.
    """

    def get(name: str) -> Any:
        if name in names:
            result = load(names[name])
        elif name.startswith("__") or (result := more(name) if more else None) is None:
            raise unknown_name(module, name, () if name.startswith("__") else names_of())
        setattr(sys.modules[module], name, result)
        return result

    def names_of() -> list[str]:
        return sorted({*names, *others()})

    return get, names_of


def names_in_stub(file: str, package: str = "") -> dict[str, str]:
    """Return the names that the stub next to a package's `__init__.py` imports, with their targets for `lazy_module`.

    The stub (`__init__.pyi`) is what type checkers read, so that each name is written once. What it imports from the
    `package` itself are submodules; names with an underscore are the stub's own, and those behind a star are operators,
    which are found by other means.
    """
    stub = SourceFileLoader(file, f"{file.removesuffix('.py')}.pyi")  # `pathlib` would take 5 ms to import
    tree = ast.parse(stub.get_data(stub.path))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: f"{node.module}{'.' if node.module == package else ':'}{alias.name}"
        for node in imports
        for alias in node.names
        if alias.name != "*" and not (alias.asname or "").startswith("_")
    }


def module_alias(module: str, target: str, names: Mapping[str, str] | None = None) -> tuple[Getter, Lister]:
    """Return the `__getattr__` and `__dir__` of `module`, a second address of the package `target`.

    `from MODULE import *` finds all its names.
    """

    def more(name: str) -> Any:
        target_module = importlib.import_module(target)
        try:
            return getattr(target_module, name)
        except AttributeError:
            pass
        try:
            return importlib.import_module(f"{target}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{target}.{name}":
                raise
            return None

    def others() -> list[str]:
        target_module = importlib.import_module(target)
        return [name for name in dir(target_module) if not name.startswith("_")]

    get_one, names_of = lazy_module(module, names or {}, more, others)

    def get(name: str) -> Any:
        return names_of() if name == "__all__" else get_one(name)

    return get, names_of


class AddressFinder:
    """Finds the modules of `passlab` that hold no code, only names defined elsewhere (`passlab.relay.addresses`).

    It is the last finder on `sys.meta_path`, so that only imports that no other finds reach it.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load an address, None for all other modules. Called by `import`."""
        if not name.startswith(("passlab.relay.", "passlab.ir.")):
            return None
        loader = late(ADDRESSES, "address_of")(name)
        return None if loader is None else ModuleSpec(name, loader, is_package=True)


def unknown_name(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error for a name that a module does not have, with the nearest names that it has."""
    if name.startswith("_"):  # asked for by tools that look for a protocol, many times a module
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    from passlab.errors import Diagnostic, UnknownNameError, did_you_mean

    hint = did_you_mean(name, names) or f"`dir({module})` lists its names"
    return UnknownNameError(Diagnostic(f"{module} has no `{name}`", hint=hint))


@cache
def late(module: str, name: str) -> Any:
    """Return `name` of the module called `module`, importing it on the first call: a lazy import upwards."""
    return getattr(importlib.import_module(module), name)
