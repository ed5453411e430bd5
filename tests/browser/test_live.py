"""A program that is edited: the pipeline beneath follows the typing, errors stand in their line, the last good result stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from passlab import parse, structural_equal
from passlab.notebook.live import LiveOptions, LiveWidget, cell_ended
from passlab.transform import function_pass
from tests.browser.widget_page import Kernel, tell, widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  nn.relu(%0)
}"""
Live = tuple[Page, Kernel, dict[str, Any]]


@pytest.fixture
def live(chrome: Browser) -> Iterator[Live]:
    names: dict[str, Any] = {}
    widget = LiveWidget(NET, "InferType, FuseOps(fuse_opt_level=2)", LiveOptions("net"), names)
    with widget_page(widget, chrome, kind="live") as (page, kernel):
        yield page, kernel, names


EDITOR = ".cm-content"


def write(page: Page, text: str) -> None:
    """Put another text in place of all."""
    page.locator(EDITOR).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_what_is_typed_runs(live: Live) -> None:
    page, _, names = live
    page.locator(EDITOR).click()
    page.keyboard.press("Control+End")
    for _ in range(len("nn.relu(%0)\n}")):
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("tanh(", delay=20)
    expect(page.locator(".pl-relay-wrong")).to_have_count(1)
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("End")
    page.keyboard.type(")", delay=20)
    expect(page.locator(".pl-relay-wrong")).to_have_count(0)
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("g")
    page.keyboard.press("1")
    expect(page.locator(".pl-row:visible", has_text="tanh(")).to_have_count(1)
    assert structural_equal(names["net"], parse(NET.replace("nn.relu(%0)", "tanh(nn.relu(%0))")))


def test_an_error_stands_in_its_line_and_the_last_good_result_stays(live: Live) -> None:
    page, _, names = live
    before = names["net"]
    write(page, NET.replace("nn.relu", "nn.rleu"))
    wrong = page.locator(".pl-relay-wrong")
    expect(wrong).to_contain_text("did you mean `nn.relu`")
    expect(wrong.locator(".cm-lintRange-error")).to_have_text("nn.rleu")
    expect(page.locator(".pl-pipeline .pl-pass")).to_have_count(3)
    assert names["net"] is before
    page.keyboard.press("Control+z")
    expect(wrong).to_have_count(0)
    expect(page.locator(".pl-live-state")).to_have_text("")


def test_undo_brackets_indentation_and_completion_are_those_of_an_editor(live: Live) -> None:
    page, _, names = live
    editor = page.locator(EDITOR)
    editor.click()
    page.keyboard.press("Control+z")  # there is nothing to undo
    expect(page.locator(".cm-line")).to_have_text(NET.split("\n"))
    page.locator(".cm-line").nth(1).click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("let %q = nn.re", delay=20)
    page.get_by_role("option", name="nn.relu", exact=False).first.click()
    page.keyboard.type("(%0", delay=20)
    line = page.locator(".cm-line").nth(2)
    expect(line).to_have_text(re.compile(r"^  let %q = nn\.relu\(%0\)"))  # indented, completed, closed
    page.keyboard.press("End")
    page.keyboard.type(";")
    expect(page.locator(".pl-relay-wrong")).to_have_count(0)
    expect(page.locator(".pl-live-state")).to_have_text("")
    page.wait_for_timeout(400)
    assert "let %q" in str(names["net"])
    for _ in range(12):
        page.keyboard.press("Control+z")
    expect(page.locator(".cm-line")).to_have_text(NET.split("\n"))
    page.keyboard.press("Control+y")
    expect(page.locator(".cm-line")).not_to_have_text(NET.split("\n"))


def test_the_pipeline_is_edited_too(live: Live) -> None:
    page, kernel, _ = live
    page.get_by_label("the pipeline", exact=True).fill("InferType, ToANormalForm, DeadCodeElimination")
    expect(page.locator(".pl-pipeline .pl-pass-name")).to_have_text(
        ["input", "InferType", "ToANormalForm", "DeadCodeElimination"]
    )
    page.get_by_label("the pipeline", exact=True).fill("InferType, ToNormalForm")
    expect(page.locator(".pl-live-problems")).to_contain_text("ToANormalForm")
    assert [step.name for step in kernel.widget.recording][-1] == "DeadCodeElimination"


def test_a_pass_that_another_cell_defines_anew_is_followed(live: Live) -> None:
    page, kernel, names = live

    @function_pass(opt_level=0, name="mine")
    def nothing(function, mod, ctx):
        return function

    @function_pass(opt_level=0, name="mine")
    def second_parameter(function, mod, ctx):
        return type(function)(function.params, function.params[1])

    names["mine"] = nothing
    page.get_by_label("the pipeline", exact=True).fill("InferType, mine")
    expect(page.locator(".pl-pass-unchanged", has_text="mine")).to_have_count(1)
    runs = kernel.widget.recording
    cell_ended()
    assert kernel.widget.recording is runs
    names["mine"] = second_parameter
    cell_ended()
    tell(page, kernel)
    expect(page.locator(".pl-pass-changed", has_text="mine")).to_have_count(1)
    expect(page.locator(".pl-live-state")).to_have_text("runs mine as another cell defines it now")
