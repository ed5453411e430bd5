"""The two doors through which nodes reach rooms above them, opened on first use.

A node's face needs the printer (`str(expr)`) and the vocabulary (`a + b` makes a call of the operator `add`). Both
stand above `ir`, so `ir` names them here as text, once, instead of importing them.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

PRINTER = "passlab.text.printer"
PARSER = "passlab.text.parser"
LIBRARY = "passlab.text.library"
VOCABULARY = "passlab.op"


@cache
def late(module: str, name: str) -> Any:
    """Return `name` of the module called `module`, importing it on the first call."""
    return getattr(importlib.import_module(module), name)
