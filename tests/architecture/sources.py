"""The checkout as syntax trees, read once for all architecture tests."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the root of the checkout, its text and its tree, which is parsed when asked for."""

    path: str
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.path)

    @functools.cached_property
    def by_class(self) -> dict[type[ast.AST], list[ast.AST]]:
        """Every node of the tree under its class: one walk for all rules."""
        table: dict[type[ast.AST], list[ast.AST]] = {}
        for node in ast.walk(self.tree):
            table.setdefault(type(node), []).append(node)
        return table

    def all(self, *classes: type[ast.AST]) -> Iterator[Any]:
        """Every node of some classes, class by class."""
        return itertools.chain.from_iterable(self.by_class.get(cls, ()) for cls in classes)

    def at(self, node: ast.AST) -> str:
        """Where `node` stands, in the form that editors and terminals make clickable."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


@functools.cache
def python_sources(folder: str) -> tuple[Source, ...]:
    """Every Python file under `folder`, in the order of their paths."""
    return tuple(read_source(path) for path in sorted((ROOT / folder).rglob("*.py")))


def read_source(path: Path) -> Source:
    return Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def parse(text: str, path: str = "passlab/sample.py") -> Source:
    """A source that exists only in a test: the rules are tested on these before they are trusted."""
    return Source(path, text)


@functools.cache
def scripts() -> tuple[Path, ...]:
    """The hand-written JavaScript and TypeScript of the widgets and of the JupyterLab extension."""
    folders = [ROOT / "passlab", ROOT / "extension" / "src", ROOT / "extension" / "style"]
    return tuple(
        sorted(
            path
            for folder in folders
            for suffix in ("*.js", "*.mjs", "*.ts", "*.tsx")
            for path in folder.rglob(suffix)
            if path.parent.name != "dist"  # bundles of the others
        )
    )


def functions(source: Source) -> Iterator[FunctionNode]:
    """Every function of a file, methods and nested functions included."""
    return source.all(ast.FunctionDef, ast.AsyncFunctionDef)
