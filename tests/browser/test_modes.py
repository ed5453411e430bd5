"""The modes of an explorer: compare two recordings or two steps, and edit the pipeline; the widget itself answers."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import passlab
from passlab import lab
from passlab.display import comparison_view, recording_view
from passlab.lab.recordings.recording import Recording
from passlab.notebook import explorer
from passlab.notebook.widgets import show
from tests.browser.widget_page import Kernel, widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 8), float32], %b: Tensor[(8), float32]) {
  %0 = nn.dense(%x, multiply(%w, 1f + 1f), units=8);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.dropout(nn.relu(%1));
  add(%2.0, exp(0f))
}
"""
PASSES = "InferType, SimplifyInference, FoldConstant, FuseOps(fuse_opt_level=2)"


@pytest.fixture(scope="module")
def rec() -> Recording:
    return passlab.record(passlab.parse(NET), PASSES, name="net")


@pytest.fixture
def asked(rec: Recording, chrome: Browser) -> Iterator[tuple[Page, Kernel]]:
    with widget_page(show(recording_view(rec)), chrome) as opened:
        yield opened


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def differing(page: Page) -> list[str]:
    return page.locator(".pl-aligned.pl-differs .pl-pass-name").all_inner_texts()


def edits(page: Page) -> Locator:
    return page.locator(".pl-edit-row")


def test_two_recordings_are_aligned_and_part_where_compare_says(rec, chrome):
    other = passlab.record(passlab.parse(NET), "InferType, FoldConstant, FuseOps(fuse_opt_level=2)", name="short")
    comparison = lab.compare(rec, other)
    with widget_page(show(comparison_view(comparison)), chrome) as (page, kernel):
        assert differing(page) == [row.name for row in comparison.rows if not row.same]
        expect(page.locator(".pl-first.pl-active")).to_contain_text(comparison.first_divergence.name)
        expect(page.locator(".pl-chips")).to_contain_text("nn.dropout 0 → 1")
        press(page, "G")
        expect(page.locator(".pl-step-summary")).to_have_text(
            comparison.rows[-1].diff().summary.capitalize() + ".", ignore_case=True
        )
        page.get_by_label("step of recording A").select_option("0")
        page.get_by_label("step of recording B").select_option("3")
        value = passlab.diff(rec[0].after, other[3].after).summary
        expect(page.locator(".pl-step-summary")).to_have_text(f"{value}.", ignore_case=True)
        assert {"content": {"pair": [0, 3]}} in kernel.sent


def test_an_explorer_compares_two_of_its_own_steps_and_others_of_the_notebook(asked, rec, monkeypatch):
    other = passlab.record(passlab.parse(NET), "InferType, ToANormalForm")
    monkeypatch.setattr(explorer, "notebook_variables", lambda: {"other": other})
    page, _ = asked
    press(page, "G", "x")
    value = rec.diff(0, 4).summary
    expect(page.locator(".pl-compare .pl-step-summary")).to_have_text(f"{value}.", ignore_case=True)
    page.get_by_label("the recording to compare with").select_option("other")
    expect(page.locator(".pl-aligned", has_text="ToANormalForm")).to_have_count(1)
    page.locator(".passlab").focus()
    press(page, "Escape")
    expect(page.locator(".pl-compare")).to_be_hidden()
    expect(page.locator(".pl-passes:visible .pl-pass-name")).to_have_text(["input", *PASSES.split(", ")])


def test_a_pass_switched_off_runs_the_rest_again_and_both_stand_side_by_side(asked, rec):
    page, kernel = asked
    press(page, "w")
    expect(edits(page)).to_have_count(4)
    edits(page).nth(1).get_by_role("checkbox").click()
    expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(2)
    variant = kernel.widget.variant
    assert [step.name for step in variant] == ["input", "InferType", "FoldConstant", "FuseOps"]
    assert variant[1].after is rec[1].after
    expect(page.locator(".pl-compare .pl-chips")).to_contain_text("nn.dropout 0 → 1")
    page.get_by_role("button", name="reset").click()
    expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(0)


