"""Draw the packages of passlab and the imports between them, read from the code: `python docs/package_picture.py`.

An arrow leads from a package to one that it imports. Imports that follow from others are left out (the transitive
reduction), and so are those of the packages that everything uses, which stand in a box of their own. The picture is
`docs/images/packages.svg`; `tests/docs/test_architecture_page.py` fails when it no longer shows the code.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "passlab"
PICTURE = ROOT / "docs" / "images" / "packages.svg"

# Used by nearly every package: their arrows would hide the others.
GROUND = ("errors", "limits", "threads", "atomic_file", "pickling", "devices", "table", "steps", "lazy")
# Not part of the picture: the table of names of the package itself, and `python -m passlab`.
LEFT_OUT = {"__init__", "__main__"}
GROUPS = {
    "what a program is": ("ir", "op", "text", "infer", "analysis", "pattern", "evaluate"),
    "what changes it": ("diffing", "transform", "rewriting", "passes", "instrument"),
    "what runs it": ("vm", "executor"),
    "where programs come from": ("frontend", "testing", "relay", "compat"),
    "what finds things out": ("lab", "debugger", "dumps", "recorders"),
    "what people see": ("display", "notebook", "cli"),
}
COLOURS = dict(zip(GROUPS, ("#dbeafe", "#dcfce7", "#fef3c7", "#f3e8ff", "#ffe4e6", "#e0f2fe"), strict=True))


def packages() -> dict[str, str]:
    """Return the packages and modules directly below `passlab/` with the first sentence of what they are for."""
    paths = {path.stem: path for path in PACKAGE.glob("*.py") if path.stem not in LEFT_OUT}
    paths |= {path.parent.name: path for path in PACKAGE.glob("*/__init__.py")}
    return {name: _purpose(path) for name, path in sorted(paths.items())}


def _purpose(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.partition("\n\n")[0].split())


@functools.cache
def imports() -> dict[str, frozenset[str]]:
    """Return for each package the others that its files import, at import time or inside functions."""
    names = packages()
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in PACKAGE.rglob("*.py"):
        owner = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if owner not in names:
            continue
        for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
            found[owner] |= {target for target in _imported(node) if target in names and target != owner}
    return {name: frozenset(targets) for name, targets in found.items()}


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements of a file, also those in functions. Imports are among them."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            nodes += getattr(node, part, ())


def _imported(node: ast.AST) -> set[str]:
    """Return the names directly below `passlab` that one import statement loads."""
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
        parts = node.module.split(".")
        if parts[0] != "passlab":
            return set()
        return {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("passlab.")}
    return set()


def arrows() -> set[tuple[str, str]]:
    """Return the arrows of the picture: imports that do not follow from others, without those of the ground."""
    graph = {name: targets - set(GROUND) for name, targets in imports().items() if name not in GROUND}
    reach = {name: _reachable(name, graph) for name in graph}
    return {
        (name, target)
        for name, targets in graph.items()
        for target in targets
        if not any(target in reach[other] for other in targets if other != target)
    }


def _reachable(start: str, graph: dict[str, frozenset[str]]) -> set[str]:
    seen: set[str] = set()
    stack = [start]
    while stack:
        for target in graph[stack.pop()] - seen:
            seen.add(target)
            stack.append(target)
    return seen


def dot() -> str:
    """Return the picture as Graphviz text."""
    colours = {name: COLOURS[title] for title, names in GROUPS.items() for name in names}
    lines = [
        "digraph packages {",
        '  graph [rankdir=TB nodesep=0.25 ranksep=0.35 fontname="Helvetica" bgcolor="white" pad=0.2]',
        '  node [shape=box style="rounded,filled" fontname="Helvetica" fontsize=12 color="#64748b"]',
        '  edge [color="#64748b" arrowsize=0.6]',
    ]
    for name, purpose in packages().items():
        if name in GROUND:
            continue
        lines.append(f'  "{name}" [fillcolor="{colours.get(name, "#f1f5f9")}" tooltip="{_quoted(purpose)}"]')
    lines += [f'  "{source}" -> "{target}"' for source, target in sorted(arrows())]
    ground = ", ".join(name for name in GROUND if name in packages())
    lines.append(f'  "used by all: {ground}" [shape=box style="dashed" fillcolor="white"]')
    lines += [f'  "{name}" -> "used by all: {ground}" [style=invis]' for name, targets in _bottom()]
    return "\n".join([*lines, "}", ""])


def _bottom() -> list[tuple[str, frozenset[str]]]:
    """Return the packages that import nothing but the ground: it is drawn below them."""
    return [(name, targets) for name, targets in imports().items() if name not in GROUND and not targets - set(GROUND)]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def draw() -> None:
    """Write the picture."""
    import pygraphviz

    pygraphviz.AGraph(string=dot()).draw(str(PICTURE), format="svg", prog="dot")


if __name__ == "__main__":
    draw()
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")
