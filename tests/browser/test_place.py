"""Where the reader is: an exported page has it in its address, and a widget in its model, so that a reload leads there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab.display import graph_view
from passlab.notebook import show
from tests.browser.widget_page import widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
LINES = "".join(f"  %{i} = multiply({f'%{i - 1}' if i else '%x'}, {i + 2}f);\n" for i in range(80))
NET = f"def @main(%x: Tensor[(4, 8), float32]) {{\n{LINES}  tanh(%79)\n}}"


def recorded() -> Any:
    return passlab.record(passlab.parse(NET), ["InferType", "FuseOps", "ToANormalForm"])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "rec.html"
    recorded().to_html(path)
    return path.as_uri()


@pytest.fixture
def page(chrome: Browser) -> Iterator[Page]:
    page = chrome.new_page(viewport={"width": 1300, "height": 700})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []


def expect_shown(page: Page, name: str, tab: str) -> None:
    expect(page.locator(".pl-active .pl-pass-name")).to_have_text(name)
    expect(page.locator(".pl-step .pl-tabs [aria-selected=true]")).to_have_text(tab)


def test_an_address_leads_to_a_pass_a_tab_and_a_line(page: Page, address: str) -> None:
    page.goto(f"{address}#pass=2&tab=diff&line=31")
    expect_shown(page, "FuseOps", "Diff")
    selected = page.locator(".pl-side.pl-selected, .pl-selected .pl-side").last
    expect(selected).to_contain_text("31")
    expect(selected).to_be_in_viewport()


def test_what_the_reader_does_is_in_the_address_and_survives_a_reload(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".pl-pipeline").focus()
    assert page.evaluate("location.hash") == ""
    for key in ("g", "j", "1"):
        page.keyboard.press(key)
    page.locator(".pl-row:visible", has_text="%20 =").first.click(position={"x": 300, "y": 8})
    expect(page).to_have_url(f"{address}#pass=1&tab=ir&line=22")
    page.reload()
    expect_shown(page, "InferType", "IR")
    expect(page.locator(".pl-row.pl-selected:visible")).to_contain_text("%20 =")


def test_an_address_that_is_changed_by_hand_is_followed(page: Page, address: str) -> None:
    page.goto(f"{address}#pass=1&tab=table")
    expect_shown(page, "InferType", "Table")
    page.evaluate("location.hash = '#pass=3&tab=ir'")
    expect_shown(page, "ToANormalForm", "IR")
    page.evaluate("location.hash = '#mode=compare'")
    expect(page.locator(".pl-compare")).to_be_visible()


@pytest.mark.parametrize(
    "words", ["pass=99", "tab=nothing", "line=-4", "line=99999", "line=x", "mode=%3Cimg%3E", "&&==", "top=1e9", "at=x"]
)
def test_an_address_that_means_nothing_is_no_error(page: Page, address: str, words: str) -> None:
    page.goto(f"{address}#{words}")
    expect(page.locator(".pl-active .pl-pass-name")).to_have_text("FuseOps")


def test_a_page_of_a_run_has_its_instant_in_the_address(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    passlab.vm.Debugger(passlab.parse("def @main() { add(tanh(2f), multiply(3f, 4f)) }")).trace.to_html(path)
    page.goto(path.as_uri())
    page.locator(".pl-stepper").focus()
    page.keyboard.press("s")
    page.keyboard.press("s")
    expect(page).to_have_url(f"{path.as_uri()}#at=2")
    page.reload()
    expect(page.locator(".pl-position")).to_have_value("2")


def test_a_view_that_is_drawn_again_shows_the_same(chrome: Browser) -> None:
    widget = show(recorded())
    with widget_page(widget, chrome, (1300, 700)) as (page, _):
        for key in ("g", "j", "1"):
            page.keyboard.press(key)
        box = page.locator(".pl-body .pl-scroll:visible")
        box.evaluate("box => { box.scrollTop = 700; }")
        page.wait_for_timeout(600)  # of `DELAY` in place.js
        page.keyboard.press("x")
        expect(page.locator(".pl-compare")).to_be_visible()
        page.wait_for_timeout(600)
    assert widget.place == {"step": "1", "tab": "ir", "top": 700, "mode": "compare"}
    with widget_page(widget, chrome, (1300, 700)) as (page, _):
        expect(page.locator(".pl-compare")).to_be_visible()
        page.keyboard.press("x")
        expect_shown(page, "InferType", "IR")
        page.wait_for_function(
            "[...document.querySelectorAll('.pl-body .pl-scroll')].some(box => box.scrollTop === 700)"
        )


def test_a_graph_is_seen_again_as_it_was_looked_at(chrome: Browser) -> None:
    """In a widget of its own, in the tab of an explorer, and in an exported page."""
    transform = "() => document.querySelector('.pl-canvas > g:not(:empty)').getAttribute('transform')"
    for view, keys in ((graph_view(passlab.parse(NET)), ""), (recorded(), "3")):
        widget = show(view)
        with widget_page(widget, chrome, (1300, 700)) as (page, _):
            if keys:
                page.keyboard.press(keys)
            page.get_by_role("button", name="close the hints").click()
            page.wait_for_timeout(100)  # for the canvas, which grows
            page.locator(".passlab").focus()
            page.wait_for_selector(".pl-box")
            page.keyboard.press("0")
            whole = page.evaluate(transform)
            for key in ("+", "+", "+"):
                page.keyboard.press(key)
            near = page.evaluate(transform)
            assert near != whole
            page.wait_for_timeout(600)
        assert [float(part) for part in widget.place["graph"].split(",")][2] > 0
        with widget_page(widget, chrome, (1300, 700)) as (page, _):
            page.wait_for_selector(".pl-box")
            numbers, kept = (re.findall(r"[-\d.]+", text) for text in (near, page.evaluate(transform)))
            assert [float(one) for one in kept] == pytest.approx([float(one) for one in numbers], abs=3)
            page.get_by_role("button", name="close the hints").click()
            page.wait_for_timeout(100)  # for the canvas, which grows
            page.locator(".passlab").focus()
            page.keyboard.press("0")
            assert page.evaluate(transform) != near
            page.wait_for_timeout(600)
        assert widget.place["graph"] == ""


@pytest.mark.parametrize("words", ["1,2", "1,2,3,4", "a,b,c", "1,2,0", "1,2,1e9", "1e99,0,1", ",,", "NaN,0,1"])
def test_an_address_of_no_camera_shows_the_whole_graph(page: Page, address: str, words: str) -> None:
    page.goto(f"{address}#tab=graph&graph={words}")
    expect_shown(page, "FuseOps", "Graph")
    canvas = page.locator(".pl-canvas:visible").bounding_box()
    box = page.locator(".pl-box").first.bounding_box()
    assert canvas is not None
    assert box is not None
    assert canvas["x"] < box["x"] < canvas["x"] + canvas["width"]


def test_a_pipeline_of_what_if_is_there_again_and_can_be_taken_back(chrome: Browser) -> None:
    widget = show(recorded())
    with widget_page(widget, chrome) as (page, _):
        page.keyboard.press("w")
        page.locator(".pl-edit-on").nth(1).click()
        expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(1)
        page.wait_for_timeout(600)  # until the bookmark is kept
    with widget_page(widget, chrome) as (page, _):
        expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(1)
        page.keyboard.press("Control+z")
        expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(0)
        page.keyboard.press("Control+y")
        expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(1)
