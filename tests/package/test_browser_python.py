"""passlab works in a browser's Python, simulated: without threads, processes, mmap and Graphviz."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT, Source, python_sources
from tests.package.browser_python import ABSENT, FEATURES

QUICK = ("magics", "culprit", "save_and_load")
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in FEATURES]


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


@pytest.mark.parametrize("source", list(python_sources("passlab")), ids=lambda source: source.path)
def test_what_a_browser_lacks_is_guarded(source: Source) -> None:
    if "threading." not in source.text and not any(f"import {name}" in source.text for name in ABSENT):
        return
    late = [node for node in source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in late for alias in node.names}
    assert not names & set(ABSENT), "import it where it is used, under try"
    for function in ast.walk(source.tree):
        if isinstance(function, ast.FunctionDef) and source.path not in NOT_THERE and starts_a_thread(function):
            caught = {ast.unparse(n.type) for n in ast.walk(function) if isinstance(n, ast.ExceptHandler) and n.type}
            assert "RuntimeError" in caught, f"{function.name}: without threads, `start` raises RuntimeError"


def starts_a_thread(function: ast.FunctionDef) -> bool:
    calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(call in ("threading.Thread", "threading.Timer") for call in calls)
