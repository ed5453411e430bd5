"""The main job, as a person does it: open the tour in JupyterLab, run it, look at it.

`PASSLAB_SCREENSHOTS=folder` keeps a picture of every cell, light and dark.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import ROOT, LabServer

pytestmark = pytest.mark.browser
TOUR = ROOT / "notebooks" / "01-tour.ipynb"


@pytest.fixture(scope="module")
def lab(chromium: Path) -> Iterator[tuple[LabServer, Browser]]:
    """A server whose folder has the tour, as stored, and a browser."""
    with LabServer() as server, browser(chromium) as chrome:
        shutil.copy(TOUR, server.folder)
        yield server, chrome


@pytest.fixture(scope="module")
def tour(lab: tuple[LabServer, Browser]) -> Iterator[LabPage]:
    """The tour, opened and run once for all tests here."""
    server, chrome = lab
    with LabPage.opened(server, chrome, TOUR.name) as page:
        page.run_all()
        yield page


def test_every_cell_runs_and_only_the_announced_ones_fail(tour: LabPage) -> None:
    cells = tour.code_cells()
    failed = {cell["id"] for cell in cells if any(output["output_type"] == "error" for output in cell["outputs"])}
    announced = {cell["id"] for cell in cells if "raises-exception" in cell["tags"]}
    assert failed == announced
    assert [cell["count"] for cell in cells] == list(range(1, len(cells) + 1))


def test_errors_are_diagnostics_and_not_tracebacks(tour: LabPage) -> None:
    errors = [output for cell in tour.code_cells() for output in cell["outputs"] if output["output_type"] == "error"]
    assert errors
    for error in errors:
        shown = "\n".join(error["traceback"])
        assert shown.startswith("\x1b[1merror: "), shown  # in bold
        assert "Traceback" not in shown


# ---------------------------------------------------------------- the views live
def chosen(explorer: Locator) -> str:
    """The pass that the explorer shows."""
    return explorer.locator(".pl-active .pl-pass-name").inner_text()


def test_the_explorer_of_a_pipeline_is_walked_with_the_keyboard(tour: LabPage) -> None:
    explorer = tour.cell(tour.number_of("%%passes")).locator(".pl-pipeline")
    explorer.locator(".pl-pass", has_text="FuseOps").click()
    expect(explorer.locator(".pl-active")).to_contain_text("FuseOps")
    tour.page.keyboard.press("g")
    assert chosen(explorer) == "input"
    tour.page.keyboard.press("j")
    tour.page.keyboard.press("j")
    assert chosen(explorer) == "SimplifyInference"
    expect(explorer).to_contain_text("nn.batch_norm")
    tour.page.keyboard.press("k")
    assert chosen(explorer) == "InferType"


def test_keys_pressed_in_a_view_are_not_commands_of_the_notebook(tour: LabPage) -> None:
    explorer = tour.cell(tour.number_of("%%passes")).locator(".pl-pipeline")
    explorer.locator(".pl-pass", has_text="FuseOps").click()
    count = tour.count()
    for key in ("a", "b", "x", "d", "d", "m"):
        tour.page.keyboard.press(key)
    assert tour.count() == count
    expect(explorer.locator(".pl-compare")).to_be_visible()  # x compares, and the second time ends it
    for _ in range(2):  # what is hidden loses the focus when the page is drawn
        tour.page.evaluate("() => new Promise(requestAnimationFrame)")
    tour.page.keyboard.press("x")
    expect(explorer.locator(".pl-compare")).to_be_hidden()
    expect(explorer.locator(".pl-columns")).to_be_visible()


def test_every_tab_of_the_explorer_shows_the_chosen_pass(tour: LabPage) -> None:
    explorer = tour.cell(tour.number_of("%%passes")).locator(".pl-pipeline")
    explorer.locator(".pl-pass", has_text="FoldScaleAxis").click()
    for tab, shown in (("IR", "def @main"), ("Diff", "nn.conv2d"), ("Table", "multiply"), ("Graph", "nn.conv2d")):
        explorer.get_by_role("tab", name=tab, exact=True).click()
        expect(explorer.locator(".pl-body")).to_contain_text(shown, timeout=20_000)


def test_the_graph_is_drawn(tour: LabPage) -> None:
    graph = tour.cell(tour.number_of("%graph"))
    expect(graph.locator("svg text", has_text="nn.conv2d").first).to_be_attached()


def test_the_tour_ends_in_the_stepper(tour: LabPage) -> None:
    stepper = tour.cell(tour.number_of("%vm tiny")).locator(".pl-stepper")
    expect(stepper).to_be_visible()
    stepper.focus()
    tour.page.keyboard.press("g")
    for key, at in (("s", "1"), ("s", "2"), ("S", "1")):
        tour.page.keyboard.press(key)
        expect(stepper.locator(".pl-position")).to_have_value(at)
    assert tour.number_of("%vm tiny") >= tour.count() - 3


# ---------------------------------------------------------------- scrolled away
_CHOOSE = """([number, name]) => {
  const {node} = window.jupyterapp.shell.currentWidget.content.widgets[number];
  [...node.querySelectorAll(".pl-pipeline .pl-pass")].find(row => row.textContent.includes(name)).click();
}"""


@pytest.mark.nightly
@pytest.mark.parametrize("windowing", ["contentVisibility", "full"])
def test_a_view_that_was_scrolled_away_shows_what_it_showed(lab: tuple[LabServer, Browser], windowing: str) -> None:
    """JupyterLab takes the cells outside the viewport out of the page and puts them back."""
    with LabServer(windowing) as server:
        shutil.copy(TOUR, server.folder / "windowed.ipynb")
        with LabPage.opened(server, lab[1], "windowed.ipynb") as page:
            page.run_all()
            number = page.number_of("%%passes")
            for name in ("FuseOps", "FoldScaleAxis"):
                page.cell(number).locator(".pl-pass").first.wait_for(state="attached")
                page.page.evaluate(_CHOOSE, [number, name])
                page.cell(page.count() - 1)
                expect(page.cell(number).locator(".pl-pipeline .pl-active")).to_contain_text(name)


# ---------------------------------------------------------------- without a kernel
@pytest.mark.rotating(parts=10)
def test_a_stored_notebook_shows_its_views_before_anything_is_run(lab: tuple[LabServer, Browser]) -> None:
    server, chrome = lab
    shutil.copy(TOUR, server.folder / "stored.ipynb")
    with LabPage.opened(server, chrome, "stored.ipynb") as page:
        for start, shown in (
            ("%%relay tiny", "nn.bias_add"),
            ("%%passes", "EliminateCommonSubexpr"),
            ("%graph", "boxes"),
        ):
            expect(page.cell(page.number_of(start)).locator(".jp-OutputArea")).to_contain_text(shown)
        assert page.page_errors == []


# ---------------------------------------------------------------- the page as a whole
def test_no_script_of_the_page_fails_and_nothing_is_fetched_from_elsewhere(tour: LabPage) -> None:
    assert tour.page_errors == []
    assert tour.asked_elsewhere == []


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_pictures_of_every_cell_are_kept(tour: LabPage, theme: str, screenshots: Path) -> None:
    tour.theme(f"JupyterLab {theme}")
    for number in range(tour.count()):
        assert tour.picture(number, screenshots / f"{number:02d}-{theme.lower()}.png").stat().st_size
