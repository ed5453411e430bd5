"""An analysis at work in a page: forward and back, and what each decision changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import passlab
from passlab.display import solving_view
from passlab.lab import watch_solver
from passlab.notebook.widgets import show
from tests.browser.lab_page import browser
from tests.browser.widget_page import widget_page

pytestmark = pytest.mark.browser
NET = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = exp(%0);
  %2 = add(%0, %1);
  sum(%2, axis=[1])
}"""


def test_states_follow_the_keys_and_the_slider(chromium: Path) -> None:
    run = watch_solver(passlab.parse(NET), "fusion")
    lines = [text for text in run.state(1).values() if text.startswith("group")]
    with browser(chromium) as chrome, widget_page(show(solving_view(run)), chrome, (1000, 500)) as (page, _):
        groups = page.locator(".pl-state", has_text="group")
        expect(page.locator(".pl-state")).to_have_count(len(run.start))
        expect(groups).to_have_count(0)
        page.locator(".pl-solving").focus()
        page.keyboard.press("j")
        expect(page.locator(".pl-solving-message")).to_contain_text(run.steps[0].said)
        expect(groups).to_have_text(lines)
        expect(page.locator(".pl-state-fresh")).to_have_count(len(run.steps[0].changed))
        page.keyboard.press("k")
        expect(groups).to_have_count(0)
        page.locator(".pl-solving-range").fill(str(len(run.steps)))
        expect(page.locator(".pl-solving-where")).to_have_text(f"{len(run.steps)} of {len(run.steps)}")
        expect(groups).to_have_text(lines)
