"""The other points of the gesture in Notebook 7 and in JupyterLab: large graphs, compositions, searches, runs that branch.

One notebook, run once in each, on programs of no lesson: a tower of equal bodies, and a bag of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
BODY = "let %h{n} = nn.relu(nn.dense({v}, %w, units=6)); let %v{n} = add({v}, tanh(multiply(%h{n}, sigmoid({v}))));"
BODIES = " ".join(BODY.format(n=n, v=f"%v{n - 1}" if n else "%x") for n in range(6))
TOWER = (
    f"def @main(%x: Tensor[(3, 6), float32], %w: Tensor[(6, 6), float32]) {{ {BODIES} nn.softmax(subtract(%v5, %x)) }}"
)
BAG = """type Bag[A] { Empty, Both(A, Bag[A], Bag[A]) }
def @put(%t: Bag[float32], %v: float32) -> Bag[float32] {
  match (%t) {
    Empty => Both(%v, Empty, Empty),
    Both(%a, %l, %r) => if (%v < %a) { Both(%a, @put(%l, %v), %r) } else { Both(%a, %l, @put(%r, %v)) }
  }
}
def @main(%a: float32, %b: float32) { @put(@put(@put(Empty, %a), %b), log(%b - %a)) }"""
PASSES = "InferType, SimplifyExpr, FoldConstant, ToGraphNormalForm, FuseOps"
CELLS = {
    "start": "%load_ext passlab\nimport numpy as np, passlab, ipywidgets\nfrom pathlib import Path\n"
    "from passlab import lab, relay, transform\nfrom passlab.ir.expr import Call\nfrom passlab.ir.walk import rewrite",
    "tower": f"%%relay tower --show none\n{TOWER}",
    "bag": f"%%relay bag --show none\n{BAG}",
    "mine": "@transform.function_pass(opt_level=0)\ndef hardens(func, mod, ctx):\n"
    "    def rule(before, node):\n"
    "        tanh = isinstance(node, Call) and node.op == relay.op.get('tanh')\n"
    "        return relay.clip(node.args[0], -1.0, 1.0) if tanh else node\n"
    "    return rewrite(func, rule, only=(Call,))",
    "explorer": f"%passes tower {PASSES} -O 4 -o low -r rec",
    "graph": "%graph low",
    "bag graph": "%graph bag",
    "composed": "view, where, slider = passlab.notebook.show(rec), ipywidgets.Label('nothing'), ipywidgets.IntSlider(max=rec.events.index(rec.steps[-1]))\n"
    "def tell(change):\n    where.value = ', '.join(type(node).__name__ for node in change['new']) or 'nothing'\n"
    "view.observe(tell, 'selection')\nipywidgets.link((slider, 'value'), (view, 'selected'))\n"
    "ipywidgets.VBox([ipywidgets.HBox([slider, where]), view])",
    "compared": "short = passlab.record(tower, 'InferType, FoldConstant, FuseOps', opt_level=4)\n%compare rec short",
    "fusion": "lab.watch_solver(rec.input, 'fusion')",
    "memory": "lab.watch_solver(rec.input, 'memory')",
    "first run": "%run tower --random 4 --watch -o first",
    "against": "%passes tower InferType, hardens -q -o hard\n%run hard --random 4 --watch --against first",
    "bisect": "%bisect tower InferType, SimplifyExpr, hardens, FoldConstant -O 4",
    "prospects": "%passes tower",
    "live": '%%relay typed --live "InferType, later"\ndef @main(%x: Tensor[(3), float32]) { nn.relu(tanh(%x)) }',
    "later": "@transform.module_pass(opt_level=0)\ndef later(mod, ctx):\n    return transform.ToANormalForm()(mod)",
    "stepper": "a, b = np.float32(2), np.float32(1)\n%vm bag --args a,b",
    "slow": "@transform.module_pass(opt_level=0, name='Waits')\ndef waits(mod, ctx):\n"
    "    while not Path('go').exists(): pass\n    return mod\n"
    "if Path('wait').exists(): get_ipython().run_line_magic('passes', 'tower InferType, waits, FoldConstant -q')",
}
PLACES = {name: number for number, name in enumerate(CELLS)}
_RUN_CELL = """number => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = number;
  window.jupyterapp.commands.execute("notebook:run-cell");
}"""


@pytest.fixture(scope="module", params=["notebook", "jupyterlab"])
def page(request: pytest.FixtureRequest, chromium: Path) -> Iterator[LabPage]:
    """The notebook, run."""
    with LabServer(application=request.param) as server, browser(chromium) as chrome:
        start = CELLS["live"].replace("later", "InferType")
        sources = {
            **CELLS,
            "live": f"later = transform.InferType()\nget_ipython().run_cell_magic('relay', 'typed --live \"InferType, later\"', {start.split(chr(10))[1]!r})",
        }
        server.write_notebook("more.ipynb", map(new_code_cell, sources.values()))
        with LabPage.opened(server, chrome, "more.ipynb") as opened:
            opened.run_all()
            yield opened
            # Notebook 7.6 fails to read one of its own settings, with passlab's extension and without.
            assert [error for error in opened.page_errors if "notebook_core" not in error] == []
            assert opened.asked_elsewhere == []


def view(page: LabPage, name: str, look: str = ".passlab") -> Locator:
    """The view of a cell, with the focus in it."""
    first = page.cell(PLACES[name]).locator(look).first
    expect(first).to_be_visible()
    first.focus()
    return first


def press(page: LabPage, *keys: str) -> None:
    for key in keys:
        page.page.keyboard.press(key)


def test_equal_bodies_are_one_stack_that_unfolds_and_a_box_is_seen_with_its_neighbours(page: LabPage) -> None:
    graph = view(page, "graph", ".pl-graph-view, .passlab")
    boxes = graph.locator(".pl-box")
    folded = boxes.count()
    expect(graph.locator(".pl-stack")).not_to_have_count(0)
    press(page, "f")
    expect(graph.locator(".pl-stack")).to_have_count(0)
    assert boxes.count() > folded
    press(page, "f")
    expect(boxes).to_have_count(folded)
    graph.locator("input.pl-find").fill("softmax")
    page.page.keyboard.press("Enter")
    expect(graph.locator(".pl-box.pl-selected-box")).to_have_count(1)
    graph.focus()
    press(page, "r")
    expect(graph.locator("[data-radius='1']")).to_be_attached()
    press(page, "Escape", "0")


def test_a_graph_is_coloured_by_cost_and_saved(page: LabPage) -> None:
    graph = view(page, "graph")
    graph.get_by_label("colour").select_option("multiplications")
    expect(graph.locator(".pl-by-kind")).to_have_count(0)
    with page.page.expect_download() as download:
        graph.get_by_label("save as SVG, with Shift as PNG").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("<svg")


def test_each_function_of_a_program_has_its_frame_in_full_view(page: LabPage) -> None:
    graph = view(page, "bag graph")
    expect(graph.locator(".pl-card-of")).to_have_count(2)
    canvas = graph.locator(".pl-canvas").bounding_box()
    assert canvas is not None
    for box in graph.locator(".pl-box").all():
        place = box.bounding_box()
        assert place is not None
        assert place["x"] >= canvas["x"]
        assert place["x"] + place["width"] <= canvas["x"] + canvas["width"]


def test_a_view_composes_with_other_widgets(page: LabPage) -> None:
    cell = page.cell(PLACES["composed"])
    explorer = view(page, "composed", ".pl-pipeline")
    press(page, "g", "1")
    explorer.locator(".pl-row:visible", has_text="tanh(").first.click(position={"x": 320, "y": 8})
    expect(cell.get_by_text("Call", exact=True)).to_be_visible()
    explorer.focus()
    press(page, "Escape")
    expect(cell.get_by_text("nothing", exact=True)).to_be_visible()
    cell.get_by_role("slider").first.focus()
    press(page, "End")
    expect(explorer.locator(".pl-step-name")).to_have_text("FuseOps")


def test_two_recordings_are_compared_by_a_magic(page: LabPage) -> None:
    compared = view(page, "compared")
    press(page, "d")
    expect(compared.locator(".pl-aligned.pl-first.pl-active")).to_contain_text("ToGraphNormalForm")


@pytest.mark.parametrize("algorithm", ["fusion", "memory"])
def test_an_analysis_is_watched_forward_and_back(page: LabPage, algorithm: str) -> None:
    solver = view(page, algorithm, ".pl-solving")
    press(page, "g", "j", "j", "k")
    expect(solver.locator(".pl-solving-where")).to_contain_text("1 of")


def test_a_run_is_held_against_an_earlier_one(page: LabPage) -> None:
    rows = view(page, "against").locator(".pl-row", has=page.page.locator(".pl-fact-first"))
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("clip(")


def test_a_bisection_opens_at_the_guilty_pass_and_selects_the_wrong_node_everywhere(page: LabPage) -> None:
    bisection = view(page, "bisect", ".pl-pipeline")
    expect(bisection.locator(".pl-step-name")).to_have_text("hardens")
    press(page, "e")
    expect(bisection.locator(".pl-selected:visible", has_text="clip(").first).to_be_visible()
    view(page, "explorer", ".pl-pipeline")
    press(page, "g", "1")
    expect(page.cell(PLACES["explorer"]).locator(".pl-selected:visible", has_text="tanh(")).to_have_count(1)
    bisection.focus()
    press(page, "Escape")


def test_a_pass_is_run_from_the_prospects(page: LabPage) -> None:
    prospects = view(page, "prospects", ".pl-prospects")
    name = prospects.locator(".pl-prospect-name").nth(1).inner_text()
    press(page, "j", "Enter")
    expect(page.cell(PLACES["prospects"]).locator(".pl-pipeline .pl-step-name")).to_have_text(name)


def test_a_live_program_follows_a_pass_of_another_cell(page: LabPage) -> None:
    expect(page.cell(PLACES["live"]).locator(".pl-pass-changed", has_text="later")).to_have_count(1)


def test_a_run_branches_off_and_its_data_is_drawn(page: LabPage) -> None:
    stepper = view(page, "stepper", ".pl-stepper")
    press(page, "G")
    expect(stepper.locator(".pl-heap .pl-heap-head").first).to_be_visible()
    press(page, "g", "m", "m", "i", "i", "s", "e")
    at = stepper.locator(".pl-position").input_value()
    page.page.keyboard.type("5")
    page.page.keyboard.press("Enter")
    expect(stepper.locator(".pl-branch-line")).to_contain_text("fork at instant")
    expect(stepper.locator(".pl-position")).to_have_value(at)
    expect(stepper.locator(".pl-inst.pl-current")).to_be_in_viewport()
    stepper.get_by_role("button", name="back to the original").click()
    expect(stepper.locator(".pl-branch")).to_be_hidden()


def test_a_pipeline_that_takes_long_shows_how_far_it_is(page: LabPage) -> None:
    cell = page.cell(PLACES["slow"])
    (page.server.folder / "wait").touch()
    page.page.evaluate(_RUN_CELL, PLACES["slow"])
    bar = cell.get_by_role("progressbar")
    expect(bar).to_contain_text("pass 2 of 3: Waits")
    (page.server.folder / "go").touch()
    expect(bar).to_have_count(0)
