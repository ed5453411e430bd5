"""Names of local variables in a printed text: unique, with a number after the hint where hints collide."""

from __future__ import annotations


class NameTable:
    """Assigns unique names: the first variable keeps its hint bare, later ones get the smallest free number."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}  # by hint: the next number to try; by given name: 1

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
