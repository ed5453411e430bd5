"""A view in JupyterLab shows its data: random walks through an explorer and a stepper that a kernel serves.

The walks are those of `test_walks`, which go through exported pages. Here the same views stand in a notebook, so that
JupyterLab's own keys, its scrolling and the answers of the kernel are part of the walk.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer
from tests.browser.walk import Walk
from tests.browser.walk_checks import HELPERS, SMALL, helpers, tree, walk_explorer, walk_stepper
from tests.vm.traced import TREE

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
CELLS = [
    "import numpy as np, passlab\nfrom passlab import vm\n%load_ext passlab",
    f'rec = passlab.record(passlab.parse("""{SMALL}"""), "{HELPERS}")\nrec',
    f'dbg = vm.Debugger(passlab.parse("""{TREE}"""), np.int32(3))\ndbg',
]
STEPS = [pytest.param(1, 40, id="short"), pytest.param(2, 500, id="long", marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def lab(chromium: Path) -> Iterator[LabPage]:
    """A notebook with an explorer and a stepper, run."""
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("walks.ipynb", map(new_code_cell, CELLS))
        with LabPage.opened(server, chrome, "walks.ipynb") as opened:
            opened.run_all()
            yield opened
            assert opened.count() == len(CELLS)  # no key of a walk has reached JupyterLab, which would add or cut cells
            assert opened.page_errors == []


@pytest.mark.parametrize(("seed", "steps"), STEPS)
def test_an_explorer_in_a_notebook_shows_the_step_that_is_chosen(lab: LabPage, seed: int, steps: int) -> None:
    view = lab.cell(1).locator(".pl-pipeline")
    expect(view).to_be_visible()
    walk_explorer(Walk(lab.page, view, seed), helpers(), steps)


@pytest.mark.parametrize(("seed", "steps"), STEPS)
def test_a_stepper_in_a_notebook_shows_the_instant_it_stands_at(lab: LabPage, seed: int, steps: int) -> None:
    view = lab.cell(2).locator(".pl-stepper")
    expect(view).to_be_visible()
    walk_stepper(Walk(lab.page, view, seed), tree(), steps)
