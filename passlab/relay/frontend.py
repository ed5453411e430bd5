"""`relay.frontend`: the address at which Relay has importers. passlab has none, and says what there is instead."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, UnknownNameError


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise UnknownNameError(
        Diagnostic(
            f"passlab imports no other formats: there is no `relay.frontend.{name}`",
            hint="import the model with TVM, write `mod.astext()` to a file, and read it with `passlab.parse`",
        )
    )
