"""Views in the boxes of ipywidgets share the width, and wrap where there is no room for two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
START = """import ipywidgets as W
import numpy as np
import passlab
import passlab.notebook
from passlab import display, lab, vm
net = passlab.parse("def @main(%x: Tensor[(4, 8), float32]) { add(multiply(tanh(%x), 2f), %x) }")
rec = passlab.record(net, ["InferType", "FuseOps"])
show = passlab.notebook.show
VIEWS = {
    "recording": rec, "module": net, "graph": display.graph_view(net), "diff": rec.steps[-1].diff(),
    "comparison": lab.compare(rec, rec), "run": vm.Debugger(net, [np.ones((4, 8), 'float32')]),
}
views = lambda: [show(value) for value in VIEWS.values()]"""
PAIRS = 5  # of neighbours in `VIEWS`
CELLS = [
    START,
    *(f"W.HBox(views()[{at}:{at + 2}])" for at in range(PAIRS)),
    "W.VBox(views())",
    "W.Tab(views())",
    "W.AppLayout(left_sidebar=views()[1], center=views()[0])",
    "W.GridBox(views()[:2], layout=W.Layout(grid_template_columns='1fr 1fr'))",
    "W.HBox([W.Button(description='run'), views()[0]])",
]
# The left edge and the width of the box and of the views in it that are shown, in pixels.
_EDGES = """area => {
  const edges = element => { const box = element.getBoundingClientRect(); return [box.x, box.width, box.y]; };
  return [edges(area), ...[...area.querySelectorAll(".passlab")].map(edges).filter(box => box[1])];
}"""


@pytest.fixture(scope="module")
def page(chromium: Path) -> Iterator[LabPage]:
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("boxes.ipynb", map(new_code_cell, CELLS))
        with LabPage.opened(server, chrome, "boxes.ipynb") as opened:
            opened.run_all()
            assert [cell["id"] for cell in opened.code_cells() if str(cell["outputs"]).count("'error'")] == []
            yield opened


def edges(page: LabPage, source: str, views: int) -> tuple[list[float], list[list[float]]]:
    """The edges of the box of a cell and of the `views` that are shown in it."""
    cell = page.cell(page.number_of(source))
    expect(cell.locator(".passlab:visible")).to_have_count(views, timeout=20_000)
    area, *shown = cell.locator(".jp-OutputArea-output").last.evaluate(_EDGES)
    assert len(shown) == views
    for left, width, _ in shown:  # none is cut off, or needs a bar to scroll
        assert area[0] - 1 <= left
        assert left + width <= area[0] + area[1] + 1
    return area, shown


@pytest.mark.parametrize("at", range(PAIRS))
def test_two_views_share_a_row(page: LabPage, at: int) -> None:
    area, [first, second] = edges(page, f"W.HBox(views()[{at}:", 2)
    assert abs(first[1] - second[1]) <= 2
    assert first[2] == second[2]
    assert first[1] + second[1] > 0.95 * area[1]


def test_two_views_wrap_where_there_is_no_room(page: LabPage) -> None:
    page.page.set_viewport_size({"width": 760, "height": 900})
    try:
        area, [first, second] = edges(page, "W.HBox(views()[0:", 2)
        assert first[2] < second[2]
        assert min(first[1], second[1]) > 0.9 * area[1]
    finally:
        page.page.set_viewport_size({"width": 1400, "height": 1000})


@pytest.mark.parametrize(("source", "views"), [("W.VBox", 6), ("W.Tab", 1)])
def test_a_view_below_others_has_the_whole_width(page: LabPage, source: str, views: int) -> None:
    area, shown = edges(page, source, views)
    assert all(width > 0.9 * area[1] for _, width, _ in shown)


@pytest.mark.parametrize("source", ["W.AppLayout", "W.GridBox"])
def test_grids_keep_their_columns(page: LabPage, source: str) -> None:
    area, [first, second] = edges(page, source, 2)
    assert min(first[1], second[1]) > 0.2 * area[1]
    assert first[0] + first[1] <= second[0] + 1


def test_a_view_takes_what_other_widgets_leave(page: LabPage) -> None:
    area, [view] = edges(page, "W.HBox([W.Button", 1)
    assert 0.6 * area[1] < view[1] < area[1]
