"""The kinds of attributes of operators: each creates a `Field` that checks and normalises its values.

Sequences are stored as tuples, dtypes by name; `None` is rejected unless the default is None or `optional` is set. An
optional field without a default is always printed, and is None if omitted; with a default, None means the default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.errors import DiagnosticError
from passlab.ir.attrs import REQUIRED, Attrs, Field, as_value, attrs_class
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Expr
from passlab.ir.types import Any as AnyDim
from passlab.ir.types import Dim, SizeVar


def attrs(type_name: str, *fields: Field) -> type[Attrs]:
    """Create the attribute record `relay.attrs.<type_name>`."""
    return attrs_class(f"relay.attrs.{type_name}", fields)


def _field(name: str, convert: Callable[[Any], Any], default: Any, doc: str, kind: str, optional: bool) -> Field:
    if default is None or optional:
        missing = None if default is None or default is REQUIRED else default
        return Field(name, lambda v: missing if v is None else convert(v), default, doc, f"{kind} or None", None)
    return Field(name, convert, default if default is REQUIRED else convert(default), doc, kind)


def _to_int(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("a whole number is needed")
    if isinstance(value, float):
        return int(value)
    try:
        return int(value.__index__())
    except AttributeError:
        raise TypeError(f"an integer is needed, not {type(value).__name__}") from None


def _to_float(value: Any) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"a number is needed, not {type(value).__name__}")
    return float(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, (str, float)) or (not hasattr(value, "__bool__") and not isinstance(value, int)):
        raise TypeError(f"True or False is needed, not {type(value).__name__}")
    return bool(value)


def _to_dim(value: Any) -> Dim:
    if isinstance(value, (AnyDim, SizeVar)):
        return value
    size = _to_int(value)
    if size < 0:
        raise ValueError(f"{size} is not a size of a dimension")
    return size


def _to_tuple_of(convert: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def convert_all(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise TypeError(f"a list is needed, not {type(value).__name__}")
        return tuple(convert(v) for v in value)

    return convert_all


def integer(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """A whole number."""
    return _field(name, _to_int, default, doc, "int", optional)


def number(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """A floating-point number (whole numbers are accepted)."""
    return _field(name, _to_float, default, doc, "float", optional)


def boolean(name: str, default: Any = REQUIRED, doc: str = "") -> Field:
    """True or False (0 and 1 are accepted)."""
    return _field(name, _to_bool, default, doc, "bool", False)


def text(
    name: str, default: Any = REQUIRED, doc: str = "", *, choices: tuple[str, ...] = (), optional: bool = False
) -> Field:
    """A string, one of `choices` if they are given."""

    def convert(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"a string is needed, not {type(value).__name__}")
        result = value
        if choices and result not in choices:
            raise ValueError(f"{result!r} is not one of {', '.join(map(repr, choices))}")
        return result

    return _field(name, convert, default, doc, "str" if not choices else " | ".join(map(repr, choices)), optional)


def dtype(name: str, default: Any = REQUIRED, doc: str = "") -> Field:
    """A dtype by name. The default "" stands for Relay's "void": the operator chooses its own."""

    def convert(value: Any) -> str:
        if value is None or (isinstance(value, str) and value in ("", "void")):
            return ""
        try:
            return dtype_name(value)
        except DiagnosticError as error:
            message, hint = error.diagnostics[0].message, error.diagnostics[0].hint
            raise ValueError(f"{message}; {hint}" if hint else message) from None

    return Field(name, convert, default, doc, "dtype")


def integers(
    name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False, scalar_ok: bool = False
) -> Field:
    """A list of whole numbers; with `scalar_ok` one number means a list of one."""
    convert_list = _to_tuple_of(_to_int)

    def convert(value: Any) -> tuple[int, ...]:
        return (_to_int(value),) if scalar_ok and not hasattr(value, "__iter__") else convert_list(value)

    return _field(name, convert, default, doc, "list of int", optional)


def integer_or_integers(name: str, doc: str) -> Field:
    """One whole number, or a list of them: the two mean different things."""
    convert_list = _to_tuple_of(_to_int)

    def convert(value: Any) -> int | tuple[int, ...]:
        return convert_list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else _to_int(value)

    return _field(name, convert, REQUIRED, doc, "int or list of int", False)


def numbers(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """A list of floating-point numbers."""
    return _field(name, _to_tuple_of(_to_float), default, doc, "list of float", optional)


def dims(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """A shape: whole numbers, `relay.Any()` or symbolic dimensions."""
    return _field(name, _to_tuple_of(_to_dim), default, doc, "shape", optional)


def pairs(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """A list of lists of whole numbers, such as padding before and after each axis."""
    return _field(name, _to_tuple_of(_to_tuple_of(_to_int)), default, doc, "list of lists of int", optional)


def expression(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """A Relay expression."""

    def convert(value: Any) -> Expr:
        if not isinstance(value, Expr):
            raise TypeError(f"an expression is needed, not {type(value).__name__}")
        return value

    return _field(name, convert, default, doc, "expression", optional)


def anything(name: str, default: Any = REQUIRED, doc: str = "", *, optional: bool = False) -> Field:
    """Any attribute value."""
    return Field(name, as_value, default, doc, "value", None if optional else REQUIRED)
