"""Constructors with Relay's signatures for passlab classes whose own signatures differ.

`isinstance` tests for passlab's class, so objects that passlab returns are instances of the stand-in too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, NodeValueError
from passlab.evaluate import values
from passlab.ir import span
from passlab.ir.adt import Constructor


class StandIn(type):
    """Metaclass of TVM's class names; `isinstance` asks the class in `stands_for`."""

    stands_for: type | tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.stands_for)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls.stands_for)


class SourceName(str):
    """The name of a source: a string that is also its own attribute `name`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)


class Span(metaclass=StandIn):
    """A range of a source: `Span(SourceName("f.py"), line, end_line, column, end_column)`.

    With a `Source` and two offsets it is `passlab.ir.Span`.

    >>> span = relay.Span(relay.SourceName("model.py"), 3, 3, 5, 9)
    >>> print(span, span.line)
    model.py:3:5 3
    """

    stands_for = span.Span

    def __new__(cls, source: Any, *numbers: int) -> Any:
        if isinstance(source, span.Source):
            return span.Span(source, *numbers)
        if len(numbers) != 4:
            actual = f"{len(numbers)} numbers"
            raise NodeValueError(Diagnostic("a span has four places", expected="lines, then columns", found=actual))
        line, end_line, column, end_column = numbers
        return span.Position(None if source is None else str(source), line, end_line, column, end_column)


class ConstructorValue(metaclass=StandIn):
    """A value of a data type, as executors take and return it: `ConstructorValue(tag, fields, constructor)`."""

    stands_for = values.ADTValue

    def __new__(cls, tag: int, fields: Sequence[Any], constructor: Constructor) -> Any:
        if constructor.tag != tag:
            actual = f"{tag}, of {constructor.name_hint} with the tag {constructor.tag}"
            raise NodeValueError(Diagnostic("a value has the tag of its constructor", found=actual))
        return values.ADTValue(constructor, fields)
