"""Programs that use TVM's names as its tutorials do run to their end, unchanged, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parent / "tutorials").glob("*.py"))
NEEDS = {"from_onnx": "onnx"}


@pytest.mark.rotating
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_runs_to_its_end(path: Path, tmp_path: Path) -> None:
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    command = [sys.executable, "-W", "ignore", "-m", "passlab.compat", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "done"


def test_there_are_tutorials() -> None:
    assert len(TUTORIALS) >= 7
