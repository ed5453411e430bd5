"""Programs of other formats become Relay: `relay.frontend.from_onnx(model)`.

Each format is a package of its own here, loaded on first use, and so is the Python package that reads its files. A
frontend knows the vocabulary, type inference and constant folding; it must not know executors, recordings or views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.faces import face

if TYPE_CHECKING:
    from passlab.frontend.onnx.importing import from_onnx

__all__ = ["from_onnx"]

__getattr__, __dir__ = face(__name__, {"from_onnx": "passlab.frontend.onnx.importing:from_onnx"})
