"""Importers of other formats, and the ONNX exporter: `from_onnx`, `from_pytorch`, `to_onnx`.

Each format is a subpackage, loaded on first use, and so is the Python package that reads its files. A frontend knows
the operators, type inference and constant folding; it must not know executors, recordings or views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.lazy import lazy_module

if TYPE_CHECKING:
    from passlab.frontend.onnx.export.exporting import to_onnx
    from passlab.frontend.onnx.importing import from_onnx
    from passlab.frontend.pytorch.importing import from_pytorch

__all__ = ["from_onnx", "from_pytorch", "to_onnx"]

__getattr__, __dir__ = lazy_module(
    __name__,
    {
        "from_onnx": "passlab.frontend.onnx.importing:from_onnx",
        "from_pytorch": "passlab.frontend.pytorch.importing:from_pytorch",
        "to_onnx": "passlab.frontend.onnx.export.exporting:to_onnx",
    },
)
