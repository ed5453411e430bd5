"""The table of PyTorch's operators: one operator, one entry for all of its overloads.

    @aten("relu", "relu_")
    def relu(n: Node, x: Expr) -> Expr:
        '''`nn.relu`.'''
        return n("nn.relu", x)

The docstring describes the Relay form, and is shown in the manual. Names come from the namespace `aten`; operations
on sizes (`operator.mul`, `math.ceil`) are registered under their full name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

FAMILIES = (
    "activations",
    "arithmetic",
    "attention",
    "convolution",
    "creation",
    "elementwise",
    "indexing",
    "matrices",
    "movement",
    "normalization",
    "ordering",
    "padding",
    "pooling",
    "recurrent",
    "reductions",
    "resizing",
    "shapes",
    "slicing",
)

Translation = Callable[..., Any]  # (node, *args, **kwargs) -> an expression, a Symbol, a number, or a list of them
T = TypeVar("T", bound=Translation)
_entries: dict[str, Translation] = {}


def aten(*names: str) -> Callable[[T], T]:
    """Register the decorated translation under these names of the namespace `aten`."""
    return torch_operator(*(f"aten.{name}" for name in names))


def torch_operator(*names: str) -> Callable[[T], T]:
    """Register the decorated translation under these full names."""

    def register(translate: T) -> T:
        for name in names:
            add_entry(name, translate)
        return translate

    return register


def add_entry(name: str, translate: Translation, doc: str = "") -> None:
    """Register a translation; `doc` describes one that has no docstring of its own."""
    assert name not in _entries, f"{name} has two entries"
    if doc:
        translate.__doc__ = doc
    _entries[name] = translate


@cache
def entries() -> dict[str, Translation]:
    """Return the table, by name without overload."""
    for family in FAMILIES:
        importlib.import_module(f"passlab.frontend.pytorch.operators.{family}")
    return dict(sorted(_entries.items()))


def split_overload(op: str) -> tuple[str, str]:
    """Return the name of an operator without its overload, and the overload: `aten.add.Tensor` is an `aten.add`.

    Operators of other libraries (`transformers.grouped_mm_fallback.default`) also have overloads.
    """
    if op.count(".") >= 2:
        name, _, overload = op.rpartition(".")
        return name, overload
    return op, ""
