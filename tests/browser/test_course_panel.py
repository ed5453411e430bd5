"""The course in JupyterLab's sidebar: lessons, points and the next step, which follow what a learner solves.

`PASSLAB_SCREENSHOTS=folder` keeps a picture of the panel.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from passlab.course.folder import start
from passlab.course.registry import LESSONS, lesson
from tests.browser.lab_page import READY_MS, WIDE, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def lab(chromium: Path) -> Iterator[tuple[LabServer, Browser]]:
    """A server and a browser."""
    with LabServer() as server, browser(chromium) as chrome:
        yield server, chrome


@pytest.fixture
def opened(lab: tuple[LabServer, Browser]) -> Iterator[tuple[Path, Page]]:
    """The folder of a server, empty, and its page."""
    server, chrome = lab
    for path in Path(server.folder).iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    page = chrome.new_page(viewport=WIDE)
    page.goto(server.url("lab?reset"))
    page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('passlab:course')", timeout=READY_MS)
    yield Path(server.folder), page
    page.close()


def shown(page: Page) -> None:
    page.evaluate(
        "async () => { await window.jupyterapp.restored; await window.jupyterapp.commands.execute('passlab:course'); }"
    )
    page.locator("#passlab-course").wait_for(timeout=READY_MS)


def keep_picture(page: Page, name: str) -> None:
    if folder := os.environ.get("PASSLAB_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_without_a_course_it_says_how_to_get_one(opened: tuple[Path, Page]) -> None:
    _, page = opened
    shown(page)
    expect(page.locator("#passlab-course")).to_contain_text("passlab course start")


def test_it_lists_the_lessons_opens_one_and_follows_what_is_solved(opened: tuple[Path, Page]) -> None:
    folder, page = opened
    course = folder / "my course"
    start(course)
    shown(page)
    panel = page.locator("#passlab-course")
    expect(panel.locator("ol button")).to_have_count(len(LESSONS), timeout=READY_MS)
    expect(panel).to_contain_text("0 of ")
    expect(panel.locator(".passlab-next")).to_contain_text("01 A tour of passlab: Mend the weight")
    keep_picture(page, "course-panel")
    space = {"answer_3": "transpose(%x)"}
    check = lesson(2, space, course)
    for number, answer in ((2, (4, 4)), (2, (4, 8)), (2, (4, 15))):  # wrong twice, right once
        check(number, answer)
    row = panel.locator("ol button", has_text="02 Reading Relay")
    expect(row).to_contain_text("1/6", timeout=READY_MS)
    expect(panel).to_contain_text("1 of ")
    row.focus()
    row.press("Enter")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.context?.path === 'my course/02-reading-relay.ipynb'",
        timeout=READY_MS,
    )
    expect(row).to_have_attribute("aria-current", "true", timeout=READY_MS)
    keep_picture(page, "course-panel-open")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"02": 5}', '{"02": {"How large": {"solved": "<b>today</b>"}}}', "x" * 5000]
)
def test_a_damaged_file_of_progress_leaves_the_lessons(text: str, opened: tuple[Path, Page]) -> None:
    folder, page = opened
    start(folder)
    (folder / "passlab-course.json").write_text(text, encoding="utf-8")
    shown(page)
    expect(page.locator("#passlab-course ol button")).to_have_count(len(LESSONS), timeout=READY_MS)


def test_titles_are_text_and_a_list_of_another_form_is_no_course(opened: tuple[Path, Page]) -> None:
    folder, page = opened
    start(folder)
    whole = json.loads((folder / "lessons.json").read_text(encoding="utf-8"))
    whole["lessons"][0]["title"] = "<img src=x onerror=alert(1)>"
    (folder / "lessons.json").write_text(json.dumps(whole), encoding="utf-8")
    shown(page)
    expect(page.locator("#passlab-course ol button").first).to_contain_text("<img src=x", timeout=READY_MS)
    assert page.locator("#passlab-course img").count() == 0
    (folder / "lessons.json").write_text('{"lessons": 3}', encoding="utf-8")
    expect(page.locator("#passlab-course")).to_contain_text("passlab course start", timeout=READY_MS)
