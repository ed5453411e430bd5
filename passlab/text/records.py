"""Objects that the language has no syntax for: attribute records by name, and foreign records.

`record_class` finds the class that `attrs_type_key` or a metadata section names. `MetaObject` holds an object of a type
that passlab does not have (a target, a virtual device, an executor) as a type key and fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from passlab.errors import AttrsError, Diagnostic, NodeTypeError, did_you_mean
from passlab.ir.attrs import Attrs, DictAttrs, as_value, same_values, value_hash
from passlab.ir.op import Op
from passlab.ir.types import Immutable

_known: dict[str, list[type[Attrs]]] = {"DictAttrs": [DictAttrs]}


def record_class(type_key: str, fields: Iterable[str] = ()) -> type[Attrs] | None:
    """Return the record class of a type key such as "relay.attrs.Conv2DAttrs"; None when no operator declares it.

    If several operators have different records of one name, it is the first that has all of some `fields`.
    """
    if type_key not in _known:
        for name in Op.list_op_names():
            declared = Op.get(name).spec.attrs
            if declared is not None and declared not in (declared_classes := _known.setdefault(declared.type_key, [])):
                declared_classes.append(declared)
    candidates, expected = _known.get(type_key, []), set(fields)
    return next(
        (cls for cls in candidates if expected <= {f.name for f in cls.schema}), candidates[0] if candidates else None
    )


def make_node(type_key: str, **fields: Any) -> Attrs | MetaObject:
    """Create a record by the name of its type: `make_node("relay.attrs.SoftmaxAttrs", axis=1)`,
    `make_node("DictAttrs")`.

    Attributes that no operator declares become `DictAttrs` that keep the name; other types become a `MetaObject`.
    Raises `AttrsError` for fields that the record does not have.
    """
    if not isinstance(type_key, str):
        raise NodeTypeError(Diagnostic("the type of a record is given by its name", found=f"{type_key!r:.80}"))
    declared = record_class(type_key)
    if declared is not None:
        return declared(**fields)
    return DictAttrs(fields, attrs_type_key=type_key) if type_key.endswith("Attrs") else MetaObject(type_key, fields)


class MetaObject(Immutable):
    """An immutable record of a foreign type, compared by value; its fields are attributes: `executor.name`."""

    __slots__ = ("type_key", "_fields")
    type_key: str
    _fields: dict[str, Any]

    def __init__(self, type_key: str, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "type_key", type_key)
        object.__setattr__(self, "_fields", {str(k): as_value(v) for k, v in fields.items()})

    def items(self) -> list[tuple[str, Any]]:
        """The fields with their values, in order."""
        return list(self._fields.items())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            hint = did_you_mean(name, self._fields)
            raise AttrsError(Diagnostic(f"{self.type_key} has no field `{name}`", hint=hint)) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetaObject):
            return NotImplemented
        return (
            self.type_key == other.type_key
            and set(self._fields) == set(other._fields)
            and all(same_values(value, other._fields[name]) for name, value in self._fields.items())
        )

    def __hash__(self) -> int:
        return hash((self.type_key, frozenset((k, value_hash(v)) for k, v in self._fields.items())))

    def __repr__(self) -> str:
        return f"{self.type_key}({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"
