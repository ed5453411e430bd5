"""A program that is edited: the pipeline beneath follows the typing, errors stand in their line, the last good result stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from passlab import parse, structural_equal
from passlab.notebook.live import LiveOptions, LiveWidget, cell_ended
from passlab.transform import function_pass
from tests.browser.widget_page import Kernel, tell, widget_page

pytestmark = pytest.mark.browser
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


def test_what_is_typed_runs(live: Live) -> None:
    page, _, names = live
    page.locator(".pl-relay-input").click()
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
    page.locator(".pl-relay-input").fill(NET.replace("nn.relu", "nn.rleu"))
    wrong = page.locator(".pl-relay-wrong")
    expect(wrong).to_contain_text("did you mean `nn.relu`")
    expect(wrong.locator(".pl-relay-number")).to_have_text("3")
    wave, name = wrong.locator(".pl-underline").bounding_box(), wrong.get_by_text("nn.rleu", exact=True).bounding_box()
    assert wave is not None
    assert name is not None
    assert abs(wave["x"] - name["x"]) < 2
    assert abs(wave["width"] - name["width"]) < 2
    expect(page.locator(".pl-pipeline .pl-pass")).to_have_count(3)
    assert names["net"] is before
    page.locator(".pl-relay-input").fill(NET)
    expect(page.locator(".pl-live-state")).to_have_text("")


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
