"""A report opened from disk in a real browser: it shows what it should, asks for nothing, and when static runs nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.lab_page import WIDE
from tests.display.hostile import hostile_recording

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, chrome: Browser) -> tuple[Page, list[str]]:
    """The report of a hostile recording, and the addresses it asked for."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    hostile_recording().to_html(path, static=True)
    page = chrome.new_page(viewport=WIDE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    return page, asked


def test_it_shows_every_pass(opened):
    page, _ = opened
    expect(page.locator("h1")).to_contain_text(": InferType, Log")
    expect(page.locator("tbody tr").first).to_contain_text("0 input")
    expect(page.get_by_role("cell", name="3 Fails")).to_be_visible()


def test_a_difference_unfolds_without_a_script(opened):
    page, _ = opened
    fold = page.locator("details", has_text="log(").first
    fold.locator("summary").click()
    expect(fold.get_by_text("log(").first).to_be_visible()


def test_it_runs_no_script_and_asks_for_nothing(opened):
    page, asked = opened
    assert ": InferType, Log" in page.title()
    assert page.locator("script, img, iframe, link").count() == 0
    assert [url for url in asked if not url.startswith("file:")] == []


def test_it_does_not_scroll_sideways(opened):
    page, _ = opened
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory, chrome: Browser) -> tuple[Page, list[str], list[str]]:
    """The explorer of a hostile recording, offline; the addresses it asked for, and what went wrong in it."""
    path = tmp_path_factory.mktemp("explorer") / "report.html"
    hostile_recording().to_html(path)
    page = chrome.new_context(offline=True, viewport=WIDE).new_page()
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(path.as_uri())
    page.wait_for_selector(".pl-pipeline")
    return page, asked, wrong


def test_the_explorer_works_from_disk_without_a_network(explorer):
    page, asked, wrong = explorer
    assert page.locator(".pl-pipeline").is_visible()
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    assert wrong == []


def test_the_keys_of_the_explorer_move_between_passes(explorer):
    page, _, wrong = explorer
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("g")
    first = page.locator(".pl-pipeline").inner_text()
    page.keyboard.press("G")
    expect(page.locator(".pl-pipeline")).not_to_have_text(first)
    assert wrong == []
