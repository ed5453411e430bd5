"""Operators as Python functions, found by name: `relay.add`, `relay.nn.conv2d`, `relay.qnn.op.quantize`.

A namespace holds all operators whose names start with one prefix. Its functions are the builders of their declarations,
so a new operator needs no entry here; composite operators are functions that build several calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from passlab.ir.op import Op, find_op
from passlab.lazy import load, unknown_name
from passlab.relay.composite_ops import COMPOSITIONS
from passlab.table import Table


class OperatorNamespace:
    """The operators under `prefix` as attributes, and the namespaces inside it."""

    def __init__(self, prefix: str, title: str) -> None:
        self._prefix = prefix
        self._title = title
        self.__name__ = title

    def find(self, name: str) -> Callable[..., Any] | OperatorNamespace | None:
        """Return the function of an operator, the namespace of a longer prefix, or None."""
        if name.startswith("_"):
            return None
        full_name = self._prefix + name
        if full_name in COMPOSITIONS:
            return COMPOSITIONS[full_name]
        op = find_op(full_name)
        if op is not None:
            return op.spec.builder
        inner = f"{full_name}."
        if any(operator.startswith(inner) for operator in Op.list_op_names()):
            return OperatorNamespace(inner, f"{self._title}.{name}")
        return None

    def names(self) -> list[str]:
        """Return the names of the functions of this namespace."""
        composed = [n for n in COMPOSITIONS if n.startswith(self._prefix)]
        names = [name for name in Op.list_op_names() if name.startswith(self._prefix)]
        tails = [name[len(self._prefix) :] for name in (*names, *composed)]
        return sorted({tail for tail in tails if "." not in tail})

    def __getattr__(self, name: str) -> Any:
        result = self.find(name)
        if result is None:
            raise unknown_name(self._title, name, [] if name.startswith("__") else self.names())
        return result

    def __dir__(self) -> Iterator[str]:
        return iter(self.names())

    def __repr__(self) -> str:
        return f"<operators {self._prefix}*>"


# Names that Relay's operator modules import, and that programs import from them.
EXPRESSIONS = {
    "Constant": "passlab.ir.expr:Constant",
    "Expr": "passlab.ir.expr:Expr",
    "const": "passlab.relay.var_const:const",
}


def operator_module(
    module: str, prefix: str, files: Sequence[str] = (), names: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module whose names are the operators under `prefix`.

    `files` are submodules in Relay's source: each of these names is the module itself. `names` are further names with
    their targets.
    """
    namespace = OperatorNamespace(prefix, module)

    def get_operator(name: str) -> object:
        if name == "__all__":
            return namespace.names()
        if name in names:
            value = load(names[name])
        else:
            value = sys.modules[module] if name in files else getattr(namespace, name)
        setattr(sys.modules[module], name, value)
        return value

    return get_operator, namespace.names


def operator_table() -> Table:
    """Return a table of all operators: inputs, attributes, fusion pattern and description.

    `relay.op.list().search("pool 3d")` finds those that mention the words.
    """

    def rows() -> Iterator[tuple[Any, ...]]:
        for name in Op.list_op_names():
            spec = Op.get(name).spec
            attrs = ", ".join(field.name for field in spec.attrs.schema) if spec.attrs else ""
            inputs = ", ".join(spec.inputs) + (", ..." if spec.variadic else "")
            yield name, inputs, attrs, spec.pattern.name, spec.level, spec.doc.partition("\n")[0]

    return Table(("operator", "inputs", "attributes", "pattern", "level", "what it does"), rows())


def get(name: str) -> Op:
    """Return an operator by name. Raises `OpNotFoundError`, which suggests similar names."""
    return Op.get(name)
