"""Relay in JupyterLab's editors: the cells of `%%relay` and files of Relay, coloured, indented and commented as Relay.

`PASSLAB_SCREENSHOTS=folder` keeps pictures, light and dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab_page import READY_MS, WIDE, LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
PROGRAM = """#[version = "0.0.5"]
// A dense layer, then what its sign decides.
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32] {
  let %h = nn.dense(%x, %w, units=4);
  %0 = add(%h, meta[relay.Constant][0]);
  if (True) {
    nn.relu(subtract(%0, 1.5f))
  } else {
    @helper(%0, Nil, name="x")
  }
}
"""
COLOURED = {
    "pragma": ['#[version = "0.0.5"]'], "comment": ["// A dense layer, then what its sign decides."],
    "keyword": ["def", "let", "if", "else"], "global": ["@main", "@helper"], "temporary": ["%0"], "bool": ["True"],
    "variable": ["%x", "%w", "%h"], "type": ["Tensor", "float32"], "op": ["nn.dense", "add", "nn.relu", "subtract"],
    "attribute": ["units", "name"], "meta": ["meta[relay.Constant][0]"], "number": ["2", "3", "4", "1.5f"],
    "constructor": ["Nil"], "string": ['"x"'], "operator": ["->", "="],
}  # fmt: skip
CELLS = [
    ("code", f"%%relay net --show none\n{PROGRAM}"),
    ("code", "let = 1\ndef f(x):\n    return x"),
    ("markdown", "%%relay net\nlet"),
    ("code", "%%relay?"),
    ("code", ""),
]
# The inks of both themes by kind, as the browser gives them.
INKS = {
    "Light": {"keyword": "rgb(122, 62, 200)", "op": "rgb(11, 92, 196)"},
    "Dark": {"keyword": "rgb(196, 161, 255)", "op": "rgb(121, 184, 255)"},
}


@pytest.fixture(scope="module")
def lab(chromium: Path) -> Iterator[tuple[LabServer, Browser]]:
    """A server with one notebook and two files of Relay, and a browser."""
    cells = [{"code": new_code_cell, "markdown": new_markdown_cell}[kind](source) for kind, source in CELLS]
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("relay.ipynb", cells)
        for name in ("net.relay", "prelude.rly"):
            (server.folder / name).write_text(PROGRAM, encoding="utf-8")
        yield server, chrome


@pytest.fixture(scope="module")
def notebook(lab: tuple[LabServer, Browser]) -> Iterator[LabPage]:
    with LabPage.opened(*lab, "relay.ipynb") as opened:
        yield opened


@pytest.fixture
def editor(notebook: LabPage) -> Iterator[Locator]:
    """The editor of the last cell, empty, with the cursor in it; empty again afterwards."""
    element = notebook.cell(len(CELLS) - 1).locator(".cm-content")
    element.click()
    yield element
    press(element, "Control+a", "Delete")


def press(editor: Locator, *keys: str) -> None:
    for key in keys:
        editor.press(key)


def lines(editor: Locator) -> list[str]:
    return editor.locator(".cm-line").all_text_contents()


def coloured(editor: Locator) -> dict[str, list[str]]:
    """Every kind of token in an editor, with the different texts that have it, in order."""
    table: dict[str, list[str]] = {}
    pairs = editor.evaluate(
        """editor => [...editor.querySelectorAll("[class*=relay-]")].map(
             span => [[...span.classList].find(name => name.startsWith("relay-")).slice(6), span.textContent])"""
    )
    for kind, text in pairs:
        if text not in table.setdefault(kind, []):
            table[kind].append(text)
    return table


def open_file(lab: tuple[LabServer, Browser], name: str) -> Page:
    server, chrome = lab
    page = chrome.new_page(viewport=WIDE)
    page.goto(server.url(f"lab/tree/{name}?reset"))
    page.locator(".jp-FileEditor .relay-keyword").first.wait_for(timeout=READY_MS)
    return page


def test_a_cell_of_the_magic_is_coloured_as_relay(notebook: LabPage) -> None:
    result = coloured(notebook.cell(0).locator(".cm-content"))
    assert result == {"magic": ["%%relay"], "option": ["--show"], **COLOURED}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_no_other_cell_is(notebook: LabPage, number: int) -> None:
    cell = notebook.cell(number)
    expect(cell).to_contain_text(CELLS[number][1].split("\n")[0])
    assert coloured(cell) == {}


@pytest.mark.parametrize("name", ["net.relay", "prelude.rly"])
def test_a_file_of_relay_opens_coloured(lab: tuple[LabServer, Browser], name: str) -> None:
    page = open_file(lab, name)
    assert coloured(page.locator(".jp-FileEditor .cm-content")) == COLOURED
    expect(page.locator("#jp-bottom-panel")).to_contain_text("relay")
    page.close()


def test_a_cell_becomes_relay_as_the_magic_is_typed_and_python_again_without_it(editor: Locator) -> None:
    editor.press_sequentially("%%rela")
    press(editor, "End")
    assert coloured(editor) == {}
    editor.press_sequentially("y")
    expect(editor.locator(".relay-magic")).to_have_text("%%relay")
    press(editor, "Escape", "Enter")
    editor.press_sequentially("fn (%x) ")
    expect(editor.locator(".relay-keyword")).to_have_text("fn")
    press(editor, "Control+Home", "Delete")
    expect(editor.locator(".relay-keyword")).to_have_count(0)


def test_it_is_still_relay_after_the_kernel_has_restarted(notebook: LabPage) -> None:
    notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()"
    )
    notebook.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.status === 'idle'"
    )
    assert coloured(notebook.cell(0).locator(".cm-content")) == {"magic": ["%%relay"], "option": ["--show"], **COLOURED}


def test_lines_are_commented_out_and_in(editor: Locator) -> None:
    editor.press_sequentially("%%relay")
    press(editor, "Escape", "Enter")
    editor.press_sequentially("let %x = 1;")
    press(editor, "Escape", "Control+/")
    assert lines(editor) == ["%%relay", "// let %x = 1;"]
    expect(editor.locator(".relay-comment")).to_have_text("// let %x = 1;")
    press(editor, "Control+/")
    assert lines(editor) == ["%%relay", "let %x = 1;"]
    press(editor, "Control+Home", "Control+/")
    assert lines(editor) == ["# %%relay", "let %x = 1;"]
    press(editor, "Control+/")
    assert lines(editor) == ["%%relay", "let %x = 1;"]


def test_brackets_indent_and_are_matched(editor: Locator) -> None:
    editor.press_sequentially("%%relay")
    press(editor, "Escape", "Enter")
    editor.press_sequentially("fn () {")
    press(editor, "Escape", "Enter")
    editor.press_sequentially("if (True) {")
    press(editor, "Escape", "Enter")
    editor.press_sequentially("1 ")
    press(editor, "Escape", "Enter")
    editor.press_sequentially("}")
    assert [line.rstrip() for line in lines(editor)][:5] == ["%%relay", "fn () {", "  if (True) {", "    1", "  }"]
    expect(editor.locator(".cm-matchingBracket")).to_have_text(["{", "}"])


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_it_has_the_inks_of_the_views_in_both_themes(notebook: LabPage, theme: str) -> None:
    notebook.theme(f"JupyterLab {theme}")
    for kind, ink in INKS[theme].items():
        expect(notebook.cell(0).locator(f".relay-{kind}").first).to_have_css("color", ink)


def test_no_script_of_the_page_fails_and_nothing_is_fetched_from_elsewhere(notebook: LabPage) -> None:
    assert notebook.page_errors == []
    assert notebook.asked_elsewhere == []


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_pictures_are_kept(notebook: LabPage, lab: tuple[LabServer, Browser], theme: str, screenshots: Path) -> None:
    notebook.theme(f"JupyterLab {theme}")
    assert notebook.picture(0, screenshots / f"relay-cell-{theme.lower()}.png").stat().st_size
    page = open_file(lab, "net.relay")
    page.screenshot(path=screenshots / f"relay-file-{theme.lower()}.png")
    page.close()
