"""passlab works in a browser's Python, simulated: without threads, processes, mmap and Graphviz."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, Source, parse, python_sources
from tests.package.browser_python import ABSENT, FEATURES

QUICK = ("magics", "culprit", "save_and_load")
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in FEATURES]


@pytest.mark.rotating
@pytest.mark.parametrize("feature", CASES)
def test_a_feature_works_there(feature: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.package.browser_python", feature]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_simulated_platform_has_no_threads_processes_and_mmap() -> None:
    program = """
import subprocess, threading
from tests.package.browser_python import simulate
simulate()
for attempt in (threading.Thread(target=print).start, lambda: subprocess.run(["true"]), lambda: __import__("mmap")):
    try:
        attempt()
    except (RuntimeError, OSError, ImportError) as error:
        print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["RuntimeError", "OSError", "ModuleNotFoundError"]


# The command line of teachers, which starts a process for each student, and what runs other compilers.
NOT_THERE = {"passlab/course/grading.py", "passlab/hosts/live.py", "passlab/hosts/reduction.py"}


def test_what_a_browser_lacks_is_guarded() -> None:
    assert [fault for source in python_sources("passlab") for fault in unguarded(source)] == []


def unguarded(source: Source) -> Iterator[str]:
    """The places of a file that a browser's Python stops at."""
    if "threading." not in source.text and not any(f"import {name}" in source.text for name in ABSENT):
        return
    for node in source.tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and {alias.name for alias in node.names} & set(ABSENT):
            yield f"{source.at(node)}: import it where it is used, under try"
    for function in source.all(ast.FunctionDef):
        if source.path not in NOT_THERE and starts_a_thread(function):
            caught = {ast.unparse(n.type) for n in ast.walk(function) if isinstance(n, ast.ExceptHandler) and n.type}
            if "RuntimeError" not in caught:
                yield f"{source.at(function)}: {function.name}: without threads, `start` raises RuntimeError"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("import threading\nimport mmap\n", "import it where it is used"),
        ("def go():\n    threading.Thread(target=go).start()\n", "without threads"),
    ],
)
def test_the_search_finds_what_is_not_guarded(text: str, fault: str) -> None:
    (found,) = unguarded(parse(text))
    assert fault in found


def starts_a_thread(function: ast.FunctionDef) -> bool:
    calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(call in ("threading.Thread", "threading.Timer") for call in calls)
