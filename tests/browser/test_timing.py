"""The times of passes: a click on a bar looks closer, and passes of one name are added up."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import passlab
from passlab.display import timing_view
from passlab.notebook.widgets import show
from passlab.testing import resnet
from tests.browser.lab_page import browser
from tests.browser.widget_page import widget_page

pytestmark = pytest.mark.browser


def test_a_click_zooms_and_escape_comes_back(chromium: Path) -> None:
    rec = passlab.record(
        resnet.get_workload(num_layers=18)[0],
        "InferType, FoldScaleAxis, FoldConstant, FuseOps, FoldConstant",
        opt_level=4,
    )
    runs = sum(event.name == "FoldConstant" for event in rec.events)
    with browser(chromium) as chrome, widget_page(show(timing_view(rec)), chrome, (1000, 600)) as (page, _):
        bars = page.locator(".pl-flame-bar")
        before = bars.count()
        outer = bars.filter(has_text="FuseOps").first
        narrow = outer.bounding_box()["width"]
        row = page.locator("tr", has=page.locator("td", has_text="FoldConstant"))
        expect(row.locator("td").nth(1)).to_have_text(str(runs))
        outer.click()
        assert bars.filter(has_text="FuseOps").first.bounding_box()["width"] > narrow
        assert bars.count() < before
        page.keyboard.press("Escape")
        expect(bars).to_have_count(before)
        row.click()
        expect(page.locator(".pl-flame-marked").first).to_contain_text("FoldConstant")
