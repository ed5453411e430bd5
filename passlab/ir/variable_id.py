"""Relay's identity of a variable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Id:
    """The identity of a variable as Relay's `var.vid`; its only content is the name."""

    name_hint: str
    var: Any = field(default=None, compare=False, repr=False)

    def same_as(self, other: object) -> bool:
        """Whether the other is the identity of the same variable."""
        return self is other or (isinstance(other, Id) and self.var is not None and self.var is other.var)
