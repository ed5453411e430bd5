"""`relay.frontend`: programs of other formats. ONNX models are read; of others the error says what there is instead."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, UnknownNameError
from passlab.faces import place_of


def __getattr__(name: str) -> Any:
    if name == "from_onnx":
        return place_of("passlab.frontend:from_onnx")
    if name.startswith("__"):
        raise AttributeError(name)
    raise UnknownNameError(
        Diagnostic(
            f"passlab imports ONNX models and no other formats: there is no `relay.frontend.{name}`",
            hint="export the model to ONNX; or import it with TVM, write `mod.astext()` to a file, and read it with "
            "`passlab.parse`",
        )
    )


def __dir__() -> list[str]:
    return ["from_onnx"]
