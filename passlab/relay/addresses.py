"""Relay's addresses: modules of Relay that hold no code here, only names that are defined elsewhere.

A row of `ADDRESSES` is a module under `passlab`. It is found (`passlab.lazy.AddressFinder`) when a program imports it:
`from passlab.relay.op import nn`, `import passlab.relay.analysis`. Modules whose names have types of their own are
stubs instead (`expr.pyi`): type checkers read them, and so does this module.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import passlab
from passlab.lazy import lazy_module, module_alias, names_in_stub
from passlab.relay.operators import EXPRESSIONS, operator_module


class _Address:
    """A module of names defined elsewhere; also the loader of that module."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names. Called by `import`."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Same(_Address):
    """Another module under a second name, with its submodules: one module object at both addresses."""

    target: str

    def exec_module(self, module: ModuleType) -> None:
        """Replace `module` by the other one."""
        sys.modules[module.__name__] = importlib.import_module(self.target)


@dataclass(frozen=True)
class _Names(_Address):
    """`names` with their targets, then the names of the module `below`; `doc` is the docstring of a stub."""

    names: Mapping[str, str] = field(default_factory=dict)
    below: str = ""
    doc: str | None = None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names, which are loaded on first use."""
        name = module.__name__
        module.__doc__ = self.doc
        found = module_alias(name, self.below, self.names) if self.below else lazy_module(name, self.names)
        module.__dict__["__getattr__"], module.__dict__["__dir__"] = found
        if not self.below:
            module.__dict__["__all__"] = [*self.names]


@dataclass(frozen=True)
class _Operators(_Address):
    """The operators whose names begin with `prefix` as functions; `files` are modules of Relay's source inside it."""

    prefix: str = ""
    files: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module the operators."""
        lookup = operator_module(module.__name__, self.prefix, self.files, self.names)
        module.__dict__["__getattr__"], module.__dict__["__dir__"] = lookup


def _of(module: str, *names: str) -> dict[str, str]:
    return {name: f"{module}:{name}" for name in names}


_LOOKUP_TABLES = "passlab.passes.precision.lookup_tables"
ADDRESSES: dict[str, _Address] = {
    "ir.instrument": _Names(below="passlab.instrument"),
    "ir.transform": _Names(below="passlab.transform"),
    "relay.analysis": _Names(
        {
            # Relay's function fuses the program first; the analysis of that name takes a program as it is.
            "extract_fused_functions": "passlab.passes.program.plain_functions:fused_functions",
            "feature": "passlab.analysis.census",
            "get_calibration_data": "passlab.relay.calibration:get_calibration_data",
        },
        "passlab.analysis",
    ),
    "relay.annotation": _Operators(
        "annotation.",
        ("annotation",),
        {
            "function_on_device": "passlab.relay.device_annotations:function_on_device",
            "on_device": "passlab.relay:on_device",
        },
    ),
    "relay.dataflow_pattern": _Names(below="passlab.pattern"),
    "relay.expr_functor": _Names(below="passlab.ir.functor"),
    "relay.image": _Operators("image.", ("image",)),
    "relay.memory": _Operators("memory."),
    "relay.nn": _Operators("nn.", ("nn",), EXPRESSIONS),
    "relay.op.algorithm": _Operators(),
    "relay.op.annotation": _Same("passlab.relay.annotation"),
    "relay.op.contrib": _Operators(
        "contrib.", (), _of("passlab.relay.pattern_tables", "TABLES", "get_pattern_table", "register_pattern_table")
    ),
    "relay.op.image": _Same("passlab.relay.image"),
    "relay.op.nn": _Same("passlab.relay.nn"),
    "relay.op.op": _Names(below="passlab.relay.op"),
    "relay.op.random": _Same("passlab.relay.random"),
    "relay.op.reduce": _Operators(),
    "relay.op.tensor": _Operators(),
    "relay.op.transform": _Operators(),
    "relay.op.vision": _Same("passlab.relay.vision"),
    "relay.qnn.op.canonicalizations": _Names(
        _of(_LOOKUP_TABLES, "create_integer_lookup_op", "create_integer_lookup_table", "run_const_expr")
    ),
    "relay.qnn.op.legalizations": _Names(_of(_LOOKUP_TABLES, "hardswish_func")),
    "relay.qnn.transform": _Names(
        {
            "CanonicalizeOps": "passlab.passes.precision.qnn_canonicalize_ops:QnnCanonicalizeOps",
            "Legalize": "passlab.passes.precision.qnn_legalize:QnnLegalize",
        }
    ),
    "relay.random": _Operators("random.", ("kernel",)),
    "relay.testing": _Same("passlab.testing"),
    "relay.transform": _Names({"build_config": "passlab.relay.build_module:build_config"}, "passlab.transform"),
    "relay.vision": _Operators("vision.", ("multibox", "nms", "rcnn", "yolo")),
    "relay.vm": _Names(below="passlab.vm"),
}


def address_of(name: str) -> _Address | None:
    """Return the loader of a module of `passlab`, None if it is none of Relay's addresses."""
    key = name.partition(".")[2]
    if key in ADDRESSES:
        return ADDRESSES[key]
    stub = Path(passlab.__path__[0], *key.split(".")).with_suffix(".pyi")
    if not stub.exists():
        return None
    doc = ast.get_docstring(ast.parse(stub.read_text(encoding="utf-8")))
    return _Names(names_in_stub(str(stub.with_suffix(".py"))), doc=doc)


class _SubmoduleFinder:
    """Finds submodules of second names first: by their path, Python would load them once more."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module below a second name, None for all others. Called by `import`."""
        package, _, last = name.rpartition(".")
        parent = ADDRESSES.get(package.partition(".")[2])
        if not isinstance(parent, _Same) or importlib.util.find_spec(f"{parent.target}.{last}") is None:
            return None
        loader: Any = _Same(f"{parent.target}.{last}")
        return ModuleSpec(name, loader)


sys.meta_path.insert(0, _SubmoduleFinder())
