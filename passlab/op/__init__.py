"""The vocabulary: one operator, one declaration. `load` reads all of them; `make` builds a call by name."""

from __future__ import annotations

import importlib
from typing import Any

from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.op.declare import make_call

ROOMS = ("elementwise", "broadcast", "nn.dense")


def load() -> None:
    """Read every declaration."""
    for room in ROOMS:
        importlib.import_module(f"passlab.op.{room}")


def make(name: str, *args: Any, **attrs: Any) -> Call:
    """Return the call of the operator `name` on `args` (expressions) with attributes by name."""
    return make_call(Op.get(name), args, attrs)
