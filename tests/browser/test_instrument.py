"""What an instrument measured, as a table that is sorted and filtered; what one printed, as lines that open."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import passlab
import passlab.notebook
from passlab.instrument import PassInstrument, PrintIRAfter, StatisticsInstrument
from passlab.instrument.presenter import Presenter
from passlab.notebook.printed import PrintedCells
from passlab.table import Table
from passlab.transform import get_pass, module_pass
from tests.browser.lab_page import browser
from tests.browser.widget_page import tell, widget_page

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


TAKEN_APART = """def @main(%x: Tensor[(1, 4, 6, 6), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  nn.relu(nn.batch_norm(%x, %g, %b, %m, %v).0)
}"""


def printed(printer: PrintIRAfter) -> PrintIRAfter:
    @module_pass(opt_level=0, name="Broken")
    def broken(mod: Any, ctx: Any) -> Any:
        raise ValueError("no way\non")

    passes = [get_pass("InferType"), get_pass("SimplifyInference"), broken]
    passlab.record(passlab.parse(TAKEN_APART), passes, opt_level=4, instruments=[printer])
    return printer


def test_what_was_printed_is_a_line_a_pass_that_opens_to_its_diff_by_keys_alone(chromium: Path) -> None:
    printer = printed(PrintIRAfter(diff=True, file=io.StringIO()))
    with browser(chromium) as chrome, widget_page(passlab.notebook.show(printer), chrome, (900, 600)) as (page, kernel):
        heads = page.locator(".pl-printed-head")
        expect(heads).to_have_count(len(printer.steps))
        expect(page.locator(".pl-row")).to_have_count(0)
        page.keyboard.press("c")
        names = [step.name for step in printer.steps if step.note != "no change"]
        expect(page.locator(".pl-printed:visible .pl-pass-name b")).to_have_text(names)
        page.keyboard.press("g")
        page.keyboard.press("Enter")
        expect(page.locator(".pl-row-removed").first).to_contain_text("nn.batch_norm")
        line = page.locator(".pl-row-added .pl-text", has_text="sqrt(").first
        line.click(position={"x": 4, "y": 8})
        expect(line.locator("xpath=ancestor::*[contains(@class, 'pl-selected')]").first).to_be_visible()
        (node,) = kernel.widget.selection
        assert node.op.name == "sqrt"
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator(".pl-printed-error")).to_contain_text("no way")
        page.keyboard.press("f")
        page.keyboard.press("f")
        expect(page.locator(".pl-printed-body:visible")).to_have_count(0)


def test_programs_that_were_printed_whole_are_highlighted(chromium: Path) -> None:
    printer = printed(PrintIRAfter(["SimplifyInference"], file=io.StringIO()))
    with browser(chromium) as chrome, widget_page(passlab.notebook.show(printer), chrome, (900, 600)) as (page, _):
        expect(page.locator(".pl-row .pl-op", has_text="nn.relu")).to_be_visible()  # one alone is open
        step = printed(PrintIRAfter(diff=True, file=io.StringIO())).steps[-2]
        assert passlab.notebook.show(step).data["steps"][0]["name"] == step.name


def test_a_printer_in_a_notebook_is_one_widget_that_grows(chromium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("passlab.notebook.printed.display", lambda widget, display_id: shown.append(widget))
    monkeypatch.setattr(Presenter, "show", PrintedCells().show)
    printer = printed(PrintIRAfter())
    (widget,) = shown
    monkeypatch.setattr("passlab.notebook.printed.PATIENCE", 0)  # as if each pass took long
    assert [step["name"] for step in widget.data["steps"]] == [step.name for step in printer.steps]
    printed(printer)
    assert len(shown) == 2
    assert shown[1].view.text() == widget.view.text()
    with browser(chromium) as chrome, widget_page(widget, chrome, (900, 600)) as (page, kernel):
        whole = dict(widget.data)
        widget.data = {**whole, "steps": whole["steps"][:2]}
        tell(page, kernel)
        expect(page.locator(".pl-printed")).to_have_count(2)
        page.keyboard.press("Enter")
        expect(page.locator(".pl-printed-body:visible")).to_have_count(1)
        widget.data = whole
        tell(page, kernel)
        expect(page.locator(".pl-printed")).to_have_count(len(whole["steps"]))
        expect(page.locator(".pl-printed-body:visible")).to_have_count(1)  # what was open stays open
