"""Which passes would change a program: a list from which a pass is run, by mouse or by keys, and explored beneath."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab.display import prospects_view
from passlab.notebook.widgets import show
from tests.browser.lab_page import browser
from tests.browser.widget_page import Kernel, widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """
def @main(%x: Tensor[(2, 5), float32], %w: Tensor[(5, 5), float32]) {
  %0 = nn.dense(%x, multiply(%w, log(1f)), units=5);
  nn.softmax(divide(%0, add(exp(%0), 1f)))
}
"""


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with browser(chromium) as launched:
        yield launched


@pytest.fixture
def opened(chrome: Browser) -> Iterator[tuple[Page, Kernel]]:
    with widget_page(show(prospects_view(passlab.parse(NET), "net")), chrome, kind="prospects") as page:
        yield page


def test_the_list_says_what_the_table_says(opened):
    page, kernel = opened
    table = kernel.widget.outlook.table
    assert page.locator(".pl-prospect-name").all_inner_texts() == table.column("pass")
    assert page.locator(".pl-prospect-sentence").all_inner_texts() == [
        text.replace("`", "`") for text in table.column("what_it_would_do")
    ]
    expect(page.locator(".pl-pipeline")).to_have_count(0)


def test_a_pass_runs_by_keys_alone_and_is_explored_beneath(opened):
    page, kernel = opened
    page.locator(".pl-prospects").focus()
    names = kernel.widget.outlook.table.column("pass")
    for _ in range(names.index("FoldConstant")):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".pl-pipeline .pl-step-name")).to_have_text("FoldConstant")
    assert [step.name for step in kernel.widget.recording.steps] == ["input", "FoldConstant"]
    expect(page.locator(".pl-row-removed, .pl-row-changed").first).to_be_visible()
    assert page.evaluate("document.activeElement.matches('.pl-prospects')")


def test_another_pass_takes_its_place(opened):
    page, kernel = opened
    for name in ("FoldConstant", "ToANormalForm"):
        page.locator(".pl-prospect", has=page.get_by_text(name, exact=True)).click()
        expect(page.locator(".pl-pipeline .pl-step-name")).to_have_text(name)
        expect(page.locator(".pl-prospect-ran")).to_contain_text(name)
    expect(page.locator(".pl-pipeline")).to_have_count(1)
    page.locator(".pl-pipeline").get_by_role("tab", name="Graph").click()
    expect(page.locator(".pl-pipeline .pl-box").first).to_be_visible()
    assert kernel.widget.recording.steps[-1].name == "ToANormalForm"
