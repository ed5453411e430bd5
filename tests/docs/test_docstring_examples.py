"""The docstrings of the names that people use most hold an example, and every example prints what it says.

An operator's example is its line of Relay text, a pass's is the program before and after it: both are run by the tests
of operators and passes. The examples of all other names are run here.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from passlab.ir.op import Op
from passlab.op.declare import OpBuilder
from passlab.passes import PASSES

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import reference_pages  # noqa: E402 - a script of the manual, which is no package
import relay_pages  # noqa: E402

MOST_USED = 200
(IMPORTS,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/api/index.md").read_text(encoding="utf-8"), re.DOTALL)


@functools.cache
def public() -> dict[str, Any]:
    """Every public function and class once, by the first of its names."""
    found: dict[int, tuple[str, Any]] = {}
    for module_name in reference_pages.MODULES.values():
        module = importlib.import_module(module_name)
        for name in (*reference_pages.public_names(module), *(PASSES if module_name == "passlab.transform" else ())):
            if callable(value := getattr(module, name)):
                found.setdefault(id(value), (f"{module_name}.{name}", value))
    return dict(found.values())


def programs() -> str:
    """The code in the manual and the lessons: programs, and names between backticks."""
    parts = []
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        page = path.read_text(encoding="utf-8")
        parts += [*re.findall(r"```python\n(.*?)```", page, re.DOTALL), *re.findall(r"`([^`\n]+)`", page)]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            parts += [text] if cell["cell_type"] == "code" else re.findall(r"`([^`\n]+)`", text)
    return "\n".join(parts)


def most_used() -> list[str]:
    """The public names by how often manual and lessons use them: as `relay.var`, or, if they are in capitals, alone."""
    text = programs()
    packages = "|".join({name.rpartition(".")[2] for name in reference_pages.MODULES.values()})
    used = Counter(re.findall(rf"\b(?:{packages}|nn|image|vision)\.(\w+)", text))
    used |= Counter(re.findall(r"\b[A-Z]\w*[a-z]\w*\b", text))
    return sorted(public(), key=lambda name: (-used[name.rpartition(".")[2]], name))[:MOST_USED]


def example_of(name: str) -> str:
    value = public()[name]
    doc = inspect.getdoc(value) or ""
    if isinstance(value, OpBuilder):
        return doc.partition("In Relay text: ")[2]
    if name.rpartition(".")[2] in PASSES:
        return "".join(re.findall(r"^(?:after|keep):.*\n.*", doc, re.MULTILINE))
    return "".join(re.findall(r"^>>> .*", doc, re.MULTILINE))


def test_the_names_that_people_use_most_have_an_example_of_their_own() -> None:
    assert not [name for name in most_used() if not example_of(name)], "an example in the docstring: see docs/api/index"


def test_every_operator_and_every_pass_has_an_example() -> None:
    operators = [
        name for name in Op.list_op_names() if "In Relay text: " not in (Op.get(name).spec.builder.__doc__ or "")
    ]
    assert not operators
    assert not [name for name in PASSES if not example_of(f"passlab.transform.{name}")]


WRITTEN = [name for name in public() if ">>> " in (inspect.getdoc(public()[name]) or "")]


@pytest.mark.parametrize("name", WRITTEN)
def test_an_example_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(IMPORTS, space)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(public()[name]) or "", space, name, None, None)
    printed: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    assert result.attempted
    assert not result.failed, "".join(printed)


def test_the_manual_shows_the_examples_of_docstrings() -> None:
    (block,) = (b for b in reference_pages._blocks(inspect.getdoc(public()["passlab.relay.const"]) or "") if ">>>" in b)
    assert block.startswith("```pycon\n>>> print(relay.const(")
    shown = "\n".join(relay_pages.passes())
    assert shown.count("\nBefore") >= 60, "also the programs of passes that need options"
    assert 'Before with `desired_layouts={"nn.conv2d": ["NHWC", "default"]}`' in shown
