"""What a rule of layouts sees of a program: for each tensor the layout it was written in and the one it is in now."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from passlab.ir.expr import Expr
from passlab.ir.op import OpCall
from passlab.op.layout_names import parse_layout


class LayoutChange(NamedTuple):
    """The layout that a tensor was written in and the one it is in now, by the same axis letters."""

    old: str
    new: str

    @property
    def whole(self) -> bool:
        """Whether the axes are only in another order, none split."""
        return len(self.old) == len(self.new) and sorted(self.old) == sorted(self.new)

    def places(self, axis: int) -> list[int]:
        """Return where an axis is now: several places for one that is split."""
        letter = self.old[axis]
        layout = parse_layout(self.new)
        return [i for i, part in enumerate(layout.parts) if part[0] == letter] if layout else []

    def with_letters(self, old: str) -> LayoutChange | None:
        """Return the same with the letters of another name for the old layout; None if that has other axes."""
        if self.old == old:
            return self
        if len(self.old) != len(old) or not self.old.isalpha() or not old.isalpha():
            return None
        letters = str.maketrans(self.old + self.old.lower(), old + old.lower())
        return LayoutChange(old, self.new.translate(letters))


Result = tuple[Expr, "LayoutChange | list[LayoutChange | None] | None"]


class Arguments(Protocol):
    """What a rule sees of the program: arguments are named by the expressions that they were written as."""

    def change_of(self, expr: Expr) -> LayoutChange | None:
        """Return how the layout of a tensor has changed, None where it is as it was written."""

    def now(self, expr: Expr) -> Expr:
        """Return the tensor as it is now."""

    def plain(self, expr: Expr) -> Expr:
        """Return the tensor as it was written."""

    def in_layout(self, expr: Expr, change: LayoutChange) -> Expr | None:
        """Return the tensor after a change of its layout, None where it cannot be brought there."""


Rule = Callable[[OpCall, Arguments], Result | None]


def drop_identity(change: LayoutChange) -> LayoutChange | None:
    """Return a change, None where the old layout is the new one."""
    return None if change.old == change.new else change
