"""`%simplify` in a cell: a table, a file, a name; mistakes end in an error that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from IPython.core.error import UsageError

from benchmarks.simplify import MODELS


@pytest.fixture
def shell(running_shell: Any) -> Any:
    loaded = "passlab" in running_shell.extension_manager.loaded
    running_shell.run_line_magic("reload_ext" if loaded else "load_ext", "passlab")
    yield running_shell
    running_shell.run_line_magic("unload_ext", "passlab")


@pytest.fixture
def net(tmp_path: Path) -> str:
    path = tmp_path / "net.onnx"
    onnx.save(MODELS["decoder_layer"](), str(path))
    return str(path)


def test_a_file_becomes_a_smaller_file_and_a_table(shell: Any, net: str) -> None:
    small = shell.run_line_magic("simplify", f"{net} --save {net}.small --out small")
    assert shell.user_ns["small"] is small
    assert "CombineLayerNorm" in small.text()
    assert len(onnx.load(f"{net}.small").graph.node) == small.nodes_after < small.nodes_before


def test_a_removal_is_undone_by_name(shell: Any, net: str) -> None:
    small, kept = (shell.run_line_magic("simplify", f"{net} {option}") for option in ("", "--disable CombineGelu"))
    assert kept.nodes_after > small.nodes_after


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing.onnx", "there is no file `nothing.onnx`"),
        ("{net} --shape x", "is not NAME=DIMS"),
        ("{net} -o 1", "not a Python name"),
    ],
)
def test_mistakes_are_told(shell: Any, net: str, line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic("simplify", line.format(net=net))
