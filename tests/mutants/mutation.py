"""A mutation as data: in which definition of passlab, which kind of change, at which occurrence.

`plant(mutation)` makes the import of that module load the changed tree, so it has to come before passlab is imported:
each mutation runs in a process of its own.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import chain
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutants.definitions import SCOPES, Definition, find
from tests.mutants.kinds import KINDS, Site, sites


@dataclass(frozen=True)
class Mutation:
    """A change of one definition. `which` counts the places of the kind in the definition, `new` is what the kind needs."""

    definition: str
    kind: str
    which: int = 0
    new: str = ""

    @property
    def key(self) -> str:
        """`broadcast:division_kernel / other comparison 0 / <=`: the mutation in one line, which `from_key` reads."""
        return " / ".join(filter(None, (self.definition, f"{self.kind} {self.which}", self.new)))

    @classmethod
    def from_key(cls, key: str) -> Mutation:
        """The mutation of a key."""
        definition, change, *new = key.split(" / ", 2)
        kind, _, which = change.rpartition(" ")
        return cls(definition, kind, int(which), *new)

    def changed(self, sources: dict[Path, str] | None = None) -> Definition:
        """Return the definition in the changed tree of its module.

        Raises `LookupError` where there is no such definition or place, and `ValueError` where nothing changes.
        """
        definition = find(self.definition, sources)
        site, place = self.place(definition)
        before = ast.dump(site.parent)
        new = KINDS[self.kind].change(site, place, self.new)
        site.put(new)
        ast.fix_missing_locations(site.root)
        if ast.dump(site.parent) == before:
            raise ValueError(f"{self} changes nothing")
        put = new if isinstance(new, list) else [new]
        roots = chain.from_iterable(put if root is site.node else [root] for root in definition.roots)
        return replace(definition, roots=tuple(roots))

    def sites(self, sources: dict[Path, str] | None = None) -> list[Site]:
        """All sites of the definition."""
        return sites_of(find(self.definition, sources))

    def place(self, definition: Definition) -> tuple[Site, int]:
        """Where the mutation happens: the site, and the place there."""
        places = [(s, p) for s in sites_of(definition) for p in range(KINDS[self.kind].places(s))]
        if self.which >= len(places):
            raise LookupError(
                f"{self.definition} has {len(places)} places for `{self.kind}`, none with number {self.which}"
            )
        return places[self.which]


def sites_of(definition: Definition) -> list[Site]:
    """All sites of a definition; the root itself is one where it is part of another definition."""
    roots = {id(root) for root in definition.roots if not isinstance(root, SCOPES)}
    at_root = (s for s in sites(definition.tree, ()) if id(s.node) in roots) if roots else ()
    return list(chain(at_root, chain.from_iterable(sites(root, SCOPES) for root in definition.roots)))


class _Loader(SourceFileLoader):
    """Loads a module from its changed tree, without the cache of compiled files."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")


@dataclass(frozen=True)
class _Finder(MetaPathFinder):
    mutation: Mutation
    module: str

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return planted_spec(self.mutation, fullname, path) if fullname == self.module else None


def planted_spec(mutation: Mutation, fullname: str, path: Sequence[str] | None) -> ModuleSpec:
    """How to load a module with its mutation."""
    spec = PathFinder.find_spec(fullname, path)
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin)
    tree = mutation.changed({file: file.read_text(encoding="utf-8")}).tree
    spec.loader = _Loader(fullname, spec.origin, tree)
    return spec


def plant(mutation: Mutation) -> None:
    """From now on the module of a mutation is loaded with it. Raises `RuntimeError` where it has been loaded already."""
    changed = mutation.changed()
    if changed.module in sys.modules:
        raise RuntimeError(f"{changed.module} is loaded already")
    sys.meta_path.insert(0, _Finder(mutation, changed.module))
