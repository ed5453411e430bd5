"""passlab: see, understand and fix compiler passes in a notebook.

This module only names the public interface; every name is loaded on first use. Its names come from `__init__.pyi`.
"""

from __future__ import annotations

import sys

from passlab.lazy import AddressFinder, lazy_module, names_in_stub

__version__ = "1.0.0"

_NAMES = names_in_stub(__file__, __name__)
__all__ = sorted(name for name, target in _NAMES.items() if ":" in target)  # packages are found, not listed

__getattr__, __dir__ = lazy_module(__name__, _NAMES)
sys.meta_path.append(AddressFinder())
