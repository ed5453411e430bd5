"""One selection: a node that is selected anywhere is lit everywhere, in every step, and its life is told in a strip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab.display.nodes import line_node
from passlab.display.pages.page import write
from passlab.display.pages.page_answers import page_answers
from passlab.display.text.listing import listing
from passlab.display.views.recording import recording_view
from passlab.lab.recordings.recording import Recording

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
# Two branches that meet, one of them a normalisation that is taken apart, so that nodes are rewritten, moved and fused.
NET = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %g: Tensor[(4), float32],
          %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %b, %m, %v);
  %2 = nn.relu(%1.0);
  %3 = sigmoid(%0);
  %4 = multiply(%2, %3);
  nn.global_avg_pool2d(%4)
}
"""
PASSES = "InferType, SimplifyInference, FoldConstant, EliminateCommonSubexpr, FuseOps, ToANormalForm"


@pytest.fixture(scope="module")
def rec() -> Recording:
    return passlab.record(passlab.parse(NET), PASSES, opt_level=4)


@pytest.fixture
def explorer(rec: Recording, chrome: Browser, tmp_path: Path) -> Iterator[Page]:
    view = recording_view(rec)
    write(view, tmp_path / "rec.html", page_answers(view))
    page = chrome.new_page(viewport={"width": 1400, "height": 800})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto((tmp_path / "rec.html").as_uri())
    expect(page.locator(".pl-pipeline")).to_be_visible()
    yield page
    page.close()
    assert errors == []


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def lit(page: Page) -> list[str]:
    """The lines that are lit in the program or the diff."""
    return [text.strip() for text in page.locator(".pl-selected .pl-text:visible").all_inner_texts()]


def test_a_selected_line_is_followed_through_all_passes(explorer: Page, rec: Recording) -> None:
    press(explorer, "g", "1")
    explorer.locator(".pl-row:visible", has_text="sigmoid(").click(position={"x": 300, "y": 8})
    for event in rec.steps[1:]:
        press(explorer, "j", "1")
        expect(explorer.locator(".pl-step-name")).to_have_text(event.text or event.name)
        assert any("sigmoid(" in line for line in lit(explorer)), event.name
        assert not any("nn.conv2d(" in line for line in lit(explorer)), event.name


def test_what_replaced_a_node_is_lit_in_its_place(explorer: Page) -> None:
    press(explorer, "g", "1")
    explorer.locator(".pl-row:visible", has_text="nn.batch_norm(").click(position={"x": 300, "y": 8})
    press(explorer, "J")
    expect(explorer.locator(".pl-step-name")).to_have_text("SimplifyInference")
    expect(explorer.locator(".pl-biography-current")).to_have_class(
        "pl-biography-mark pl-biography-rewritten pl-biography-current"
    )
    press(explorer, "2")
    assert any("nn.batch_norm(" in line for line in lit(explorer)), "the old line of the diff"
    assert any("add(" in line for line in lit(explorer)), "the new line of the diff"


def test_the_row_of_the_selected_node_stays_where_it_is(explorer: Page) -> None:
    explorer.set_viewport_size({"width": 1400, "height": 420})
    press(explorer, "g", "1")
    explorer.locator(".pl-row:visible", has_text="sigmoid(").click(position={"x": 300, "y": 8})
    heights = []
    for _ in range(4):
        box = explorer.locator(".pl-selected").first.bounding_box()
        assert box is not None
        heights.append(box["y"])
        press(explorer, "j")
        explorer.wait_for_timeout(100)
    assert max(heights) - min(heights) <= 60, heights


def test_a_box_of_the_graph_and_a_line_are_one_node(explorer: Page) -> None:
    press(explorer, "g", "3")
    box = explorer.locator(".pl-box", has_text="sigmoid")
    box.click()
    expect(explorer.locator(".pl-biography-name")).to_contain_text("sigmoid(")
    press(explorer, "1")
    assert [line for line in lit(explorer) if "sigmoid(" in line]
    explorer.locator(".pl-row:visible", has_text="multiply(").click(position={"x": 300, "y": 8})
    press(explorer, "3")
    expect(explorer.locator(".pl-box.pl-selected-box")).to_have_count(1)
    expect(explorer.locator(".pl-box.pl-selected-box")).to_contain_text("multiply")


def test_escape_lets_go_and_the_keyboard_does_it_all(explorer: Page) -> None:
    press(explorer, "g", "1", "s", "s", "s")
    expect(explorer.locator(".pl-biography-strip")).to_be_visible()
    first = lit(explorer)
    press(explorer, "s")
    assert lit(explorer) != first
    press(explorer, "S")
    assert lit(explorer) == first
    press(explorer, "Escape")
    expect(explorer.locator(".pl-biography-strip")).to_be_hidden()
    expect(explorer.locator(".pl-selected")).to_have_count(0)


def test_the_strip_says_of_each_pass_what_follow_says(explorer: Page, rec: Recording) -> None:
    node = next(line_node(line) for line in listing(rec.input) if "sigmoid(" in line.text)
    assert node is not None
    press(explorer, "g", "1")
    explorer.locator(".pl-row:visible", has_text="sigmoid(").click(position={"x": 300, "y": 8})
    followed = rec.follow(node)
    marks = explorer.locator(".pl-biography-mark").evaluate_all(
        "marks => marks.map(mark => mark.getAttribute('class'))"
    )
    assert len(marks) == len(followed) == len(rec.steps)
    for mark, (event, nodes) in zip(marks, followed, strict=True):
        assert ("pl-biography-absent" in mark or "pl-biography-gone" in mark) == (not nodes), event.name
    unchanged = [event for event, mark in zip(rec.steps, marks, strict=True) if "pl-biography-same" in mark]
    assert {event.name for event in rec.steps if not event.changed} - {"input"} <= {e.name for e in unchanged}
