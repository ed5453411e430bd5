"""The standard library: Relay files that are part of passlab, read on first use.

`prelude.rly` holds lists, optional values and trees; `nat.rly` natural numbers (it imports the prelude); `gradient.rly`
lazy gradients; `core.rly` the types of the machine.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError, did_you_mean
from passlab.ir.module import IRModule
from passlab.lazy import INFERENCE, late
from passlab.text.parser import parse

FILES = ("core.rly", "gradient.rly", "nat.rly", "prelude.rly")
_NEEDS = {"nat.rly": "prelude.rly"}


@checked
def standard(file_name: str) -> IRModule:
    """Return the module of a file of the standard library, typed, with the files it needs.

    Each call gives a new module that shares the same functions and types. Raises `DiagnosticError` for an unknown file.
    """
    if file_name not in FILES:
        hint = did_you_mean(file_name, FILES) or f"its files are {', '.join(FILES)}"
        raise DiagnosticError(Diagnostic(f"the standard library has no file `{file_name}`", hint=hint))
    return _read(file_name).snapshot()


@cache
def _read(file_name: str) -> IRModule:
    text = resources.files("passlab.text").joinpath("std", file_name).read_text(encoding="utf-8")
    base = IRModule()
    if file_name in _NEEDS:
        base.import_from_std(_NEEDS[file_name])
    mod: IRModule = late(INFERENCE, "infer_module")(parse(text, file_name, base))
    return mod
