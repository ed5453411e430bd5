"""Importers of other formats, and the ONNX exporter: `from_onnx`, `from_pytorch`, `to_onnx`.

Each format is a subpackage, loaded on first use, and so is the Python package that reads its files. A frontend knows
the operators, type inference and constant folding; it must not know executors, recordings or views.
"""

from __future__ import annotations

from passlab.lazy import lazy_module, names_in_stub

_NAMES = names_in_stub(__file__)
__all__ = sorted(_NAMES)

__getattr__, __dir__ = lazy_module(__name__, _NAMES)
