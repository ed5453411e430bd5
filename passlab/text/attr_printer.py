"""Attributes as Relay text: only those that differ from their default, in the order of declaration; and types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from passlab import limits
from passlab.ir.adt import Constructor
from passlab.ir.attrs import REQUIRED, Attrs, DictAttrs, same_values
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import Op
from passlab.ir.type_text import brief_type_text, commas
from passlab.ir.types import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    SizeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
    holds,
)
from passlab.text.flat_parser import is_dtype
from passlab.text.literals import float_text, key_text, name_text, quote
from passlab.text.marks import Annotations
from passlab.text.meta_writer import MetaWriter


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


# ---------------------------------------------------------------- types
# Types as Relay text, with names that parse back to the same types. Type parameters print their own name; one that
# would be confused with an enclosing one of the same name, with a dtype or with a defined type gets a number. Unknown
# types and symbolic dimensions print as references to the metadata section, and so do types whose text would be long: a
# type is a graph, and its text repeats shared parts, possibly 2^60 times.
LONGEST = 10_000  # parts of a printed type; a longer one is in the metadata, where parts are shared
LONGEST_COMMENT = 2_000  # parts of a type that a comment shows in full
SHOWN = 200  # parts of a longer type that a comment shows
_RESERVED = ("Tensor", "fn", "ref", "meta")


class TypePrinter:
    """Prints types for one text. `taken` are names that no type parameter may have, such as names of defined types."""

    def __init__(self, meta: MetaWriter, taken: Iterable[str] = ()) -> None:
        self._meta = meta
        self._taken = {*taken, *_RESERVED}
        self._names: dict[TypeVar, str] = {}
        self._active: dict[str, TypeVar] = {}
        self._numbers: dict[str, int] = {}  # by hint: the next number to try
        self._ground: dict[Type, str] = {}  # types without type parameters: their text never depends on the scope

    # ------------------------------------------------------------ type parameters
    def open(self, params: Iterable[TypeVar]) -> list[tuple[str, TypeVar | None]]:
        """Bring type parameters in scope. Returns the argument for `close`; `name` returns their names."""
        undo = []
        for var in params:
            name = self._names.get(var)
            if name is None or self._active.get(name, var) is not var:
                name = self._names[var] = self._fresh(var.name_hint)
            undo.append((name, self._active.get(name)))
            self._active[name] = var
        return undo

    def close(self, undo: list[tuple[str, TypeVar | None]]) -> None:
        """Close the scope that `open` opened."""
        for name, old in reversed(undo):
            if old is None:
                self._active.pop(name, None)
            else:
                self._active[name] = old

    def _fresh(self, hint: str) -> str:
        name, number = hint, self._numbers.get(hint, 1)
        while name in self._active or name in self._taken or is_dtype(name):
            name = f"{hint}{number}"
            number += 1
            self._numbers[hint] = number
        return name

    def name(self, var: TypeVar) -> str:
        """Return the text of a type parameter."""
        return name_text(self._names.get(var, var.name_hint))

    # ------------------------------------------------------------ types
    def text(self, root: Type) -> str:
        """Return a type as text."""
        cached = self._ground.get(root)
        if cached is not None:
            return cached
        if type(root) is TensorType:
            return self._tensor(root)
        if root.parts > LONGEST:
            if not holds(root, TypeVar):
                return self._meta.reference(self._meta.type_key(root), root)
            limits.check("type_parts", root.parts, "the text of a type")
        out: list[str] = []
        ground = True
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            kind = type(item)
            if kind is str:
                out.append(item)
            elif kind is TensorType:
                out.append(self._ground.get(item) or self._tensor(item))
            elif kind is TypeVar:
                ground = False
                out.append(self.name(item))
            elif kind is list:
                self.close(item)
            elif kind is FuncType and item.type_params:
                ground = False
                undo = self.open(item.type_params)
                stack.append(undo)
                stack.extend(reversed(_function_parts(item, f"[{', '.join(map(self.name, item.type_params))}]")))
            else:
                stack.extend(reversed(self._parts(item)))
        text = "".join(out)
        if ground:
            self._ground[root] = text
        return text

    def comment(self, root: Type) -> str:
        """Return a type as text for comments; a long one is shortened."""
        return self.text(root) if root.parts <= LONGEST_COMMENT else brief_type_text(root, SHOWN)

    def _tensor(self, ty: TensorType) -> str:
        dims = (
            str(d) if type(d) is int else "?" if d is ANY else self._meta.reference("tir.SizeVar", d) for d in ty.shape
        )
        text = self._ground[ty] = f"Tensor[({', '.join(dims)}), {ty.dtype}]" if ty.shape else ty.dtype
        return text

    def _parts(self, ty: Type) -> list[Any]:
        """Split one type into text and child types."""
        match ty:
            case TupleType(fields=fields):
                return ["(", *commas(fields), ",)" if len(fields) == 1 else ")"]
            case FuncType():
                return _function_parts(ty, "")
            case TypeCall(func=func, args=args):  # `Shape[]`, as TVM prints it, and `Shape` are the same type
                return [func, "[", *commas(args), "]"] if args else [func]
            case RefType(value=value):
                return ["ref(", value, ")"]
            case GlobalTypeVar(name_hint=name):
                return [f'"{name}"' if name in _RESERVED or is_dtype(name) else name_text(name)]
            case IncompleteType():
                return [self._meta.reference("IncompleteType", ty)]
            case TypeRelation(name=name, args=args):
                return [f"{name}(", *commas(args), ")"]
            case _:
                return [f"meta[{type(ty).__name__}][0]"]


def _function_parts(ty: FuncType, generic: str) -> list[Any]:
    return [f"fn {generic}(", *commas(ty.arg_types), ") -> ", ty.ret_type]


__all__ = ["SizeVar", "TypePrinter"]
