"""A view beside its notebook in JupyterLab's dock, over the window in Notebook 7, and its commands in JupyterLab's palette."""

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
    "%load_ext passlab",
    """%%relay loop --show none
def @count(%n: int32, %acc: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
  if (greater(%n, 0)) { @count(subtract(%n, 1), tanh(multiply(%acc, 2f))) } else { %acc }
}
def @main(%x: Tensor[(4, 8), float32]) {
  let %cell = ref(%x);
  let %u = ref_write(%cell, @count(3, ref_read(%cell)));
  add(ref_read(%cell), exp(0f))
}""",
    "%passes loop InferType, FoldConstant, FastMath, ToANormalForm",
]
RUN = """async label => {
  const { commands } = window.jupyterapp;
  const found = commands.listCommands().filter(id => id.startsWith("passlab:") && commands.label(id) === label);
  const shown = found.filter(id => commands.isVisible(id));
  if (shown.length === 1) await commands.execute(shown[0]);
  return shown.length;
}"""


@pytest.fixture(scope="module", params=["jupyterlab", "notebook"])
def page(chromium: Path, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    with LabServer(application=request.param) as server, browser(chromium) as chrome:
        server.write_notebook("loop.ipynb", map(new_code_cell, CELLS))
        with LabPage.opened(server, chrome, "loop.ipynb") as page:
            page.run_all()
            yield page
            assert [error for error in page.page_errors if "notebook_core" not in error] == []


def test_one_key_opens_a_view_beside_the_notebook_and_takes_it_back(page: LabPage, screenshots: Path) -> None:
    dock = page.server.application == "jupyterlab"
    output = page.cell(2).locator(".passlab-output")
    view = output.locator(".pl-pipeline")
    view.focus()
    for key in ("G", "1"):
        page.page.keyboard.press(key)
    name = view.locator(".pl-step-name").inner_text()
    page.page.keyboard.press("O")
    opened = page.page.locator(".passlab-beside .pl-pipeline" if dock else ".pl-pipeline.pl-window")
    expect(opened).to_be_visible()
    page.page.screenshot(path=screenshots / f"beside-{page.server.application}.png")
    box = opened.bounding_box()
    assert box is not None
    assert box["height"] > 700
    assert box["width"] > 400
    expect(opened.locator(".pl-step-name")).to_have_text(name)  # nothing of where the reader was is lost
    expect(opened.locator(".pl-tabs [aria-selected=true]")).to_have_text("IR")
    page.page.keyboard.press("k")  # and it has the keys
    expect(opened.locator(".pl-step-name")).to_have_text("FastMath")
    if dock:
        expect(output.locator(".passlab-line")).to_have_text("This view is open beside the notebook. Take it back")
        output.get_by_role("button", name="Take it back").click()
    else:
        page.page.keyboard.press("O")
    expect(page.page.locator(".passlab-beside, .pl-window")).to_have_count(0)
    expect(view.locator(".pl-step-name")).to_have_text("FastMath")
    expect(output.locator(".passlab-line")).to_be_hidden()


def test_the_commands_of_the_view_that_had_the_focus_stand_in_the_palette(page: LabPage) -> None:
    view = page.cell(2).locator(".pl-pipeline")
    view.focus()
    page.page.keyboard.press("g")
    assert page.page.evaluate(RUN, "Last pass (G)") == 1  # it says the key of the view
    expect(view.locator(".pl-step-name")).to_have_text("ToANormalForm")
    assert page.page.evaluate(RUN, "Next kernel (m)") == 0  # of the stepper, which is not shown


def test_find_and_the_palette_do_not_reach_the_notebook(page: LabPage) -> None:
    view = page.cell(2).locator(".pl-pipeline")
    view.focus()
    page.page.keyboard.press("Control+f")
    page.page.keyboard.type("ref_read")
    expect(view.locator(".pl-find-count")).to_contain_text("lines")
    expect(page.page.locator(".jp-DocumentSearch-overlay")).to_have_count(0)
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Control+k")
    expect(view.get_by_role("dialog", name="Commands")).to_be_visible()
    page.page.keyboard.press("Escape")


def test_a_view_beside_the_notebook_goes_with_its_output(page: LabPage) -> None:
    if page.server.application != "jupyterlab":
        pytest.skip("Notebook 7 has no dock")
    view = page.cell(2).locator(".pl-pipeline")
    view.focus()
    page.page.keyboard.press("O")
    expect(page.page.locator(".passlab-beside")).to_have_count(1)
    page.page.evaluate("() => window.jupyterapp.shell.activateById([...window.jupyterapp.shell.widgets('main')][0].id)")
    page.run_all()
    expect(page.page.locator(".passlab-beside")).to_have_count(0)
    expect(page.cell(2).locator(".pl-pipeline")).to_be_visible()
