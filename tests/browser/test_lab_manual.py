"""The manual in JupyterLab: the Help menu opens it, built or as its source, and says where it is when it is not there.

`PASSLAB_SCREENSHOTS=folder` keeps a picture of the menu.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.lab_page import READY_MS, WIDE, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def lab(chromium: Path) -> Iterator[tuple[LabServer, Browser]]:
    """A server and a browser."""
    with LabServer() as server, browser(chromium) as chrome:
        yield server, chrome


@pytest.fixture
def opened(lab: tuple[LabServer, Browser]) -> Iterator[tuple[LabServer, Page]]:
    """A server with an empty folder, and its page."""
    server, chrome = lab
    for folder in server.folder.iterdir():
        shutil.rmtree(folder)
    page = chrome.new_page(viewport=WIDE)
    page.goto(server.url("lab?reset"))
    yield server, page
    page.close()


def choose_manual(page: Page) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text="Help").click(timeout=READY_MS)
    entry = page.locator(".lm-Menu-itemLabel", has_text=re.compile("^passlab Manual$"))
    entry.wait_for()
    if folder := os.environ.get("PASSLAB_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / "help-menu.png"))
    entry.click()


def test_where_there_is_no_manual_it_says_where_it_is(opened: tuple[LabServer, Page]) -> None:
    _, page = opened
    choose_manual(page)
    expect(page.locator(".Toastify__toast").first).to_contain_text("The manual is in the folder of passlab")


def test_its_source_opens_as_a_page(opened: tuple[LabServer, Page]) -> None:
    server, page = opened
    (server.folder / "docs").mkdir()
    (server.folder / "docs/index.md").write_text("# The manual\n\n[More](more.md)\n", encoding="utf-8")
    choose_manual(page)
    expect(page.locator(".jp-MarkdownViewer h1")).to_contain_text("The manual")


def test_where_it_is_built_it_opens_in_a_tab_of_its_own(opened: tuple[LabServer, Page]) -> None:
    server, page = opened
    (server.folder / "site").mkdir()
    (server.folder / "site/index.html").write_text("<title>built</title><h1>The built manual</h1>", encoding="utf-8")
    with page.context.expect_page() as tab:
        choose_manual(page)
    expect(tab.value.locator("h1")).to_contain_text("The built manual")
