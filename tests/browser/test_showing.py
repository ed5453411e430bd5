"""A view that is shown leaves the focus where it is, and the page as it was scrolled: in a notebook somebody types above."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import passlab
import passlab.notebook
from passlab.display.pages.scripts import inline, style
from tests.browser.widget_page import widget_page
from tests.display.view_examples import EXAMPLES, LIVE

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
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


@pytest.mark.rotating(parts=10)
@pytest.mark.parametrize("name", LIVE)
def test_a_view_takes_neither_the_focus_nor_the_page_when_it_is_shown(name: str, chrome: Browser) -> None:
    view = EXAMPLES[name]()
    data: dict[str, Any] = view.data()
    state = json.dumps({"data": data, "selected": -1, "nodes": [], "graphs": {}, "at": data.get("at", 0)})
    page = chrome.new_page(viewport={"width": 1000, "height": 600})
    page.set_content(_PAGE.format(style=style(), script=inline(view.script), state=state.replace("<", "\\u003c")))
    page.wait_for_function("() => window.shown")
    assert page.locator(".passlab").count() == 1
    assert page.evaluate("() => window.shown") == ["typed", 120]
    page.close()


def test_a_program_that_was_hidden_for_a_moment_is_still_there(chrome: Browser) -> None:
    """As JupyterLab hides everything while another theme is loaded: scrolled back by the browser, without an event."""
    lines = "".join(f"  %{n} = exp({f'%{n - 1}' if n else '%x'});\n" for n in range(300))
    long = passlab.parse(f"def @main(%x: Tensor[(2), float32]) {{\n{lines}  nn.relu(%299)\n}}")
    with widget_page(passlab.notebook.show(long), chrome) as (page, _):
        box = page.locator(".pl-scroll").first
        box.evaluate("box => { box.scrollTop = 3000; }")
        expect(page.locator(".pl-row", has_text="%160 = exp(")).to_be_in_viewport()
        page.evaluate("""async () => {
          const host = document.getElementById("host"), frame = () => new Promise(requestAnimationFrame);
          document.querySelector(".pl-scroll").scrollTop = 3200; // of which the view hears while it is hidden
          host.style.display = "none";
          await frame();
          host.style.display = "";
          await frame();
          await frame();
        }""")
        assert box.evaluate("box => box.scrollTop") == 3200
        expect(page.locator(".pl-row", has_text="%170 = exp(")).to_be_in_viewport()
