"""A view that is shown leaves the focus where it is, and the page as it was scrolled: in a notebook somebody types above."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

import passlab
import passlab.dumps
from passlab import display, lab, vm
from passlab.display.page import SCRIPTS
from passlab.display.scripts import inline, style
from passlab.display.view import View
from passlab.instrument import MemoryInstrument
from tests.browser.lab_page import browser

pytestmark = pytest.mark.browser
NET = """def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(5, 6), float32]) {
  %0 = nn.dense(%x, %w, units=5);
  add(tanh(%0), nn.relu(add(%0, 0f)))
}"""
PASSES = "InferType, SimplifyExpr, FuseOps"
DUMP = "// -----// IR Dump After CSE //----- //\nfunc.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n"
_PAGE = """<!doctype html><html><head><style>{style}</style></head><body>
<input id="typed" value="typing"><div style="height: 700px"></div><div id="host"></div><div style="height: 3000px"></div>
<script type="module">{script}
const state = {state}, heard = {{}};
const model = {{ get: (key) => state[key], set: (key, value) => {{ state[key] = value; }}, save_changes() {{}}, send() {{}},
  on: (name, run) => {{ (heard[name] ||= []).push(run); }}, off() {{}} }};
document.getElementById("typed").focus();
window.scrollTo(0, 120);
await render({{ model, el: document.getElementById("host") }});
for (const name of ["change:data", "change:selected", "change:at"]) for (const run of heard[name] || []) run();
await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))));
window.shown = [document.activeElement.id, window.scrollY];
</script></body></html>"""


def views(folder: Path) -> dict[str, Callable[[], View]]:
    """A view of each kind."""
    mod = passlab.parse(NET)
    args = (np.ones((2, 6), "float32"), np.ones((5, 6), "float32"))
    rec = passlab.record(mod, PASSES, opt_level=3)
    memory = MemoryInstrument()
    with passlab.transform.PassContext(instruments=[memory]):
        passlab.transform.FuseOps()(mod)
    (folder / "dump.mlir").write_text(DUMP, encoding="utf-8")
    return {
        "module": lambda: display.module_view(mod),
        "diff": lambda: display.diff_view(rec[2].diff()),
        "graph": lambda: display.graph_view(mod),
        "pipeline": lambda: display.recording_view(rec),
        "stepper": lambda: display.stepper_view(vm.Debugger(mod, *args)),
        "dump": lambda: display.text_recording_view(passlab.dumps.read(folder / "dump.mlir")),
        "comparison": lambda: display.comparison_view(lab.compare(rec, rec)),
        "values": lambda: display.node_values_view(lab.watch(mod, *args)),
        "timing": lambda: display.timing_view(rec),
        "solving": lambda: display.solving_view(lab.watch_solver(mod)),
        "instrument": lambda: display.instrument_view(memory),
    }


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with browser(chromium) as launched:
        yield launched


@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_view_takes_neither_the_focus_nor_the_page_when_it_is_shown(
    kind: str, chrome: Browser, tmp_path: Path
) -> None:
    view = views(tmp_path)[kind]()
    assert view.kind == kind
    data: dict[str, Any] = view.data()
    state = json.dumps({"data": data, "selected": -1, "nodes": [], "graphs": {}, "at": data.get("at", 0)})
    page = chrome.new_page(viewport={"width": 1000, "height": 600})
    page.set_content(_PAGE.format(style=style(), script=inline(kind), state=state.replace("<", "\\u003c")))
    page.wait_for_function("() => window.shown")
    assert page.locator(".passlab").count() == 1
    assert page.evaluate("() => window.shown") == ["typed", 120]
    page.close()
