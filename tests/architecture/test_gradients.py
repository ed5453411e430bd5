"""Where gradients stand: with the operator, unless files share them or the operator's file would pass 400 lines."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT

OP = ROOT / "passlab/op"
LONG = 400


@pytest.mark.parametrize("path", sorted(OP.rglob("*gradients.py")), ids=lambda path: path.stem)
def test_a_file_of_gradients_has_a_reason(path):
    name = f"{path.parent.name}.{path.stem}" if path.parent != OP else path.stem
    package, _, module = f"passlab.op.{name}".rpartition(".")
    imports = re.compile(rf"from {package}\.{module} import|from {package} import [^\n]*\b{module}\b")
    users = [file for file in OP.rglob("*.py") if imports.search(file.read_text(encoding="utf-8"))]
    users = [file for file in users if "gradient=" in file.read_text(encoding="utf-8")]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (path, *users))
    assert len(users) > 1 or lines > LONG, "these gradients fit into the file of their operators"
