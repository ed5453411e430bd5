"""passlab: see, understand and fix compiler passes in a notebook.

This module only names the public interface; every name is loaded on first use. Its names are those of `__init__.pyi`.
"""

from __future__ import annotations

import sys

from passlab.lazy import AddressFinder, lazy_module, names_in_stub

__version__ = "1.0.0"

_PACKAGES = (
    "analysis", "course", "devices", "display", "errors", "evaluate", "executor", "frontend", "infer", "instrument",
    "ir", "lab", "limits", "notebook", "op", "pattern", "relay", "testing", "text", "transform", "vm",
)  # fmt: skip
_NAMES = names_in_stub(__file__)
__all__ = sorted(_NAMES)

__getattr__, __dir__ = lazy_module(__name__, {**_NAMES, **{name: f"passlab.{name}" for name in _PACKAGES}})
sys.meta_path.append(AddressFinder())
