"""What browser tests ask for: one browser, and one server of notebooks, for all tests of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.lab_page import browser, stop_browser
from tests.browser.lab_server import stop_server

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with browser(chromium) as launched:
        yield launched


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures are kept: $PASSLAB_SCREENSHOTS, or a folder that is thrown away."""
    kept = os.environ.get("PASSLAB_SCREENSHOTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop browser and server when the last test of this folder, or of a run of its tests, has ended.

    Playwright holds the thread's event loop while its browser lives, which tests elsewhere may need.
    """
    if nextitem is None or HERE not in nextitem.path.parents:
        stop_browser()
        stop_server()


def pytest_sessionfinish() -> None:
    """Stop them where a run ends early, too."""
    stop_browser()
    stop_server()
