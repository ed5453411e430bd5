"""What every test may ask for: fixed randomness, expected outputs that can be blessed, a browser where there is one.

Randomness is random in its choice and fixed in its seed: a test that fails today fails tomorrow. Only the `fuzz` profile
of Hypothesis draws new examples each time (`pytest --hypothesis-profile=fuzz`).
"""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.expectation import check_expectation

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_PATHS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)

SHARED_GENERATORS = pytest.StashKey[list[np.random.Generator]]()

# Deadlines measure the machine, not the program; a program that is too slow shows in benchmarks/.
settings.register_profile(
    "fixed", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fuzz", settings.get_profile("fixed"), derandomize=False, max_examples=2000)
settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless",
        action="store_true",
        default=False,
        help="rewrite the expected outputs of tests from what passlab does now",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs a browser where there is none, and say how to get one."""
    if find_chromium() is None:
        absent = pytest.mark.skip(
            reason="no Chromium found: apt-get install chromium, or set PASSLAB_CHROMIUM to its path"
        )
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(absent)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the random generators that modules of tests share between their tests."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    values = [value for module in modules for value in vars(module).values()]
    session.config.stash[SHARED_GENERATORS] = [value for value in values if isinstance(value, np.random.Generator)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test the same random numbers in every run, whatever ran before it."""
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
