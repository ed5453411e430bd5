"""Recordings of LLVM, IREE, TVM and XLA in JupyterLab, with a kernel: what is shown, chosen and followed.

`PASSLAB_SCREENSHOTS=folder` keeps a picture of each, light and dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import Locator, expect

from passlab.dumps import read
from passlab.dumps.recording import TextRecording
from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer
from tests.dumps import corpus

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
DUMPS = {
    "llvm": "llvm22-list-both",
    "iree": "iree-small-change",
    "tvm": "tvm-zero-after",
    "xla": "xla-mlp-grad",
}
# Two widgets of one recording, and below them what the kernel knows of the second.
PAIR = """from ipywidgets import Label, VBox
from passlab.display import text_recording_view
from passlab.notebook.widgets import show
one, two, said = show(text_recording_view(llvm)), show(text_recording_view(llvm)), Label()
def tell(change):
    said.value = f"step {two.step.number}, {two.picked.get('name')} of {two.picked.get('unit')}"
two.observe(tell, ["selected", "picked"])
one"""
CELLS = ["%load_ext passlab", *[f"%dump {name} -o {name}" for name in DUMPS], PAIR, "VBox([two, said])"]
SECOND = len(CELLS) - 1


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TextRecording]:
    """What Python reads of the dumps."""
    folder = tmp_path_factory.mktemp("dumps")
    return {
        name: read(corpus.folder(stored, folder) if stored in corpus.FOLDERS else corpus.stream(stored))
        for name, stored in DUMPS.items()
    }


@pytest.fixture(scope="module")
def notebook(chromium: Path) -> Iterator[LabPage]:
    """A notebook that opens the dumps, run."""
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("dumps.ipynb", map(new_code_cell, CELLS))
        for name, stored in DUMPS.items():
            if stored in corpus.FOLDERS:
                (server.folder / name).mkdir()
                corpus.folder(stored, server.folder / name)
            else:
                (server.folder / name).write_bytes(corpus.stream(stored))
        with LabPage.opened(server, chrome, "dumps.ipynb") as opened:
            opened.run_all()
            yield opened
            assert opened.page_errors == []
            assert opened.asked_elsewhere == []


def view(notebook: LabPage, number: int) -> Locator:
    """The widget of a cell, once it is drawn."""
    shown = notebook.cell(number).locator(".pl-dump")
    expect(shown.locator(".pl-step-name")).not_to_be_empty()
    return shown


@pytest.mark.parametrize("name", DUMPS)
def test_a_recording_shows_its_passes_and_what_each_changed(
    name: str, notebook: LabPage, recordings: dict[str, TextRecording]
) -> None:
    recording = recordings[name]
    shown = view(notebook, 1 + list(DUMPS).index(name))
    expect(shown.locator(".pl-title")).to_contain_text(f"{len(recording.changed):,} changed")
    expect(shown.locator(".pl-step-name")).to_have_text(recording.changed[0].name)
    expected = recording.changed[min(3, len(recording.changed) - 1)]
    shown.locator("input[placeholder='a pass, or what it ran on']").fill(f"{expected.number} {expected.name}")
    shown.locator(f".pl-pass:has(.pl-pass-id:text-is('{expected.number}'))").click()
    expect(shown.locator(".pl-step-name")).to_have_text(expected.name)
    expect(shown.locator(".pl-row-added, .pl-row-removed, .pl-row-changed, .pl-row-moved").first).to_be_visible()
    for tab, content in (("text", ".pl-dump-blame"), ("graph", ".pl-box"), ("changes", ".pl-row")):
        shown.get_by_role("tab", name=tab).click()
        expect(shown.locator(f".pl-dump-scroll {content}").first).to_be_attached()
    assert shown.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_a_name_that_is_picked_is_followed_in_the_other_widget_and_known_to_the_kernel(
    notebook: LabPage, recordings: dict[str, TextRecording]
) -> None:
    recording = recordings["llvm"]
    steps = [step for step in recording.changed if step.unit == "total"]
    chosen = {SECOND - 1: recording["SROAPass"], SECOND: recording["EarlyCSEPass"]}
    assert all(step in steps for step in chosen.values())
    for cell, step in chosen.items():
        shown = view(notebook, cell)
        shown.locator(f".pl-pass:has(.pl-pass-id:text-is('{step.number}'))").click()
        expect(shown.locator(".pl-step-name")).to_have_text(step.name)
        shown.get_by_role("tab", name="text").click()
        expect(shown.locator(".pl-dump-units option:checked")).to_contain_text("total")
    lines = recording.history("total").lines(recording.history("total").version_at(chosen[SECOND - 1].number))
    line = next(line for line in lines if " = load ptr" in line.text)
    called = recording.follow(line.names[0], "total", chosen[SECOND - 1])
    there = [row["name"] for row in called if int(row["step"]) <= chosen[SECOND].number][-1]
    first = view(notebook, SECOND - 1)
    first.locator(".pl-row", has_text=line.text.strip()).locator(".pl-temporary").first.click()
    expect(first.locator(".pl-hit").first).to_have_text(line.names[0])
    second = notebook.cell(SECOND)
    expect(second.locator(".widget-label").last).to_have_text(f"step {chosen[SECOND].number}, {line.names[0]} of total")
    expect(view(notebook, SECOND).locator(".pl-hit").first).to_have_text(there)
    first = view(notebook, SECOND - 1)
    first.locator(".pl-hit").first.click()
    expect(first.locator(".pl-hit")).to_have_count(0)
    expect(view(notebook, SECOND).locator(".pl-hit")).to_have_count(0)


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_pictures(theme: str, notebook: LabPage, screenshots: Path) -> None:
    notebook.theme(theme)
    for number, name in enumerate(DUMPS, 1):
        view(notebook, number)
        picture = notebook.picture(number, screenshots / f"dump-{name}-{theme.split()[1].lower()}.png")
        assert picture.stat().st_size
