"""`relay.frontend`: importers of ONNX and PyTorch; the errors for other formats suggest a conversion."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, UnknownNameError
from passlab.lazy import load

FUNCTIONS = ("from_onnx", "from_pytorch")


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return load(f"passlab.frontend:{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    raise UnknownNameError(
        Diagnostic(
            f"passlab imports ONNX models and exported PyTorch programs: there is no `relay.frontend.{name}`",
            hint="export the model to ONNX; or import it with TVM, write `mod.astext()` to a file, and read it with "
            "`passlab.parse`",
        )
    )


def __dir__() -> list[str]:
    return list(FUNCTIONS)
