"""Find in all steps and copy as code, on a program with data types, recursion, closures and references."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab.display import diff_view, recording_view
from passlab.display.views import recording as recording_views
from passlab.lab.recordings.recording import Recording
from passlab.notebook.widgets import show
from tests.browser.widget_page import Kernel, widget_page
from tests.display.view_examples import EXAMPLES, LIVE

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
PROGRAM = """
type Shape { Circle(Tensor[(), float32]), Pair(Shape, Shape) }
def @area(%s: Shape) -> Tensor[(), float32] {
  match (%s) { Circle(%r) => multiply(multiply(%r, %r), 3f), Pair(%l, %m) => add(@area(%l), @area(%m)) }
}
def @twice(%f: fn (Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32], %x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
  %f(%f(%x))
}
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32], %b: Tensor[(8), float32]) {
  let %cell = ref(%x);
  let %scale = multiply(exp(0f), 2f);
  let %step = fn (%v: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
    nn.relu(nn.bias_add(multiply(nn.dense(%v, %w, units=8), %scale), %b))
  };
  let %y = @twice(%step, ref_read(%cell));
  let %u = ref_write(%cell, %y);
  (add(ref_read(%cell), multiply(@area(Pair(Circle(2f), Circle(3f))), sqrt(%y))), nn.softmax(%y, axis=-1))
}
"""
PASSES = "InferType, FoldConstant, FastMath, ToANormalForm, FuseOps(fuse_opt_level=2)"
VISIBLE = ".pl-body .pl-row:visible"
FOUND = ".pl-body .pl-row.pl-row-found:visible"


@pytest.fixture(scope="module")
def rec() -> Recording:
    return passlab.record(passlab.parse(PROGRAM), PASSES, 4, name="shapes")


@pytest.fixture
def opened(rec: Recording, chrome: Browser) -> Iterator[tuple[Page, Kernel]]:
    with widget_page(show(recording_view(rec)), chrome, size=(1400, 700)) as pair:
        yield pair


def found(page: Page, text: str) -> None:
    page.keyboard.press("Control+f")
    page.locator(".pl-find-panel input").fill(text)


def pasted(page: Page) -> str:
    """What is on the clipboard."""
    page.evaluate(
        "() => { window.sheet = document.body.appendChild(document.createElement('textarea')); sheet.focus(); }"
    )
    page.keyboard.press("Control+v")
    return page.evaluate("() => { sheet.remove(); return sheet.value; }")  # type: ignore[no-any-return]


def test_find_lists_the_lines_of_all_steps_also_those_that_are_not_drawn(opened, rec):
    page, _ = opened
    page.keyboard.press("g")
    page.keyboard.press("1")
    found(page, "sqrt(")
    programs = [step.after for step in rec.steps]
    with_it = [
        line.text
        for at, mod in enumerate(programs)
        if mod is not programs[at - 1] or not at
        for line in recording_view(rec).lines(mod)
        if "sqrt(" in line.text
    ]
    hits = page.locator(".pl-find-list .pl-find-row:not(.pl-find-head) .pl-text")
    expect(hits).to_have_count(len(with_it))
    for _ in with_it:
        page.keyboard.press("Enter")
        expect(page.locator(FOUND)).to_contain_text("sqrt(")
    expect(page.locator(".pl-step-name")).to_have_text(rec.steps[-1].text)
    page.locator(".passlab").focus()
    page.keyboard.press("Shift+F3")
    expect(page.locator(".pl-step-name")).to_have_text("ToANormalForm")
    page.keyboard.press("Escape")
    expect(page.locator(".pl-find-panel")).to_be_hidden()
    expect(page.locator(".pl-found-word:visible")).to_have_count(0)


def test_find_goes_to_the_line_in_the_difference_too(opened):
    page, _ = opened
    page.keyboard.press("2")
    found(page, "= nn.fast_softmax")
    page.keyboard.press("Enter")
    row = page.locator(".pl-diff .pl-row-found[data-side='1']:visible")
    expect(row).to_contain_text("= nn.fast_softmax")
    expect(row.locator(".pl-found-word").first).to_be_visible()


def test_the_kernel_answers_for_a_recording_that_is_not_all_in_the_page(rec, chrome, monkeypatch):
    monkeypatch.setattr(recording_views, "LARGE", 1)
    monkeypatch.setattr(recording_views, "HUGE", 1)
    with widget_page(show(recording_view(rec)), chrome) as (page, kernel):
        found(page, "/fast_\\w+/")
        expect(page.locator(".pl-find-count")).to_contain_text("3 steps")
        page.keyboard.press("Enter")
        expect(page.locator(".pl-step-name")).to_have_text("FastMath")
        expect(page.locator(FOUND)).to_contain_text("fast_softmax")
        assert any("find" in sent.get("content", {}) for sent in kernel.sent)


def test_a_side_of_a_difference_is_copied_as_code(opened, rec):
    page, _ = opened
    page.keyboard.press("g")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("2")
    expect(page.locator(".pl-step-name")).to_have_text("FastMath")
    for side, mod in ((0, rec.steps[3].before), (1, rec.steps[3].after)):
        page.locator(f".pl-diff .pl-side[data-side='{side}'] .pl-number").first.click()
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")
        text = pasted(page)
        assert passlab.structural_equal(passlab.parse(text), mod)
        page.locator(".passlab").focus()


def test_a_selection_is_copied_without_numbers_names_of_passes_and_types(opened, rec):
    page, _ = opened
    page.set_viewport_size({"width": 700, "height": 700})  # narrow: lines are broken
    page.keyboard.press("G")
    page.keyboard.press("1")
    rows = page.locator(VISIBLE)
    expect(rows.first).to_be_visible()
    page.evaluate("() => document.querySelector('.pl-body .pl-scroll').scrollTo(0, 0)")
    first, last = rows.nth(0).locator(".pl-text"), rows.nth(9).locator(".pl-text")
    first.hover(position={"x": 1, "y": 10})
    page.mouse.down()
    box = last.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 10, steps=5)
    page.mouse.up()
    page.keyboard.press("Control+c")
    whole = "\n".join(line.text for line in recording_view(rec).lines(rec.output))
    text = pasted(page)
    assert text
    assert whole.startswith(text)


def test_a_difference_by_itself_has_a_search(rec, chrome):
    with widget_page(show(diff_view(passlab.diff(rec[0].after, rec.output))), chrome) as (page, _):
        page.keyboard.press("Control+f")
        page.keyboard.type("ref_read")
        expect(page.locator(".pl-found")).to_contain_text("of ")
        page.keyboard.press("Enter")
        expect(page.locator(".pl-row-found .pl-found-word").first).to_have_text("ref_read")
        page.keyboard.press("Escape")
        expect(page.locator(".pl-found-word")).to_have_count(0)


@pytest.mark.parametrize("name", LIVE)
def test_ctrl_f_finds_in_every_view_that_does_not_hold_all_its_rows_in_the_page(name: str, chrome: Browser) -> None:
    kind = "prospects" if name == "ProspectsView" else ""
    with widget_page(show(EXAMPLES[name]()), chrome, size=(1200, 900), kind=kind) as (page, _):
        virtual = page.locator(".pl-space:visible").count()
        page.keyboard.press("Control+f")
        focused = page.evaluate("() => document.activeElement.matches('.passlab input')")
        assert focused or not virtual


def test_a_text_is_found_in_the_instructions_of_a_run_in_values_and_beside_a_solver(chrome: Browser) -> None:
    for view, kind, word in (
        (EXAMPLES["StepperView"](), ".pl-inst", "alloc_storage"),
        (EXAMPLES["NodeValuesView"](), ".pl-row", "%"),
        (EXAMPLES["SolvingView"](), ".pl-row", "%"),
    ):
        with widget_page(show(view), chrome, size=(1200, 900)) as (page, _):
            page.keyboard.press("Control+f")
            page.keyboard.type(word)
            page.keyboard.press("Enter")
            expect(page.locator(".pl-found")).to_contain_text(" of ")
            expect(page.locator(f"{kind}.pl-row-found")).to_contain_text(word)
            first = page.locator(".pl-found").inner_text()
            page.keyboard.press("F3")
            expect(page.locator(".pl-found")).not_to_have_text(first)
            page.locator("input:focus").fill("no such text")
            expect(page.locator(".pl-found")).to_have_text("not there")
            page.keyboard.press("Escape")
            expect(page.locator(".pl-found")).to_have_text("")
            expect(page.locator(f"{kind}.pl-row-found")).to_have_count(0)
