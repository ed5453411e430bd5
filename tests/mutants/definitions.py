"""Where a name of passlab is defined, found by the name alone, so that moving a file changes nothing.

A definition is named as Python names it: `widen`, `LetBinder.visit_call`, `outer.inner`; a name that is assigned in a
module (`EMITTERS`) or the rest of a class (`LetBinder`) is a definition, too. Two things can be added:

- `broadcast:division_kernel` says in which module, where several define the name: the end of the module's name.
- `EMITTERS[divide]` is one part of a definition: the value of that key of a dictionary, or the call that gets that text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

HOUSE = Path(__file__).parents[2] / "passlab"
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NAME = re.compile(r"(?:(?P<hint>[\w.]+):)?(?P<path>[\w.]+)(?:\[(?P<part>[^\]]+)\])?")


@dataclass(frozen=True)
class Definition:
    """A definition in the tree of its file: `roots` are its statements, or the expressions of a part."""

    file: Path
    tree: ast.Module
    path: str
    roots: tuple[ast.AST, ...]

    @property
    def module(self) -> str:
        """The name of the module."""
        return module_name(self.file)


def module_name(file: Path) -> str:
    """`passlab.op.broadcast` for its file."""
    return ".".join(file.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__")


def find(name: str, sources: dict[Path, str] | None = None) -> Definition:
    """Return the one definition of a name in `sources`, or in passlab.

    Raises `LookupError` where there is none, or several and no hint says which.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise LookupError(f"`{name}` is not the name of a definition")
    hint, path, part = match.group("hint", "path", "part")
    found = [d for d in _candidates(path, sources or package()) if hint is None or f".{d.module}".endswith("." + hint)]
    if len(found) != 1:
        places = ", ".join(d.module for d in found) or "nowhere"
        raise LookupError(f"`{name}` has to be defined once, and is defined in: {places}")
    return found[0] if part is None else _part(found[0], part)


def _candidates(path: str, sources: dict[Path, str]) -> Iterator[Definition]:
    """Definitions of that path, at most one of each file."""
    words = path.split(".")
    text = re.compile(rf"(?:def|class)\s+{words[-1]}\b|^(?:.*, )?{words[-1]}\b", re.MULTILINE)
    for file, source in sources.items():
        if all(word in source for word in words) and text.search(source):
            tree = ast.parse(source)
            roots = tuple(node for found, node in definitions(tree) if found == path)
            if roots:
                yield Definition(file, tree, path, roots)


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """All definitions below a module, class or function, with their names, in the order of the source."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, SCOPES):
            yield prefix + child.name, child
            yield from definitions(child, f"{prefix}{child.name}.")
        elif isinstance(tree, ast.Module) and isinstance(child, ast.Assign | ast.AnnAssign):
            for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                yield from ((node.id, child) for node in ast.walk(target) if _assigned(node))
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from definitions(child, prefix)


def _assigned(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _part(whole: Definition, text: str) -> Definition:
    """The part of a definition that a text names."""

    def named(node: ast.AST) -> bool:
        return isinstance(node, ast.Constant) and node.value == text

    parts: list[ast.AST] = []
    for node in (n for root in whole.roots for n in ast.walk(root)):
        if isinstance(node, ast.Dict):
            parts += [value for key, value in zip(node.keys, node.values, strict=True) if key and named(key)]
        elif isinstance(node, ast.Call) and any(map(named, node.args)):
            parts.append(node)
    if len(parts) != 1:
        raise LookupError(f"`{whole.path}` has {len(parts)} parts `{text}`")
    return Definition(whole.file, whole.tree, f"{whole.path}[{text}]", (parts[0],))


@cache
def package() -> dict[Path, str]:
    """The text of every file of passlab."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(HOUSE.rglob("*.py"))}
