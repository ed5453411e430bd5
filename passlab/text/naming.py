"""Names of local variables in a printed text: unique, with a number after the hint where hints collide."""

from __future__ import annotations


class NameTable:
    """Assigns unique names: the first variable keeps its hint, later ones get the smallest unused number."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}  # by hint or assigned name: the next number to try

    def unique(self, hint: str) -> str:
        """Return `hint`, or `hint` with a number, not used before. Linear over all calls together."""
        number = self._next.get(hint)
        if number is None:
            self._next[hint] = 1
            return hint
        while (name := f"{hint}{number}") in self._next:
            number += 1
        self._next[hint] = number + 1
        self._next[name] = 1
        return name
