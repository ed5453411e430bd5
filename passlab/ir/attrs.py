"""Attributes of calls and functions: immutable records compared by value.

An operator's attributes are an instance of a class that `attrs_class` creates from the declared fields, so that reading
a field is an attribute access. `DictAttrs` is the open form used on functions. Values are None, bool, int, float, str,
an expression, or tuples and (in `DictAttrs`) mappings of these, from names or from expressions.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

from passlab.arguments import checked
from passlab.errors import AttrsError, Diagnostic, NodeTypeError, did_you_mean
from passlab.ir.types import Immutable

VALUE_DEPTH = 64  # levels of arrays in one attribute value; real programs use three

_set = object.__setattr__
A = TypeVar("A", bound="Attrs")


class _Required:
    """The default of a field without one."""

    def __repr__(self) -> str:
        return "(required)"


REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Field:
    """One attribute: its name, default (`REQUIRED` for none) and documentation; `convert` checks a value.

    A field without a default is always printed; `fallback`, if given, is the value when it is omitted.
    """

    name: str
    convert: Callable[[Any], Any]
    default: Any = REQUIRED
    doc: str = ""
    kind: str = ""
    fallback: Any = REQUIRED


class Attrs(Immutable):
    """Base class of attribute records. `type_key` is Relay's name of the record type, `schema` its fields in order."""

    __slots__ = ("_hash", "_token")
    type_key: ClassVar[str] = ""
    schema: ClassVar[tuple[Field, ...]] = ()
    _hash: int
    _token: int

    def __init__(self, /, **values: Any) -> None:
        for field in self.schema:
            value = values.pop(field.name, REQUIRED)
            _set(self, field.name, self._value(field, value))
        if values:
            self._unknown(next(iter(values)))

    def _value(self, field: Field, value: Any) -> Any:
        if value is REQUIRED:
            if field.default is not REQUIRED:
                return field.default
            if field.fallback is not REQUIRED:
                return field.fallback
            raise AttrsError(Diagnostic(f"{self.type_key}: the attribute `{field.name}` is required"))
        try:
            return field.convert(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise AttrsError(
                Diagnostic(
                    f"{self.type_key}: bad value for the attribute `{field.name}`: {error}",
                    expected=field.kind or None,
                    found=repr(value),
                )
            ) from None

    def _unknown(self, name: str) -> None:
        names = [f.name for f in self.schema]
        hint = did_you_mean(name, names) or f"its attributes are {', '.join(names) or 'none'}"
        raise AttrsError(Diagnostic(f"{self.type_key} has no attribute `{name}`", hint=hint))

    def keys(self) -> list[str]:
        """Return the names of the fields, in order."""
        return [f.name for f in self.schema]

    def items(self) -> list[tuple[str, Any]]:
        """Return the fields with their values, in order."""
        return [(f.name, getattr(self, f.name)) for f in self.schema]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a field, or `default` if there is no such field."""
        return getattr(self, name) if name in self.keys() else default

    def get_int(self, name: str) -> int | None:
        """Return the value of a field as an int, None for None."""
        value = self[name]
        return None if value is None else int(value)

    def get_int_tuple(self, name: str) -> tuple[int | None, ...]:
        """Return the values of a field as ints; a value that is not an int becomes None."""
        return tuple(int(value) if isinstance(value, int) else None for value in self[name])

    def get_str(self, name: str) -> str:
        """Return the value of a field as a string."""
        return str(self[name])

    def list_field_info(self) -> tuple[Field, ...]:
        """Return the declarations of the fields."""
        return self.schema

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            self._unknown(name)
        return getattr(self, name)

    def __getattr__(self, name: str) -> Any:
        """Reject an undefined name. Its type makes type checkers accept fields of any type."""
        raise AttributeError(f"{self.type_key} has no attribute `{name}`", name=name, obj=self)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def with_fields(self: A, /, **changes: Any) -> A:
        """Return a copy with some fields changed."""
        return type(self)(**{**dict(self.items()), **changes})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented if not isinstance(other, Attrs) else False
        for field in self.schema:
            value, other_value = getattr(self, field.name), getattr(other, field.name)
            if value is not other_value and not same_values(value, other_value):
                return False
        return True

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            _set(self, "_hash", hash((self.type_key, value_hash(tuple(self.items())))))
            return self._hash

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.items())
        return f"{self.type_key.rpartition('.')[2] or type(self).__name__}({shown})"


class DictAttrs(Attrs):
    """Attributes with any names, in the given order, for functions and for calls without a declared record."""

    __slots__ = ("_dict",)
    type_key = "DictAttrs"
    _dict: dict[str, Any]

    @checked
    def __init__(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        merged = {**(values or {}), **more}
        for key in merged:
            if not isinstance(key, str):
                raise _not_a_name(key)
        _set(self, "_dict", {str(k): as_value(v) for k, v in merged.items()})

    def keys(self) -> list[str]:
        return list(self._dict)

    def items(self) -> list[tuple[str, Any]]:
        return list(self._dict.items())

    def get(self, name: str, default: Any = None) -> Any:
        return self._dict.get(name, default)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._dict[name]
        except KeyError:
            hint = did_you_mean(name, self.keys())
            raise AttrsError(Diagnostic(f"there is no attribute `{name}`", hint=hint)) from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._dict

    def __len__(self) -> int:
        return len(self._dict)

    def with_fields(self, /, **changes: Any) -> DictAttrs:
        return DictAttrs({**self._dict, **changes})

    @checked
    def with_values(self, changes: Mapping[str, Any]) -> DictAttrs:
        """Return a copy with some attributes set, under any names."""
        return DictAttrs({**self._dict, **changes})

    def without(self, *names: str) -> DictAttrs:
        """Return a copy without some names."""
        return DictAttrs({k: v for k, v in self._dict.items() if k not in names})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Attrs):
            return NotImplemented
        if not isinstance(other, DictAttrs) or set(self.keys()) != set(other.keys()):
            return False
        return all(same_values(value, other[name]) for name, value in self.items())

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            _set(self, "_hash", hash(("DictAttrs", frozenset((k, value_hash(v)) for k, v in self.items()))))
            return self._hash


def attribute(name: str, value: Any) -> dict[str, Any]:
    """Return one attribute as a dict. Raises `NodeTypeError` if the name is not a string."""
    if not isinstance(name, str):
        raise _not_a_name(name)
    return {name: value}


def _not_a_name(name: Any) -> NodeTypeError:
    return NodeTypeError(Diagnostic("the name of an attribute is a string", found=reprlib.repr(name)))


_LITERALS = (bool, int, float, str)  # bool first: it is a subclass of int


def value_kind(value: Any) -> type:
    """Return the type used to compare a value. Subclasses of `int`, `float` and `str`, such as TVM's literals, compare
    as the Python type.
    """
    kind = type(value)
    return kind if kind in _LITERALS else next((literal for literal in _LITERALS if isinstance(value, literal)), kind)


# recurses: at most VALUE_DEPTH levels
def same_values(a: Any, b: Any) -> bool:
    """Compare two attribute values by kind and value: 1, 1.0 and True differ, NaN equals itself, 0.0 is not -0.0.

    Stored values nest at most `VALUE_DEPTH` levels, so this may recurse.
    """
    if a is b:
        return True
    if value_kind(a) is not value_kind(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_values, a, b))
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_values(a[k], b[k]) for k in a)
    return bool(a == b)


# recurses: at most VALUE_DEPTH levels
def value_hash(value: Any) -> int:
    """Return a hash that agrees with `same_values`."""
    if isinstance(value, tuple):
        return hash(tuple(value_hash(v) for v in value))
    if isinstance(value, dict):
        return hash(frozenset((k, value_hash(v)) for k, v in value.items()))
    if isinstance(value, float) and value != value:
        return 0x7FF8
    return hash((value_kind(value).__name__, value))


def is_node_key(key: Any) -> bool:
    """Whether a key of a mapping is a node of a program, such as a variable; other keys become strings."""
    return isinstance(key, Immutable) and not isinstance(key, Attrs)


# recurses: at most VALUE_DEPTH levels
def as_value(value: Any, depth: int = 0) -> Any:
    """Return an attribute value in its stored form: sequences as tuples, numbers of other classes as Python's own.

    Raises `AttrsError` for values nested deeper than `VALUE_DEPTH`, so functions of this file may recurse over values.
    """
    if depth > VALUE_DEPTH:
        raise AttrsError(Diagnostic(f"an attribute value is nested more than {VALUE_DEPTH} levels deep"))
    if isinstance(value, (list, tuple)):
        return tuple(as_value(v, depth + 1) for v in value)
    if isinstance(value, Mapping):
        return {k if is_node_key(k) else str(k): as_value(v, depth + 1) for k, v in value.items()}
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return value.item()
    if isinstance(value, (int, float)) and not isinstance(value, (bool, Enum)):
        return int(value) if isinstance(value, int) else float(value)
    return value


def attrs_class(type_key: str, fields: Sequence[Field]) -> type[Attrs]:
    """Create the record class called `type_key` (such as "relay.attrs.Conv2DAttrs") from its declared fields."""
    body = {"__slots__": tuple(f.name for f in fields), "type_key": type_key, "schema": tuple(fields)}
    return type(type_key.rpartition(".")[2], (Attrs,), body)
