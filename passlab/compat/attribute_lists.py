"""Lists in the attributes of calls: for programs outside passlab they print as lists, and their numbers have a `value`.

They are tuples here, `str` of which is `(0, 1)`; TVM's arrays print as `[0, 1]`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from passlab.compat.scalars import IntImm
from passlab.ir.attrs import Attrs


class AttributeList(tuple[Any, ...]):
    """The elements of a list in an attribute."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"

    __str__ = __repr__


def _number(value: Any) -> Any:
    return IntImm("int32", value) if type(value) is int else value


def _list_of(value: Any) -> Any:
    return AttributeList(map(_number, value)) if isinstance(value, tuple) else _number(value)


def as_list(value: Any) -> Any:
    """Return an attribute value whose numbers have a `value`; tuples are lists, and so are the tuples in them."""
    return AttributeList(map(_list_of, value)) if isinstance(value, tuple) else _number(value)


def is_inside(name: str) -> bool:
    """Whether a module is one of passlab's own."""
    return name.startswith("passlab.")


def _listed(member: Any) -> property:
    """Return the property over a slot that holds a list."""

    def value(self: Attrs) -> Any:
        stored = member.__get__(self)
        inside = is_inside(sys._getframe(1).f_globals.get("__name__", ""))
        return stored if inside else as_list(stored)

    return property(value, member.__set__)


def list_fields() -> Iterator[tuple[type[Attrs], str, property]]:
    """Return the fields of all records that hold lists: the class, the name and the property that replaces the slot."""
    for record in Attrs.__subclasses__():
        for field in record.schema:
            if "list" in field.kind:
                yield record, field.name, _listed(vars(record)[field.name])
