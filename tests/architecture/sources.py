"""The checkout as syntax trees, read once for all architecture tests."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the root of the checkout, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree: one walk for all rules."""
        return list(ast.walk(self.tree))

    def at(self, node: ast.AST) -> str:
        """Where `node` stands, in the form that editors and terminals make clickable."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


@functools.cache
def python_sources(folder: str) -> tuple[Source, ...]:
    """Every Python file under `folder`, in the order of their paths."""
    return tuple(read_source(path) for path in sorted((ROOT / folder).rglob("*.py")))


def read_source(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(path.relative_to(ROOT).as_posix(), text, ast.parse(text, filename=str(path)))


def parse(text: str, path: str = "passlab/sample.py") -> Source:
    """A source that exists only in a test: the rules are tested on these before they are trusted."""
    return Source(path, text, ast.parse(text))


@functools.cache
def scripts() -> tuple[Path, ...]:
    """The hand-written JavaScript and TypeScript of the widgets and of the JupyterLab extension."""
    folders = [ROOT / "passlab", ROOT / "extension" / "src", ROOT / "extension" / "style"]
    return tuple(sorted(path for folder in folders for suffix in ("*.js", "*.mjs", "*.ts", "*.tsx")
                        for path in folder.rglob(suffix)))


def functions(source: Source) -> Iterator[FunctionNode]:
    """Every function of a file, methods and nested functions included."""
    return (node for node in source.nodes if isinstance(node, FunctionNode))
