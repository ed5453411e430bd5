"""Programs, differences and graphs as pages: they fill the window, at any width, and nothing sticks out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import passlab
from passlab.display import diff_view, graph_view, module_view, recording_view
from passlab.display.page import write
from passlab.testing import resnet
from tests.browser.lab_page import browser

pytestmark = pytest.mark.browser
HEIGHT = 800


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with browser(chromium) as launched:
        yield launched


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind of view, of the same pipeline."""
    mod, _ = resnet.get_workload(num_layers=18)
    rec = passlab.record(mod, "InferType, SimplifyInference, FuseOps", opt_level=3)
    views = {
        "module": module_view(rec.output), "diff": diff_view(rec[2].diff()), "graph": graph_view(rec.output),
        "pipeline": recording_view(rec),
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("pages")
    for name, view in views.items():
        write(view, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in views}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [900, 1600])
@pytest.mark.parametrize("name", ["module", "diff", "graph", "pipeline"])
def test_a_view_fills_the_window(name, width, scheme, pages, chrome):
    page = chrome.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto(pages[name].as_uri())
    root = page.locator(".passlab")
    expect(root).to_be_visible()
    box = root.bounding_box()
    assert box is not None
    assert 0.8 * HEIGHT < box["y"] + box["height"] <= HEIGHT
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    page.close()
