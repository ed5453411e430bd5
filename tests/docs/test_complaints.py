"""Each row of the page about complaints names a test that exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_complaint_has_a_test():
    rows = [row for row in (ROOT / "docs/explanation/complaints.md").read_text().split("\n") if row.startswith("| [")]
    assert len(rows) >= 15
    for row in rows:
        named = TEST.findall(row)
        assert named, row
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text())
            assert name in {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}, (path, name)
