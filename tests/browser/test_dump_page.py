"""The page of a dump: its passes, what each changed, who made each line, and search, by keyboard and pointer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from passlab.dumps import read
from tests.browser.lab_page import browser
from tests.dumps import corpus

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with browser(chromium) as launched:
        yield launched


def test_noise_is_hidden_as_the_filters_of_python_leave_it_out(chrome, tmp_path):
    recording = read(corpus.stream("llvm22-list-both"))
    step = recording["InferFunctionAttrsPass"]
    assert step.diff()
    assert not step.diff(filters=["attributes", "comments"])
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".pl-step-name")).to_have_text(step.name)
    assert page.locator(".pl-row-added").count() > 0
    hide = page.get_by_role("group", name="noise to hide")
    hide.get_by_text("attributes").click()
    hide.get_by_text("comments").click()
    expect(page.locator(".pl-row-added, .pl-row-removed")).to_have_count(0)
    page.keyboard.press("h")
    page.keyboard.press("h")
    expect(page.locator(".pl-row-added")).not_to_have_count(0)
    page.close()


@pytest.mark.parametrize("name", ["llvm22-list-both", "iree-small-change", "tvm-zero-after", "xla-mlp-grad"])
def test_a_dump_shows_what_the_recording_says(name, chrome, tmp_path):
    source = corpus.folder(name, tmp_path) if name in corpus.FOLDERS else corpus.stream(name)
    recording = read(source)
    path = tmp_path / "page.html"
    recording.to_html(path)
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto(path.as_uri())
    first = recording.changed[0]
    expect(page.locator(".pl-step-name")).to_have_text(first.name)
    expect(page.locator(".pl-title")).to_contain_text(f"{len(recording.changed)} changed")
    page.keyboard.press("c")
    page.keyboard.press("c")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("2")
    assert page.locator(".pl-dump-maker").count() > 0
    page.keyboard.press("1")
    page.keyboard.press("G")
    page.keyboard.press("g")
    page.locator("input[placeholder='search all steps']").fill("return|ret|ROOT")
    page.keyboard.press("Enter")
    expect(page.locator(".pl-dump-results")).to_contain_text("stretch")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    page.close()
