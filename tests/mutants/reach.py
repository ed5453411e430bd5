"""Which tests reach which function of passlab: run with a context of coverage for each test, one process for each folder.

As a plugin of pytest (`-p tests.mutants.reach --reach-to FILE`) it writes, for the tests that pass, what they reached. The
tests of a file that does not fit into its share of the folder's time are left out; what files leave over goes to the next.
`nearest` reads all files and returns the nearest tests of a function. Tests that see passlab in another process alone
reach nothing here.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import coverage
import pytest

from tests.mutants.definitions import HOUSE, SCOPES, definitions, module_name

ROOT = HOUSE.parent
KEPT = ROOT / ".mutants" / "reach"
# Folders whose tests see passlab from another process, read its source, or are about the tests themselves.
ELSEWHERE = {"architecture", "browser", "diagnostics", "mutants", "planted", "scripts"}


@dataclass(frozen=True)
class Test:
    """A test that reaches a function, and how many seconds it took."""

    name: str
    seconds: float


# ---------------------------------------------------------------------------------------------------- reading


def nearest(function: str, most: int, seconds: float, folder: Path = KEPT) -> list[Test]:
    """The nearest tests of `passlab.op.broadcast:division_kernel`, together no longer than some seconds, but at least one.

    Those of the function's own package come first, the first case of each test before the second ones, then quick ones.
    """
    own = f"tests/{function.replace(':', '.').split('.')[1]}/"
    cases: Counter[str] = Counter()
    ranked = []
    for test in sorted(_reached(folder).get(function, []), key=lambda t: (t.seconds, t.name)):
        body = test.name.partition("[")[0]
        ranked.append((not test.name.startswith(own), cases[body], test.seconds, test))
        cases[body] += 1
    chosen: list[Test] = []
    for *_, test in sorted(ranked, key=lambda rank: rank[:3])[: 2 * most]:
        fits = sum(t.seconds for t in chosen) + test.seconds <= seconds
        if len(chosen) < most and (fits or not chosen):
            chosen.append(test)
    return chosen


@cache
def _reached(folder: Path) -> dict[str, list[Test]]:
    """All functions, with the tests that reach them, from the files of all test folders."""
    result: dict[str, list[Test]] = defaultdict(list)
    for file in sorted(folder.glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        tests = [Test(name, seconds) for name, seconds in data["tests"]]
        for function, numbers in data["functions"].items():
            result[function] += [tests[number] for number in numbers]
    return result


# ---------------------------------------------------------------------------------------------------- making


def make(seconds: int, jobs: int, only: Iterable[str] = (), anew: bool = False) -> None:
    """Write the files of the folders that have none, or of all, in so many seconds for each folder."""
    folders = list(only) or sorted(
        path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py")) and path.name not in ELSEWHERE
    )
    KEPT.mkdir(parents=True, exist_ok=True)
    missing = [name for name in folders if anew or not (KEPT / f"{name}.json").exists()]
    with ThreadPoolExecutor(jobs) as pool:
        for name, line in zip(missing, pool.map(lambda name: _make_one(name, seconds), missing), strict=True):
            print(f"tests/{name}: {line}", flush=True)


def _make_one(name: str, seconds: int) -> str:
    """Run the tests of a folder, and return the last line that pytest prints."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not nightly"]
    plugin = ["-p", "tests.mutants.reach", f"--reach-to={KEPT / name}.json", f"--reach-seconds={seconds}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        ran = subprocess.run(
            [*command, *plugin, f"tests/{name}"],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=3 * seconds + 120,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"left out: one of its tests takes longer than {3 * seconds + 120} seconds"
    return (ran.stdout.strip() or ran.stderr.strip() or "no tests").splitlines()[-1]


# ---------------------------------------------------------------------------------------------------- the plugin


class _Reach:
    """Notes what each test reaches."""

    def __init__(self, file: Path, seconds: float) -> None:
        self.file = file
        self.seconds = seconds
        self.passed: dict[str, float] = {}
        self.deadlines: dict[Path, float] = {}
        self.setup = 0.0
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=[f"{HOUSE}/*"], messages=False)
        self.coverage.start()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Share the time between the files."""
        files = list(dict.fromkeys(item.path for item in session.items))
        start = monotonic()
        self.deadlines = {f: start + self.seconds * (i + 1) / len(files) for i, f in enumerate(files)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Leave a test out whose file has had its share; begin the context of every other one."""
        if monotonic() > self.deadlines[item.path]:
            return True
        self.coverage.switch_context(item.nodeid)
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passes: a test that fails here, as those that measure time may do, would catch every mutant."""
        if report.when == "setup":
            self.setup = report.duration
        elif report.when == "call" and report.passed:
            self.passed[report.nodeid] = round(self.setup + report.duration, 3)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self.coverage.stop()
        names = list(self.passed)
        numbers = {name: number for number, name in enumerate(names)}
        functions = {
            function: sorted(numbers[name] for name in reached if name in numbers)
            for function, reached in functions_reached(self.coverage.get_data())
        }
        text = json.dumps({"tests": list(self.passed.items()), "functions": {f: n for f, n in functions.items() if n}})
        self.file.write_text(text, encoding="utf-8")


def functions_reached(data: coverage.CoverageData) -> Iterator[tuple[str, set[str]]]:
    """Every function of the measured files, with the contexts in which a line of its own was run."""
    for file in map(Path, sorted(data.measured_files())):
        contexts = data.contexts_by_lineno(str(file))
        functions: dict[str, set[str]] = defaultdict(set)
        for path, node in definitions(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[f"{module_name(file)}:{path}"].update(*(contexts.get(line, ()) for line in _own_lines(node)))
        yield from functions.items()


def _own_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[int]:
    """The lines of a function's statements, without those of functions inside, and without that of `def`."""
    lines: set[int] = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.stmt):
            lines.add(part.lineno)
        if not isinstance(part, SCOPES):
            waiting += [
                p for p in ast.iter_child_nodes(part) if isinstance(p, ast.stmt | ast.excepthandler | ast.match_case)
            ]
    return lines - {node.lineno}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    parser.addoption("--reach-to", type=Path, help="the file to write")
    parser.addoption("--reach-seconds", type=float, default=300, help="how long the tests may take together")


def pytest_configure(config: pytest.Config) -> None:
    """Begin before passlab is imported."""
    config.pluginmanager.register(_Reach(config.getoption("--reach-to"), config.getoption("--reach-seconds")))
