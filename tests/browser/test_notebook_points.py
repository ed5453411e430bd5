"""Every point of the gesture in Notebook 7 and in JupyterLab: one notebook, run once in each, on a program of no lesson."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
NET = """def @main(%x: Tensor[(2, 4, 6, 6), float32], %w: Tensor[(4, 4, 1, 1), float32], %g: Tensor[(4), float32],
          %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1]);
  %1 = nn.batch_norm(%0, %g, %b, %m, abs(%v));
  %2 = multiply(tanh(%1.0), 1f);
  nn.global_avg_pool2d(subtract(%2, sigmoid(%0)))
}"""
PASSES = "InferType, SimplifyExpr, SimplifyInference, FoldConstant, FuseOps"
CELLS = {
    "start": "%load_ext passlab\nfrom IPython.display import display\nimport passlab\n"
    "from passlab import instrument, lab, relay, transform",
    "program": f"%%relay net --show none\n{NET}",
    "explorer": f"%passes net {PASSES} -O 4 -o lowered -r rec",
    "listing": "relay.vm.compile(lowered)",
    "solver": 'lab.watch_solver(rec.input, "types")',
    "graph": "%graph lowered",
    "blame": "%blame rec",
    "values": "%run lowered --random 0 --watch",
    "what if": f'lab.what_if(net, "{PASSES}")',
    "comparison": 'short = passlab.record(net, "InferType, SimplifyInference", opt_level=4)\nlab.compare(rec, short)',
    "printer": f"with transform.PassContext(opt_level=4, instruments=[instrument.PrintIRAfter(diff=True)]):\n"
    f'    transform.parse_pipeline("{PASSES}")(net)',
    "instruments": "import tempfile\n@instrument.pass_instrument\nclass Own:\n    def __init__(self): self.ran = []\n"
    "    def run_after_pass(self, mod, info): self.ran.append(info.name)\n"
    "ones = [instrument.MemoryInstrument(), instrument.StatisticsInstrument(), instrument.VerifyInstrument(),\n"
    "    instrument.Validate(), instrument.DumpIR(tempfile.mkdtemp()), instrument.TraceInstrument(), Own(),\n"
    "    instrument.PassTimingInstrument(), instrument.Recorder()]\n"
    f'passlab.record(net, "{PASSES}", opt_level=4, instruments=ones)\nfor one in ones:\n    display(one)',
    "live": '%%relay typed --live "InferType, FoldConstant"\ndef @main(%x: Tensor[(3), float32]) { nn.relu(%x) }',
    "failing": "@transform.module_pass(opt_level=0)\ndef breaks(mod, ctx):\n    raise ValueError('not this program')\n"
    "%passes net InferType, breaks",
    "stepper": "%vm lowered --random 3",
}
PLACES = {name: number for number, name in enumerate(CELLS)}


def cells() -> Iterator[NotebookNode]:
    for name, source in CELLS.items():
        yield new_code_cell(source, metadata={"tags": ["raises-exception"]} if name == "failing" else {})


@pytest.fixture(scope="module", params=[pytest.param("notebook", marks=pytest.mark.nightly), "jupyterlab"])
def page(request: pytest.FixtureRequest, chromium: Path) -> Iterator[LabPage]:
    """The notebook, run."""
    with LabServer(application=request.param) as server, browser(chromium) as chrome:
        server.write_notebook("points.ipynb", cells())
        with LabPage.opened(server, chrome, "points.ipynb") as opened:
            opened.run_all()
            yield opened
            # Notebook 7.6 fails to read one of its own settings, with passlab's extension and without.
            assert [error for error in opened.page_errors if "notebook_core" not in error] == []
            assert opened.asked_elsewhere == []


def view(page: LabPage, name: str, look: str) -> Locator:
    """The view of a cell, with the focus in it."""
    value = page.cell(PLACES[name]).locator(look).first
    expect(value).to_be_visible()
    value.focus()
    return value


def press(page: LabPage, *keys: str) -> None:
    for key in keys:
        page.page.keyboard.press(key)


def let_go(page: LabPage) -> None:
    explorer = view(page, "explorer", ".pl-pipeline")
    press(page, "Escape")
    expect(explorer.locator(".pl-biography-strip")).to_be_hidden()


def test_a_line_is_followed_by_its_life_and_lit_in_listing_solver_graph_and_blame(page: LabPage) -> None:
    explorer = view(page, "explorer", ".pl-pipeline")
    press(page, "g", "1")
    explorer.locator(".pl-row:visible", has_text="sigmoid(").click(position={"x": 300, "y": 8})
    expect(explorer.locator(".pl-biography-mark")).to_have_count(len(PASSES.split(",")) + 1)
    for name, look, text in (
        ("listing", ".pl-selected", "fused_nn_conv2d"),
        ("solver", ".pl-selected", "sigmoid("),
        ("graph", ".pl-box.pl-selected-box", "sigmoid"),
        ("blame", ".pl-selected", "sigmoid("),
    ):
        expect(page.cell(PLACES[name]).locator(look, has_text=text).first).to_be_attached()
    let_go(page)
    for name in ("listing", "solver", "blame"):
        expect(page.cell(PLACES[name]).locator(".pl-selected")).to_have_count(0)


def test_an_instruction_is_lit_in_the_explorer(page: LabPage) -> None:
    listing = view(page, "listing", ".pl-module")
    line = listing.locator(".pl-row", has_text="fused_nn_global_avg_pool2d").locator(".pl-text")
    line.click(position={"x": 4, "y": 8})
    explorer = view(page, "explorer", ".pl-pipeline")
    press(page, "g", "1")
    expect(explorer.locator(".pl-row.pl-selected:visible")).to_contain_text("nn.global_avg_pool2d(")
    let_go(page)


def test_the_rewrites_of_a_pass_and_the_decisions_of_a_solver_are_played(page: LabPage) -> None:
    explorer = view(page, "explorer", ".pl-pipeline")
    explorer.locator(".pl-pass", has_text="SimplifyInference").click()
    explorer.focus()
    press(page, "6")
    expect(explorer.locator(".pl-rewrite-row").first).to_be_visible()
    press(page, "1")
    solver = view(page, "solver", ".pl-solving")
    press(page, "g", "j", "j")
    expect(solver.locator(".pl-solving-where")).to_contain_text("2 of")
    let_go(page)


def test_what_if_is_asked_in_place_and_by_the_heat_map(page: LabPage) -> None:
    explorer = view(page, "explorer", ".pl-pipeline")
    press(page, "w", "j", "Space")
    expect(explorer.locator(".pl-edit-row.pl-differs").first).to_be_visible()
    press(page, "w")
    expect(explorer.locator(".pl-editor:visible")).to_have_count(0)
    heat = view(page, "what if", ".pl-heat-view")
    press(page, "j", "j", "Enter")
    expect(heat.locator(".pl-aligned").first).to_be_visible()
    expect(heat.locator(".pl-heat-cell.pl-active")).not_to_have_text("=")
    press(page, "Escape")
    expect(heat.locator(".pl-compare")).to_be_hidden()


def test_two_recordings_stand_side_by_side(page: LabPage) -> None:
    comparison = view(page, "comparison", ".passlab")
    expect(comparison.locator(".pl-aligned.pl-differs").first).to_be_visible()
    press(page, "d")
    expect(comparison.locator(".pl-aligned.pl-first.pl-active")).to_have_count(1)


def test_values_stand_beside_the_lines(page: LabPage) -> None:
    expect(view(page, "values", ".passlab").locator(".pl-fact-range").first).to_be_visible()


def test_what_was_printed_opens_by_keys(page: LabPage) -> None:
    printer = view(page, "printer", ".pl-printer")
    press(page, "c", "g", "Enter")
    expect(printer.locator(".pl-printed-body:visible .pl-diff")).to_have_count(1)


def test_every_instrument_is_a_widget(page: LabPage) -> None:
    cell = page.cell(PLACES["instruments"])
    expect(cell.locator(".pl-instrument")).to_have_count(7)
    expect(cell.locator(".pl-instrument tr:has(td)").first).to_be_attached()
    expect(cell.locator(".pl-flame")).to_have_count(1)
    expect(cell.locator(".pl-pipeline")).to_have_count(1)


def test_what_is_typed_runs(page: LabPage) -> None:
    cell = page.cell(PLACES["live"])
    program = cell.locator(".pl-relay-field .cm-content")
    text = "\n".join(program.locator(".cm-line").all_inner_texts())
    program.fill(text.replace("nn.relu", "nn.rleu"))
    expect(cell.locator(".pl-relay-wrong")).to_contain_text("did you mean `nn.relu`")
    program.fill(text.replace("nn.relu", "tanh"))
    expect(cell.locator(".pl-relay-wrong")).to_have_count(0)


def test_a_failing_pass_shows_its_error(page: LabPage) -> None:
    failing = view(page, "failing", ".pl-pipeline")
    expect(failing.get_by_role("tab", name="Error")).to_have_attribute("aria-selected", "true")
    expect(failing.locator(".pl-error-pane")).to_contain_text("not this program")


def test_a_kernel_of_the_stepper_is_a_node_of_the_recording(page: LabPage) -> None:
    stepper = view(page, "stepper", ".pl-stepper")
    press(page, "g", "s", "s", "S")
    expect(stepper.locator(".pl-position")).not_to_have_value("0")
    explorer = view(page, "explorer", ".pl-pipeline")
    press(page, "g", "1")
    explorer.locator(".pl-row:visible", has_text="nn.global_avg_pool2d(").click(position={"x": 300, "y": 8})
    expect(page.cell(PLACES["stepper"]).locator(".pl-selected").first).to_be_attached()
    let_go(page)
