"""Python identifiers for the names of Relay programs: readable, unique, and never one that Python or NumPy needs."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "constants"}
LONGEST = 60  # characters of one name


class Names:
    """The identifiers of one scope; an inner scope may not hide those of its outer ones."""

    def __init__(self, outer: Names | None = None) -> None:
        self.outer = outer
        self.taken: set[str] = set()
        self.inside: set[str] = set()  # the names of inner scopes, which later names of this one must not be hidden by
        self.counts: dict[str, int] = {}

    def free(self, name: str) -> bool:
        """Whether nothing is called so yet."""
        scope: Names | None = self
        while scope is not None:
            if name in scope.taken or name in self.inside:
                return False
            scope = scope.outer
        return name not in RESERVED

    def make(self, hint: str) -> str:
        """Return an identifier like `hint` that is new in this scope and those around it."""
        stem = identifier(hint)
        name = stem
        while not self.free(name):
            self.counts[stem] = self.counts.get(stem, 0) + 1
            name = f"{stem.rstrip('_')}_{self.counts[stem]}"
        self.taken.add(name)
        scope = self.outer
        while scope is not None:
            scope.inside.add(name)
            scope = scope.outer
        return name

    def take(self, names: Iterable[str]) -> None:
        """Note names that are in use."""
        self.taken.update(names)


def identifier(hint: str) -> str:
    """Return `hint` with what no identifier may hold replaced."""
    stem = re.sub(r"[^0-9A-Za-z_]+", "_", hint)[:LONGEST].rstrip("_") or "x"
    return f"v{stem}" if stem[0].isdigit() else stem
