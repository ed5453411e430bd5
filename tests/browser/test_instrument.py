"""What an instrument measured, as a table in a page: sorted by a click, filtered by a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import passlab
import passlab.notebook
from passlab.instrument import PassInstrument, StatisticsInstrument
from passlab.table import Table
from tests.browser.lab_page import browser
from tests.browser.widget_page import widget_page

pytestmark = pytest.mark.browser
NET = "def @main(%x: Tensor[(2), float32]) { nn.relu(exp(nn.relu(%x))) }"


class Shares(PassInstrument):
    """An instrument of a notebook, with a table of its own."""

    def table(self) -> Table:
        return Table(("pass", "share"), [("first", 0.5), ("second", 20.729999999999999)])


def test_numbers_are_rounded_and_start_with_the_largest(chromium: Path) -> None:
    with browser(chromium) as chrome, widget_page(passlab.notebook.show(Shares()), chrome, (600, 300)) as (page, _):
        page.get_by_role("button", name="share").click()
        expect(page.locator(".pl-instrument td:nth-child(2)")).to_have_text(["20.73", "0.50"])


def test_rows_are_sorted_and_filtered(chromium: Path) -> None:
    counts = StatisticsInstrument()
    passlab.record(passlab.parse(NET), "InferType, FuseOps(fuse_opt_level=2), DefuseOps", instruments=[counts])
    table = counts.table()
    with browser(chromium) as chrome, widget_page(passlab.notebook.show(counts), chrome, (1000, 500)) as (page, _):
        rows = page.locator(".pl-instrument tr:has(td)")
        expect(rows).to_have_count(len(table))
        page.get_by_role("button", name="nodes", exact=True).click()
        shown = rows.locator(f"td:nth-child({table.columns.index('nodes') + 1})")
        expect(shown).to_have_text([str(count) for count in sorted(table.column("nodes"), reverse=True)])
        page.locator(".pl-find").fill("defuse")
        expect(rows).to_have_count(len(table.search("defuse")))
