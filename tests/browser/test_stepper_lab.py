"""The stepper in JupyterLab, with a kernel: what is only there with one, in both themes.

`PASSLAB_SCREENSHOTS=folder` keeps pictures, light and dark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
CELLS = [
    "%load_ext passlab\nimport numpy as np",
    """%%relay net --show none
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %h = nn.dense(%x, %w);
  let %l = log(%h - 1f);
  nn.softmax(%l)
}""",
    'x, w = np.full((2, 3), 0.3, "float32"), np.ones((4, 3), "float32")\n%vm net --args x,w --break nn.softmax -o dbg',
    "dbg.at, dbg.now.operators",
    "%vm net --args x,w --break nn.sofmax",
]


@pytest.fixture(scope="module")
def opening(chromium: Path) -> Iterator[tuple[LabPage, str]]:
    """A notebook that opens a stepper, run, and the position at which the stepper opened."""
    cells = [
        new_code_cell(source, metadata={"tags": ["raises-exception"]} if "sofmax" in source else {}) for source in CELLS
    ]
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("stepper.ipynb", cells)
        with LabPage.opened(server, chrome, "stepper.ipynb") as opened:
            opened.run_all()
            stepper = opened.cell(2).locator(".pl-stepper")
            expect(stepper.locator(".pl-stop-chip")).to_contain_text("nn.softmax")
            yield opened, position(stepper)


@pytest.fixture(scope="module")
def page(opening: tuple[LabPage, str]) -> LabPage:
    """The notebook that opens a stepper."""
    return opening[0]


@pytest.fixture
def stepper(page: LabPage) -> Locator:
    """The stepper, focused, at the start."""
    stepper = page.cell(2).locator(".pl-stepper")
    stepper.locator(".pl-pane-title").first.click()
    stepper.focus()
    page.page.keyboard.press("g")
    return stepper


def position(stepper: Locator) -> str:
    return stepper.locator(".pl-position").input_value()


def test_it_opens_at_the_breakpoint(opening: tuple[LabPage, str]) -> None:
    page, first = opening
    at, operators = eval_output(page, 3)
    assert operators == ["nn.softmax"]
    assert first == str(at)


def eval_output(page: LabPage, number: int) -> tuple[int, list[str]]:
    """The tuple that a cell gave."""
    text = "".join(page.code_cells()[number]["outputs"][0]["data"]["text/plain"])
    at, _, rest = text.strip("()").partition(", ")
    return int(at), json.loads(rest.replace("'", '"'))


def test_a_wrong_breakpoint_ends_in_a_diagnostic(page: LabPage) -> None:
    (error,) = [o for o in page.code_cells()[4]["outputs"] if o["output_type"] == "error"]
    shown = "\n".join(error["traceback"])
    assert "did you mean `nn.softmax`" in shown
    assert "Traceback" not in shown


def test_what_is_stepped_to_is_where_the_debugger_is(page: LabPage, stepper: Locator) -> None:
    for _ in range(3):
        page.page.keyboard.press("s")
    assert position(stepper) == "3"
    page.page.wait_for_timeout(400)  # the kernel is told where stepping came to rest
    asked = """async () => {
      const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
      const future = kernel.requestExecute({ code: "", user_expressions: { at: "dbg.at" }, store_history: false });
      const reply = await future.done;
      return reply.content.user_expressions.at.data["text/plain"];
    }"""
    assert page.page.evaluate(asked) == "3"


def test_the_list_of_keys_has_a_key_and_what_it_does_on_a_line(page: LabPage, stepper: Locator) -> None:
    page.page.keyboard.press("?")
    (key, does) = (stepper.locator(f".pl-keys {name}").first.bounding_box() for name in ("dt", "dd"))
    assert key is not None
    assert does is not None
    assert key["x"] + key["width"] + 8 <= does["x"]
    assert abs(key["y"] - does["y"]) < 8
    page.page.keyboard.press("Escape")


def test_a_fork_runs_on_beside_the_original(page: LabPage, stepper: Locator) -> None:
    keyboard = page.page.keyboard
    keyboard.press("c")
    keyboard.press("ArrowUp")
    register = stepper.locator(".pl-register", has_text="NaN").first
    register.click()
    stepper.focus()
    keyboard.press("w")
    keyboard.press("e")
    keyboard.type("2")
    keyboard.press("Enter")
    expect(stepper.locator(".pl-branch")).to_contain_text("both follow the same path; another result", timeout=20_000)
    expect(stepper.locator(".pl-branch-table")).to_contain_text("nn_softmax")
    expect(stepper.locator(".pl-stop-chip")).to_contain_text(["nn.softmax"])
    keyboard.press("G")
    expect(stepper.locator(".pl-value-head")).to_contain_text("0.25 .. 0.25")
    stepper.get_by_role("button", name="back to the original").click()
    expect(stepper.locator(".pl-branch")).to_be_hidden()
    expect(stepper.locator(".pl-stop-chip:not(.pl-watch-chip)")).to_contain_text(["nn.softmax"])
    expect(stepper.locator(".pl-watch-chip")).to_have_count(1)
    stepper.locator(".pl-watch-chip").click()
    stepper.focus()
    keyboard.press("G")
    expect(stepper.locator(".pl-value-head")).to_contain_text("8 NaN")


def test_it_is_saved_as_a_page(page: LabPage, stepper: Locator, tmp_path: Path) -> None:
    with page.page.expect_download(timeout=20_000) as download:
        page.page.keyboard.press("x")
    path = tmp_path / "run.html"
    download.value.save_as(path)
    assert "pl-stepper" in path.read_text(encoding="utf-8")


def test_keys_are_not_commands_of_the_notebook(page: LabPage, stepper: Locator) -> None:
    count = page.count()
    for key in ("a", "b", "x", "d", "d", "b"):
        page.page.keyboard.press(key)
    assert page.count() == count
    assert page.page_errors == []
    assert page.asked_elsewhere == []


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_pictures_are_kept(page: LabPage, stepper: Locator, theme: str, screenshots: Path) -> None:
    page.theme(f"JupyterLab {theme}")
    page.page.keyboard.press("c")
    assert page.picture(2, screenshots / f"stepper-lab-{theme.lower()}.png").stat().st_size