def test_passes_are_inserted_configured_moved_and_repeated_by_keyboard(asked):
    page, kernel = asked
    press(page, "w", "G", "j", "j", "j", "e")
    name = edits(page).nth(3).locator(".pl-edit-name")
    expect(name).to_be_focused()
    name.fill("FuseOps(fuse_opt_level=0)")
    expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(1)
    assert kernel.widget.variant.steps[-1].text == "FuseOps(fuse_opt_level=0)"
    press(page, "Alt+ArrowUp")
    expect(edits(page).nth(2).locator(".pl-edit-name")).to_have_value("FuseOps(fuse_opt_level=0)")
    page.locator(".passlab").focus()
    press(page, "r", "o")
    page.keyboard.type("ToANormalForm")
    expect(edits(page)).to_have_count(6)
    expect(edits(page).nth(4).locator(".pl-mark-changed")).to_be_visible()
    texts = [step.text for step in kernel.widget.variant.steps[1:]]
    assert texts == [
        "InferType",
        "SimplifyInference",
        *["FuseOps(fuse_opt_level=0)"] * 2,
        "ToANormalForm",
        "FoldConstant",
    ]


def test_edits_are_undone_and_made_again(asked):
    page, _ = asked
    press(page, "w")
    expect(edits(page)).to_have_count(4)
    page.locator(".passlab").focus()
    press(page, "g", "Space", "j", "r", "o")
    page.keyboard.type("ToANormalForm")
    expect(edits(page)).to_have_count(6)
    page.locator(".passlab").focus()
    for count in (5, 4, 4):
        press(page, "Control+z")
        expect(edits(page)).to_have_count(count)
    expect(page.locator(".pl-edit-off, .pl-edit-row.pl-differs")).to_have_count(0)
    expect(page.get_by_role("button", name="undo")).to_be_disabled()
    for _ in range(3):
        press(page, "Control+Shift+z")
    expect(edits(page)).to_have_count(6)
    expect(page.locator(".pl-edit-off")).to_have_count(1)
    expect(edits(page).nth(3).locator(".pl-edit-name")).to_have_value("ToANormalForm")


def test_options_are_a_form_with_what_the_pass_declares(asked):
    page, kernel = asked
    press(page, "w", "G", "m")
    form = page.locator(".pl-edit-form")
    field = form.get_by_label("fuse_opt_level")
    expect(field).to_have_value("2")
    expect(field).to_have_attribute("placeholder", "-1")
    field.fill("0")
    expect(edits(page).nth(3).locator(".pl-edit-name")).to_have_value("FuseOps(fuse_opt_level=0)")
    expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(1)
    assert kernel.widget.variant.steps[-1].text == "FuseOps(fuse_opt_level=0)"
    field.fill("")
    expect(edits(page).nth(3).locator(".pl-edit-name")).to_have_value("FuseOps")
    page.locator(".passlab").focus()
    press(page, "k", "m")
    form.get_by_label("fold_qnn").check()
    expect(edits(page).nth(2).locator(".pl-edit-name")).to_have_value("FoldConstant(fold_qnn=True)")


def test_an_edited_pipeline_is_taken_along(asked, rec, monkeypatch):
    page, kernel = asked
    names: dict[str, object] = {"mine": rec.input}
    monkeypatch.setattr(explorer, "get_ipython", lambda: SimpleNamespace(user_ns=names))
    press(page, "w")
    edits(page).nth(1).get_by_role("checkbox").click()
    expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(2)
    page.get_by_role("button", name="copy as %passes").click()
    page.evaluate(
        "() => { window.sheet = document.body.appendChild(document.createElement('textarea')); sheet.focus(); }"
    )
    press(page, "Control+v")
    text = page.evaluate("() => { sheet.remove(); return sheet.value; }")
    assert text == "%passes net InferType, FoldConstant, FuseOps(fuse_opt_level=2) -O 3"
    page.get_by_role("button", name="bind as …").click()
    page.get_by_label("the name in the notebook").fill("shorter")
    press(page, "Enter")
    expect(page.locator(".pl-edit-problem")).to_contain_text("is shorter now")
    assert names["shorter"] is kernel.widget.variant
    page.get_by_role("button", name="keep", exact=True).click()
    expect(page.locator(".pl-compare")).to_be_hidden()
    expect(page.locator(".pl-pass:visible .pl-pass-name")).to_have_text(
        ["input", "InferType", "FoldConstant", "FuseOps(fuse_opt_level=2)"]
    )


