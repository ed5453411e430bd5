"""Every view is live in marimo, which loads no extension of IPython; skipped where marimo is not installed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab_page import READY_MS, browser
from tests.display.view_examples import EXAMPLES

pytest.importorskip("marimo")
pytestmark = [pytest.mark.browser, pytest.mark.nightly]
NOTEBOOK = '''
import marimo

app = marimo.App()


@app.cell
def _():
    import numpy as np
    import passlab
    from passlab import instrument, vm

    net = passlab.parse("""
    def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(6, 6), float32]) {
      %0 = nn.dense(%x, multiply(%w, 1f), units=6);
      subtract(tanh(%0), erf(%0))
    }""")
    return instrument, net, np, passlab, vm


@app.cell
def _(net):
    net


@app.cell
def _(net, passlab):
    rec = passlab.record(net, "InferType, SimplifyExpr, FuseOps", opt_level=4)
    rec
    return (rec,)


@app.cell
def _(np, rec, vm):
    vm.Debugger(rec, np.ones((2, 6), "float32"), np.ones((6, 6), "float32"))


@app.cell
def _(instrument, net, passlab):
    timing = instrument.PassTimingInstrument()
    passlab.record(net, "InferType, FoldConstant", instruments=[timing])
    timing


if __name__ == "__main__":
    app.run()
'''


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, chromium: Path) -> Iterator[Page]:
    """The notebook as an application of marimo's own server."""
    file = tmp_path_factory.mktemp("marimo") / "views.py"
    file.write_text(NOTEBOOK, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    command = [
        sys.executable,
        "-m",
        "marimo",
        "run",
        str(file),
        "--headless",
        "--no-token",
        "--port",
        address.rpartition(":")[2],
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=file.parent)
    try:
        _wait_for(address, server)
        with browser(chromium) as chrome:
            opened = chrome.new_page(viewport={"width": 1400, "height": 1000})
            errors: list[str] = []
            opened.on("pageerror", lambda error: errors.append(error.message))
            opened.goto(address)
            opened.locator(".pl-stepper").wait_for(timeout=READY_MS)
            yield opened
            assert errors == []
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_MS / 1000
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise AssertionError("marimo did not start")


def test_an_exported_notebook_has_every_view_in_its_rich_form(tmp_path: Path) -> None:
    """`marimo export html` keeps the widget of each view, or its HTML where it has no widget; no form is a mere text."""
    cells = [f"@app.cell\ndef _(EXAMPLES):\n    EXAMPLES[{name!r}]()\n" for name in sorted(EXAMPLES)]
    start = "@app.cell\ndef _():\n    from tests.display.view_examples import EXAMPLES\n    return (EXAMPLES,)\n"
    head, foot = "import marimo\n\napp = marimo.App()\n", 'if __name__ == "__main__":\n    app.run()\n'
    (tmp_path / "all.py").write_text("\n\n".join([head, start, *cells, foot]), encoding="utf-8")
    command = [sys.executable, "-m", "marimo", "export", "html", "all.py", "-o", "all.html", "--no-sandbox"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "all.html").read_text(encoding="utf-8").partition('"session":')[2].lstrip()
    session, _ = json.JSONDecoder(strict=False).raw_decode(page)
    forms = dict(zip(sorted(EXAMPLES), [cell["outputs"][0]["data"] for cell in session["cells"][1:]], strict=True))
    forms = {name: data.get("application/vnd.marimo+mimebundle", data) for name, data in forms.items()}
    assert [name for name, data in forms.items() if set(data) != {"text/html"}] == []
    live = [name for name, data in forms.items() if "marimo-anywidget" in data["text/html"]]
    assert live == [name for name in sorted(EXAMPLES) if EXAMPLES[name]().script]


@pytest.mark.parametrize("look", [".pl-module", ".pl-pipeline", ".pl-stepper", ".pl-timing"])
def test_a_value_is_its_live_view(page: Page, look: str) -> None:
    expect(page.locator(look).first).to_be_visible()


def test_a_line_that_is_selected_is_lit_in_every_view(page: Page) -> None:
    page.locator(".pl-pipeline").focus()
    for key in "g1":
        page.keyboard.press(key)
    page.locator(".pl-pipeline .pl-row:visible", has_text="tanh(").click(position={"x": 220, "y": 8})
    expect(page.locator(".pl-module .pl-selected")).to_contain_text("tanh(")
    page.locator(".pl-pipeline").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".pl-module .pl-selected")).to_have_count(0)


def test_the_kernel_answers_what_a_view_asks(page: Page) -> None:
    page.locator(".pl-pipeline").get_by_role("tab", name="Graph").click()
    expect(page.locator(".pl-pipeline .pl-box").first).to_be_visible(timeout=READY_MS)


def test_the_stepper_steps(page: Page) -> None:
    page.locator(".pl-stepper").focus()
    page.keyboard.press("G")
    expect(page.locator(".pl-stepper .pl-value-head")).to_contain_text("result")
