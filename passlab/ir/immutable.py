"""The base class of all parts of a program: objects that never change after their creation."""

from __future__ import annotations

from typing import Any, TypeVar

from passlab.errors import Diagnostic, NodeTypeError
from passlab.lazy import PROGRAM_JSON, late

Node = TypeVar("Node")


class Immutable:
    """Base class of objects that never change after their creation."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not getattr(cls, "__module__", "").startswith("passlab."):
            message = f"`{cls.__name__}` cannot be a class of nodes: passes and executors know only nodes of Relay"
            hint = "keep data of your own in attributes of functions (`with_attr`), or in a dictionary by node"
            raise NodeTypeError(Diagnostic(message, hint=hint))

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the JSON of `ir.save_json`: an object that is pickled alone is read as a new, equal one."""
        reduced: tuple[Any, ...] = late(PROGRAM_JSON, "pickled")(self)
        return reduced


def draft_class(cls: type[Any]) -> type[Any]:
    """Return a subclass whose instances can be assigned to.

    A constructor fills an instance of the draft and then sets its `__class__` to `cls`. Plain assignments take a fifth
    of the time of `object.__setattr__`, which is most of the time of a constructor.
    """
    assignable = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(f"{cls.__name__}Draft", (cls,), {"__slots__": (), **assignable})
