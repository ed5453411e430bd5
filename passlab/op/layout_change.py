"""The interface of layout rules to a program: the original and the current layout of each tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from passlab.ir.expr import Expr
from passlab.ir.op import OpCall
from passlab.op.layout_names import parse_layout


class LayoutChange(NamedTuple):
    """The original and the current layout of a tensor, with the same axis letters."""

    old: str
    new: str

    @property
    def whole(self) -> bool:
        """Whether the axes are only permuted, none split."""
        return len(self.old) == len(self.new) and sorted(self.old) == sorted(self.new)

    def positions(self, axis: int) -> list[int]:
        """Return the current index of an axis: several indices for one that is split."""
        letter = self.old[axis]
        layout = parse_layout(self.new)
        return [i for i, part in enumerate(layout.parts) if part[0] == letter] if layout else []

    def with_letters(self, old: str) -> LayoutChange | None:
        """Return the same change with the letters of another name for the old layout; None if that has other axes."""
        if self.old == old:
            return self
        if len(self.old) != len(old) or not self.old.isalpha() or not old.isalpha():
            return None
        letters = str.maketrans(self.old + self.old.lower(), old + old.lower())
        return LayoutChange(old, self.new.translate(letters))


Result = tuple[Expr, "LayoutChange | list[LayoutChange | None] | None"]


class LayoutArguments(Protocol):
    """The interface of a rule to the program. Its methods take arguments of the original call."""

    def change_of(self, expr: Expr) -> LayoutChange | None:
        """Return the change of a tensor's layout, or None if it has its original layout."""

    def current(self, expr: Expr) -> Expr:
        """Return the tensor in its current layout."""

    def original(self, expr: Expr) -> Expr:
        """Return the tensor in its original layout."""

    def in_layout(self, expr: Expr, change: LayoutChange) -> Expr | None:
        """Return the tensor after a change of its layout, or None if it does not fit."""


Rule = Callable[[OpCall, LayoutArguments], Result | None]


def drop_identity(change: LayoutChange) -> LayoutChange | None:
    """Return a change, or None if the old layout equals the new one."""
    return None if change.old == change.new else change
