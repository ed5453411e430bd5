"""A file that is written atomically is the whole new one or the whole old one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from passlab.atomic_file import atomic_file
from tests.architecture.sources import ROOT, FunctionNode, Source, parse, python_sources


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


OPENS = {"Path", "open", "ZipFile"}  # what takes a path as the system has it


def unchecked_paths(source: Source) -> Iterator[str]:
    """Where a parameter that is a path, as users write them, is opened without `checked_path`."""
    for function in source.all(ast.FunctionDef, ast.AsyncFunctionDef):
        given = path_parameters(function)
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call) and node.args):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name in OPENS and isinstance(call.args[0], ast.Name) and call.args[0].id in given:
                yield source.at(call)


def path_parameters(function: FunctionNode) -> set[str]:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    annotations = {one.arg: ast.unparse(one.annotation) for one in arguments if one.annotation}
    return {name for name, text in annotations.items() if "PathLike" in text or "FileName" in text}


def test_the_rule_sees_a_path_that_is_opened_as_it_was_given() -> None:
    text = "def read(path: str | os.PathLike[str]) -> bytes:\n    return {}(path).read_bytes()\n"
    assert list(unchecked_paths(parse(text.format("pathlib.Path")))) == ["passlab/sample.py:2"]
    assert not list(unchecked_paths(parse(text.format("checked_path"))))


def test_paths_of_users_are_checked_before_they_are_opened() -> None:
    kept = {"passlab/atomic_file.py"}  # a message, and the removal of a file that was checked when it was written
    assert [
        place for source in python_sources("passlab") for place in unchecked_paths(source) if source.path not in kept
    ] == []
