"""An exported recording answers without a kernel: its rewrites one by one, and the difference of any two of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import passlab
from passlab.diffing.diff import diff
from passlab.display.views.diffs import sentence
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.rewrites import rewrites_of
from passlab.testing import resnet
from tests.browser.lab_page import browser

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """def @main(%x: Tensor[(4, 6), float32], %w: Tensor[(5, 6), float32]) {
  %0 = nn.dense(multiply(%x, 1f), %w, units=5);
  %1 = add(%0, 0f);
  maximum(reshape(reshape(%1, newshape=[20]), newshape=[5, 4]), 0f)
}"""
# Rows out of sight are drawn a moment later than those in sight, and all of them once their pane has a height.
ALL_DRAWN = """() => {
  const diff = document.querySelector(".pl-compare .pl-diff");
  const [space, rows] = [diff.querySelector(".pl-space"), diff.querySelector(".pl-rows")];
  return diff.clientHeight === 0 || (rows.childElementCount > 0 && rows.childElementCount * 20 === parseInt(space.style.height));
}"""
PASSES = "InferType, SimplifyExpr, FoldConstant, FuseOps, DefuseOps"


@pytest.fixture(scope="module")
def rec() -> Recording:
    return passlab.record(passlab.parse(NET), PASSES, opt_level=3)


@pytest.fixture
def page(rec: Recording, chromium: Path, tmp_path: Path) -> Iterator[Page]:
    rec.to_html(tmp_path / "rec.html")
    with browser(chromium) as chrome:
        opened = chrome.new_page(viewport={"width": 1400, "height": 800})
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(error.message))
        opened.goto((tmp_path / "rec.html").as_uri())
        expect(opened.locator(".pl-pipeline")).to_be_visible()
        yield opened
        assert errors == []


def test_the_rewrites_of_a_pass_are_played_in_a_page(page: Page, rec: Recording) -> None:
    event = rec["SimplifyExpr"]
    steps = rewrites_of(event)
    assert len(steps) > 1
    page.locator(".pl-pass", has_text="SimplifyExpr").click()
    page.get_by_role("tab", name="Rewrites").click()
    expect(page.locator(".pl-rewrite-row")).to_have_count(len(steps))
    for number, step in enumerate(steps):
        expect(page.locator(".pl-rewrite-rule")).to_have_text(step.rule or event.name)
        expect(page.locator(".pl-rewrite-bar .pl-facts")).to_have_text(f"{number + 1} of {len(steps)}")
        expect(page.locator(".pl-rewrite-pane .pl-diff .pl-row").first).to_be_visible()
        page.keyboard.press("]")
    expect(page.get_by_role("button", name="why was the selected node not rewritten?")).to_have_count(0)


def test_any_two_steps_are_compared_in_a_page(page: Page, rec: Recording) -> None:
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("x")
    ends = page.locator(".pl-compare .pl-ends select:not(.pl-definition)")
    changed: dict[tuple[int, int], dict[str, list[str]]] = {}
    for a, b in ((0, 5), (0, 2), (2, 4), (4, 5), (3, 3), (5, 0), (2, 0), (4, 2), (5, 4)):
        ends.nth(0).select_option(str(a))
        ends.nth(1).select_option(str(b))
        expected = diff(rec.steps[a].after, rec.steps[b].after)
        expect(page.locator(".pl-compare .pl-step-summary")).to_have_text(
            sentence(expected) if expected else "The programs are the same."
        )
        page.wait_for_function(ALL_DRAWN)
        changed[a, b] = {
            look: page.locator(f".pl-compare .pl-side.pl-row-{look} .pl-text").all_inner_texts()
            for look in ("removed", "added")
        }
    for (a, b), lines in changed.items():
        if a > b:  # what went is what came the other way round
            assert (lines["removed"], lines["added"]) == (changed[b, a]["added"], changed[b, a]["removed"])
    assert any(lines["added"] for lines in changed.values())
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("w")  # pipelines cannot run here
    expect(page.locator(".pl-editor:visible")).to_have_count(0)
    page.keyboard.press("x")
    expect(page.locator(".pl-compare")).to_have_count(0)


def test_a_page_of_sixty_passes_stays_under_three_megabytes(tmp_path: Path) -> None:
    ten = "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, SimplifyExpr, CanonicalizeOps"
    passes = ", ".join([f"{ten}, DeadCodeElimination, FuseOps, DefuseOps"] * 6)
    passlab.record(resnet.get_workload(num_layers=50)[0], passes, opt_level=4).to_html(tmp_path / "rec.html")
    assert (tmp_path / "rec.html").stat().st_size < 3_000_000
