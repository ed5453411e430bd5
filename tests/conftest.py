"""What every test may ask for: fixed randomness, expected outputs that can be blessed, a browser where there is one.

Randomness is random in its choice and fixed in its seed: a test that fails today fails tomorrow. Only the `fuzz` profile
of Hypothesis draws new examples each time (`pytest --hypothesis-profile=fuzz`).
"""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.expectation import check_expectation
from tests.operator_facts import facts_of_tests
from tests.rotation import is_due, is_turn

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_PATHS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)

EVERY_TIME = {"01-tour.ipynb"}  # the notebook that a user sees first
MOST_SKIPPED = 30  # by a nightly run; `-ra` lists each with its reason
HUNG_SECONDS = 900  # after which a test that hangs says where, and ends the run
LEFT_OUT = pytest.StashKey[int]()
STDERR = pytest.StashKey[TextIO]()
WATCHED_SINCE = pytest.StashKey[float]()
SHARED_GENERATORS = pytest.StashKey[list[np.random.Generator]]()

# Python's collector searches everything whenever the heap has grown by a quarter. Tests, modules and syntax trees stay, and
# searching them again took more time than parsing the sources.
gc.set_threshold(5_000, 10, 50)

# Deadlines measure the machine, not the program; a program that is too slow shows in benchmarks/.
settings.register_profile(
    "fixed", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fuzz", settings.get_profile("fixed"), derandomize=False, max_examples=2000)
settings.load_profile("fixed")
# Examples come of the strategies alone. Hypothesis also tries the constants of every module that is loaded: so a test that runs
# alone would draw others than among all tests, and each worker would parse passlab once more.
providers._get_local_constants = lambda: providers._local_constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless",
        action="store_true",
        default=False,
        help="rewrite the expected outputs of tests from what passlab does now",
    )
    parser.addoption(
        "--every-part",
        action="store_true",
        default=False,
        help="run all tests marked `in_parts`, not the fifth that is due at this commit",
    )
    parser.addoption(
        "--share",
        type=int,
        metavar="N",
        help="of the tests that `make test` leaves out, run only the N-th part that is due at this commit",
    )


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the nightly run what is not due; skip what needs a browser where there is none; put what waits first."""
    share = config.getoption("--share")
    if share:
        later = {item for item in items if not is_due_in_share(item, share)}
        items[:] = [item for item in items if item not in later]
        config.hook.pytest_deselected(items=list(later))
    for item in items:
        if not is_due_today(item):
            item.add_marker("nightly")
    if not share and not config.getoption("--every-part"):
        later = set(parts_of_later(items))
        items[:] = [item for item in items if item not in later]
        config.hook.pytest_deselected(items=list(later))
    if find_chromium() is None:
        absent = pytest.mark.skip(
            reason="no Chromium found: apt-get install chromium, or set PASSLAB_CHROMIUM to its path"
        )
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(absent)
    if os.environ.get("PYTEST_XDIST_WORKER"):
        items.sort(key=lambda item: not waits(item))  # a worker that begins with them is not the last to end


def is_due_today(item: pytest.Item) -> bool:
    """Whether `make test` runs a law for this subject, or this notebook, at this commit; see tests/rotation.py."""
    if item.path.suffix == ".ipynb":
        return item.path.name in EVERY_TIME or is_due(item.path.name)
    subject = item.callspec.id if hasattr(item, "callspec") else item.nodeid
    marker = item.get_closest_marker("rotating")
    return marker is None or is_due(subject, **marker.kwargs)


def is_due_in_share(item: pytest.Item, parts: int) -> bool:
    """Whether `make nightly ARGS="--share N"` runs this test: an N-th part of those marked `nightly`.

    Those that rotate are run by `make test` when it is their turn.
    """
    return item.get_closest_marker("nightly") is not None and is_due(item.nodeid, parts)


def parts_of_later(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """The four fifths of each test in parts that are not due at this commit."""
    seen: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("in_parts"):
            test = item.nodeid.partition("[")[0]
            if not is_turn(seen[test]):
                yield item
            seen[test] += 1


def waits(item: pytest.Item) -> bool:
    """Whether a test waits for other processes more than it computes."""
    return item.path.suffix == ".ipynb" or item.get_closest_marker("browser") is not None


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the tests that are left to the nightly run."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.config.stash[LEFT_OUT] = item.config.stash.get(LEFT_OUT, 0) + 1


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that reports how many a worker has left out: each worker has left out the same.

    A nightly run with everything at hand that still skips many tests fails.
    """
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)
    elif too_many_skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def too_many_skipped(config: pytest.Config) -> int:
    """How many tests a nightly run has skipped, where that is too many and no program or package is absent; else 0."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", ())) if reporter else 0
    return skipped if config.option.markexpr == "nightly" and skipped > MOST_SKIPPED and not absent() else 0


def absent() -> list[str]:
    """What a complete nightly run needs and this machine lacks, as the Makefile has noted it for packages."""
    environment = Path(sys.prefix)
    noted = environment / "left-out.txt"
    packages = noted.read_text(encoding="utf-8").split() if noted.exists() else []
    packages += [] if environment.name == ".venv-nightly" else [".venv-nightly"]
    programs = {"chromium": find_chromium(), "graphviz": shutil.which("dot"), "llvm": shutil.which("opt")}
    return [*packages, *(name for name, path in programs.items() if path is None)]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a worker whole files, and all of tests/architecture, which reads the sources once, or of tests/package: one wheel."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return folder if folder in ("tests/architecture", "tests/package") else file

    return ByFile(config, log) if config.option.dist == "loadfile" else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say at the end what was left out, and how to run it."""
    if skipped := too_many_skipped(config):
        terminalreporter.write_line(f"FAILED: {skipped} tests were skipped, of which at most {MOST_SKIPPED} may be")
    if config.option.markexpr == "nightly" and absent():
        terminalreporter.write_line(f"absent, so that their tests are skipped: {', '.join(absent())}")
    left_out = config.stash.get(LEFT_OUT, 0)
    if left_out and config.option.markexpr in ("", "nightly"):
        share = config.getoption("--share")
        part, kinds, fix = (
            (f"part in {share}", "", "`make nightly`")
            if share
            else ("fifth", ": many generated programs, and planted faults", "`--every-part`")
        )
        terminalreporter.write_line("")
        terminalreporter.write_line(
            f"{left_out:,} tests were left to the next commits, of which each runs another {part}{kinds}. {fix} runs all of them."
        )
    if left_out and config.option.markexpr == "not nightly":
        terminalreporter.write_line("")
        terminalreporter.write_line(
            f"{left_out:,} tests were left out: those that need other packages, the longest ones, and most of the long laws and "
            "of the tests in a browser (others of these run after each commit). `make nightly` runs all of them."
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the random generators that modules of tests share between their tests, and take back imports of compat."""
    tvm_is_gone()
    modules = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    values = [value for module in modules for value in vars(module).values()]
    session.config.stash[SHARED_GENERATORS] = [value for value in values if isinstance(value, np.random.Generator)]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STDERR] = os.fdopen(os.dup(2), "w")  # capturing, which replaces it, has not begun


def pytest_unconfigure(config: pytest.Config) -> None:
    faulthandler.cancel_dump_traceback_later()
    config.stash[STDERR].close()


def watch_for_hanging(config: pytest.Config) -> None:
    """End the run if it hangs. The watch is a thread; pytest's own starts one for each test, a fifth of a short test's time."""
    now = time.monotonic()
    if now - config.stash.get(WATCHED_SINCE, 0.0) > 60:
        config.stash[WATCHED_SINCE] = now
        faulthandler.dump_traceback_later(HUNG_SECONDS, file=config.stash[STDERR], exit=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test the same random numbers in every run, whatever ran before it."""
    watch_for_hanging(item.config)
    state = np.random.PCG64(zlib.crc32(item.nodeid.encode())).state
    for generator in item.config.stash[SHARED_GENERATORS]:
        generator.bit_generator.state = state


def find_chromium() -> Path | None:
    """The browser of the `browser` tests: $PASSLAB_CHROMIUM, or the first Chromium or Chrome that is installed."""
    named = os.environ.get("PASSLAB_CHROMIUM")
    if named:
        return Path(named) if Path(named).exists() else None
    results = [Path(path) for path in map(shutil.which, CHROMIUM_NAMES) if path]
    results += [path for path in CHROMIUM_PATHS if path.exists()]
    return results[0] if results else None


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser to launch with `playwright`; only tests marked `browser` may ask."""
    path = find_chromium()
    assert path is not None, "a test that asks for chromium must be marked `browser`"
    return path


@pytest.fixture(params=[20_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def depth(request: pytest.FixtureRequest) -> int:
    """How deep a program is nested. passlab promises 100,000 levels; 20,000 prove that nothing recurses, in less time."""
    return int(request.param)


@pytest.fixture(autouse=True, scope="session")
def a_deadline_heard_in_a_finalizer_is_no_error() -> Iterator[None]:
    """Python drops what is raised in `__del__` or in a callback of the collector; a deadline raises its error again."""
    report = sys.unraisablehook
    sys.unraisablehook = lambda dropped: None if dropped.exc_type.__name__ == "TimeUpError" else report(dropped)
    yield
    sys.unraisablehook = report


@pytest.fixture(autouse=True, scope="module")
def operators_are_left_as_they_were() -> Iterator[None]:
    """A file of tests takes back what it registers for operators: which file is next differs from run to run."""
    before = facts_of_tests()
    yield
    left = sorted(facts_of_tests() - before)
    assert not left, f"unregister_op_attr what these tests have registered: {left}"


def tvm_is_gone() -> None:
    """Undo what the import of a module of `passlab.compat` did: other tests are about passlab without it."""
    if compat := sys.modules.get("passlab.compat"):
        compat.uninstall()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    tvm_is_gone()


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """True when expected outputs are to be rewritten (`make bless`)."""
    return bool(request.config.getoption("--bless"))


@pytest.fixture
def expect(bless: bool) -> Callable[[Path, str], None]:
    """`expect(path, actual)` compares `actual` with the expected part of the file; see tests/expectation.py."""
    return lambda path, actual: check_expectation(path, actual, bless=bless)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that differ from test to test and are the same in every run."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
