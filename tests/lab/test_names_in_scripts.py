"""Names from outside are data in generated Python: no name of a pass becomes a line of a script, a test or a notebook."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.errors import python_comment

NAMES = {
    "a line": "`#\nprint('INJECTED')#",
    "a carriage return": "x\rprint('INJECTED')",
    "a form feed": "x\x0cprint('INJECTED')",
    "a line separator": "x\u2028print('INJECTED')",
    "quotes": "'''\"\"\"\nprint('INJECTED')\n'''",
    "a backslash": "\\\nprint('INJECTED')",
    "half a pair": "x\ud800",
    "a zero": "x\0",
    "braces": "{print('INJECTED')}",
}
NET = "def @main(%x: Tensor[(3), float32]) { add(multiply(%x, 2f), 1f) }"


def faulty(name: str) -> Any:
    """A pass without a source that a script could quote: it forgets an addition."""
    space: dict[str, Any] = {"relay": relay, "transform": transform}
    exec(
        "def change(mod, ctx):\n    main = mod['main']\n    return mod.with_functions({'main': relay.Function(main.params, main.body.args[0])})",
        space,
    )
    return transform.module_pass(space["change"], opt_level=0, name=name)


def assert_harmless(source: str) -> None:
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    assert not [c for c in calls if c.args and isinstance(c.args[0], ast.Constant) and c.args[0].value == "INJECTED"]
    source.encode("utf-8")


@pytest.mark.parametrize("what", NAMES)
def test_no_name_of_a_pass_becomes_code(what: str, tmp_path: Path) -> None:
    found = lab.culprit(passlab.parse(NET), [faulty(NAMES[what])], seconds=20)
    assert_harmless(found.script(tmp_path / "script.py"))
    for cell in nbformat.read(found.notebook(tmp_path / "notebook.ipynb"), as_version=4).cells:
        if cell.cell_type == "code" and not cell.source.startswith("%%relay"):
            lines = cell.source.split("\n")
            assert_harmless("\n".join(line for line in lines if line != "%load_ext passlab"))


@pytest.mark.parametrize("what", NAMES)
def test_a_comment_is_one_line(what: str) -> None:
    comment = python_comment(NAMES[what])
    assert len(comment.splitlines()) == 1
    assert_harmless(f"{comment}\n")
