"""Which tests reach which function of passlab: each folder of tests is run once, in a process that `noting` watches.

As a plugin of pytest (`-p tests.mutants.reach --reach-to FILE`) it writes, for the tests that pass, what they reached,
also in processes that they start. The tests of a file that does not fit into its share of the folder's time are left out;
what files leave over goes to the next. `nearest` reads all files and returns the nearest tests of a function.

What passlab calls while it is imported is noted for no test, and what is kept for later only for the first that needs it.
So tests that reach other functions of the module are near, too, and then those of the package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import pytest

from tests.mutants import noting
from tests.mutants.definitions import HOUSE

ROOT = HOUSE.parent
KEPT = ROOT / ".mutants" / "reach"
HOOK = Path(__file__).parent / "hook"
# Folders whose tests read the source of passlab, need a browser, or are about the tests themselves.
ELSEWHERE = {"architecture", "browser", "mutants", "planted", "scripts"}
DIAGNOSTICS = "tests/diagnostics/test_diagnostics.py::test_passlab_answers_as_the_console_file_says"


@dataclass(frozen=True)
class Test:
    """A test that reaches a function, and how many seconds it took."""

    name: str
    seconds: float

    @property
    def file(self) -> str:
        """Where it is."""
        return self.name.partition("::")[0]


# ---------------------------------------------------------------------------------------------------- reading


def nearest(function: str, most: int, seconds: float, folder: Path = KEPT) -> list[Test]:
    """The nearest tests of `passlab.op.broadcast:division_kernel`, together no longer than some seconds, but at least one.

    Those that reach it come first, then those that reach its module, then its package. Among these, its package's own and
    the console files come first, the first case of each test before the second ones, then quick ones.
    """
    module = function.partition(":")[0]
    room = ".".join(module.split(".")[:2])
    own = (f"tests/{room.partition('.')[2]}/", DIAGNOSTICS)
    reached = _reached(folder)
    chosen: dict[Test, None] = {}
    for tests in (reached[function], reached[module], reached[room]):
        cases: Counter[str] = Counter()
        ranked = []
        for test in sorted(tests, key=lambda t: (t.seconds, t.name)):
            body = test.name if test.name.startswith(DIAGNOSTICS) else test.name.partition("[")[0]
            ranked.append((not test.name.startswith(own), cases[body], test.seconds, test))
            cases[body] += 1
        for *_, test in sorted(ranked, key=lambda rank: rank[:3])[: 2 * most]:
            fits = sum(t.seconds for t in chosen) + test.seconds <= seconds
            if len(chosen) < most and (fits or not chosen):
                chosen[test] = None
    return list(chosen)


@cache
def _reached(folder: Path) -> dict[str, set[Test]]:
    """All functions, their modules and packages, with the tests that reach them, from the files of all test folders."""
    result: dict[str, set[Test]] = defaultdict(set)
    for file in sorted(folder.glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        tests = [Test(name, seconds) for name, seconds in data["tests"]]
        for function, numbers in data["functions"].items():
            module = function.partition(":")[0]
            for name in (function, module, ".".join(module.split(".")[:2])):
                result[name].update(tests[number] for number in numbers)
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
    with tempfile.TemporaryDirectory() as folder:
        noting.prepare(Path(folder))
        paths = os.pathsep.join(map(str, (HOOK, ROOT)))
        environment = {**os.environ, "PYTHONPATH": paths, "PASSLAB_REACH": folder}
        try:
            ran = subprocess.run(
                [*command, *plugin, DIAGNOSTICS if name == "diagnostics" else f"tests/{name}"],
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
        self.reached: dict[str, set[str]] = defaultdict(set)
        self.called = noting.Called(Path(os.environ["PASSLAB_REACH"]))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Share the time between the files."""
        files = list(dict.fromkeys(item.path for item in session.items))
        start = monotonic()
        self.deadlines = {f: start + self.seconds * (i + 1) / len(files) for i, f in enumerate(files)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave a test out whose file has had its share; forget what the test before it has called."""
        if monotonic() > self.deadlines[item.path]:
            pytest.skip("its file has had its time")
        self.called.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passes: a test that fails here, as those that measure time may do, would catch every mutant."""
        if report.when == "setup":
            self.setup = report.duration
        elif report.when == "call" and report.passed:
            self.passed[report.nodeid] = round(self.setup + report.duration, 3)
        elif report.when == "teardown":
            for function in self.called:
                self.reached[function].add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        numbers = {name: number for number, name in enumerate(self.passed)}
        functions = {
            function: sorted(numbers[name] for name in names if name in numbers)
            for function, names in sorted(self.reached.items())
        }
        text = json.dumps({"tests": list(self.passed.items()), "functions": {f: n for f, n in functions.items() if n}})
        self.file.write_text(text, encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    parser.addoption("--reach-to", type=Path, help="the file to write")
    parser.addoption("--reach-seconds", type=float, default=300, help="how long the tests may take together")


def pytest_configure(config: pytest.Config) -> None:
    """Begin before passlab is imported."""
    config.pluginmanager.register(_Reach(config.getoption("--reach-to"), config.getoption("--reach-seconds")))
