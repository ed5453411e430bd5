"""A file that is written atomically is the whole new one or the whole old one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from passlab.atomic_file import atomic_file
from tests.architecture.sources import ROOT


def test_file_is_replaced_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("old")
    with atomic_file(path) as unfinished:
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_older_file_stays_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("old")

    def write_half(unfinished: Path) -> None:
        unfinished.write_text("half")
        raise error

    with pytest.raises(error), atomic_file(path) as unfinished:
        write_half(unfinished)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_other_module_renames_a_temporary_file() -> None:
    renaming = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "passlab").rglob("*.py")
        if re.search(r"\.part[\"']|os\.replace\(|os\.rename\(", path.read_text(encoding="utf-8"))
    }
    assert renaming <= {"passlab/atomic_file.py"}
