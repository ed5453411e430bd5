"""Every claim about passlab on the page of comparisons is one that a test makes."""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs/explanation/comparison.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| Task ")
]


def test_each_row_names_a_test_that_exists() -> None:
    assert len(ROWS) > 15
    assert [row[0] for row in ROWS if len(row) != 4] == []
    unheld = []
    for task, _, held, _ in ROWS:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", held)
        found = [name for path, name in named if (ROOT / path).exists() and name in functions(path)]
        if not found or len(found) != len(named):
            unheld.append((task, held))
    assert unheld == []


def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_nearly_every_row_says_what_another_tool_does_better() -> None:
    assert len([row for row in ROWS if not row[3]]) <= 1
