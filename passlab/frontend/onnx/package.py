"""The Python package `onnx`, loaded on first use."""

from __future__ import annotations

import importlib
from types import ModuleType

from passlab.errors import Diagnostic, MissingPackageError


def onnx() -> ModuleType:
    """Return the package `onnx`. Raises `MissingPackageError` if it is not installed."""
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise MissingPackageError(
            Diagnostic("reading ONNX models needs the package `onnx`", found=str(error), hint="pip install onnx")
        ) from error
