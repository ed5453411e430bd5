"""A live kernel in a real JupyterLab: a program that is edited, a pass defined anew, "what if", rewrites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
CELLS = [
    "%load_ext passlab\nimport passlab",
    "@passlab.transform.module_pass(opt_level=0)\ndef mine(mod, ctx):\n    return mod",
    '%%relay net --live "InferType, SimplifyExpr, mine"\ndef @main(%x: Tensor[(4), float32]) { exp(nn.relu(add(%x, 0f))) }',
    "%passes net InferType, SimplifyExpr, FuseOps(fuse_opt_level=2) -r rec",
    "@passlab.transform.module_pass(opt_level=0)\ndef mine(mod, ctx):\n    return passlab.transform.ToANormalForm()(mod)",
]


@pytest.fixture(scope="module")
def notebook(chromium: Path) -> Iterator[LabPage]:
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("modes.ipynb", map(new_code_cell, CELLS))
        with LabPage.opened(server, chrome, "modes.ipynb") as opened:
            opened.run_all()
            yield opened
            assert opened.page_errors == []
            assert opened.asked_elsewhere == []


def test_the_views_of_a_live_program_follow_the_typing_and_passes_of_other_cells(notebook: LabPage) -> None:
    cell = notebook.cell(2)
    expect(cell.locator(".pl-pass-changed", has_text="mine")).to_have_count(1)  # the last cell defined it anew
    program = cell.locator(".pl-relay-field .cm-content")
    text = "\n".join(program.locator(".cm-line").all_inner_texts())
    program.fill(text.replace("nn.relu", "nn.rleu"))
    expect(cell.locator(".pl-relay-wrong")).to_contain_text("did you mean `nn.relu`")
    program.fill(text.replace("nn.relu", "tanh"))
    expect(cell.locator(".pl-relay-wrong")).to_have_count(0)
    cell.locator(".pl-pass", has_text="input").click()
    expect(cell.locator(".pl-row:visible", has_text="tanh(")).to_have_count(1)


def test_what_if_and_the_rewrites_are_answered_by_the_kernel(notebook: LabPage) -> None:
    cell = notebook.cell(3)
    explorer = cell.locator(".pl-pipeline")
    expect(explorer.locator(".pl-pass", has_text="SimplifyExpr")).to_be_visible()
    explorer.locator(".pl-pass", has_text="SimplifyExpr").click()
    explorer.focus()
    notebook.page.keyboard.press("6")
    expect(explorer.locator(".pl-rewrite")).to_contain_text("add(x, n)")
    notebook.page.keyboard.press("w")
    explorer.locator(".pl-edit-on").nth(1).click()
    expect(explorer.locator(".pl-edit-row.pl-differs")).to_have_count(1)
    explorer.focus()
    notebook.page.keyboard.press("x")
    expect(explorer.get_by_label("the recording to compare with")).to_contain_text("rec")
