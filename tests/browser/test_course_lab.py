"""The course as a learner meets it: each lesson opened in JupyterLab and run from its first cell to its last.

`PASSLAB_SCREENSHOTS=folder` keeps a picture of every cell.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import ROOT, LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
LIVE = ".jp-OutputArea-output :is(.passlab, .jupyter-widgets)"  # the static form of a view is neither
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def lab(chromium: Path) -> Iterator[tuple[LabServer, Browser]]:
    """A server whose folder is that of the course, and a browser."""
    with LabServer() as server, browser(chromium) as chrome:
        shutil.copytree(NOTEBOOKS, server.folder, dirs_exist_ok=True)
        yield server, chrome


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_runs_and_every_view_is_there(lesson: Path, lab: tuple[LabServer, Browser]) -> None:
    server, chrome = lab
    with LabPage.opened(server, chrome, lesson.name) as page:
        page.run_all()
        cells = page.code_cells()
        assert {cell["id"]: errors_of(cell) for cell in cells if errors_of(cell) and not announced(cell)} == {}
        assert [cell["id"] for cell in cells if announced(cell) and not errors_of(cell)] == []
        assert [cell["count"] for cell in cells] == list(range(1, len(cells) + 1))
        widgets = {cell["id"] for cell in cells if any(WIDGET in output.get("data", {}) for output in cell["outputs"])}
        for number, name in enumerate(page.identifiers()):
            shown = page.cell(number)
            if name in widgets:
                expect(shown.locator(LIVE).first).to_be_visible(timeout=20_000)
                expect(shown).not_to_contain_text("Error displaying widget")
            keep_picture(page, number, lesson)
        assert page.page_errors == []
        assert page.asked_elsewhere == []


def errors_of(cell: dict[str, Any]) -> list[str]:
    """What a cell raised, in its own words."""
    return [output["evalue"] for output in cell["outputs"] if output["output_type"] == "error"]


def announced(cell: dict[str, Any]) -> bool:
    """Whether the lesson says that this cell fails."""
    return "raises-exception" in cell["tags"]


def keep_picture(page: LabPage, number: int, lesson: Path) -> None:
    if folder := os.environ.get("PASSLAB_SCREENSHOTS"):
        (Path(folder) / lesson.stem).mkdir(parents=True, exist_ok=True)
        page.picture(number, Path(folder) / lesson.stem / f"{number:02d}.png")
