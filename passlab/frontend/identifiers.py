"""Conversion of the names in a model to names of Relay variables.

A model's name is any text; a Relay variable is a letter, then letters, digits and `_`. Every other character becomes
`_`, a name that does not begin with a letter gets the prefix `v`, and a used one gets a number: `conv1.weight` becomes
`%conv1_weight`, `0` becomes `%v0`, and `/x` becomes `%v_x`.
"""

from __future__ import annotations

import re

from passlab.text.naming import NameTable

_ILLEGAL = re.compile(r"\W", re.ASCII)
LONGEST = 200  # characters of an identifier


def legal_name(name: str) -> str:
    """Return a name as a Relay identifier, which may collide with the identifier of another name."""
    result = _ILLEGAL.sub("_", name[:LONGEST])
    return result if result[:1].isalpha() else f"v{result}"


class Identifiers:
    """Unique identifiers of names."""

    def __init__(self) -> None:
        self._names = NameTable()
        self.by_name: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return the identifier of a name, the same for the same name."""
        cached = self.by_name.get(name)
        if cached is None:
            cached = self.by_name[name] = self._names.unique(legal_name(name))
        return cached
