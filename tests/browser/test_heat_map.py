"""The heat map of a pipeline: a cell for each pass and change, which opens its pipeline beside the one as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import passlab
import passlab.notebook
from passlab import lab
from passlab.display import heat_map_view
from passlab.display.pages.page import write
from tests.browser.lab_page import browser
from tests.browser.widget_page import widget_page

pytestmark = pytest.mark.browser
NET = """def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(3, 6), float32]) {
  %0 = nn.dense(multiply(%x, add(1f, 1f)), %w, units=3);
  nn.relu(add(%0, multiply(2f, 0f)))
}"""
PASSES = "InferType, FoldConstant, SimplifyExpr, FuseOps(fuse_opt_level=2)"


@pytest.fixture(scope="module")
def table() -> lab.WhatIfTable:
    return lab.what_if(passlab.parse(NET), PASSES, seconds=None)


def test_cells_say_what_the_table_says_and_open_their_pipelines_by_keys_alone(
    table: lab.WhatIfTable, chromium: Path
) -> None:
    heat = table.heat_map()
    with browser(chromium) as chrome, widget_page(passlab.notebook.show(table), chrome, (1000, 900)) as (page, kernel):
        texts = [cell for row in heat.rows for cell in row[1:] if cell]
        expect(page.locator(".pl-heat-cell")).to_have_text(texts)
        for key in ("j", "l", "k", "h", "ArrowDown"):
            page.keyboard.press(key)
        expect(page.locator(".pl-heat-cell.pl-active")).to_have_text(heat.rows[1][1])
        expect(page.locator(".pl-heat-facts b")).to_have_text("FoldConstant skipped")
        page.keyboard.press("Enter")
        rows = table.question("skipped", 2).comparison.rows
        expect(page.locator(".pl-aligned")).to_have_count(len(rows))
        variant = kernel.widget.variant
        assert [step.name for step in variant] == ["input", "InferType", "SimplifyExpr", "FuseOps"]
        outcome = table.variant("skipped", 2)
        assert outcome is not None
        assert outcome.module is not None
        assert passlab.structural_equal(variant.output, outcome.module)
        page.keyboard.press("d")
        expect(page.locator(".pl-aligned.pl-first.pl-active")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(".pl-compare")).to_be_hidden()
        page.keyboard.press("Enter")  # the same once more
        expect(page.locator(".pl-compare")).to_be_visible()


def test_each_variant_is_the_recording_of_its_question(table: lab.WhatIfTable) -> None:
    for variant in table.variants:
        assert variant.module is not None
        output = table.question(variant.change, variant.number).recording.output
        assert passlab.structural_equal(output, variant.module), (variant.change, variant.number)
    with pytest.raises(passlab.PasslabError, match="no variant"):
        table.question("moved", len(table.passes))


def test_a_page_shows_the_map_and_says_that_cells_need_a_kernel(
    table: lab.WhatIfTable, chromium: Path, tmp_path: Path
) -> None:
    write(heat_map_view(table), tmp_path / "heat.html")
    with browser(chromium) as chrome:
        page = chrome.new_page()
        page.goto((tmp_path / "heat.html").as_uri())
        page.locator(".pl-heat-cell").first.click()
        expect(page.locator(".pl-heat-view .pl-error")).to_contain_text("needs the running kernel")
