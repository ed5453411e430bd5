"""A pass that fails, in a page: the user's frames, the line at fault, the node, the message; all frames one click away."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import passlab
from passlab import transform
from passlab.display import recording_view
from passlab.ir.expr import Call, Expr
from passlab.ir.walk import rewrite
from passlab.notebook.widgets import show
from tests.browser.lab_page import browser
from tests.browser.widget_page import widget_page

pytestmark = pytest.mark.browser
NET = "def @main(%x: Tensor[(2), float32]) { nn.relu(exp(%x)) }"


def refuse(before: Expr, node: Expr) -> Expr:
    if isinstance(node, Call) and node.op.name == "exp":
        raise ValueError("no <b>exp</b> here")
    return node


@transform.function_pass(opt_level=0, name="Refuses")
def refuses(function, mod, ctx):
    return rewrite(function, refuse)


def test_the_step_opens_on_its_error(chromium: Path, tmp_path: Path) -> None:
    rec = passlab.record(passlab.parse(NET), transform.Sequential([transform.InferType(), refuses]))
    assert rec.events[-1].status == "failed"
    assert not rec.events[-1].changed
    rec.to_html(tmp_path / "rec.html")
    with browser(chromium) as chrome, widget_page(show(recording_view(rec)), chrome, (1200, 700)) as (widget, _):
        exported = chrome.new_page()
        exported.goto((tmp_path / "rec.html").as_uri())
        for page in (widget, exported):
            expect(page.get_by_role("tab", name="Error")).to_have_attribute("aria-selected", "true")
            expect(page.locator(".pl-error").last).to_contain_text(
                "the pass Refuses raised ValueError: no <b>exp</b> here"
            )
            expect(page.locator(".pl-step-summary:visible")).to_have_count(0)  # the pane has told it
            sources = page.locator("pre.pl-error-source:visible")
            expect(sources).to_have_count(2)  # the pass and the function it rewrites by
            expect(sources.last).to_contain_text('raise ValueError("no <b>exp</b> here")')
            expect(page.get_by_text("working on")).to_be_visible()
            page.get_by_text("the full traceback").click()
            expect(sources.last).to_contain_text("Traceback (most recent call last)")
