"""The attributes of an ONNX node as Python values: numbers, text, arrays, graphs, and tuples of those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.onnx.tensors import External, array_of
from passlab.op.dtypes import Array


class SubGraph:
    """A graph stored in an attribute: the body of a loop, or a branch of a condition."""

    def __init__(self, proto: Any) -> None:
        self.proto = proto


# fields of AttributeProto and descriptions, by number of AttributeProto.AttributeType; a list has that of its items + 5
_SINGLE = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g"}
_MANY = {6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs"}
_KINDS = {1: "a number", 2: "a whole number", 3: "text", 4: "a tensor", 5: "a graph"}


def attributes_of(
    protos: Iterable[Any], caller: Mapping[str, Any], external: External | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of attributes by name, and the reasons why others could not be read, by name.

    An attribute in the body of a function may refer to an attribute of the call, which is in `caller`.
    """
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for proto in protos:
        if proto.ref_attr_name:
            if proto.ref_attr_name in caller:
                values[proto.name] = caller[proto.ref_attr_name]
            continue
        try:
            values[proto.name] = _value(proto, external)
        except ModelError as error:
            # The translation that reads the attribute raises the error, if any does.
            problems[proto.name] = error.diagnostics[0].message
    return values, problems


AttributeValue = int | float | str | Array | SubGraph | tuple[Any, ...]


def _value(proto: Any, external: External | None) -> AttributeValue:
    kind = proto.type or _infer_kind(proto)
    if kind in _SINGLE:
        return _single(getattr(proto, _SINGLE[kind]), kind, external)
    if kind in _MANY:  # the number of a list is that of its items + 5
        return tuple(_single(item, kind - 5, external) for item in getattr(proto, _MANY[kind]))
    raise ModelError(Diagnostic(f"its attribute `{proto.name}` is of a kind that is not supported", found=str(kind)))


def _infer_kind(proto: Any) -> int:
    """Return the kind of an attribute in a model too old to state it, from the field that is set."""
    for kind, field in _SINGLE.items():
        if proto.HasField(field):
            return kind
    return next((kind for kind, field in _MANY.items() if getattr(proto, field)), 0)


def _single(value: Any, kind: int, external: External | None) -> AttributeValue:
    if kind == 3:
        return str(value, "utf-8", "replace")
    if kind == 4:
        return array_of(value, external)
    return SubGraph(value) if kind == 5 else value


def kind_of(value: Any) -> str:
    """Return the kind of an attribute's value in words."""
    if isinstance(value, tuple):
        return "a list"
    number = {float: 1, int: 2, str: 3, SubGraph: 5}.get(type(value), 4)
    return _KINDS[number]
