"""The table of ONNX operators: one operator, one entry.

    @onnx_operator("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
    def flatten(n: Node, x: Expr) -> Expr:
        '''A reshape to two dimensions.'''
        axis = n.int("axis", 1)
        ...

The numbers are the opset versions that redefined the operator and that the translation supports; `n.version` is the one
of the node. The parameters of the function are the inputs: those without a default are required. The docstring
describes the Relay form, and is shown in the manual.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from passlab.frontend.onnx.package import onnx

FAMILIES = (
    "activations", "arithmetic", "control_flow", "convolution", "creation", "elementwise", "gathering",
    "learning", "losses", "matrices", "movement", "normalization", "ordering", "padding", "pooling", "quantized",
    "randomness", "recurrent", "reductions", "resizing", "sampling", "sequences", "slicing", "spectral",
)  # fmt: skip

Translation = Callable[..., Any]  # (node, *inputs) -> an expression, or a list of them, with None for a missing output


@dataclass(frozen=True)
class OnnxOperator:
    """The translation of one ONNX operator, which takes `needed` to `most` inputs (None: any number)."""

    name: str
    versions: tuple[int, ...]
    translate: Translation
    needed: int
    most: int | None
    doc: str


_entries: dict[str, OnnxOperator] = {}


def onnx_operator(name: str, *versions: int) -> Callable[[Translation], Translation]:
    """Register the decorated translation of an operator for the definitions in these opset versions."""

    def register(translate: Translation) -> Translation:
        add_entry(name, versions, translate, translate.__doc__ or "")
        return translate

    return register


def add_entry(name: str, versions: tuple[int, ...], translate: Translation, doc: str) -> None:
    """Register a translation."""
    inputs = list(inspect.signature(translate).parameters.values())[1:]  # without the node
    any_number = any(p.kind is p.VAR_POSITIONAL for p in inputs)
    needed = sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in inputs)
    assert name not in _entries, f"{name} has two entries"
    _entries[name] = OnnxOperator(name, versions, translate, needed, None if any_number else len(inputs), doc)


@cache
def entries() -> dict[str, OnnxOperator]:
    """Return the table, by name; operators of another domain begins with the domain."""
    for family in FAMILIES:
        importlib.import_module(f"passlab.frontend.onnx.operators.{family}")
    return dict(sorted(_entries.items()))


@cache
def schema_of(name: str, domain: str, opset: int) -> Any:
    """Return ONNX's definition of an operator in an opset version, or None if that opset lacks it."""
    package = onnx()
    try:
        return package.defs.get_schema(name, opset, domain)
    except (package.defs.SchemaError, TypeError):  # an opset that does not fit in 32 bits
        return None


def find_entry(name: str, domain: str, opset: int) -> tuple[OnnxOperator, int] | None:
    """Return the entry of an operator and the version of its definition, None for an unknown version."""
    entry = entries().get(f"{domain}.{name}" if domain else name)
    schema = schema_of(name, domain, opset) if entry else None
    if entry is None or schema is None or schema.since_version not in entry.versions:
        return None
    return entry, schema.since_version
