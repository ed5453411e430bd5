"""Columns are dragged and kept, names are whole, and one function of many is shown, on each side its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab.debugger.debugger import Debugger
from passlab.display import recording_view, stepper_view
from passlab.evaluate.samples import random_arguments
from passlab.notebook.widgets import show
from tests.browser.test_find_and_copy import PASSES, PROGRAM
from tests.browser.widget_page import Kernel, widget_page
from tests.display.large_program import LOOP

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
_WIDTHS = """() => [...document.querySelectorAll(".pl-pass-name")].filter(one => one.clientWidth)
  .map(one => [one.scrollWidth, one.clientWidth])"""


@pytest.fixture
def opened(chrome: Browser) -> Iterator[tuple[Page, Kernel]]:
    rec = passlab.record(passlab.parse(PROGRAM), f"{PASSES}, EliminateCommonSubexpr", 4)
    with widget_page(show(recording_view(rec)), chrome, size=(1400, 700)) as pair:
        yield pair


def width(page: Page) -> float:
    box = page.locator(".pl-passes:visible").first.bounding_box()
    assert box is not None
    return box["width"]


def test_names_of_passes_are_whole_and_the_column_is_dragged_and_kept(opened):
    page, kernel = opened
    assert [pair for pair in page.evaluate(_WIDTHS) if pair[0] > pair[1]] == []
    before = width(page)
    border = page.locator(".pl-border:visible")
    box = border.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 83, box["y"] + 200, steps=3)
    page.mouse.up()
    assert abs(width(page) - before - 80) < 4
    border.focus()
    page.keyboard.press("ArrowLeft")
    assert abs(width(page) - before - 56) < 4
    page.wait_for_timeout(500)
    assert abs(kernel.widget.place["width"] - before - 56) < 4
    border.dblclick()
    assert abs(width(page) - before) < 2


def test_one_function_of_many_is_shown_through_all_steps(opened):
    page, _ = opened
    page.keyboard.press("1")
    choice = page.locator(".pl-definition:visible")
    expect(choice.locator("option")).to_have_text(["all functions", "Shape", "@area", "@main", "@twice"])
    choice.select_option("@twice")
    numbers = page.locator(".pl-body .pl-row:visible .pl-number")
    expect(page.locator(".pl-body .pl-row:visible").first).to_contain_text("def @twice(")
    assert int(numbers.first.inner_text()) > 1  # the numbers of the program stay
    page.locator(".passlab").focus()
    page.keyboard.press("G")
    expect(page.locator(".pl-body .pl-row:visible").first).to_contain_text("def @twice(")
    page.keyboard.press("Control+f")
    page.keyboard.type("def @area")
    page.keyboard.press("Enter")  # what is found is shown
    expect(page.locator(".pl-body .pl-row-found:visible")).to_contain_text("def @area")
    expect(choice).to_have_value("")


def test_the_sides_of_a_comparison_choose_theirs(opened):
    page, _ = opened
    page.keyboard.press("G")
    page.keyboard.press("x")
    page.get_by_label("one function of program A, or all").select_option("@area")
    page.get_by_label("one function of program B, or all").select_option("@twice")
    left = page.locator(".pl-compare .pl-side[data-side='0'] .pl-text")
    right = page.locator(".pl-compare .pl-side[data-side='1'] .pl-text")
    expect(left.filter(has_text="def @area(")).to_have_count(1)
    expect(right.filter(has_text="def @twice(")).to_have_count(1)
    expect(left.filter(has_text="def @main(")).to_have_count(0)
    expect(right.filter(has_text="def @main(")).to_have_count(0)


def test_the_columns_of_a_run_are_dragged_and_share_the_width(chrome: Browser) -> None:
    mod = passlab.transform.InferType()(passlab.parse(LOOP))
    debugger = Debugger(mod, *random_arguments(mod["main"], 0))
    with widget_page(show(stepper_view(debugger)), chrome, size=(1400, 700)) as (page, _):

        def widths() -> list[float]:
            boxes = [page.locator(look).bounding_box() for look in (".pl-code-pane", ".pl-values", ".pl-sides")]
            return [box["width"] for box in boxes if box]

        before = widths()
        border = page.locator(".pl-step-columns .pl-border").first
        box = border.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 3, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 123, box["y"] + 100, steps=3)
        page.mouse.up()
        after = widths()
        assert abs(after[0] - before[0] - 120) < 4
        assert abs(sum(after) - sum(before)) < 4
        assert min(after) > 100
        border.dblclick()
        assert all(abs(one - other) < 2 for one, other in zip(widths(), before, strict=True))
        page.set_viewport_size({"width": 640, "height": 700})
        expect(page.locator(".pl-step-columns .pl-border:visible")).to_have_count(0)
