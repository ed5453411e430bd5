"""The walks of the page *The life of a program* are made: their functions are called in the order that it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = f"{ROOT / 'passlab'}/"
STORY, _, WALKS = (
    (ROOT / "docs/develop/life-of-a-program.md").read_text(encoding="utf-8").partition("## Fourteen walks")
)
_CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECTIONS = [section.partition("\n") for section in WALKS.split("\n### ")[1:]]
TITLES = [title for title, _, _ in _SECTIONS]


def stops(section: str) -> list[tuple[str, str]]:
    """The files and functions of a walk, in order."""
    lines = re.findall(r"^\d+\. `([\w/]+\.py)`: ((?:`[\w.]+`(?:, )?)+)", section, re.MULTILINE)
    return [(file, name) for file, names in lines for name in re.findall(r"`([\w.]+)`", names)]


def calls(run: Callable[[], None]) -> list[tuple[str, str]]:
    """The calls of functions of passlab while something runs."""
    made: list[tuple[str, str]] = []

    def observe(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            made.append((code.co_filename[len(PACKAGE) :], getattr(code, "co_qualname", code.co_name)))

    sys.setprofile(observe)
    try:
        run()
    finally:
        sys.setprofile(None)
    return made


def first_missing(walk: list[tuple[str, str]], made: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The first stop of a walk that does not follow the one before it."""
    rest = iter(made)
    short = sys.version_info < (3, 11)  # where code does not know its class
    for file, name in walk:
        wanted = (file, name.rpartition(".")[2] if short else name)
        if wanted not in rest:
            return file, name
    return None


@pytest.fixture(scope="module")
def made() -> list[list[tuple[str, str]]]:
    """The calls of each walk in a process of its own: where others have run, much is made and kept already."""
    script = "import json; from tests.docs.test_life_of_a_program import make; print(json.dumps(make()))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [[(file, name) for file, name in walk] for walk in json.loads(answer.stdout.splitlines()[-1])]


def make() -> list[list[tuple[str, str]]]:
    """Make each walk, one after the other in the namespace of the page. Return the calls."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("\n".join(_CODE.findall(STORY)), space)
    results = []
    for title, _, section in _SECTIONS:
        program = compile("\n".join(_CODE.findall(section)), title, "exec")
        results.append(calls(lambda program=program: exec(program, space)))  # type: ignore[misc]
    return results


def test_there_are_fourteen_walks() -> None:
    assert len(TITLES) == len(set(TITLES)) == 14


@pytest.mark.parametrize("title", TITLES)
def test_a_walk_passes_these_functions_in_this_order(title: str, made: list[list[tuple[str, str]]]) -> None:
    number = TITLES.index(title)
    walk = stops(_SECTIONS[number][2])
    assert len(walk) >= 5
    assert first_missing(walk, made[number]) is None


def test_a_walk_in_another_order_is_seen(made: list[list[tuple[str, str]]]) -> None:
    walk = stops(_SECTIONS[0][2])
    assert first_missing(walk[::-1], made[0]) is not None
    assert first_missing([*walk, ("text/parser.py", "nowhere")], made[0]) == ("text/parser.py", "nowhere")
