"""Attributes as Relay text: only those that differ from their default, in the order of declaration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from passlab.ir.adt import Constructor
from passlab.ir.attrs import REQUIRED, Attrs, DictAttrs, same_values
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import Op
from passlab.ir.types import ANY, SizeVar
from passlab.text.literals import float_text, key_text, quote
from passlab.text.marks import Annotations
from passlab.text.meta_writer import MetaWriter
from passlab.text.type_printer import TypePrinter


class AttrPrinter:
    """Prints attribute values for one text."""

    def __init__(self, meta: MetaWriter, taken: Iterable[str], annotations: Annotations | None) -> None:
        self.meta = meta
        self.types = TypePrinter(meta, taken)
        self.annotations = annotations
        # by id of the record, which is stored so that its id is not reused
        self._texts: dict[int, tuple[Attrs, list[str]]] = {}

    def mark(self, kind: str, node: Any, text: str) -> str:
        """Mark a range of text, if marks are enabled."""
        return text if self.annotations is None else self.annotations.mark(kind, node, text)

    def word(self, text: str) -> str:
        """Return a keyword, marked if marks are enabled."""
        return text if self.annotations is None else self.annotations.mark("keyword", None, text)

    @staticmethod
    def key(name: str) -> str:
        """Return the name of an attribute as text."""
        return key_text(name)

    @staticmethod
    def op_name(name: str) -> str:
        """Return the name of an operator as text."""
        text = key_text(name)
        return text if text[0] != '"' else f"op{quote(name)}"

    def reference(self, node: Expr, out: list[Any], indent: str) -> str:
        """Return the text of an operand."""
        raise NotImplementedError

    # ------------------------------------------------------------ values
    def value_text(self, root: Any, out: list[Any] | None = None, indent: str = "") -> str:
        """Return one value as text; expressions in it are references to the block `out`."""
        if root.__class__ is int or root is None:
            return str(root)
        texts: list[str] = []
        stack: list[Any] = [root]
        while stack:
            value = stack.pop()
            kind = type(value)
            if kind is _Text:
                texts.append(value)
            elif kind is tuple or kind is list:
                stack.append(_Text("]"))
                stack.extend(_commas(value)[::-1])
                texts.append("[")
            elif kind is dict:
                stack.append(_Text("}"))
                stack.extend(_commas(value.values(), map(self._map_key, value))[::-1])
                texts.append("{")
            else:
                texts.append(self._plain_value(value, out, indent))
        return "".join(texts)

    def _map_key(self, key: Any) -> str:
        """Return the key of a mapping as text: a name, or a variable by its name in the text."""
        if isinstance(key, str):
            return quote(key)
        name = self.variable_name(key)
        return name if name is not None else self._plain_value(key, None, "")

    def variable_name(self, node: Expr) -> str | None:
        """Return the current name of a variable in the text, or None."""
        raise NotImplementedError

    def _plain_value(self, value: Any, out: list[Any] | None, indent: str) -> str:
        if value is None or value is True or value is False:
            return str(value)
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return float_text(float(value))
        if isinstance(value, str):
            return quote(str(value))
        if value is ANY:
            return "?"
        if isinstance(value, SizeVar):
            return self.meta.reference("tir.SizeVar", value)
        if isinstance(value, Constructor):
            return f"ctor{quote(value.name_hint)}"
        if isinstance(value, Expr) and out is not None and type(value) is not Constant:
            return self.reference(value, out, indent)
        return self.meta.reference(self.meta.type_key(value), value)

    # ------------------------------------------------------------ calls
    def call_attrs(self, call: Call, out: list[Any], indent: str) -> list[str]:
        """Return the `key=value` texts of a call."""
        attrs = call.attrs
        cached = self._texts.get(id(attrs))
        if cached is not None and self.annotations is None:
            return cached[1]
        assert attrs is not None
        declared = call.op.spec.attrs if type(call.op) is Op else None
        record = type(attrs)
        if record not in _DEFAULTS:
            _DEFAULTS[record] = {f.name: f.default for f in record.schema}
        defaults = _DEFAULTS[record]
        texts = []
        for name, value in attrs.items():
            default = defaults.get(name, REQUIRED)
            if default is REQUIRED or not same_values(value, default):
                key = self.mark("attribute", (call, name), name if name == "attrs_type_key" else self.key(name))
                texts.append(f"{key}={self.value_text(value, out, indent)}")
        foreign = declared is not type(attrs)
        if foreign and not (isinstance(attrs, DictAttrs) and "attrs_type_key" in attrs):
            texts.append(f"attrs_type_key={quote(attrs.type_key)}")
        if not foreign and not _may_hold_expressions(type(attrs)):
            self._texts[id(attrs)] = (attrs, texts)
        return texts


class _Text(str):
    """Printed text on a stack of values that are not printed yet."""


def _commas(values: Iterable[Any], keys: Iterable[str] = ()) -> list[Any]:
    """Expand values into texts and values, with their keys, and commas between them."""
    out: list[Any] = []
    names = iter(keys)
    for value in values:
        key = next(names, None)
        comma = ", " if out else ""
        out += [_Text(comma if key is None else f"{comma}{key}="), value]
    return out


_DEFAULTS: dict[type[Attrs], dict[str, Any]] = {}
_DEEP: dict[type[Attrs], bool] = {}
_PLAIN_KINDS = ("int", "float", "bool", "str", "dtype", "list of int", "list of float", "shape", "list of lists of int")


def _may_hold_expressions(record: type[Attrs]) -> bool:
    """Whether the fields of a record class can hold expressions, by their declared kinds."""
    if record not in _DEEP:
        kinds = [f.kind.removesuffix(" or None") for f in record.schema]
        deep = any(k not in _PLAIN_KINDS and not k.startswith("'") for k in kinds)
        _DEEP[record] = deep or issubclass(record, DictAttrs)
    return _DEEP[record]


def deep_attrs(call: Call) -> tuple[Expr, ...]:
    """Return the expressions in a call's attributes, except constants, which are printed in place."""
    attrs = call.attrs
    if attrs is None or not _may_hold_expressions(type(attrs)):
        return ()
    exprs: list[Expr] = []
    stack = [v for _, v in attrs.items()][::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, Expr):
            if type(value) is not Constant:
                exprs.append(value)
        elif isinstance(value, (tuple, list)):
            stack.extend(value[::-1])
        elif isinstance(value, dict):
            stack.extend([*(key for key in value if isinstance(key, Expr)), *value.values()][::-1])
    return tuple(exprs)