def test_what_is_no_pass_is_said_and_the_last_answer_stays(asked):
    page, kernel = asked
    press(page, "w")
    edits(page).nth(2).get_by_role("checkbox").click()
    expect(page.locator(".pl-edit-row.pl-differs")).to_have_count(1)
    before = kernel.widget.variant
    edits(page).nth(1).locator(".pl-edit-name").fill("SimplifyInferenc")
    expect(page.locator(".pl-edit-problem")).to_contain_text("SimplifyInference")
    assert kernel.widget.variant is before
    edits(page).nth(1).locator(".pl-edit-name").fill("SimplifyInference")
    expect(page.locator(".pl-edit-problem")).to_be_hidden()


def test_a_page_without_a_kernel_has_no_such_buttons_nor_words_for_them(rec, chrome, tmp_path):
    rec.to_html(tmp_path / "rec.html")
    page = chrome.new_page()
    page.goto((tmp_path / "rec.html").as_uri())
    expect(page.locator(".pl-pipeline")).to_be_visible()
    expect(page.get_by_role("button", name="what if")).to_have_count(0)
    page.locator(".pl-pipeline").press("?")
    expect(page.get_by_role("dialog")).to_contain_text("compare with another")
    expect(page.get_by_role("dialog")).not_to_contain_text("what if")
    expect(page.locator(".pl-hints")).not_to_contain_text("what if")
    page.close()


def test_the_rewrites_of_a_pass_are_played_one_by_one_and_lit(chrome):
    net = passlab.parse(
        """def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8), float32]) {
          %0 = add(%x, zeros(shape=[8], dtype="float32"));
          %1 = reshape(reshape(%0, newshape=[4, 4]), newshape=[2, 8]);
          multiply(%1, %w)
        }"""
    )
    recording = passlab.record(net, "InferType, SimplifyExpr")
    with widget_page(show(recording_view(recording)), chrome) as (page, _):
        press(page, "G", "6")
        expect(page.locator(".pl-rewrite-row")).to_have_count(2)
        expect(page.locator(".pl-rewrite")).to_contain_text("add(x, n)")
        expect(page.locator(".pl-rewrite .pl-row-removed", has_text="zeros(")).to_be_visible()
        press(page, "]")
        expect(page.locator(".pl-rewrite-bar .pl-facts")).to_have_text("2 of 2")
        press(page, "2")
        expect(page.locator(".pl-selected:visible", has_text="reshape(").first).to_be_visible()
        press(page, "1")
        page.locator(".pl-row:visible", has_text="multiply(").click(position={"x": 300, "y": 8})
        press(page, "6")
        page.get_by_role("button", name="why was the selected node not rewritten?").click()
        expect(page.locator(".pl-misses tr", has_text="multiplying by one")).to_contain_text(
            "its condition does not hold"
        )
        press(page, "j", "k", " ")
        expect(page.locator(".pl-rewrite-row.pl-active")).to_contain_text("2", timeout=4000)


def test_the_graphs_before_and_after_move_together_and_a_neighbourhood_is_seen_alone(asked, rec):
    page, _ = asked
    press(page, "G", "3")
    expect(page.locator(".pl-box", has_text="dense")).to_have_count(1)
    press(page, "v")
    sides = page.locator(".pl-graph-side:visible")
    expect(sides).to_have_count(2)
    expect(sides.first.locator(".pl-box", has_text="dense")).to_be_visible()
    sides.last.locator(".pl-box", has_text="dense").click()
    expect(page.locator(".pl-box.pl-selected-box:visible")).to_have_count(2)
    tops = [side.locator(".pl-box.pl-selected-box").bounding_box() for side in sides.all()]
    assert abs(tops[0]["y"] - tops[1]["y"]) < 8
    page.locator(".passlab").focus()
    press(page, "+")
    scales = page.locator(".pl-graph-side .pl-canvas > g").evaluate_all(
        "all => all.map(g => g.getAttribute('transform').match(/scale\\((.*)\\)/)[1])"
    )
    assert scales[0] == scales[1]
    press(page, "v", "r")
    beyond = page.locator(".pl-graph-side:visible .pl-box.pl-outside-radius")
    near = page.locator(".pl-graph-side:visible .pl-box:not(.pl-outside-radius)")
    first = near.count()
    assert beyond.count() > 0
    press(page, "r")
    assert near.count() > first
