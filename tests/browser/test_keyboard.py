"""The whole gesture in JupyterLab without a mouse: from a model to a line, its passes, its box, its instruction, its value.

From cell to cell one goes with Tab, as in any page; inside a view its own keys serve. The program is one that no lesson
has: a gated sum of two branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
CELLS = [
    "%load_ext passlab",
    """%%relay gate --show none
def @main(%x: Tensor[(3, 8), float32], %a: Tensor[(8, 8), float32], %b: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %a, units=8);
  %1 = sigmoid(nn.dense(%x, %b, units=8));
  %2 = multiply(tanh(%0), %1);
  nn.softmax(add(%2, multiply(%x, 1f)))
}""",
    "%passes gate InferType, SimplifyExpr, FoldConstant, EliminateCommonSubexpr, FuseOps -O 3 -o lowered -r rec",
    "%vm rec --random 5",
]
TABS = 60  # at most, from one view to the next
_WHERE = """look => {
  const view = document.activeElement.closest(".passlab");
  return view && view.matches(look) ? (document.activeElement === view ? "view" : "inside") : "";
}"""


@pytest.fixture(scope="module")
def page(chromium: Path) -> Iterator[LabPage]:
    """A notebook with an explorer and a stepper, run."""
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("gate.ipynb", map(new_code_cell, CELLS))
        with LabPage.opened(server, chrome, "gate.ipynb") as opened:
            opened.run_all()
            yield opened
            assert opened.page_errors == []


def tab_to(page: Page, look: str) -> None:
    """Press Tab until a view has the focus."""
    for _ in range(TABS):
        if page.evaluate(_WHERE, look) == "view":
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {look}")


def press(page: Page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def select_line(page: Page, view: Locator, text: str) -> None:
    """Walk down the lines of the program to the one that holds a text."""
    for _ in range(30):
        page.keyboard.press("s")
        if text in "".join(view.locator(".pl-row.pl-selected:visible").all_inner_texts()):
            return
    raise AssertionError(f"no line with {text} was selected")


def test_from_a_line_of_the_model_to_its_value_in_the_machine(page: LabPage) -> None:
    keyboard = page.page
    expect(page.cell(2).locator(".pl-pipeline")).to_be_visible()
    explorer, stepper = page.cell(2).locator(".pl-pipeline"), page.cell(3).locator(".pl-stepper")
    expect(stepper).to_be_visible()
    keyboard.evaluate("""() => {
      const {content} = window.jupyterapp.shell.currentWidget;
      content.activeCellIndex = 2;
      content.widgets[2].node.focus();
    }""")

    tab_to(keyboard, ".pl-pipeline")
    press(keyboard, "g 1")  # the input, as text
    expect(explorer.locator(".pl-step-name")).to_have_text("input")
    select_line(keyboard, explorer, "sigmoid(")

    press(keyboard, "G 1")  # its line in the last pass
    expect(explorer.locator(".pl-step-name")).to_contain_text("FuseOps")
    expect(explorer.locator(".pl-row.pl-selected:visible", has_text="sigmoid(").first).to_be_visible()
    press(keyboard, "g J")  # the next pass that touched it
    expect(explorer.locator(".pl-step-name")).not_to_have_text("input")
    press(keyboard, "G 3")  # its box
    expect(explorer.locator(".pl-box.pl-selected-box:visible").first).to_contain_text("sigmoid", timeout=20_000)

    tab_to(keyboard, ".pl-stepper")
    lit = stepper.locator(".pl-inst.pl-selected")
    expect(stepper.locator(".pl-inst.pl-selected", has_text="sigmoid")).not_to_have_count(0)  # its instruction
    press(keyboard, "g")
    for _ in range(20):
        if "sigmoid" in stepper.locator(".pl-inst.pl-current").inner_text():
            break
        press(keyboard, "m")  # to the kernel
    expect(stepper.locator(".pl-inst.pl-current")).to_contain_text("sigmoid")
    press(keyboard, "s")
    expect(stepper.locator(".pl-value-text").first).to_contain_text("float32")  # its value
    press(keyboard, "t t")
    expect(stepper.locator(".pl-tabs [aria-selected=true]")).to_have_text("History")
    press(keyboard, "Escape")
    expect(lit).to_have_count(0)
    expect(explorer.locator(".pl-box.pl-selected-box")).to_have_count(0)
