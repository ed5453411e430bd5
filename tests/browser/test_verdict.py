"""What a search came to is an explorer with a verdict: it opens at the guilty pass, and each step says what was found of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab import lab, relay, transform
from passlab.display import bisection_view, culprit_view
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.notebook.widgets import show
from tests.browser.lab_page import browser
from tests.browser.widget_page import Kernel, widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """
def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(6, 6), float32]) {
  %0 = nn.dense(%x, multiply(%w, 1f), units=6);
  subtract(tanh(%0), erf(%0))
}
"""


@transform.function_pass(opt_level=0)
def softens(func, mod, ctx):
    """Takes the sigmoid where the program has a tanh."""

    def rule(before, node):
        return relay.sigmoid(*node.args) if isinstance(node, Call) and node.op == relay.op.get("tanh") else node

    return rewrite(func, rule, only=(Call,))


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with browser(chromium) as launched:
        yield launched


PASSES = [transform.InferType(), transform.SimplifyExpr(), softens, transform.FoldConstant()]


@pytest.fixture(scope="module")
def search() -> lab.Bisection:
    return lab.bisect(passlab.parse(NET), PASSES, opt_level=4)


@pytest.fixture
def opened(search: lab.Bisection, chrome: Browser) -> Iterator[tuple[Page, Kernel]]:
    with widget_page(show(bisection_view(search)), chrome, kind="pipeline") as page:
        yield page


def test_it_opens_at_the_guilty_pass_beneath_the_verdict(opened, search):
    page, _ = opened
    expect(page.locator(".pl-step-name")).to_have_text(search.event.name)
    words = page.locator(".pl-verdict-text").text_content()
    assert words.count(search.why[1:].replace("`", "")) == 1
    assert search.looked_at in words
    expect(page.locator(".pl-verdict [role=img]")).to_have_attribute("aria-label", "a fault was found")


def test_each_step_that_was_looked_at_says_what_was_found(opened, search):
    page, _ = opened
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("i")  # passes inside others, too
    shown = {
        row.get_attribute("data-at"): "pl-verdict-good" in sign.get_attribute("class")
        for row in page.locator(".pl-pass").all()
        for sign in row.locator(".pl-step-verdict").all()
    }
    events = search.recording.events
    assert shown == {str(events.index(verdict.event)): verdict.good for verdict in search.verdicts}
    assert list(shown.values()).count(False) == 1


def test_the_wrong_node_is_selected_from_any_pass_by_a_key(opened, search):
    page, kernel = opened
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("g")
    expect(page.locator(".pl-step-name")).to_have_text("input")
    page.keyboard.press("e")
    expect(page.locator(".pl-step-name")).to_have_text(search.event.name)
    expect(page.locator(".pl-selected .pl-text:visible", has_text="sigmoid(").first).to_be_visible()
    assert kernel.widget.selection == [search.check.node.node]
    page.keyboard.press("g")
    expect(page.locator(".pl-selected .pl-text:visible", has_text="tanh(").first).to_be_visible()


def test_a_program_that_no_pass_broke_says_so(chrome):
    kept = lab.bisect(passlab.parse(NET), "InferType, FoldConstant")
    with widget_page(show(bisection_view(kept)), chrome, kind="pipeline") as (page, _):
        expect(page.locator(".pl-verdict-head.pl-verdict-good")).to_have_text("No pass broke the program")
        expect(page.locator(".pl-verdict-links button")).to_have_count(0)
        expect(page.locator(".pl-step-verdict.pl-verdict-bad")).to_have_count(0)


def test_a_culprit_has_its_smallest_program_and_a_script_beneath_its_sentences(chrome):
    culprit = lab.culprit(passlab.parse(NET), PASSES, seconds=60)
    with widget_page(show(culprit_view(culprit)), chrome, kind="pipeline") as (page, _):
        text = page.locator(".pl-verdict-text").text_content()
        plain = [sentence.replace("`", "") for sentence in culprit.sentences[1:]]
        assert [sentence for sentence in plain if sentence not in text] == []
        sentences = "".join(page.locator(".pl-verdict-text > div").all_inner_texts())
        assert sentences.count(str(culprit.node.finding)) == 1
        expect(page.locator(".pl-step-name")).to_have_text(culprit.event.name)
        program, script = page.locator(".pl-verdict-text details:has(.pl-verdict-code)").all()
        program.locator("summary").click()
        lines = program.locator(".pl-text").all_inner_texts()
        assert lines == culprit.module.astext(show_meta_data=False).rstrip().split("\n")
        assert program.locator(".pl-op").all_inner_texts() != []
        script.locator("summary").click()
        assert script.locator(".pl-text").all_inner_texts() == culprit.script().rstrip().split("\n")
