"""The vocabulary: one operator, one declaration. `load` reads all of them; `make` builds a call by name."""

from __future__ import annotations

import importlib

from passlab.op.declare import call as make

MODULES = (
    "elementwise", "broadcast", "compare", "cast", "create", "reshape", "concatenate", "transpose", "slice",
    "reduce", "scan",
    "replicate", "gather", "scatter", "sort", "shape", "annotation",
    "memory", "fixed_point", "threefry", "einsum", "signal", "sparse", "dyn",
    "nn", "layout", "image", "crop", "vision", "qnn",
)  # fmt: skip


def load() -> None:
    """Read every declaration."""
    for room in MODULES:
        importlib.import_module(f"passlab.op.{room}")


__all__ = ["MODULES", "load", "make"]
