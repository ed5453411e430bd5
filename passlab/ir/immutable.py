"""The base class of all parts of a program: objects that never change after their creation."""

from __future__ import annotations

from typing import TypeVar

Node = TypeVar("Node")


class Immutable:
    """Base class of objects that never change after their creation."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a changed copy instead of setting `{name}`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; `{name}` cannot be deleted")

    def same_as(self, other: object) -> bool:
        """Whether `other` is this object."""
        return self is other

    def __copy__(self: Node) -> Node:
        return self

    def __deepcopy__(self: Node, memo: object) -> Node:
        return self
